// SerialTeam: a team of one CPU thread. Order decides how its loops run: forwards in production; backwards and shuffled
// in tests, to show that no body depends on another's turn.
#pragma once

#include <limits>

#include "engine/team/team.hpp"

namespace axion::team {

enum class Order { kForward, kReversed, kShuffled };

template <Order order>
class OrderedTeam {
 public:
  static constexpr int kVectorBytes = axion::kVectorBytes;
  static constexpr bool kSharesByWarp = false;

  template <typename Body>
  AXION_HD void for_each(int count, Body&& body) const {
    if constexpr (order == Order::kForward) {
      for (int i = 0; i < count; ++i) body(i);
    } else if constexpr (order == Order::kReversed) {
      for (int i = count - 1; i >= 0; --i) body(i);
    } else {
      // i -> (stride i + 1) mod count visits every index once, as stride and count have no common factor.
      const int stride = coprime_stride(count);
      for (int i = 0; i < count; ++i) body(static_cast<int>((static_cast<long long>(stride) * i + 1) % count));
    }
  }

  template <typename Real, typename Term>
  AXION_HD Real sum(int count, Term&& term) const {
    Real lanes[kSumLanes] = {};
    int i = 0;
    for (; i + kSumLanes <= count; i += kSumLanes) {
      for (int lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
    }
    for (int lane = 0; i + lane < count; ++lane) lanes[lane] += term(i + lane);
    for (int width = kSumLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
    }
    return lanes[0];
  }

  template <typename Real, typename Term>
  AXION_HD Real max(int count, Term&& term) const {
    Real greatest = 0;
    bool is_nan = false;  // apart, so that each term costs one comparison that nothing waits for
    for (int i = 0; i < count; ++i) {
      const Real value = term(i);
      greatest = value > greatest ? value : greatest;
      is_nan |= value != value;
    }
    return is_nan ? std::numeric_limits<Real>::quiet_NaN() : greatest;
  }

  template <typename KeepFn, typename EmitFn>
  AXION_HD int filter(int count, KeepFn&& keep, EmitFn&& emit) const {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      if (keep(i)) emit(i, kept++);
    }
    return kept;
  }

 private:
  AXION_HD static int coprime_stride(int count) {
    int stride = count / 2 + 1;
    while (gcd(stride, count) != 1) ++stride;
    return stride;
  }
  AXION_HD static int gcd(int a, int b) {
    while (b != 0) {
      const int r = a % b;
      a = b;
      b = r;
    }
    return a;
  }
};

using SerialTeam = OrderedTeam<Order::kForward>;
using ReversedTeam = OrderedTeam<Order::kReversed>;
using ShuffledTeam = OrderedTeam<Order::kShuffled>;

static_assert(Team<SerialTeam> && Team<ReversedTeam> && Team<ShuffledTeam>);

}  // namespace axion::team
