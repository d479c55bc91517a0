// What a batch occupies on a device, and how much of the device is left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/engine.hpp"

namespace axion::backend {

// Bytes of a device that batches may take. Shared by an engine and its batches; a batch may end on a thread that was
// the last to hold it, while the engine's own makes another.
struct MemoryBudget {
  std::int64_t limit = 0;
  std::atomic<std::int64_t> used = 0;
};

// Bytes taken from a budget until this dies.
class Reservation {
 public:
  Reservation() = default;
  Reservation(std::shared_ptr<MemoryBudget> budget, std::int64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {
    budget_->used += bytes_;
  }
  Reservation(Reservation&& other) noexcept : budget_(std::move(other.budget_)), bytes_(other.bytes_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (budget_) budget_->used -= bytes_;
  }
  std::int64_t bytes() const { return budget_ ? bytes_ : 0; }
  // Takes more, or gives back where `bytes` is negative. False, and nothing taken, where the budget has not that much.
  bool grow(std::int64_t bytes) {
    if (!budget_) return true;
    if (bytes > budget_->limit - budget_->used) return false;
    budget_->used += bytes, bytes_ += bytes;
    return true;
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::int64_t bytes_ = 0;
};

enum class Access { kRead, kReadWrite };

// Where the worlds of a batch lie. One implementation a backend.
class BatchMemory {
 public:
  using Visitor = std::function<void(int row, std::byte* block)>;
  virtual ~BatchMemory() = default;
  virtual std::int64_t bytes() const = 0;
  // Shows each of `worlds` as host memory, in order; kReadWrite keeps what the visitor changes. kInternal if the device
  // fails.
  // Steps will find tables of the worlds (model/own_tables.hpp) in `tables` itself, or in a copy of it on the device,
  // in place of those before; `row_bytes` more are the host's. kResourceExhausted if they do not fit.
  virtual Status keep_tables(std::span<const std::byte> tables, std::int64_t row_bytes) = 0;
  virtual Status visit(std::span<const std::int32_t> worlds, Access access, const Visitor& visitor) = 0;
  // Of the last launch: what its first `rows` rows did, and the step index that each reached.
  virtual StepStatistics launch_statistics(int rows) const = 0;
  virtual std::span<const std::int64_t> launch_step_indices(int rows) const = 0;
};

Error no_room_for_tables(std::int64_t bytes);

// Bytes in words: "3.2 GiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace axion::backend
