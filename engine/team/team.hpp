// The team steps one world. It is one CPU thread, or one CUDA block; step code does not see which.
//
// Two properties of its type say how it shares out work on small matrices. Algorithms that have a form for each give
// the same bits in all of them, on any team.
//   kVectorBytes   of the vectors that one of its threads computes with. None: a thread takes one number at a time, so
//                  that rows of numbers are shared out number by number.
//   kSharesByWarp  whether one matrix is shared out to the threads of a warp, which keep parts of it in registers. Such
//                  a team has one verb more, `together` (cooperative_team.hpp), and 32 threads or more.
//
// Contract of the verbs. Each ends in a barrier.
//
//   for_each(count, body)       body(i) for every i in [0, count), in any order and at once. A body writes only slots
//                               of its own index and reads only what earlier verbs wrote.
//   sum(count, term)            Σ term(i), in one fixed order on every backend: kSumLanes interleaved partial sums,
//                               then the upper half of the lanes added to the lower until one is left.
//   max(count, term)            the greatest term(i), at least zero, as terms are magnitudes; a NaN term gives NaN.
//   filter(count, keep, emit)   emit(i, k) for each i with keep(i), k counting them in ascending i. Returns how many.
//   first(from, count, keep)    the first i in [from, count) with keep(i), or count.
//
// A team that runs its loops backwards or shuffled must give the same bits: that is the race test for machines without
// a GPU (ReversedTeam, ShuffledTeam).
#pragma once

#include <concepts>

#include "engine/base/macros.hpp"
#include "engine/lanes/pack.hpp"

namespace axion::team {

// Partial sums of every reduction. A block reduces with any number of threads and gets the same bits.
inline constexpr int kSumLanes = 32;

namespace detail {
struct NoBody {
  AXION_HD void operator()(int) const {}
};
struct Keep {
  AXION_HD bool operator()(int) const { return true; }
};
struct Emit {
  AXION_HD void operator()(int, int) const {}
};
struct Term {
  AXION_HD double operator()(int) const { return 0; }
};
}  // namespace detail

template <typename T>
concept Team = requires(const T& team, int count) {
  team.for_each(count, detail::NoBody{});
  { team.template sum<double>(count, detail::Term{}) } -> std::same_as<double>;
  { team.template max<double>(count, detail::Term{}) } -> std::same_as<double>;
  { team.filter(count, detail::Keep{}, detail::Emit{}) } -> std::same_as<int>;
  { team.first(count, count, detail::Keep{}) } -> std::same_as<int>;
  { T::kVectorBytes } -> std::convertible_to<int>;
  { T::kSharesByWarp } -> std::convertible_to<bool>;
};

// Lanes of the packs that a thread of the team computes with, at most `most`, a power of two.
template <typename Team, typename Real>
AXION_HD constexpr int pack_lanes(int most) {
  return lanes::pack_lanes<Real>(Team::kVectorBytes, most);
}

// Whether its threads take one number at a time.
template <typename Team>
AXION_HD constexpr bool shares_singly() {
  return Team::kVectorBytes == 0;
}

}  // namespace axion::team
