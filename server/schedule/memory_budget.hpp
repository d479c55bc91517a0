// The bytes that one server may have: for models, batches, requests under way, their answers, answers that are
// remembered and snapshots on their way. What does not fit is refused before it is made. Estimates, and rather too
// much than too little. Thread safe; holds belong to one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "engine/engine.hpp"

#include "server/schedule/failure.hpp"
#include "server/schedule/tenant.hpp"

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

  // Asked where something does not fit, with the tenant whose quota it is, or none where it is the limit: true where it
  // has given memory back. Set before anything is held.
  using Reclaim = std::function<bool(const std::string* tenant, std::int64_t bytes)>;
  void on_shortage(Reclaim reclaim) { reclaim_ = std::move(reclaim); }
  bool reclaim(const std::string* tenant, std::int64_t bytes) const { return reclaim_ && reclaim_(tenant, bytes); }

  // What is held for one tenant, and the quota that it had when a hold was made for it last; 0: none.
  struct Account {
    explicit Account(std::string name) : tenant(std::move(name)) {}
    const std::string tenant;
    std::atomic<std::int64_t> used{0}, quota{0};
  };
  std::shared_ptr<Account> account_of(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};
  Reclaim reclaim_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Account>> accounts_ ABSL_GUARDED_BY(mutex_);
};

// A part of the budget, given back when this ends. One without a budget holds nothing. One of a tenant counts towards
// its max_memory, too.
class MemoryHold {
 public:
  MemoryHold() = default;
  explicit MemoryHold(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  MemoryHold(std::shared_ptr<MemoryBudget> budget, const Tenant& tenant) : budget_(std::move(budget)) {
    // There is one tenant without a name, and no file that could give it a quota.
    if (budget_ == nullptr || tenant.name.empty()) return;
    account_ = budget_->account_of(tenant.name);
    account_->quota.store(tenant.quota.max_memory, std::memory_order_relaxed);
  }
  MemoryHold(MemoryHold&& other) noexcept
      : budget_(std::move(other.budget_)),
        account_(std::move(other.account_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryHold& operator=(MemoryHold&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryHold() { shrink(bytes_); }

  // As MemoryBudget::take; RESOURCE_EXHAUSTED at the tenant's max_memory, too.
  absl::Status grow(std::int64_t bytes, absl::string_view what);
  // Of what is there already, whatever the limit says; less where negative.
  void force(std::int64_t bytes) {
    if (budget_ != nullptr) budget_->force(bytes);
    if (account_ != nullptr) account_->used.fetch_add(bytes, std::memory_order_relaxed);
    bytes_ += bytes;
  }
  void shrink(std::int64_t bytes) {
    if (budget_ != nullptr) budget_->give_back(bytes);
    if (account_ != nullptr) account_->used.fetch_sub(bytes, std::memory_order_relaxed);
    bytes_ -= bytes;
  }
  std::int64_t bytes() const { return bytes_; }
  // Of the same budget and tenant.
  MemoryHold another() const {
    MemoryHold hold(budget_);
    hold.account_ = account_;
    return hold;
  }
  // Of the same budget, for that tenant.
  MemoryHold another(const Tenant& tenant) const { return MemoryHold(budget_, tenant); }

 private:
  absl::Status try_to_grow(std::int64_t bytes, absl::string_view what);

  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<MemoryBudget::Account> account_;  // none: of no tenant
  std::int64_t bytes_ = 0;
};

absl::Status out_of_memory();

// What `work` returns, or RESOURCE_EXHAUSTED where memory cannot be had after all, or CANCELLED where it was stopped
// (engine/base/stop.hpp).
template <typename Work>
absl::Status guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const Stopped&) {
    return cancelled();
  }
}

}  // namespace axion::server::schedule
