// A hash of words and bytes that is the same on every machine: fingerprints of content and checksums. Host only.
//
// Two chains of the finaliser of SplitMix64 (Steele, Lea, Flood 2014), a word at a time. It finds accidents; it is no
// defence against who means harm.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace axion {

class Hash {
 public:
  void add(std::uint64_t word) {
    a_ = mix(a_ ^ word) + kGolden;
    b_ = mix(b_ + kGolden) ^ std::rotl(word * kGolden, 32);
  }
  // Zeros of both signs are one number.
  void add(double value) { add(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value)); }
  // Bytes, and how many they are.
  void add(std::span<const std::byte> bytes) {
    std::size_t i = 0;
    for (; i + sizeof(std::uint64_t) <= bytes.size(); i += sizeof(std::uint64_t)) add(word_at(bytes.data() + i, 8));
    if (i < bytes.size()) add(word_at(bytes.data() + i, bytes.size() - i));
    add(std::uint64_t(bytes.size()));
  }

  std::uint64_t value() const { return mix(a_ ^ mix(b_)); }
  std::array<std::uint64_t, 2> values() const { return {value(), mix(b_ + value())}; }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  static std::uint64_t word_at(const std::byte* data, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, bytes);
    return word;
  }

  std::uint64_t a_ = kGolden, b_ = 0;
};

}  // namespace axion
