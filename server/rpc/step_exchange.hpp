// One Step request and its answer: what a unary call and a stream have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "axion/v1/simulation.pb.h"

#include "server/rpc/simulation_service.hpp"
#include "server/schedule/job.hpp"

namespace axion::server::rpc {

// Fills the answer of a step when it has run and then calls `done`, as the device's owner. `response` outlives it.
class StepResponder final : public schedule::StepSink {
 public:
  // `memory` is for what is remembered.
  StepResponder(v1::StepResponse& response, std::string request_id, schedule::MemoryHold memory,
                std::function<void(const absl::Status&)> done)
      : response_(response), request_id_(std::move(request_id)), memory_(std::move(memory)), done_(std::move(done)) {}

  std::shared_ptr<const schedule::StepMemory> succeed(schedule::StepAnswer answer, bool remember) override;
  void replay(const schedule::StepMemory& memory) override;
  void fail(const absl::Status& status) override { done_(status); }

 private:
  v1::StepResponse& response_;
  const std::string request_id_;
  schedule::MemoryHold memory_;
  const std::function<void(const absl::Status&)> done_;
};

// What a StepResponder keeps of an answer, as bytes, and back with what it takes; none if the bytes are no answer.
std::string response_bytes(const schedule::StepMemory& memory);
std::shared_ptr<const schedule::StepMemory> stored_response(const std::string& bytes, schedule::MemoryHold memory);

// A change of a batch in these passes, which fill `response` unless that is none, made once for its id: a repetition
// gets what the first was answered, and changes nothing. `memory` is for what is remembered.
std::vector<schedule::Pass> made_once(std::shared_ptr<schedule::BatchHandle> batch, ChangeId id,
                                      schedule::MemoryHold memory, v1::ResetResponse* response,
                                      std::vector<schedule::Pass> passes);

// Checks and submits. `request`, `response` and `parts` outlive the call of `done`, which happens if this returns OK:
// once, within this call (schedule::Call::lends_thread) or on the device's thread. If this refuses, `done` is not
// called.
absl::Status submit_step(const v1::StepRequest& request, v1::StepResponse& response, const schedule::Tenant& tenant,
                         const schedule::Call& call, schedule::MemoryHold& memory, const ServiceParts& parts,
                         std::function<void(const absl::Status&)> done);

}  // namespace axion::server::rpc
