// SerialTeam: a team of one CPU thread. OrderedTeam, for tests: such a team whose loops run backwards or shuffled, to
// show that no body depends on another's turn.
#pragma once

#include <limits>

#include "engine/team/team.hpp"

namespace axion::team {

class SerialTeam {
 public:
  static constexpr int kVectorBytes = axion::kVectorBytes;
  static constexpr bool kSharesByWarp = false;

  template <typename Body>
  AXION_HD void for_each(int count, Body&& body) const {
    for (int i = 0; i < count; ++i) body(i);
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

  template <typename KeepFn>
  AXION_HD int first(int from, int count, KeepFn&& keep) const {
    while (from < count && !keep(from)) ++from;
    return from;
  }
};

enum class Order { kForward, kReversed, kShuffled };

// The order is a variable, so that what is compiled for one is compiled for all.
class OrderedTeam : public SerialTeam {
 public:
  explicit OrderedTeam(Order order) : order_(order) {}

  template <typename Body>
  AXION_HD void for_each(int count, Body&& body) const {
    if (count <= 0) return;
    // k -> (stride k + first) mod count visits every index once, as stride and count have no common factor.
    const int stride = order_ == Order::kForward ? 1 : order_ == Order::kReversed ? count - 1 : coprime_stride(count);
    const int first = order_ == Order::kForward ? 0 : order_ == Order::kReversed ? count - 1 : 1;
    for (int k = 0; k < count; ++k) body(static_cast<int>((static_cast<long long>(stride) * k + first) % count));
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

  Order order_;
};

class ReversedTeam : public OrderedTeam {
 public:
  ReversedTeam() : OrderedTeam(Order::kReversed) {}
};

class ShuffledTeam : public OrderedTeam {
 public:
  ShuffledTeam() : OrderedTeam(Order::kShuffled) {}
};

static_assert(Team<SerialTeam> && Team<OrderedTeam>);

}  // namespace axion::team
