// Batches: create, get, list, delete, keep alive.
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/rpc/options_conversion.hpp"
#include "server/rpc/page_bytes.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/request_hash.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/task_conversion.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/steady_time.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

constexpr absl::Duration kDefaultIdleTtl = absl::Hours(1);
constexpr std::size_t kMaxRequestId = 128;
constexpr absl::Duration kMaxIdleTtl = absl::Hours(24 * 365);

absl::StatusOr<absl::Duration> idle_ttl_of(const v1::CreateBatchRequest& request) {
  if (!request.has_idle_ttl()) return kDefaultIdleTtl;
  const auto& wire = request.idle_ttl();
  const absl::Duration ttl = absl::Seconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  if (ttl <= absl::ZeroDuration() || ttl > kMaxIdleTtl) {
    return invalid_field("idle_ttl", absl::StrCat("is ", absl::FormatDuration(ttl), "; it must be above 0 and at most ",
                                                  absl::FormatDuration(kMaxIdleTtl)));
  }
  return ttl;
}

absl::StatusOr<absl::Duration> stream_ttl_of(const v1::CreateBatchRequest& request) {
  if (!request.has_stream_ttl()) return absl::InfiniteDuration();
  const auto& wire = request.stream_ttl();
  const absl::Duration ttl = absl::Seconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  if (ttl < absl::ZeroDuration() || ttl > kMaxIdleTtl) {
    return invalid_field("stream_ttl", absl::StrCat("is ", absl::FormatDuration(ttl), "; it must be from 0 to ",
                                                    absl::FormatDuration(kMaxIdleTtl)));
  }
  return ttl;
}

// As numbers of a scene; what is added must be finite in float32, too.
constexpr double kMaxNoise = 1e9;

absl::StatusOr<schedule::InitialNoise> noise_of(const v1::CreateBatchRequest& request) {
  const schedule::InitialNoise noise{request.initial_noise().joint_position(),
                                     request.initial_noise().joint_velocity()};
  for (const auto& [field, value] : {std::pair{"initial_noise.joint_position", noise.joint_position},
                                     std::pair{"initial_noise.joint_velocity", noise.joint_velocity}}) {
    if (!(value >= 0 && value <= kMaxNoise)) {
      return invalid_field(field, absl::StrCat("is ", value, "; it must be from 0 to ", kMaxNoise));
    }
  }
  return noise;
}

}  // namespace

void SimulationService::fill_batch(const schedule::BatchHandle& batch, v1::Batch& message) const {
  const schedule::BatchInfo& info = batch.info;
  message.set_name(info.name);
  message.set_model(info.model_name);
  message.set_world_count(info.world_count);
  message.set_dt(info.dt);
  fill_options(info.options, *message.mutable_options());
  message.set_device(info.device);
  message.set_server_address(parts_.advertise_address);
  message.set_memory_bytes(info.memory_bytes);
  fill_duration(info.idle_ttl, *message.mutable_idle_ttl());
  if (info.stream_ttl < absl::InfiniteDuration()) fill_duration(info.stream_ttl, *message.mutable_stream_ttl());
  fill_time(info.create_time, *message.mutable_create_time());
  fill_time(schedule::wall_time(parts_.registry.expire_time(batch)), *message.mutable_expire_time());
  fill_batch_fields(info, message);
  message.set_seed(info.seed);
  message.set_incarnation(info.incarnation);
  if (info.task != nullptr) fill_task_info(info, *message.mutable_task());
  if (info.noise.present()) {
    message.mutable_initial_noise()->set_joint_position(info.noise.joint_position);
    message.mutable_initial_noise()->set_joint_velocity(info.noise.joint_velocity);
  }
}

absl::StatusOr<SimulationService::Work> SimulationService::prepare_batch(UnaryCall& call,
                                                                         const v1::CreateBatchRequest& request,
                                                                         v1::Batch& response) {
  const schedule::Tenant tenant = call.tenant();
  if (request.request_id().size() > kMaxRequestId) {
    return invalid_field("request_id",
                         absl::StrCat("has ", request.request_id().size(), " bytes; at most ", kMaxRequestId));
  }
  const auto record = parts_.registry.find_model(tenant, "model", request.model());
  if (!record.ok()) return record.status();
  if (request.world_count() < 1) {
    return invalid_field("world_count", absl::StrCat("is ", request.world_count(), "; it must be at least 1"));
  }
  const double dt = request.has_dt() ? request.dt() : (*record)->model->info().timestep;
  if (!std::isfinite(dt) || dt <= 0) {
    return invalid_field("dt", absl::StrCat("is ", dt, "; it must be finite and above 0"));
  }
  const auto options = to_options(request.options());
  if (!options.ok()) return options.status();
  const auto ttl = idle_ttl_of(request);
  if (!ttl.ok()) return ttl.status();
  const auto stream_ttl = stream_ttl_of(request);
  if (!stream_ttl.ok()) return stream_ttl.status();
  const auto noise = noise_of(request);
  if (!noise.ok()) return noise.status();
  auto overrides = to_overrides(request.overrides(), (*record)->model->info(), request.world_count());
  if (!overrides.ok()) return overrides.status();
  auto reservation = parts_.registry.reserve_worlds(tenant, request.world_count());
  if (!reservation.ok()) return reservation.status();

  auto handle = std::make_shared<schedule::BatchHandle>();
  handle->reservation = *std::move(reservation);
  handle->memory = memory(tenant);
  handle->kept = memory(tenant);
  schedule::BatchInfo& info = handle->info;
  info.tenant = tenant.name;
  info.model_name = (*record)->name;
  info.model = (*record)->model;
  info.world_count = request.world_count();
  info.dt = dt;
  info.options = *options;
  info.idle_ttl = *ttl;
  info.stream_ttl = *stream_ttl;
  info.noise = *noise;
  info.seed = request.seed();
  info.request_id = request.request_id();
  info.request_hash = request_hash(request);
  if (request.has_task()) {
    if (absl::Status status = set_task(request.task(), parts_.limits.max_steps_per_request, info); !status.ok()) {
      return status;
    }
    if (!info.task->draw.empty() && !overrides->parameters.empty()) {
      return invalid_field("overrides.parameters", "are given, but the task draws numbers as episodes begin");
    }
  }
  const auto spec = std::make_shared<const BatchOverrides>(*overrides);
  // Which all passes refer to lives as long as this one.
  Work work{schedule::whole([handle, spec](Engine& engine) { return schedule::make_worlds(engine, *handle, *spec); })};
  for (schedule::Pass& pass : schedule::start_passes(handle, *spec)) work.push_back(std::move(pass));
  work.push_back(listing_of(call, handle, response));
  return work;
}

schedule::Pass SimulationService::listing_of(UnaryCall& call, std::shared_ptr<schedule::BatchHandle> handle,
                                             v1::Batch& response) {
  const auto told = std::make_shared<std::string>();  // of which batch this call is answered with
  call.when_lost([this, tenant = call.tenant(), told] {
    if (!told->empty()) discard_batch(tenant, *told);
  });
  return schedule::whole([this, handle = std::move(handle), tenant = call.tenant(), told, &response](Engine&) {
    // Another call with this id may have made it meanwhile.
    const auto made = created_before(tenant, handle->info.request_id, handle->info.request_hash);
    if (!made.ok()) return made.status();
    if (*made == nullptr) {
      if (absl::Status status = parts_.registry.add_batch(handle, parts_.batcher.now()); !status.ok()) return status;
    }
    const schedule::BatchHandle& batch = *made == nullptr ? *handle : **made;
    *told = batch.info.name;
    fill_batch(batch, response);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::shared_ptr<schedule::BatchHandle>> SimulationService::created_before(const schedule::Tenant& tenant,
                                                                                         const std::string& request_id,
                                                                                         std::uint64_t hash) const {
  if (request_id.empty()) return std::shared_ptr<schedule::BatchHandle>();
  return parts_.registry.created_by(tenant, request_id, hash, parts_.batcher.now());
}

absl::StatusOr<bool> SimulationService::made_before(UnaryCall& call, const ChangeId& id, v1::Batch& response) {
  const auto made = created_before(call.tenant(), id.request_id, id.hash);
  if (!made.ok()) return made.status();
  if (*made == nullptr) return false;
  call.when_lost([this, tenant = call.tenant(), name = (*made)->info.name] { discard_batch(tenant, name); });
  fill_batch(**made, response);
  return true;
}

void SimulationService::CreateBatch(UnaryCall* call, const v1::CreateBatchRequest* request, v1::Batch* response) {
  const auto made = made_before(*call, {request->request_id(), request_hash(*request)}, *response);
  if (!made.ok() || *made) return call->finish(made.status());
  auto work = prepare_batch(*call, *request, *response);
  if (work.ok()) {
    on_device(call, nullptr, schedule::Effect::kChanges, *std::move(work));
  } else {
    call->finish(work.status());
  }
}

schedule::Pass SimulationService::end_of(const std::shared_ptr<schedule::BatchHandle>& batch) {
  return schedule::whole([this, batch](Engine&) {
    parts_.registry.remove_batch(*batch);
    batch->engine.reset();
    batch->reservation = {};
    batch->memory = {};
    return absl::OkStatus();
  });
}

void SimulationService::discard_batch(const schedule::Tenant& tenant, const std::string& name) {
  auto batch = parts_.registry.unheard(tenant, name);
  if (batch == nullptr) return;  // a repetition of its request was answered with it, or it is gone
  auto job = std::make_unique<schedule::Job>();
  job->batch = std::move(batch);
  job->work = schedule::DeviceWork{
      .effect = schedule::Effect::kEndsBatch, .passes = {end_of(job->batch)}, .finish = [](const absl::Status&) {}};
  parts_.batcher.submit(std::move(job)).IgnoreError();  // while the server drains, its lease ends it
}

void SimulationService::GetBatch(UnaryCall* call, const v1::GetBatchRequest* request, v1::Batch* response) {
  const auto batch = parts_.registry.find_batch(call->tenant(), "name", request->name());
  if (batch.ok()) fill_batch(**batch, *response);
  call->finish(batch.status());
}

void SimulationService::ListBatches(UnaryCall* call, const v1::ListBatchesRequest* request,
                                    v1::ListBatchesResponse* response) {
  const auto page = parts_.registry.list_batches(call->tenant(), request->page_size(), request->page_token());
  if (page.ok()) {
    fill_page(*page, parts_.limits, *response->mutable_batches(), *response->mutable_next_page_token(),
              [this](const schedule::BatchHandle& batch, v1::Batch& message) {
                fill_batch(batch, message);
                return absl::string_view(batch.info.name);
              });
  }
  call->finish(page.status());
}

void SimulationService::DeleteBatch(UnaryCall* call, const v1::DeleteBatchRequest* request, google::protobuf::Empty*) {
  auto batch = parts_.registry.find_batch(call->tenant(), "name", request->name());
  if (!batch.ok()) {
    call->finish(batch.status());
    return;
  }
  // Steps that are under way or wait end with ABORTED; what comes after it finds no batch.
  auto job = std::make_unique<schedule::Job>();
  job->call = call->call();
  job->batch = *std::move(batch);
  const auto finish = [this, call, batch = job->batch](const absl::Status& status) {
    if (!status.ok()) return call->finish(status);
    finish_when_forgotten(call, [this, tenant = batch->info.tenant, name = batch->info.name] {
      parts_.checkpoints->forget_batch(tenant, name);
    });
  };
  job->work =
      schedule::DeviceWork{.effect = schedule::Effect::kEndsBatch, .passes = {end_of(job->batch)}, .finish = finish};
  if (const absl::Status status = parts_.batcher.submit(std::move(job)); !status.ok()) call->finish(status);
}

void SimulationService::finish_when_forgotten(UnaryCall* call, std::function<void()> forget) {
  if (parts_.checkpoints == nullptr) return call->finish(absl::OkStatus());
  const absl::Status status = parts_.disk.submit({}, [call, forget = std::move(forget)](const absl::Status&) {
    forget();
    call->finish(absl::OkStatus());
  });
  // Where the server drains or the disk has much to do, the next checkpoint forgets it.
  if (!status.ok()) call->finish(absl::OkStatus());
}

void SimulationService::KeepAlive(UnaryCall* call, const v1::KeepAliveRequest* request,
                                  v1::KeepAliveResponse* response) {
  const auto batch = parts_.registry.use_batch(call->tenant(), "name", request->name(), parts_.batcher.now());
  if (batch.ok()) {
    fill_time(schedule::wall_time(parts_.registry.expire_time(**batch)), *response->mutable_expire_time());
  }
  call->finish(batch.status());
}

}  // namespace axion::server::rpc
