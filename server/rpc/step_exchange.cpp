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

namespace {

struct Change {
  std::shared_ptr<schedule::BatchHandle> batch;
  ChangeId id;
  schedule::MemoryHold memory;
  v1::ResetResponse* response;
  bool is_repeated = false;
};

absl::Status answer_again(Change& change) {
  const schedule::Remembered* before = change.batch->replays.find(change.id.request_id);
  if (before == nullptr) return absl::OkStatus();
  absl::Status same = schedule::check_same_request(change.id.request_id, before->request_hash, change.id.hash);
  if (!same.ok() || !before->refusal.ok()) return same.ok() ? before->refusal : same;
  const v1::StepResponse& answer = static_cast<const StoredResponse&>(*before->memory).response();
  if (change.response != nullptr && answer.has_task()) *change.response->mutable_task() = answer.task();
  change.is_repeated = true;
  return absl::OkStatus();
}

void remember(Change& change) {
  v1::StepResponse answer;
  answer.set_request_id(change.id.request_id);
  std::shared_ptr<const StoredResponse> kept;
  schedule::guarded([&] {
    if (change.response != nullptr && change.response->has_task()) *answer.mutable_task() = change.response->task();
    absl::Status fits = change.memory.grow(static_cast<std::int64_t>(answer.SpaceUsedLong()), "the answer kept");
    if (fits.ok()) kept = std::make_shared<const StoredResponse>(std::move(answer), std::move(change.memory));
    return fits;
  }).IgnoreError();
  schedule::ReplayCache& replays = change.batch->replays;
  if (kept != nullptr) {
    replays.put(change.id.request_id, {.memory = std::move(kept), .refusal = {}, .request_hash = change.id.hash});
  } else {
    replays.forget(schedule::ReplayCache::hash_of(change.id.request_id));  // there was no room for the answer
  }
  schedule::count_replays(*change.batch);
}

}  // namespace

std::vector<schedule::Pass> made_once(std::shared_ptr<schedule::BatchHandle> batch, ChangeId id,
                                      schedule::MemoryHold memory, v1::ResetResponse* response,
                                      std::vector<schedule::Pass> passes) {
  if (id.request_id.empty()) return passes;
  const auto change = std::make_shared<Change>(Change{std::move(batch), std::move(id), std::move(memory), response});
  std::vector<schedule::Pass> all{schedule::whole([change](Engine&) { return answer_again(*change); })};
  for (schedule::Pass& pass : passes) {
    pass.run = [change, run = std::move(pass.run)](Engine& engine, std::size_t first, std::size_t last) {
      return change->is_repeated ? absl::OkStatus() : run(engine, first, last);
    };
    all.push_back(std::move(pass));
  }
  all.push_back(schedule::whole([change](Engine&) {
    if (!change->is_repeated) remember(*change);
    return absl::OkStatus();
  }));
  return all;
}

absl::Status submit_step(const v1::StepRequest& request, v1::StepResponse& response, const schedule::Tenant& tenant,
                         const schedule::Call& call, schedule::MemoryHold& memory, const ServiceParts& parts,
                         std::function<void(const absl::Status&)> done) {
  auto batch = parts.registry.use_batch(tenant, "batch", request.batch(), parts.batcher.now());
  if (!batch.ok()) return batch.status();
  absl::StatusOr<schedule::StepWork> work = schedule::out_of_memory();
  const absl::Status made = schedule::guarded([&] {
    work = to_step(request, (*batch)->info, parts.limits, memory, response);
    return work.status();
  });
  if (!made.ok()) return made;
  auto counted = [&metrics = parts.metrics, tenant = tenant.name, steps = work->step_count, &response,
                  done = std::move(done)](const absl::Status& status) {
    if (status.ok()) metrics.on_tenant_steps(tenant, steps * response.step_index_size());
    done(status);
  };
  auto responder =
      std::make_unique<StepResponder>(response, request.request_id(), memory.another(), std::move(counted));
  if (request.has_action()) {
    work->sink = std::make_shared<TaskResponder>(response, std::move(responder));
  } else {
    work->sink = std::move(responder);
  }
  auto job = std::make_unique<schedule::Job>();
  job->call = call;
  schedule::name_caller(tenant, job->call);
  job->batch = *std::move(batch);
  job->work = *std::move(work);
  return parts.batcher.submit(std::move(job));
}

}  // namespace axion::server::rpc
