// Random numbers as functions of what they are for, and the elementary functions that tasks need, from operations that
// IEEE 754 rounds in one way: the same bits on every machine, whatever its mathematical library is.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/math/angle_functions.hpp"

namespace axion::server::task {

// Natural logarithm of a finite x > 0, to two units in the last place: x = 2^e m, then the series of the inverse
// hyperbolic tangent of (m - 1) / (m + 1), |.| <= 0.172.
inline double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) m *= 2, --exponent;
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 0.69314718055994531 * exponent + 2 * s * sum;
}

// Exponential, to two units in the last place; 0 below -700 and infinity above 700.
inline double exponential(double x) {
  if (!(x >= -700)) return x != x ? x : 0;
  if (x > 700) return HUGE_VAL;
  const double n = std::nearbyint(x * 1.4426950408889634);
  // The logarithm of 2 in two parts, n times the first of them exact.
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 1.9082149292705877e-10;
  double sum = 1;
  for (int k = 13; k >= 1; --k) sum = 1 + r / k * sum;
  return std::ldexp(sum, static_cast<int>(n));
}

// What numbers are drawn for.
enum class Stream : std::uint64_t {
  kStart = 1,
  kNoise = 2,
  kCommand = 3,
  kPush = 4,
  kDraw = 5,
  kDelay = 6,
  kPhase = 7,
  kLevel = 8,
  kPrivileged = 9
};

// SplitMix64 (Steele, Lea, Flood 2014) as a counter-based generator: number i of a stream of an episode needs no
// numbers before it.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t episode, Stream stream)
      : key_(mix(mix(mix(seed + kGolden) ^ ((episode + 1) * kGolden)) + static_cast<std::uint64_t>(stream))) {}

  // In [0, 1).
  double unit(std::uint64_t index) const {
    return static_cast<double>(mix(key_ + (index + 1) * kGolden) >> 11) * 0x1.0p-53;
  }
  double uniform(std::uint64_t index, double lower, double upper) const {
    return lower + (upper - lower) * unit(index);
  }
  // Mean 0, deviation 1 (Box and Muller 1958); takes the numbers 2 index and 2 index + 1.
  double normal(std::uint64_t index) const {
    const double length = std::sqrt(-2 * logarithm(1 - unit(2 * index)));
    return length * math::sine_cosine(6.283185307179586 * unit(2 * index + 1)).cosine;
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  std::uint64_t key_;
};

}  // namespace axion::server::task
