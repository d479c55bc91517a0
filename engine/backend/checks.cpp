#include "engine/backend/checks.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "engine/backend/input_pass.hpp"
#include "engine/backend/text.hpp"

namespace axion::backend {
namespace {

constexpr double kLeastQuaternion = 1e-12;

// Calls visit(row, step, column, value) until it returns an error.
template <typename Visit>
Status for_each_value(const InputView& view, const InputShape& shape, Visit&& visit) {
  const int steps = view.step_stride == 0 ? 1 : shape.steps;
  for (int i = 0; i < shape.rows; ++i) {
    for (int t = 0; t < steps; ++t) {
      for (int j = 0; j < shape.columns; ++j) {
        if (Status status = visit(i, t, j, read_input(view, i, t, j)); !status.ok()) return status;
      }
    }
  }
  return {};
}

}  // namespace

double read_input(const InputView& view, int row, int step, int column) {
  const std::byte* data = view.data + row * view.world_stride + step * view.step_stride;
  if (view.dtype == DType::kFloat32) {
    float value;
    std::memcpy(&value, data + std::size_t(column) * sizeof(float), sizeof(float));
    return value;
  }
  double value;
  std::memcpy(&value, data + std::size_t(column) * sizeof(double), sizeof(double));
  return value;
}

std::string element_name(const InputShape& shape, int row, int step, int column, bool has_steps) {
  std::string name = text(shape.name, "[", row);
  if (has_steps) name += text(",", step);
  if (shape.inner > 0) {
    name += text(",", column / shape.inner, ",", column % shape.inner);
  } else if (shape.columns > 1) {
    name += text(",", column);
  }
  return name + "]";
}

Status check_type(const InputView& view, const char* name) {
  if (view.data == nullptr || view.dtype == DType::kFloat32 || view.dtype == DType::kFloat64) return {};
  return invalid_argument(name, text(name, " must be float32 or float64."));
}

Status check_input(const InputView& view, const InputShape& shape, std::byte* to, ThreadPool* pool) {
  if (view.data == nullptr) return {};
  if (Status status = check_type(view, shape.name); !status.ok()) return status;
  if (pass_input(view, shape, to, pool)) return {};
  const bool to_float = shape.precision == DType::kFloat32;
  return for_each_value(view, shape, [&](int i, int t, int j, double value) -> Status {
    const bool finite = std::isfinite(value) && (!to_float || std::isfinite(static_cast<float>(value)));
    const bool small = shape.limit == 0 || std::abs(value) <= shape.limit;
    if (finite && small) return {};
    const std::string name = element_name(shape, i, t, j, view.step_stride != 0);
    if (!std::isfinite(value)) return invalid_argument(name, text(name, " is ", value, "; it must be finite."));
    if (!small) {
      return invalid_argument(
          name, text(name, " is ", value, "; it must be within ", -shape.limit, " and ", shape.limit, "."));
    }
    return invalid_argument(name, text(name, " is ", value, ", which is infinite in the batch's float32."));
  });
}

Status check_quaternions(const InputView& view, const InputShape& shape, std::span<const int> columns) {
  if (view.data == nullptr) return {};
  for (int i = 0; i < shape.rows; ++i) {
    for (const int start : columns) {
      double greatest = 0;
      for (int k = 0; k < 4; ++k) greatest = std::fmax(greatest, std::abs(read_input(view, i, 0, start + k)));
      if (greatest >= kLeastQuaternion) continue;
      const std::string name = element_name(shape, i, 0, start, false);
      return invalid_argument(name, text(name, " starts a quaternion of zero length, which is no rotation."));
    }
  }
  return {};
}

Status check_scale(const InputView& view, const InputShape& shape, bool zero_allowed) {
  if (Status status = check_input(view, shape); !status.ok() || view.data == nullptr) return status;
  return for_each_value(view, shape, [&](int i, int t, int j, double value) -> Status {
    // Smaller factors would be zero, or have no inverse, in float32.
    const bool large_enough = zero_allowed ? value >= 0 : value >= 1 / kMaxScale;
    if (large_enough && value <= kMaxScale) return {};
    const std::string name = element_name(shape, i, t, j, false);
    return invalid_argument(name, text(name, " is ", value, "; it must be within ", zero_allowed ? 0 : 1 / kMaxScale,
                                       " and ", kMaxScale, "."));
  });
}

Status check_worlds(std::span<const std::int32_t> worlds, int world_count) {
  std::vector<bool> seen(worlds.empty() ? 0 : world_count);
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const std::int32_t world = worlds[i];
    const std::string name = text("world_indices[", i, "]");
    if (world < 0 || world >= world_count) {
      return invalid_argument(name, text(name, " is ", world, "; the batch has worlds 0 to ", world_count - 1, "."));
    }
    if (seen[world]) return invalid_argument(name, text(name, " is ", world, ", which is asked for already."));
    seen[world] = true;
  }
  return {};
}

}  // namespace axion::backend
