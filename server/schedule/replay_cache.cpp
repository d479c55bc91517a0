#include "server/schedule/replay_cache.hpp"

#include <iterator>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

std::size_t bytes_of(const Remembered& remembered) {
  return remembered.memory == nullptr ? 0 : remembered.memory->bytes();
}

const Remembered& answer_forgotten() {
  static const auto* const remembered = new Remembered{
      .memory = nullptr,
      .refusal = make_failure(
          absl::StatusCode::kAborted,
          absl::StrCat("request_id: was answered, and its answer is not kept any more: kept are the newest ",
                       ReplayCache::kMaxEntries, " of a batch, of at most ", ReplayCache::kMaxBytes >> 20, " MiB"),
          {.reason = std::string(reason::kAnswerForgotten), .field = "request_id"})};
  return *remembered;
}

}  // namespace

std::uint64_t ReplayCache::hash_of(absl::string_view request_id) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a, then a mixer, since the low bits of FNV mix little
  for (const char c : request_id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

const Remembered* ReplayCache::find(absl::string_view request_id) const {
  for (const auto& [id, remembered] : entries_) {
    if (id == request_id) return &remembered;
  }
  return forgotten_set_.contains(hash_of(request_id)) ? &answer_forgotten() : nullptr;
}

void ReplayCache::put(std::string request_id, Remembered remembered) {
  bytes_ += bytes_of(remembered);
  entries_.emplace_back(std::move(request_id), std::move(remembered));
  trim();
}

void ReplayCache::put_older(ReplayCache older) {
  std::deque<std::uint64_t> later;
  later.swap(forgotten_);
  forgotten_set_.clear();
  for (const std::uint64_t id : older.forgotten_) forget(id);
  for (const std::uint64_t id : later) forget(id);
  std::erase_if(older.entries_, [&](const auto& entry) {
    return forgotten_set_.contains(hash_of(entry.first)) || find(entry.first) != nullptr;
  });
  for (const auto& entry : older.entries_) bytes_ += bytes_of(entry.second);
  entries_.insert(entries_.begin(), std::make_move_iterator(older.entries_.begin()),
                  std::make_move_iterator(older.entries_.end()));
  trim();
}

void ReplayCache::forget(std::uint64_t id_hash) {
  if (!forgotten_set_.insert(id_hash).second) return;
  forgotten_.push_back(id_hash);
  if (forgotten_.size() <= kMaxForgotten) return;
  forgotten_set_.erase(forgotten_.front());
  forgotten_.pop_front();
}

void ReplayCache::trim() {
  while (entries_.size() > 1 && (entries_.size() > kMaxEntries || bytes_ > kMaxBytes)) {
    bytes_ -= bytes_of(entries_.front().second);
    forget(hash_of(entries_.front().first));
    entries_.pop_front();
  }
}

}  // namespace axion::server::schedule
