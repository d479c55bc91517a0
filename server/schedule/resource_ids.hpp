// Ids of resources: sequence numbers, scrambled so that no client comes to rely on their order.
//
// A number is never given twice, so an id of a deleted resource stays invalid; the scramble is a bijection keyed per
// process, so that ids of an earlier run do not name something of this one. Not a secret: ids authorise nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace axion::server::schedule {

// Of a run of the server, counted from 1; what an earlier run gave is below, as long as it gave less than 2^40.
constexpr std::uint64_t first_sequence(std::uint64_t run) { return (run << 40) + 1; }

class ResourceIds {
 public:
  // `collection` is "models" or "batches".
  ResourceIds(absl::string_view collection, std::uint64_t key) : collection_(collection), key_(key) {}

  std::string name_of(std::uint64_t sequence) const {
    return absl::StrCat(collection_, "/", absl::StrFormat("%016x", scramble(sequence)));
  }

  // Nothing if the text is not a name of this collection; whether the resource exists is for the registry to say.
  std::optional<std::uint64_t> sequence_of(absl::string_view name) const {
    if (name.size() != collection_.size() + 17 || !absl::StartsWith(name, collection_) ||
        name[collection_.size()] != '/') {
      return std::nullopt;
    }
    std::uint64_t value = 0;
    for (char c : name.substr(collection_.size() + 1)) {
      int digit = 0;
      if (c >= '0' && c <= '9') {
        digit = c - '0';
      } else if (c >= 'a' && c <= 'f') {
        digit = c - 'a' + 10;
      } else {
        return std::nullopt;
      }
      value = value * 16 + static_cast<std::uint64_t>(digit);
    }
    return unscramble(value);
  }

 private:
  // Multiplication by an odd number and xor-shifts by half the word are invertible modulo 2^64.
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
  static constexpr std::uint64_t kInverse = 0xF1DE83E19937733Du;
  static_assert(kFactor * kInverse == 1u);

  std::uint64_t scramble(std::uint64_t x) const {
    x = (x ^ key_) * kFactor;
    x ^= x >> 32;
    x *= kFactor;
    return x ^ (x >> 32);
  }

  std::uint64_t unscramble(std::uint64_t x) const {
    x ^= x >> 32;
    x *= kInverse;
    x ^= x >> 32;
    return (x * kInverse) ^ key_;
  }

  std::string collection_;
  std::uint64_t key_;
};

}  // namespace axion::server::schedule
