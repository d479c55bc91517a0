#include "server/rpc/step_exchange.hpp"

#include <utility>

#include "server/rpc/request_conversion.hpp"
#include "server/rpc/task_exchange.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

class StoredResponse final : public schedule::StepMemory {
 public:
  StoredResponse(v1::StepResponse response, schedule::MemoryHold memory)
      : response_(std::move(response)), memory_(std::move(memory)) {}
  std::size_t bytes() const override { return response_.ByteSizeLong(); }
  const v1::StepResponse& response() const { return response_; }

 private:
  const v1::StepResponse response_;
  const schedule::MemoryHold memory_;
};

}  // namespace

std::shared_ptr<const schedule::StepMemory> StepResponder::succeed(schedule::StepAnswer answer, bool remember) {
  response_.mutable_time()->Assign(answer.time.begin(), answer.time.end());
  response_.mutable_step_index()->Assign(answer.step_index.begin(), answer.step_index.end());
  response_.mutable_outcome()->Assign(answer.outcome.begin(), answer.outcome.end());
  response_.set_request_id(request_id_);
  // Copied before `done`: afterwards the response is gRPC's.
  std::shared_ptr<const StoredResponse> memory;
  if (remember && memory_.grow(static_cast<std::int64_t>(response_.SpaceUsedLong()), "the answer kept").ok()) {
    schedule::guarded([&] {
      memory = std::make_shared<const StoredResponse>(response_, std::move(memory_));
      return absl::OkStatus();
    }).IgnoreError();
  }
  done_(absl::OkStatus());
  return memory;
}

void StepResponder::replay(const schedule::StepMemory& memory) {
  response_.CopyFrom(static_cast<const StoredResponse&>(memory).response());
  done_(absl::OkStatus());
}

std::string response_bytes(const schedule::StepMemory& memory) {
  return static_cast<const StoredResponse&>(memory).response().SerializeAsString();
}

std::shared_ptr<const schedule::StepMemory> stored_response(const std::string& bytes, schedule::MemoryHold memory) {
  v1::StepResponse response;
  if (!response.ParseFromString(bytes)) return nullptr;
  return std::make_shared<const StoredResponse>(std::move(response), std::move(memory));
}

absl::Status change_once(schedule::BatchHandle& batch, const std::string& request_id, std::uint64_t request_hash,
                         schedule::MemoryHold memory, v1::ResetResponse* response,
                         const std::function<absl::Status()>& change) {
  if (request_id.empty()) return change();
  if (const schedule::Remembered* before = batch.replays.find(request_id); before != nullptr) {
    absl::Status same = schedule::check_same_request(request_id, before->request_hash, request_hash);
    if (!same.ok() || !before->refusal.ok()) return same.ok() ? before->refusal : same;
    const v1::StepResponse& answer = static_cast<const StoredResponse&>(*before->memory).response();
    if (response != nullptr && answer.has_task()) *response->mutable_task() = answer.task();
    return same;
  }
  absl::Status status = change();
  if (!status.ok()) return status;
  v1::StepResponse answer;
  answer.set_request_id(request_id);
  std::shared_ptr<const StoredResponse> kept;
  schedule::guarded([&] {
    if (response != nullptr && response->has_task()) *answer.mutable_task() = response->task();
    status = memory.grow(static_cast<std::int64_t>(answer.SpaceUsedLong()), "the answer kept");
    if (status.ok()) kept = std::make_shared<const StoredResponse>(std::move(answer), std::move(memory));
    return status;
  }).IgnoreError();
  if (kept != nullptr) {
    batch.replays.put(request_id, {.memory = std::move(kept), .refusal = {}, .request_hash = request_hash});
  } else {
    batch.replays.forget(schedule::ReplayCache::hash_of(request_id));  // there was no room for the answer
  }
  schedule::count_replays(batch);
  return absl::OkStatus();
}

absl::Status submit_step(const v1::StepRequest& request, v1::StepResponse& response, const schedule::Tenant& tenant,
                         const schedule::Call& call, const schedule::Limits& limits, schedule::MemoryHold& memory,
                         schedule::Registry& registry, schedule::StepBatcher& batcher,
                         std::function<void(const absl::Status&)> done) {
  auto batch = registry.use_batch(tenant, "batch", request.batch(), batcher.now());
  if (!batch.ok()) return batch.status();
  absl::StatusOr<schedule::StepWork> work = schedule::out_of_memory();
  const absl::Status made = schedule::guarded([&] {
    work = to_step(request, (*batch)->info, limits, memory, response);
    return work.status();
  });
  if (!made.ok()) return made;
  auto responder = std::make_unique<StepResponder>(response, request.request_id(), memory.another(), std::move(done));
  if (request.has_action()) {
    work->sink = std::make_shared<TaskResponder>(response, std::move(responder));
  } else {
    work->sink = std::move(responder);
  }
  auto job = std::make_unique<schedule::Job>();
  job->call = call;
  job->batch = *std::move(batch);
  job->work = *std::move(work);
  return batcher.submit(std::move(job));
}

}  // namespace axion::server::rpc
