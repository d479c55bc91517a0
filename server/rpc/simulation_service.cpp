#include "server/rpc/simulation_service.hpp"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/scene_parts.hpp"
#include "server/rpc/step_exchange.hpp"
#include "server/rpc/step_stream.hpp"
#include "server/rpc/watch_stream.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

namespace {

constexpr std::size_t kManyItems = 256;
constexpr std::int64_t kManyBytes = 1 << 20;

}  // namespace

SimulationService::SimulationService(const ServiceParts& parts) : parts_(parts), start_time_(absl::Now()) {}

void SimulationService::begin_drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  // Under the mutex, so that no stream is deleted meanwhile; a stream's drain takes no lock of the service.
  for (StepStreamReactor* stream : streams_) stream->drain();
  for (WatchReactor* watch : watches_) watch->drain();
}

void SimulationService::forget(StepStreamReactor* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
  if (!stream->tenant()) return;
  const auto counted = streams_of_.find(*stream->tenant());
  if (--counted->second == 0) streams_of_.erase(counted);
}

void SimulationService::on_device(UnaryCall* call, std::shared_ptr<schedule::BatchHandle> batch,
                                  schedule::Effect effect, Work work) {
  // The device does not wait for a long answer: one of many items, or with much memory held for it.
  const bool is_long =
      call->memory().bytes() > kManyBytes ||
      std::any_of(work.begin(), work.end(), [](const schedule::Pass& pass) { return pass.count > kManyItems; });
  if (effect == schedule::Effect::kReads && is_long) {
    const auto write = [call](Engine&, std::size_t, std::size_t) { return call->write(); };
    work.push_back({.count = 1, .run = write, .beside = true});
  }
  auto job = std::make_unique<schedule::Job>();
  job->call = call->call();
  job->batch = std::move(batch);
  job->work = schedule::DeviceWork{.effect = effect,
                                   .ends_with_batch = effect == schedule::Effect::kReads,
                                   .passes = std::move(work),
                                   .finish = [call](const absl::Status& status) { call->finish(status); }};
  if (const absl::Status status = parts_.batcher.submit(std::move(job)); !status.ok()) call->finish(status);
}

void SimulationService::on_worker(schedule::Worker& worker, UnaryCall* call,
                                  std::function<std::optional<absl::Status>()> work) {
  const auto task = [this, &worker, call, work = std::move(work)](const absl::Status& turn) {
    if (!turn.ok()) return call->finish(turn);
    std::optional<absl::Status> status;
    const absl::Status run = schedule::guarded([&] {
      status = work();
      return absl::OkStatus();
    });
    if (!run.ok()) status = run;
    if (status && absl::IsCancelled(*status)) {
      const absl::Status why = schedule::abandoned(call->call(), parts_.batcher.now());
      if (!why.ok()) status = why;
    }
    if (!status) return;
    // What comes to be after the last checkpoint is lost.
    call->finish(worker.gave_up() ? schedule::draining() : *status);
  };
  if (const absl::Status status = worker.submit(call->call(), task); !status.ok()) call->finish(status);
}

void SimulationService::with_batch(UnaryCall* call, const std::string& name, schedule::Effect effect,
                                   const Prepare& prepare) {
  auto batch = parts_.registry.use_batch(call->tenant(), "batch", name, parts_.batcher.now());
  if (!batch.ok()) return call->finish(batch.status());
  auto work = prepare(*batch);
  if (!work.ok()) return call->finish(work.status());
  on_device(call, *std::move(batch), effect, *std::move(work));
}

void SimulationService::Step(UnaryCall* call, const v1::StepRequest* request, v1::StepResponse* response) {
  const absl::Status status = submit_step(*request, *response, call->tenant(), call->call(), call->memory(), parts_,
                                          [call](const absl::Status& outcome) { call->finish(outcome); });
  if (!status.ok()) call->finish(status);
}

WireStream* SimulationService::StepStream(grpc::CallbackServerContext* context) {
  auto caller = parts_.admission.admit(*context, "StepStream");
  absl::MutexLock lock(&mutex_);
  if (caller.ok()) {
    if (absl::Status status = count_stream(caller->tenant->name); !status.ok()) caller = std::move(status);
  }
  auto* stream = new StepStreamReactor(*this, *context, std::move(caller));
  streams_.insert(stream);
  stream->start();
  if (draining_) stream->drain();
  return stream;
}

WatchStream* SimulationService::Watch(grpc::CallbackServerContext* context, grpc::ByteBuffer& request) {
  auto* watch = new WatchReactor(*this, *context);
  bool drains = false;
  {
    absl::MutexLock lock(&mutex_);
    watches_.insert(watch);
    parts_.metrics.on_watches(watches_.size());
    drains = draining_;
  }
  watch->start(request);
  if (drains) watch->drain();
  return watch;
}

void SimulationService::forget(WatchReactor* watch) {
  absl::MutexLock lock(&mutex_);
  watches_.erase(watch);
  parts_.metrics.on_watches(watches_.size());
  if (!watch->tenant()) return;
  const auto counted = watches_of_.find(*watch->tenant());
  if (--counted->second == 0) watches_of_.erase(counted);
}

std::int64_t SimulationService::watch_count() {
  absl::MutexLock lock(&mutex_);
  return static_cast<std::int64_t>(watches_.size());
}

absl::Status SimulationService::count_stream(const std::string& tenant) {
  if (const auto counted = streams_of_.find(tenant); counted == streams_of_.end()) {
    streams_of_.emplace(tenant, 1);
  } else if (counted->second < parts_.limits.max_streams) {
    ++counted->second;
  } else {
    return schedule::limit_reached(
        "max_streams", absl::StrCat("the limit of ", parts_.limits.max_streams, " streams of StepStream is reached"));
  }
  return absl::OkStatus();
}

absl::Status SimulationService::count_watch(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  std::int64_t& count = watches_of_[tenant];
  ++count;  // forget() takes it back, refused or not
  if (count <= parts_.limits.max_watches) return absl::OkStatus();
  return schedule::limit_reached(
      "max_watches", absl::StrCat("the limit of ", parts_.limits.max_watches, " streams of Watch is reached"));
}

void SimulationService::GetServerInfo(UnaryCall* call, const v1::GetServerInfoRequest*, v1::ServerInfo* response) {
  response->set_version(parts_.build.version);
  response->set_revision(parts_.build.revision);
  for (const std::string& backend : parts_.build.backends) response->add_compiled_backends(backend);
  const DeviceInfo device = parts_.batcher.device();
  auto& out = *response->add_devices();
  out.set_kind(device.kind);
  out.set_id(device.id);
  out.set_name(device.name);
  out.set_memory_total_bytes(device.memory_total_bytes);
  out.set_memory_used_bytes(device.memory_used_bytes);
  out.set_threads(device.threads);
  const schedule::Tenant& tenant = call->tenant();
  response->set_tenant(tenant.name);
  const schedule::Limits& limits = parts_.limits;
  auto& wire = *response->mutable_limits();
  wire.set_max_message_bytes(limits.max_message_bytes);
  const auto least = [](std::int64_t limit, std::int64_t quota) { return quota > 0 ? std::min(limit, quota) : limit; };
  wire.set_max_worlds(least(limits.max_worlds, tenant.quota.max_worlds));
  wire.set_max_models(least(limits.max_models, tenant.quota.max_models));
  wire.set_max_queue(least(limits.max_queue, tenant.quota.max_queue));
  wire.set_max_steps_per_request(limits.max_steps_per_request);
  wire.set_max_stream_in_flight(limits.max_stream_in_flight);
  wire.set_max_watches(limits.max_watches);
  wire.set_max_streams(limits.max_streams);
  wire.set_max_batches(tenant.quota.max_batches);
  const schedule::ResourceCounts counts = parts_.registry.counts(tenant);
  response->set_world_count(counts.worlds);
  response->set_batch_count(counts.batches);
  response->set_model_count(counts.models);
  for (const char* feature : {"mjcf", "urdf", "scene_spec", "step_stream", "initial_noise", "contacts", "solver_stats",
                              "snapshot", "watch"}) {
    response->add_features(feature);
  }
  response->add_features("batch_snapshot");
  response->add_features("task");
  response->add_features("assets");
  response->add_features("linearize");
  response->add_features("step_gradient");
  if (parts_.store != nullptr) response->add_features("snapshot_store");
  fill_time(start_time_, *response->mutable_start_time());
  call->finish(absl::OkStatus());
}

}  // namespace axion::server::rpc
