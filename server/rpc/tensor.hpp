// Tensors of messages as the engine's views, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "axion/v1/tensor.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

v1::DType to_wire(DType dtype);

// "[4, 7]"
std::string shape_text(std::span<const std::int64_t> shape);

// Checks element type (float32 or float64), shape, number of bytes and that every value is finite; the error names
// `field` and the value. The view points into the tensor; its world stride is that of the first dimension, its step
// stride that of the second if the shape has three and `sequence`, else zero.
absl::StatusOr<InputView> real_input(absl::string_view field, const v1::Tensor& tensor,
                                     std::span<const std::int64_t> shape, bool sequence = false);

// Sets type and shape and makes room for the values; returns where they go.
std::byte* make_tensor(DType dtype, std::span<const std::int64_t> shape, v1::Tensor& tensor);
// A float64 tensor of these values.
void fill_tensor(const std::vector<double>& values, std::span<const std::int64_t> shape, v1::Tensor& tensor);

}  // namespace axion::server::rpc
