#include "clients/cpp/tensor.hpp"

#include "absl/strings/str_join.h"

namespace axion::client {
namespace {

template <typename T>
double load(const std::string& data, std::int64_t index) {
  T value{};
  std::memcpy(&value, data.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

std::size_t size_of(v1::DType dtype) {
  switch (dtype) {
    case v1::DTYPE_FLOAT32:
    case v1::DTYPE_INT32:
    case v1::DTYPE_UINT32:
      return 4;
    case v1::DTYPE_FLOAT64:
    case v1::DTYPE_INT64:
      return 8;
    default:
      return 0;
  }
}

std::string shape_text(const v1::Tensor& tensor) { return absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]"); }

std::int64_t element_count(const v1::Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape()) {
    count *= extent;
  }
  return count;
}

double element_as_double(const v1::Tensor& tensor, std::int64_t index) {
  const std::size_t size = size_of(tensor.dtype());
  if (size == 0 || index < 0 || (static_cast<std::size_t>(index) + 1) * size > tensor.data().size()) {
    return 0.0;  // a malformed answer reads as zero rather than out of bounds
  }
  switch (tensor.dtype()) {
    case v1::DTYPE_FLOAT32:
      return load<float>(tensor.data(), index);
    case v1::DTYPE_FLOAT64:
      return load<double>(tensor.data(), index);
    case v1::DTYPE_INT32:
      return load<std::int32_t>(tensor.data(), index);
    case v1::DTYPE_UINT32:
      return load<std::uint32_t>(tensor.data(), index);
    default:
      return static_cast<double>(load<std::int64_t>(tensor.data(), index));
  }
}

}  // namespace axion::client
