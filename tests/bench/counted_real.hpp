// CountedReal: a float32 that counts what is done to it; CountingTeam: a team of one thread that books the counts on
// the function whose loop it runs.
//
// Include this before any header of the engine: its templates name functions of std, which are looked up where they
// stand. One addition, subtraction, multiplication, division or root is one operation, a sine or the like
// kSeriesOperations of them; signs, comparisons, indices and moves are none. What a function does outside of a team's
// verbs is booked on `elsewhere`. Everything is as float32 does it, packs and quads lane by lane, so a counted world
// ends in the engine's own bits. What a step of float32 does in float64 (constraints/rotation_map.hpp) is not counted.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace axion::bench {

inline constexpr int kSeriesOperations = 20;

struct Tally {
  std::int64_t loops = 0, operations = 0, quotients = 0;  // quotients: of the operations, divisions and roots
};

inline Tally elsewhere, *tally = &elsewhere;
inline std::map<std::string, Tally> tallies;
inline bool counting = false;

constexpr void count(int operations, int quotients = 0) {
  if (std::is_constant_evaluated() || !counting) return;
  tally->operations += operations, tally->quotients += quotients;
}

struct CountedReal {
  float value;

  constexpr CountedReal() = default;
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr CountedReal(T x) : value(static_cast<float>(x)) {}
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr explicit operator T() const { return static_cast<T>(value); }

  friend constexpr CountedReal operator+(CountedReal a, CountedReal b) { return count(1), a.value + b.value; }
  friend constexpr CountedReal operator-(CountedReal a, CountedReal b) { return count(1), a.value - b.value; }
  friend constexpr CountedReal operator*(CountedReal a, CountedReal b) { return count(1), a.value * b.value; }
  friend constexpr CountedReal operator/(CountedReal a, CountedReal b) { return count(1, 1), a.value / b.value; }
  friend constexpr CountedReal operator-(CountedReal a) { return -a.value; }
  friend constexpr CountedReal operator+(CountedReal a) { return a; }
  constexpr CountedReal& operator+=(CountedReal b) { return *this = *this + b; }
  constexpr CountedReal& operator-=(CountedReal b) { return *this = *this - b; }
  constexpr CountedReal& operator*=(CountedReal b) { return *this = *this * b; }
  constexpr CountedReal& operator/=(CountedReal b) { return *this = *this / b; }
  friend constexpr bool operator==(CountedReal a, CountedReal b) { return a.value == b.value; }
  friend constexpr auto operator<=>(CountedReal a, CountedReal b) { return a.value <=> b.value; }
};
static_assert(sizeof(CountedReal) == sizeof(float) && std::is_trivially_copyable_v<CountedReal>);

}  // namespace axion::bench

// For this program alone: what the engine asks of std where Real is its own.
namespace std {
using axion::bench::CountedReal;
template <>
struct numeric_limits<CountedReal> : numeric_limits<float> {};
inline CountedReal abs(CountedReal a) { return std::abs(a.value); }
inline CountedReal copysign(CountedReal a, CountedReal b) { return std::copysign(a.value, b.value); }
inline CountedReal round(CountedReal a) { return std::round(a.value); }
inline CountedReal floor(CountedReal a) { return std::floor(a.value); }
inline CountedReal fmin(CountedReal a, CountedReal b) { return std::fmin(a.value, b.value); }
inline CountedReal fmax(CountedReal a, CountedReal b) { return std::fmax(a.value, b.value); }
inline CountedReal sqrt(CountedReal a) { return axion::bench::count(1, 1), std::sqrt(a.value); }
inline CountedReal sin(CountedReal a) {
  return axion::bench::count(axion::bench::kSeriesOperations), std::sin(a.value);
}
inline CountedReal cos(CountedReal a) {
  return axion::bench::count(axion::bench::kSeriesOperations), std::cos(a.value);
}
inline CountedReal acos(CountedReal a) {
  return axion::bench::count(axion::bench::kSeriesOperations), std::acos(a.value);
}
inline CountedReal asin(CountedReal a) {
  return axion::bench::count(axion::bench::kSeriesOperations), std::asin(a.value);
}
inline CountedReal atan2(CountedReal a, CountedReal b) {
  return axion::bench::count(axion::bench::kSeriesOperations), std::atan2(a.value, b.value);
}
inline CountedReal hypot(CountedReal a, CountedReal b) {
  return axion::bench::count(4, 1), std::hypot(a.value, b.value);
}
}  // namespace std

#include "engine/constraints/rotation_map.hpp"
#include "engine/team/serial_team.hpp"

// As float32 has it.
template <>
struct axion::constraints::WideReal<axion::bench::CountedReal> {
  using Type = double;
};

namespace axion::bench {

// The function that a lambda is in, without its namespaces and arguments: what is between the last of "::" before the
// first of "<(" of its type's name, and that. Arguments of a class that it is a member of are left out, too.
template <typename Body>
std::string function_of() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("Body = ") + 7);
  std::string function;
  for (;;) {
    const std::size_t end = name.find_first_of("<(");
    function += name.substr(0, end);
    if (end == std::string_view::npos || name[end] == '(') break;
    std::size_t close = end;
    for (int depth = 0; close < name.size(); ++close) {
      depth += name[close] == '<' ? 1 : name[close] == '>' ? -1 : 0;
      if (depth == 0) break;
    }
    if (name.substr(close + 1, 2) != "::" || name[close + 3] == '<') break;  // of the function, then its lambda
    name.remove_prefix(close + 1);
  }
  const std::size_t space = function.rfind("axion::");
  return space == std::string::npos ? function : function.substr(space + 7);
}

// Rounds that teams of so many threads take for the verbs counted: ceil(items / threads) each, at least one.
inline constexpr std::array<int, 4> kTeamThreads{32, 64, 128, 256};
inline std::array<std::int64_t, 4> rounds{};

class CountingTeam {
 public:
  static constexpr int kVectorBytes = 0;  // packs of one number, as a GPU's threads have them
  static constexpr bool kSharesByWarp = false;

  template <typename Body>
  void for_each(int count, Body&& body) const {
    const Booking booking(tally_of<std::remove_cvref_t<Body>>(), count);
    serial_.for_each(count, body);
  }
  template <typename Real, typename Body>
  Real sum(int count, Body&& body) const {
    const Booking booking(tally_of<std::remove_cvref_t<Body>>(), count);
    return serial_.template sum<Real>(count, body);
  }
  template <typename Real, typename Body>
  Real max(int count, Body&& body) const {
    const Booking booking(tally_of<std::remove_cvref_t<Body>>(), count);
    return serial_.template max<Real>(count, body);
  }
  template <typename Body, typename Emit>
  int filter(int count, Body&& keep, Emit&& emit) const {
    const Booking booking(tally_of<std::remove_cvref_t<Body>>(), count);
    return serial_.filter(count, keep, emit);
  }

  template <typename Body>
  int first(int from, int count, Body&& keep) const {
    const Booking booking(tally_of<std::remove_cvref_t<Body>>(), count - from);
    return serial_.first(from, count, keep);
  }

 private:
  struct Booking {
    Tally* const before;
    Booking(Tally& on, int items) : before(tally) {
      tally = &on, on.loops += counting;
      for (std::size_t i = 0; counting && i < rounds.size(); ++i) {
        rounds[i] += std::max(1, (items + kTeamThreads[i] - 1) / kTeamThreads[i]);
      }
    }
    ~Booking() { tally = before; }
  };
  template <typename Body>
  static Tally& tally_of() {
    static Tally& found = tallies[function_of<Body>()];
    return found;
  }
  team::SerialTeam serial_;
};

}  // namespace axion::bench
