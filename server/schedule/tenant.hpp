// Whom models, batches and calls belong to, and how much of the server that one may have.
//
// A server without tokens has one tenant, whose name is empty and who has no quota of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace axion::server::schedule {

// At most so much of what the server's own limit of the same name allows; 0: no limit of the tenant's own.
struct TenantQuota {
  std::int64_t max_worlds = 0;
  std::int64_t max_models = 0;
  std::int64_t max_batches = 0;
  std::int64_t max_queue = 0;           // requests admitted and not finished
  std::int64_t max_memory = 0;          // bytes of the server's budget
  std::int64_t max_snapshot_bytes = 0;  // of snapshots in the store
  std::int64_t weight = 0;              // turns at the device for one of a tenant without any; 0: 1
  bool operator==(const TenantQuota&) const = default;
};

// What a tenant has under way. Outlives changes of its quota.
struct TenantLoad {
  std::atomic<std::int64_t> requests{0};
};

struct Tenant {
  std::string name;
  TenantQuota quota{};
  std::shared_ptr<TenantLoad> load = std::make_shared<TenantLoad>();
};

// A request that counts towards its tenant's max_queue until this is destroyed or released.
class RequestSlot {
 public:
  RequestSlot() = default;
  explicit RequestSlot(std::shared_ptr<TenantLoad> load) : load_(std::move(load)) {}
  RequestSlot(RequestSlot&& other) noexcept : load_(std::move(other.load_)) {}
  RequestSlot& operator=(RequestSlot&& other) noexcept {
    std::swap(load_, other.load_);
    return *this;
  }
  ~RequestSlot() { release(); }

  void release() {
    if (load_ != nullptr) load_->requests.fetch_sub(1, std::memory_order_relaxed);
    load_.reset();
  }

 private:
  std::shared_ptr<TenantLoad> load_;
};

}  // namespace axion::server::schedule
