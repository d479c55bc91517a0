// Checks of what a request brings: arrays of reals and lists of worlds. They run before anything is changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/engine.hpp"

namespace axion::backend {

class ThreadPool;

inline constexpr double kMaxScale = 1e6;  // of what a world may scale; its reciprocal is the least

// What an InputView must be. Row i, step t, value j; value_shape splits j into the indices that an error names.
struct InputShape {
  const char* name = "";  // as users know it, e.g. "body_pose"
  int rows = 0;
  int steps = 1;                      // looked at only where step_stride is not 0
  int columns = 0;                    // values a row (and step)
  int inner = 0;                      // last dimension where the row has two, e.g. 7 of [nb, 7]; 0: one dimension
  DType precision = DType::kFloat64;  // values must be finite in it
  double limit = 0;                   // and of at most this magnitude; 0: any
};

// A value, whatever its type.
double read_input(const InputView& view, int row, int step, int column);

// "body_pose[3,1,4]"
std::string element_name(const InputShape& shape, int row, int step, int column, bool has_steps);

// INVALID_ARGUMENT unless absent or of a real type.
Status check_type(const InputView& view, const char* name);

// INVALID_ARGUMENT unless absent, or of a real type and finite throughout. `to` and `pool` as in input_pass.hpp.
Status check_input(const InputView& view, const InputShape& shape, std::byte* to = nullptr, ThreadPool* pool = nullptr);

// No quaternion is zero; `columns` says where in a row each starts. Needs check_input.
Status check_quaternions(const InputView& view, const InputShape& shape, std::span<const int> columns);

// As check_input, and every value is within 1e-6 (or 0, where that is allowed) and 1e6.
Status check_scale(const InputView& view, const InputShape& shape, bool zero_allowed);

// Of a state that is set, SI: sums and products with the model's lengths stay finite in float32.
inline constexpr double kMaxState = 1e30;

// Distinct indices within 0 .. world_count - 1.
Status check_worlds(std::span<const std::int32_t> worlds, int world_count);

}  // namespace axion::backend
