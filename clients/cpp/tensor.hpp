// Spans to and from axion.v1.Tensor: whole buffers at a time. A little-endian machine is required (checked below).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "axion/v1/tensor.pb.h"

namespace axion::client {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they lie in memory");

// The DType of a C++ type.
template <typename T>
constexpr v1::DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return v1::DTYPE_FLOAT32;
  } else if constexpr (std::is_same_v<T, double>) {
    return v1::DTYPE_FLOAT64;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return v1::DTYPE_INT32;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return v1::DTYPE_UINT32;
  } else {
    static_assert(std::is_same_v<T, std::int64_t>, "no tensor has elements of this type");
    return v1::DTYPE_INT64;
  }
}

// Bytes of an element; 0 for an unknown type.
std::size_t size_of(v1::DType dtype);

// "[256, 12]"
std::string shape_text(const v1::Tensor& tensor);

// Elements that the shape states.
std::int64_t element_count(const v1::Tensor& tensor);

// A tensor of the given shape with a copy of the values. INVALID_ARGUMENT, naming `name`, if their number does not fit.
template <typename T>
absl::StatusOr<v1::Tensor> make_tensor(std::span<const T> values, const std::vector<std::int64_t>& shape,
                                       const std::string& name) {
  v1::Tensor tensor;
  tensor.set_dtype(dtype_of<T>());
  for (const std::int64_t extent : shape) {
    tensor.add_shape(extent);
  }
  if (element_count(tensor) != static_cast<std::int64_t>(values.size())) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": has ", values.size(), " values, shape ", shape_text(tensor),
                                                   " wants ", element_count(tensor)));
  }
  tensor.set_data(values.data(), values.size_bytes());
  return tensor;
}

// The elements of a tensor, in place: valid as long as the message is. INVALID_ARGUMENT names the element type if it is
// not T's, or the sizes if shape and bytes do not fit.
template <typename T>
absl::StatusOr<std::span<const T>> view(const v1::Tensor& tensor) {
  if (tensor.dtype() != dtype_of<T>()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor has elements of type ", v1::DType_Name(tensor.dtype()),
                                                   ", asked for as ", v1::DType_Name(dtype_of<T>())));
  }
  const std::int64_t count = element_count(tensor);
  if (count < 0 || tensor.data().size() != static_cast<std::size_t>(count) * sizeof(T)) {
    return absl::InvalidArgumentError(absl::StrCat("tensor of shape ", shape_text(tensor), " has ",
                                                   tensor.data().size(), " bytes, wants ", count * sizeof(T)));
  }
  return std::span<const T>(reinterpret_cast<const T*>(tensor.data().data()), static_cast<std::size_t>(count));
}

// Element `index` of a tensor of any type, as a double. The index must lie within element_count.
double element_as_double(const v1::Tensor& tensor, std::int64_t index);

}  // namespace axion::client
