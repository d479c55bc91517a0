#include "engine/backend/input_pass.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace axion::backend {
namespace {

// What a thread takes at once: worth waking it, and many enough for the threads to end together.
constexpr std::size_t kTaskBytes = std::size_t(256) << 10;

// The greatest magnitude that is allowed: a double above it is infinite as a float.
constexpr double kGreatestAsFloat = 0x1.fffffefffffffp127;

template <typename T>
T greatest(const InputShape& shape) {
  double bound = sizeof(T) == sizeof(float)           ? double(std::numeric_limits<float>::max())
                 : shape.precision == DType::kFloat32 ? kGreatestAsFloat
                                                      : std::numeric_limits<double>::max();
  if (shape.limit > 0) bound = std::min(bound, shape.limit);
  const T rounded = static_cast<T>(bound);
  return double(rounded) > bound ? std::nextafter(rounded, T(0)) : rounded;
}

// Whether `count` values are within the bound, NaN is not; copied where `to` is given. Loops that compilers make
// vectors of.
template <typename T, bool Copy>
bool pass_run(const std::byte* from, std::byte* to, std::size_t count, T bound) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Word bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    bad |= Word(!(std::abs(value) <= bound));
    if constexpr (Copy) std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return bad == 0;
}

// The view as runs of values that lie together: `runs` of them, `length` values each.
struct Layout {
  std::size_t rows, steps, columns;  // steps that are there
  std::size_t runs, length;
};

Layout layout_of(const InputView& view, const InputShape& shape) {
  Layout l{};
  const std::size_t size = size_of(view.dtype);
  l.rows = std::max(shape.rows, 0), l.columns = std::max(shape.columns, 0);
  l.steps = view.step_stride == 0 ? 1 : std::max(shape.steps, 0);
  l.runs = l.rows * l.steps, l.length = l.columns;
  const bool steps_touch = l.steps == 1 || view.step_stride == l.length * size;
  if (!steps_touch) return l;
  l.runs = l.rows, l.length *= l.steps;
  if (view.world_stride == l.length * size) l.length *= l.rows, l.runs = l.rows > 0 ? 1 : 0;
  return l;
}

template <typename T>
bool pass(const InputView& view, const InputShape& shape, std::byte* to, ThreadPool* pool) {
  const Layout l = layout_of(view, shape);
  const T bound = greatest<T>(shape);
  const std::size_t total = l.runs * l.length;
  if (total == 0) return true;
  const bool by_steps = l.runs > l.rows;                        // a run for each step of a row
  const auto some = [&](std::size_t first, std::size_t last) {  // values, packed
    bool good = true;
    while (first < last) {
      const std::size_t run = first / l.length, start = first % l.length,
                        count = std::min(l.length - start, last - first);
      const std::size_t row = by_steps ? run / l.steps : run, step = by_steps ? run % l.steps : 0;
      const std::byte* from = view.data + row * view.world_stride + step * view.step_stride + start * sizeof(T);
      good &= to == nullptr ? pass_run<T, false>(from, nullptr, count, bound)
                            : pass_run<T, true>(from, to + first * sizeof(T), count, bound);
      first += count;
    }
    return good;
  };
  const std::size_t each = kTaskBytes / sizeof(T), tasks = (total + each - 1) / each;
  if (pool == nullptr || tasks == 1) return some(0, total);
  std::atomic<bool> good{true};
  pool->run(static_cast<int>(tasks), [&](int, int task) {
    const std::size_t first = task * each;
    if (!some(first, std::min(total, first + each))) good.store(false, std::memory_order_relaxed);
  });
  return good.load(std::memory_order_relaxed);
}

}  // namespace

std::size_t packed_bytes(const InputView& view, const InputShape& shape) {
  if (view.data == nullptr) return 0;
  const Layout l = layout_of(view, shape);
  return l.rows * l.steps * l.columns * size_of(view.dtype);
}

bool pass_input(const InputView& view, const InputShape& shape, std::byte* to, ThreadPool* pool) {
  return view.dtype == DType::kFloat32 ? pass<float>(view, shape, to, pool) : pass<double>(view, shape, to, pool);
}

}  // namespace axion::backend
