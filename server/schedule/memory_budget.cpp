#include "server/schedule/memory_budget.hpp"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

// What is under way ends, and gives its memory back.
constexpr absl::Duration kRetryDelay = absl::Milliseconds(100);

}  // namespace

absl::Status MemoryBudget::take(std::int64_t bytes, absl::string_view what) {
  const std::int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= limit_ - before) return absl::OkStatus();
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  const bool ever = bytes <= limit_;
  return limit_reached("memory_limit",
                       absl::StrCat("memory_limit: ", what, " would take about ", bytes, " bytes beside the ", before,
                                    " that are held of ", limit_,
                                    ever ? "; try again when others have ended, or ask for less" : "; ask for less"),
                       ever ? kRetryDelay : absl::ZeroDuration());
}

std::shared_ptr<MemoryBudget::Account> MemoryBudget::account_of(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Account>& account = accounts_[tenant];
  if (account == nullptr) account = std::make_shared<Account>(tenant);
  return account;
}

absl::Status MemoryHold::grow(std::int64_t bytes, absl::string_view what) {
  if (budget_ == nullptr) return absl::OkStatus();
  absl::Status status = try_to_grow(bytes, what);
  if (status.ok()) return status;
  // Where more is wanted than could ever be had, nothing is given up for it.
  const bool is_quota = details_of(status).quota_subject == "max_memory";
  const std::int64_t limit = is_quota ? account_->quota.load(std::memory_order_relaxed) : budget_->limit();
  const bool reclaimed = bytes <= limit && budget_->reclaim(is_quota ? &account_->tenant : nullptr, bytes);
  return reclaimed ? try_to_grow(bytes, what) : status;
}

absl::Status MemoryHold::try_to_grow(std::int64_t bytes, absl::string_view what) {
  if (account_ != nullptr) {
    const std::int64_t quota = account_->quota.load(std::memory_order_relaxed);
    const std::int64_t before = account_->used.fetch_add(bytes, std::memory_order_relaxed);
    if (quota > 0 && bytes > quota - before) {
      account_->used.fetch_sub(bytes, std::memory_order_relaxed);
      return limit_reached("max_memory", absl::StrCat("max_memory: ", what, " would take about ", bytes,
                                                      " bytes beside the ", before, " of the tenant, past its quota ",
                                                      quota, "; delete models or batches, or ask for less"));
    }
  }
  if (absl::Status status = budget_->take(bytes, what); !status.ok()) {
    if (account_ != nullptr) account_->used.fetch_sub(bytes, std::memory_order_relaxed);
    return status;
  }
  bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status out_of_memory() {
  return limit_reached("memory_limit", "memory_limit: the machine has no more memory for this; nothing was changed",
                       kRetryDelay);
}

}  // namespace axion::server::schedule
