// What the last step of each world left besides its state: contacts, and what the solver did. The device's owner only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "axion/v1/solver.pb.h"
#include "axion/v1/state.pb.h"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/limits.hpp"

namespace axion::server::rpc {

// Of the worlds asked for (none: all), some at a time: [first, last) of them, in turn, from 0 on, and then finish().
// Batch and message outlive it.
class ContactReading {
 public:
  ContactReading(const schedule::BatchHandle& batch, std::vector<std::int32_t> worlds,
                 v1::GetContactsResponse& response)
      : batch_(batch), worlds_(std::move(worlds)), response_(response) {}
  std::size_t world_count() const { return schedule::world_count_of(worlds_, batch_); }
  absl::Status add(std::size_t first, std::size_t last);
  // RESOURCE_EXHAUSTED where the answer would be too large.
  absl::Status finish(const schedule::Limits& limits);

 private:
  const schedule::BatchHandle& batch_;
  const std::vector<std::int32_t> worlds_;
  v1::GetContactsResponse& response_;
  std::vector<double> point_, normal_, friction_, moment_;
};

class StatisticsReading {
 public:
  StatisticsReading(const schedule::BatchHandle& batch, std::vector<std::int32_t> worlds, v1::WorldSolverStats& message)
      : batch_(batch), worlds_(std::move(worlds)), message_(message) {}
  std::size_t world_count() const { return schedule::world_count_of(worlds_, batch_); }
  absl::Status add(std::size_t first, std::size_t last);
  void finish();

 private:
  const schedule::BatchHandle& batch_;
  const std::vector<std::int32_t> worlds_;
  v1::WorldSolverStats& message_;
  std::vector<double> residual_, normalised_;
};

}  // namespace axion::server::rpc
