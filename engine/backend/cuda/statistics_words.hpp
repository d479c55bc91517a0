// StepStatistics as words, so that threads share out the sum of many: each adds up one word of all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/base/macros.hpp"
#include "engine/model/step_statistics.hpp"

namespace axion::backend {

static_assert(std::is_standard_layout_v<StepStatistics> && std::is_trivially_copyable_v<StepStatistics>);
static_assert(sizeof(StepStatistics) % sizeof(std::int64_t) == 0 && sizeof(double) == sizeof(std::int64_t));
inline constexpr int kStatisticsWords = sizeof(StepStatistics) / sizeof(std::int64_t);

enum class StatisticsWord { kCount, kSum, kGreatest };

// What word `k` is. All that are not named are counts.
AXION_HD constexpr StatisticsWord kind_of_statistics_word(int k) {
  using S = StepStatistics;
  using Residual = BinnedCounts<kResidualBounds.size()>;
  const std::size_t at = k * sizeof(std::int64_t);
  for (const std::size_t most : {offsetof(S, max_penetration), offsetof(S, max_joint_error),
                                 offsetof(S, max_equality_error), offsetof(S, max_overlap)}) {
    if (at == most) return StatisticsWord::kGreatest;
  }
  for (const std::size_t sum :
       {offsetof(S, newton_iterations.sum), offsetof(S, linear_iterations.sum), offsetof(S, line_search_steps.sum),
        offsetof(S, sweep_rounds.sum), offsetof(S, contact_sweeps.sum), offsetof(S, contacts.sum)}) {
    if (at == sum) return StatisticsWord::kSum;
  }
  for (std::size_t block = 0; block < kResidualBlockCount; ++block) {
    if (at == offsetof(S, residual) + block * sizeof(Residual) + offsetof(Residual, sum)) return StatisticsWord::kSum;
  }
  return StatisticsWord::kCount;
}

// Word `k` of sum = the rows, added in their order; as StepStatistics::add does it.
AXION_HD inline void sum_statistics_word(int k, const StepStatistics* rows, int count, StepStatistics* sum) {
  const auto total = [&](auto zero, auto&& add) {
    using T = decltype(zero);
    T all = zero;
    for (int i = 0; i < count; ++i) all = add(all, reinterpret_cast<const T*>(rows + i)[k]);
    reinterpret_cast<T*>(sum)[k] = all;
  };
  const StatisticsWord kind = kind_of_statistics_word(k);
  if (kind == StatisticsWord::kCount) {
    total(std::int64_t(0), [](std::int64_t a, std::int64_t b) { return a + b; });
  } else if (kind == StatisticsWord::kSum) {
    total(0.0, [](double a, double b) { return a + b; });
  } else {
    total(0.0, [](double a, double b) { return b > a ? b : a; });
  }
}

}  // namespace axion::backend
