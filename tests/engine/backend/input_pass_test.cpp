// One pass over inputs: what it packs and what it lets through, against reading value by value.
#include "engine/backend/input_pass.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace axion::backend::input_pass_test {
namespace {

// More than one task of a pool, and no multiple of it.
constexpr int kRows = 700, kSteps = 9, kColumns = 21;

template <typename T>
constexpr DType kType = sizeof(T) == sizeof(float) ? DType::kFloat32 : DType::kFloat64;

// Values with gaps behind each step and each row; what lies in the gaps is not finite.
template <typename T>
struct Array {
  Array(int step_gap, int row_gap, bool held) : step(kColumns + step_gap), row(step * (held ? 1 : kSteps) + row_gap) {
    values.assign(std::size_t(kRows) * row, std::numeric_limits<T>::quiet_NaN());
    for (int i = 0; i < kRows; ++i) {
      for (int t = 0; t < (held ? 1 : kSteps); ++t) {
        for (int j = 0; j < kColumns; ++j) at(i, t, j) = T(std::sin(1.0 + i + 0.1 * t + 0.01 * j));
      }
    }
    view = {reinterpret_cast<const std::byte*>(values.data()), kType<T>, row * sizeof(T), held ? 0 : step * sizeof(T)};
  }
  T& at(int i, int t, int j) { return values[i * row + t * step + j]; }

  std::size_t step, row;
  std::vector<T> values;
  InputView view;
};

template <typename T>
void expect_packed(int step_gap, int row_gap, bool held, ThreadPool* pool) {
  Array<T> array(step_gap, row_gap, held);
  const InputShape shape{"control", kRows, kSteps, kColumns, 0, DType::kFloat32};
  const int steps = held ? 1 : kSteps;
  std::vector<T> packed(packed_bytes(array.view, shape) / sizeof(T) + 1, T(7));
  ASSERT_EQ(packed.size(), std::size_t(kRows) * steps * kColumns + 1);
  EXPECT_TRUE(pass_input(array.view, shape, reinterpret_cast<std::byte*>(packed.data()), pool));
  EXPECT_TRUE(pass_input(array.view, shape, nullptr, pool));
  for (int i = 0, k = 0; i < kRows; ++i) {
    for (int t = 0; t < steps; ++t) {
      for (int j = 0; j < kColumns; ++j, ++k) ASSERT_EQ(packed[k], array.at(i, t, j)) << i << ", " << t << ", " << j;
    }
  }
  EXPECT_EQ(packed.back(), T(7)) << "nothing is written behind the last value";
}

TEST(InputPass, every_layout_is_packed_value_by_value) {
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const int step_gap : {0, 2}) {
      for (const int row_gap : {0, 5}) {
        for (const bool held : {false, true}) {
          expect_packed<float>(step_gap, row_gap, held, threads);
          expect_packed<double>(step_gap, row_gap, held, threads);
        }
      }
    }
  }
}

template <typename T>
void expect_seen(T wrong, double limit) {
  ThreadPool pool(3);
  Array<T> array(1, 2, false);
  const InputShape shape{"control", kRows, kSteps, kColumns, 0, DType::kFloat32, limit};
  std::vector<std::byte> room(packed_bytes(array.view, shape));
  for (int n = 0; n < 40; ++n) {
    const int i = n * 397 % kRows, t = n * 5 % kSteps, j = n * 13 % kColumns;
    const T before = std::exchange(array.at(i, t, j), wrong);
    EXPECT_FALSE(pass_input(array.view, shape, room.data(), &pool));
    const Status status = check_input(array.view, shape, room.data(), &pool);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().field, element_name(shape, i, t, j, true));
    array.at(i, t, j) = before;
  }
  EXPECT_TRUE(check_input(array.view, shape, room.data(), &pool).ok());
}

TEST(InputPass, one_wrong_value_among_many_is_seen_and_named) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double wrong : {infinity, -infinity, nan}) {
    expect_seen<float>(float(wrong), 0);
    expect_seen<double>(wrong, 0);
  }
  expect_seen<double>(-3.5e38, 0);  // infinite as a float
  expect_seen<float>(2.0001f, 2);
  expect_seen<double>(-2.0000000001, 2);
}

TEST(InputPass, the_greatest_numbers_that_are_finite_as_floats_pass) {
  double value = double(std::numeric_limits<float>::max());
  const double step = std::ldexp(1.0, 127 - 52);
  for (int n = 0; n < 40; ++n) {
    // From the greatest float on, past the half of a last place from which on it rounds to infinity.
    for (const double v :
         {value + n * std::ldexp(1.0, 103) / 39, std::ldexp(2 - std::ldexp(1.0, -24), 127) + (n - 20) * step}) {
      const InputView view{reinterpret_cast<const std::byte*>(&v), DType::kFloat64, sizeof v, 0};
      const InputShape shape{"time", 1, 1, 1, 0, DType::kFloat32};
      EXPECT_EQ(pass_input(view, shape, nullptr, nullptr), std::isfinite(static_cast<float>(v))) << v;
    }
  }
}

TEST(InputPass, nothing_passes_and_takes_no_room) {
  const float value = std::numeric_limits<float>::quiet_NaN();
  const InputView view{reinterpret_cast<const std::byte*>(&value), DType::kFloat32, 0, 0};
  for (const InputShape& shape : {InputShape{"control", 0, 3, 4}, InputShape{"control", 3, 3, 0}}) {
    EXPECT_EQ(packed_bytes(view, shape), 0u);
    EXPECT_TRUE(pass_input(view, shape, nullptr, nullptr));
  }
  EXPECT_EQ(packed_bytes({}, {"control", 3, 3, 4}), 0u);
}

}  // namespace
}  // namespace axion::backend::input_pass_test
