// The bytes that one server may have: for models, batches, requests under way, their answers, answers that are
// remembered and snapshots on their way. What does not fit is refused before it is made. Estimates, and rather too
// much than too little. Thread safe; holds belong to one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace axion::server::schedule {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t limit_bytes) : limit_(limit_bytes) {}

  // RESOURCE_EXHAUSTED with the numbers where it does not fit beside what is held.
  absl::Status take(std::int64_t bytes, absl::string_view what);
  // Of what is there already.
  void force(std::int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(std::int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::int64_t limit() const { return limit_; }

 private:
  const std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};
};

// A part of the budget, given back when this ends. One without a budget holds nothing.
class MemoryHold {
 public:
  MemoryHold() = default;
  explicit MemoryHold(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  MemoryHold(MemoryHold&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryHold& operator=(MemoryHold&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryHold() { shrink(bytes_); }

  // As MemoryBudget::take.
  absl::Status grow(std::int64_t bytes, absl::string_view what);
  // Of what is there already, whatever the limit says; less where negative.
  void force(std::int64_t bytes) {
    if (budget_ != nullptr) budget_->force(bytes);
    bytes_ += bytes;
  }
  void shrink(std::int64_t bytes) {
    if (budget_ != nullptr) budget_->give_back(bytes);
    bytes_ -= bytes;
  }
  std::int64_t bytes() const { return bytes_; }
  // Of the same budget.
  MemoryHold another() const { return MemoryHold(budget_); }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::int64_t bytes_ = 0;
};

absl::Status out_of_memory();

// What `work` returns, or RESOURCE_EXHAUSTED where memory cannot be had after all.
template <typename Work>
absl::Status guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace axion::server::schedule
