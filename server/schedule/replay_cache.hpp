// What repeated requests of a batch get. The device's owner only.
//
// Kept are the newest kMaxEntries answers and, beyond the newest, kMaxBytes of them. Of a request whose answer has gone
// its id is known until kMaxForgotten later ones have gone too: repeated, it is refused and not made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace axion::server::schedule {

// What a sink keeps of an answer so that a repeated request can have it again.
class StepMemory {
 public:
  virtual ~StepMemory() = default;
  virtual std::size_t bytes() const = 0;
};

// What a repeated request gets: the answer, or none and why there never will be one.
struct Remembered {
  std::shared_ptr<const StepMemory> memory;
  absl::Status refusal;
  std::uint64_t request_hash = 0;  // of what was asked for; 0: not known
};

class ReplayCache {
 public:
  static constexpr std::size_t kMaxEntries = 64;
  static constexpr std::size_t kMaxBytes = 16 << 20;
  static constexpr std::size_t kMaxForgotten = 65536;

  // None when the request is not known.
  const Remembered* find(absl::string_view request_id) const;
  void put(std::string request_id, Remembered remembered);
  // What another cache kept, as older than all here.
  void put_older(ReplayCache older);
  // As `forgotten` says.
  void forget(std::uint64_t id_hash);

  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }
  // What all of it takes besides the answers, about.
  std::size_t own_bytes() const {
    constexpr std::size_t kEntry = 512;  // an id, or a refusal
    return kEntry * entries_.size() + sizeof(std::uint64_t) * forgotten_.size() +
           (sizeof(std::uint64_t) + 1) * forgotten_set_.capacity();
  }
  // Oldest first.
  const std::deque<std::pair<std::string, Remembered>>& entries() const { return entries_; }
  const std::deque<std::uint64_t>& forgotten() const { return forgotten_; }

  // Of ids: the same on every machine and in every run, since it is kept.
  static std::uint64_t hash_of(absl::string_view request_id);

 private:
  void trim();

  std::deque<std::pair<std::string, Remembered>> entries_;
  std::size_t bytes_ = 0;
  std::deque<std::uint64_t> forgotten_;
  absl::flat_hash_set<std::uint64_t> forgotten_set_;
};

}  // namespace axion::server::schedule
