#include "server/rpc/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

static_assert(std::endian::native == std::endian::little, "tensors are views of the messages' little-endian bytes");

template <typename Real>
absl::Status check_finite(absl::string_view field, const std::string& data, std::span<const std::int64_t> shape) {
  const std::size_t count = data.size() / sizeof(Real);
  for (std::size_t i = 0; i < count; ++i) {
    Real value = 0;
    std::memcpy(&value, data.data() + i * sizeof(Real), sizeof(Real));
    if (std::isfinite(value)) continue;
    std::vector<std::int64_t> index(shape.size());
    std::size_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      index[d] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[d]));
      rest /= static_cast<std::size_t>(shape[d]);
    }
    return invalid_field(field, absl::StrCat("the value at ", shape_text(index), " is ", value, "; it must be finite"));
  }
  return absl::OkStatus();
}

}  // namespace

v1::DType to_wire(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return v1::DTYPE_FLOAT32;
    case DType::kFloat64:
      return v1::DTYPE_FLOAT64;
    case DType::kInt32:
      return v1::DTYPE_INT32;
    case DType::kUint32:
      return v1::DTYPE_UINT32;
    case DType::kInt64:
      return v1::DTYPE_INT64;
  }
  return v1::DTYPE_UNSPECIFIED;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  constexpr std::size_t kMostShown = 6;  // more than any field has
  if (shape.size() <= kMostShown) return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
  return absl::StrCat("[", absl::StrJoin(shape.first(kMostShown), ", "), ", ...] (", shape.size(), " dimensions)");
}

absl::StatusOr<InputView> real_input(absl::string_view field, const v1::Tensor& tensor,
                                     std::span<const std::int64_t> shape, bool sequence) {
  if (tensor.dtype() != v1::DTYPE_FLOAT32 && tensor.dtype() != v1::DTYPE_FLOAT64) {
    const std::string name = v1::DType_IsValid(tensor.dtype()) ? v1::DType_Name(tensor.dtype())
                                                               : absl::StrCat(static_cast<int>(tensor.dtype()));
    return invalid_field(absl::StrCat(field, ".dtype"),
                         absl::StrCat("is ", name, "; it must be DTYPE_FLOAT32 or DTYPE_FLOAT64"));
  }
  const std::span<const std::int64_t> given(tensor.shape().data(), static_cast<std::size_t>(tensor.shape_size()));
  if (!std::equal(given.begin(), given.end(), shape.begin(), shape.end())) {
    return invalid_field(absl::StrCat(field, ".shape"),
                         absl::StrCat("is ", shape_text(given), "; it must be ", shape_text(shape)));
  }
  const DType dtype = tensor.dtype() == v1::DTYPE_FLOAT32 ? DType::kFloat32 : DType::kFloat64;
  const std::size_t bytes = schedule::element_count(shape) * size_of(dtype);
  if (tensor.data().size() != bytes) {
    return invalid_field(absl::StrCat(field, ".data"),
                         absl::StrCat("has ", tensor.data().size(), " bytes; a ", shape_text(shape), " tensor of ",
                                      v1::DType_Name(tensor.dtype()), " has ", bytes));
  }
  const absl::Status finite = dtype == DType::kFloat32 ? check_finite<float>(field, tensor.data(), shape)
                                                       : check_finite<double>(field, tensor.data(), shape);
  if (!finite.ok()) return finite;
  InputView view{.data = reinterpret_cast<const std::byte*>(tensor.data().data()), .dtype = dtype};
  view.world_stride = schedule::element_count(shape.subspan(1)) * size_of(dtype);
  if (sequence) view.step_stride = schedule::element_count(shape.subspan(2)) * size_of(dtype);
  return view;
}

std::byte* make_tensor(DType dtype, std::span<const std::int64_t> shape, v1::Tensor& tensor) {
  tensor.set_dtype(to_wire(dtype));
  tensor.mutable_shape()->Assign(shape.begin(), shape.end());
  tensor.mutable_data()->resize(schedule::element_count(shape) * size_of(dtype));
  return reinterpret_cast<std::byte*>(tensor.mutable_data()->data());
}

void fill_tensor(const std::vector<double>& values, std::span<const std::int64_t> shape, v1::Tensor& tensor) {
  std::byte* at = make_tensor(DType::kFloat64, shape, tensor);
  if (!values.empty()) std::memcpy(at, values.data(), values.size() * sizeof(double));
}

}  // namespace axion::server::rpc
