// Snapshots: save, restore, list, delete.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "engine/base/utf8.hpp"

#include "server/rpc/batch_snapshot.hpp"
#include "server/rpc/page_bytes.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/request_hash.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/step_exchange.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/resource_ids.hpp"
#include "server/schedule/step_rules.hpp"
#include "server/schedule/world_work.hpp"
#include "server/store/store.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

constexpr std::size_t kMaxDisplayName = 128;
constexpr int kDefaultPageSize = 50, kMaxPageSize = 1000;
constexpr std::uint64_t kMostSnapshots = std::uint64_t{1} << 40;  // more than a store ever counts

// A refusal of the store, as clients are told.
absl::Status from_store(absl::string_view field, const absl::Status& status) {
  if (status.ok()) return status;
  schedule::FailureDetails details{.reason = std::string(schedule::reason::kInternal), .field = std::string(field)};
  std::string message = absl::StrCat(field, field.empty() ? "" : ": ", status.message());
  if (status.code() == absl::StatusCode::kResourceExhausted) {
    details = {.reason = std::string(schedule::reason::kDiskFull), .field = "", .quota_subject = "state_dir"};
    message = absl::StrCat("state_dir: the server's disk has no room for this (", status.message(),
                           "); what was saved before is kept");
  } else if (status.code() == absl::StatusCode::kNotFound) {
    details.reason = std::string(schedule::reason::kNotFound);
  } else if (status.code() == absl::StatusCode::kDataLoss) {
    details.reason = std::string(schedule::reason::kDamaged);
  }
  return schedule::make_failure(status.code(), message, details);
}

absl::Status no_store() {
  return schedule::make_failure(absl::StatusCode::kFailedPrecondition,
                                "this server keeps nothing (it has no --state_dir); ask for the snapshot's bytes with "
                                "return_content and skip_store",
                                {.reason = std::string(schedule::reason::kNoStore)});
}

// For a refusal of bytes or of a kept snapshot, which names the field that brought it.
absl::Status with_field(absl::string_view field, const absl::Status& status) {
  schedule::FailureDetails details = schedule::details_of(status);
  if (!details.field.empty() || !details.quota_subject.empty()) return status;
  details.field = std::string(field);
  return schedule::make_failure(status.code(), absl::StrCat(field, ": ", status.message()), details);
}

// One that is kept, read where its memory is held.
absl::StatusOr<store::Item> read_item(const store::Store& store, const std::string& tenant, const std::string& name,
                                      schedule::MemoryHold& memory) {
  const auto size = store.size_of(store::Kind::kSnapshot, tenant, name);
  if (size.ok()) {
    if (absl::Status fits = memory.grow(2 * *size, "the snapshot"); !fits.ok()) return fits;
  }
  auto item = store.get(store::Kind::kSnapshot, tenant, name);
  if (item.status().code() == absl::StatusCode::kNotFound) return schedule::not_found("snapshot", name);
  if (!item.ok()) return from_store("snapshot", item.status());
  return item;
}

v1::Snapshot describe(const SavedBatch& saved, const std::string& display_name, std::span<const std::string> parts,
                      absl::Time now) {
  v1::Snapshot snapshot;
  snapshot.set_display_name(display_name);
  snapshot.set_batch(saved.head.batch_name());
  snapshot.set_model(saved.head.model_name());
  snapshot.set_world_count(saved.head.world_count());
  snapshot.set_dt(saved.head.dt());
  snapshot.set_min_step_index(saved.min_step_index);
  snapshot.set_max_step_index(saved.max_step_index);
  std::int64_t bytes = 0;
  for (const std::string& part : parts) bytes += static_cast<std::int64_t>(part.size());
  snapshot.set_size_bytes(bytes);
  snapshot.set_schema_version(kSnapshotSchemaVersion);
  fill_time(now, *snapshot.mutable_create_time());
  return snapshot;
}

absl::Status add_content(std::span<const std::string> parts, const schedule::Limits& limits, v1::Snapshot& response) {
  const double bytes = static_cast<double>(response.size_bytes()) + 4096;
  if (absl::Status fits = check_answer_bytes(bytes, limits); !fits.ok()) return fits;
  response.set_content(to_content(parts));
  return absl::OkStatus();
}

}  // namespace

void SimulationService::SaveSnapshot(UnaryCall* call, const v1::SaveSnapshotRequest* request, v1::Snapshot* response) {
  if (request->skip_store() && !request->return_content()) {
    return call->finish(invalid_field("skip_store", "is set without return_content: nothing would come of it"));
  }
  if (request->display_name().size() > kMaxDisplayName) {
    return call->finish(invalid_field(
        "display_name", absl::StrCat("has ", request->display_name().size(), " bytes; at most ", kMaxDisplayName)));
  }
  if (!is_printable(request->display_name())) {
    return call->finish(invalid_field("display_name", "must be text without control characters"));
  }
  if (absl::Status id = check_request_id(request->request_id()); !id.ok()) return call->finish(id);
  if (parts_.store == nullptr && !request->skip_store()) return call->finish(no_store());
  if (request->request_id().empty() || request->skip_store()) {
    if (const auto refused = save_worlds(call, request, response)) call->finish(*refused);
    return;
  }
  on_worker(parts_.disk, call, [this, call, request, response]() -> std::optional<absl::Status> {
    const auto kept = kept_before(call->tenant(), *request, call->memory(), *response);
    if (!kept.ok() || *kept) return kept.status();
    return save_worlds(call, request, response);
  });
}

std::optional<absl::Status> SimulationService::save_worlds(UnaryCall* call, const v1::SaveSnapshotRequest* request,
                                                           v1::Snapshot* response) {
  auto batch = parts_.registry.use_batch(call->tenant(), "batch", request->batch(), parts_.batcher.now());
  if (!batch.ok()) return batch.status();
  auto model = parts_.registry.find_model(call->tenant(), "batch", (*batch)->info.model_name);
  if (!model.ok()) return model.status();

  // The worlds, the parts that they become, and the content.
  const std::int64_t copies = request->return_content() ? 4 : 2;
  if (absl::Status fits = call->memory().grow(copies * (*batch)->info.memory_bytes, "the snapshot"); !fits.ok()) {
    return fits;
  }
  auto job = std::make_unique<schedule::Job>();
  job->call = call->call();
  job->batch = *std::move(batch);
  const auto saved = std::make_shared<SavedBatch>();
  Work work{schedule::whole([call, copies, handle = job->batch](Engine&) {
    // Answers that it remembers are part of it.
    const auto answers = static_cast<std::int64_t>(handle->replays.bytes());
    return call->memory().grow(copies * answers, "the snapshot");
  })};
  for (schedule::Pass& pass : save_passes(job->batch, saved)) work.push_back(std::move(pass));
  // The device's thread reads; the disk is waited for elsewhere.
  const auto finish = [this, call, request, response, model = *std::move(model), saved](const absl::Status& read) {
    if (!read.ok()) return call->finish(read);
    on_worker(parts_.disk, call, [this, call, request, response, model, saved] {
      *saved->head.mutable_model() = to_stored(*model);
      return keep_snapshot(call->tenant(), *request, std::move(*saved), call->memory(), *response);
    });
  };
  job->work = schedule::DeviceWork{.effect = schedule::Effect::kReads, .passes = std::move(work), .finish = finish};
  if (absl::Status status = parts_.batcher.submit(std::move(job)); !status.ok()) return status;
  return std::nullopt;
}

absl::StatusOr<bool> SimulationService::kept_before(const schedule::Tenant& tenant,
                                                    const v1::SaveSnapshotRequest& request,
                                                    schedule::MemoryHold& memory, v1::Snapshot& response) {
  const auto item = read_item(*parts_.store, tenant.name, snapshot_name(tenant, request.request_id()), memory);
  if (absl::IsNotFound(item.status())) return false;
  if (!item.ok()) return item.status();
  if (!response.ParseFromString(item->summary) || response.batch() != request.batch() ||
      response.display_name() != request.display_name()) {
    return schedule::check_same_request(request.request_id(), 1, 2);
  }
  if (!request.return_content()) return true;
  absl::Status fits = add_content(item->parts, parts_.limits, response);
  return fits.ok() ? absl::StatusOr<bool>(true) : fits;
}

absl::Status SimulationService::keep_snapshot(const schedule::Tenant& tenant, const v1::SaveSnapshotRequest& request,
                                              SavedBatch saved, schedule::MemoryHold& memory, v1::Snapshot& response) {
  store::Item item{.kind = store::Kind::kSnapshot,
                   .name = "",
                   .tenant = tenant.name,
                   .create_time = absl::Now(),
                   .summary = "",
                   .parts = to_parts(saved)};
  response = describe(saved, request.display_name(), item.parts, item.create_time);
  saved = {};
  if (request.return_content()) {
    if (absl::Status fits = add_content(item.parts, parts_.limits, response); !fits.ok()) return fits;
  }
  if (request.skip_store()) return absl::OkStatus();
  item.name = snapshot_name(tenant, request.request_id());
  v1::Snapshot summary = response;
  summary.clear_content();
  summary.set_name(item.name);
  item.summary = summary.SerializeAsString();
  const std::int64_t quota = tenant.quota.max_snapshot_bytes;
  const absl::Status status = parts_.store->put(item, quota, /*only_new=*/true);
  if (absl::IsAlreadyExists(status)) {  // since a moment ago
    const auto kept = kept_before(tenant, request, memory, response);
    return kept.ok() && !*kept ? from_store("", status) : kept.status();
  }
  if (status.code() == absl::StatusCode::kOutOfRange) {
    return schedule::limit_reached("max_snapshot_bytes",
                                   absl::StrCat("max_snapshot_bytes: the snapshot would take ", status.message(),
                                                ", past its quota ", quota, "; delete one first"));
  }
  if (!status.ok()) return from_store("", status);
  response.set_name(item.name);
  return absl::OkStatus();
}

std::string SimulationService::snapshot_name(const schedule::Tenant& tenant, const std::string& request_id) {
  const schedule::ResourceIds ids("snapshots", parts_.store->key());
  if (!request_id.empty()) {
    // By its id it is found again: in the store, as long as it is there. Above all that runs count.
    constexpr std::uint64_t kNamedById = std::uint64_t{1} << 63;
    const std::string digest = store::checksum(absl::StrCat(tenant.name, "\n", request_id));
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, digest.data(), sizeof(sequence));
    return ids.name_of(sequence | kNamedById);
  }
  absl::MutexLock lock(&mutex_);
  return ids.name_of(schedule::first_sequence(parts_.store->run()) + next_snapshot_++);
}

absl::StatusOr<SavedBatch> SimulationService::find_snapshot(const schedule::Tenant& tenant,
                                                            const v1::RestoreSnapshotRequest& request,
                                                            schedule::MemoryHold& memory) const {
  schedule::MemoryHold reading = memory.another();  // what is not kept
  switch (request.source_case()) {
    case v1::RestoreSnapshotRequest::kContent: {
      const auto size = static_cast<std::int64_t>(request.content().size());
      if (absl::Status fits = reading.grow(size, "the snapshot"); !fits.ok()) return fits;
      auto parts = parts_of_content(request.content());
      if (!parts.ok()) return with_field("content", parts.status());
      auto saved = of_parts(*parts, memory);
      return saved.ok() ? std::move(saved) : with_field("content", saved.status());
    }
    case v1::RestoreSnapshotRequest::kSnapshot: {
      if (parts_.store == nullptr) return no_store();
      const auto item = read_item(*parts_.store, tenant.name, request.snapshot(), reading);
      if (!item.ok()) return item.status();
      auto saved = of_parts(item->parts, memory);
      return saved.ok() ? std::move(saved) : with_field("snapshot", saved.status());
    }
    case v1::RestoreSnapshotRequest::SOURCE_NOT_SET:
      break;
  }
  return invalid_field("source", "is absent; give snapshot or content");
}

void SimulationService::RestoreSnapshot(UnaryCall* call, const v1::RestoreSnapshotRequest* request,
                                        v1::Batch* response) {
  if (absl::Status id = check_request_id(request->request_id()); !id.ok()) return call->finish(id);
  // Where scenes are compiled, since one may have to be.
  on_worker(parts_.compiler, call, [this, call, request, response]() -> std::optional<absl::Status> {
    const ChangeId id{request->request_id(), request_hash(*request)};
    if (request->batch().empty()) {
      const auto made = made_before(*call, id, *response);
      if (!made.ok() || *made) return made.status();
    }
    auto found = find_snapshot(call->tenant(), *request, call->memory());
    if (!found.ok()) return found.status();
    const auto saved = std::make_shared<const SavedBatch>(*std::move(found));
    return request->batch().empty()
               ? restore_into_new(call, saved, id, request->has_content() ? "content" : "snapshot", response)
               : restore_into(call, saved, id, *request, response);
  });
}

std::optional<absl::Status> SimulationService::restore_into(UnaryCall* call,
                                                            const std::shared_ptr<const SavedBatch>& saved,
                                                            const ChangeId& id,
                                                            const v1::RestoreSnapshotRequest& request,
                                                            v1::Batch* response) {
  auto batch = parts_.registry.use_batch(call->tenant(), "batch", request.batch(), parts_.batcher.now());
  if (!batch.ok()) return batch.status();
  const int worlds = (*batch)->info.world_count;
  if (saved->head.world_count() != worlds) {
    return invalid_field("batch", absl::StrCat("\"", request.batch(), "\" has ", worlds, " worlds and the snapshot ",
                                               saved->head.world_count()));
  }
  const char* field = request.has_content() ? "content" : "snapshot";
  const auto replays = std::make_shared<schedule::ReplayCache>();
  Work work{schedule::whole([this, saved, field, replays, tenant = call->tenant()](Engine&) {
    auto read = replays_of(saved->head, memory(tenant));
    if (!read.ok()) return with_field(field, read.status());
    *replays = *std::move(read);
    return absl::OkStatus();
  })};
  for (schedule::Pass& pass : restore_passes(*batch, saved, field)) work.push_back(std::move(pass));
  work.push_back(schedule::whole([handle = *batch, replays](Engine&) {
    handle->replays.put_older(std::move(*replays));
    schedule::count_replays(*handle);
    return absl::OkStatus();
  }));
  work = made_once(*batch, id, call->memory().another(), nullptr, std::move(work));
  work.push_back(schedule::whole([this, handle = *batch, response](Engine&) {
    fill_batch(*handle, *response);
    return absl::OkStatus();
  }));
  on_device(call, *std::move(batch), schedule::Effect::kChanges, std::move(work));
  return std::nullopt;
}

std::optional<absl::Status> SimulationService::restore_into_new(UnaryCall* call,
                                                                const std::shared_ptr<const SavedBatch>& saved,
                                                                const ChangeId& id, const char* field,
                                                                v1::Batch* response) {
  auto scene = of_stored(saved->head.model(), call->memory());
  if (!scene.ok()) return with_field(field, scene.status());
  auto model = find_or_compile(call->tenant(), std::move(scene->content), scene->scene, field);
  if (!model.ok()) return model.status();
  // A restore that is refused leaves no model behind.
  const auto refused = [this, tenant = call->tenant(), model = *model](const absl::Status& status) {
    if (model.is_new) parts_.registry.withdraw_model(tenant, model.record->name);
    return status;
  };
  auto handle = handle_of(saved->head, *model->record, call->tenant().name, memory(call->tenant()));
  if (!handle.ok()) return refused(with_field(field, handle.status()));
  auto reservation = parts_.registry.reserve_worlds(call->tenant(), saved->head.world_count());
  if (!reservation.ok()) return refused(reservation.status());
  (*handle)->reservation = *std::move(reservation);
  (*handle)->info.request_id = id.request_id;
  (*handle)->info.request_hash = id.hash;
  Work work = remake_passes(*handle, saved, field);
  work.push_back(listing_of(*call, *handle, *response));
  const auto finish = [call, refused](const absl::Status& status) {
    call->finish(status.ok() ? status : refused(status));
  };
  auto job = std::make_unique<schedule::Job>();
  job->call = call->call();
  job->work = schedule::DeviceWork{.passes = std::move(work), .finish = finish};
  if (const absl::Status status = parts_.batcher.submit(std::move(job)); !status.ok()) return refused(status);
  return std::nullopt;
}

void SimulationService::ListSnapshots(UnaryCall* call, const v1::ListSnapshotsRequest* request,
                                      v1::ListSnapshotsResponse* response) {
  if (parts_.store == nullptr) return call->finish(no_store());
  on_worker(parts_.disk, call,
            [this, call, request, response] { return list_snapshots(call->tenant(), *request, *response); });
}

absl::Status SimulationService::list_snapshots(const schedule::Tenant& tenant, const v1::ListSnapshotsRequest& request,
                                               v1::ListSnapshotsResponse& response) const {
  if (request.page_size() < 0) {
    return invalid_field("page_size", absl::StrCat("is ", request.page_size(), "; it must not be negative"));
  }
  const auto size = static_cast<std::size_t>(request.page_size() == 0 ? kDefaultPageSize
                                                                      : std::min(request.page_size(), kMaxPageSize));
  // A number that counts all tenants' snapshots, which a token must not tell.
  const schedule::ResourceIds tokens("pages", parts_.store->key());
  const std::optional<std::uint64_t> after =
      request.page_token().empty() ? 0 : tokens.sequence_of(request.page_token());
  if (!after || *after > kMostSnapshots) {
    return invalid_field("page_token",
                         absl::StrCat("\"", schedule::shown(request.page_token()), "\" was not given by this list"));
  }
  auto items = parts_.store->list(store::Kind::kSnapshot, &tenant.name, static_cast<std::int64_t>(*after), size + 1);
  if (!items.ok()) return from_store("", items.status());
  const bool more = items->size() > size;
  if (more) items->pop_back();
  for (const store::Item& item : *items) {
    // One that is damaged is listed by its name.
    if (v1::Snapshot& out = *response.add_snapshots(); !out.ParseFromString(item.summary)) out.set_name(item.name);
  }
  if (more) {
    response.set_next_page_token(tokens.name_of(static_cast<std::uint64_t>(items->back().sequence)));
  }
  return check_answer_bytes(static_cast<double>(response.ByteSizeLong()), parts_.limits);
}

void SimulationService::DeleteSnapshot(UnaryCall* call, const v1::DeleteSnapshotRequest* request,
                                       google::protobuf::Empty*) {
  if (parts_.store == nullptr) return call->finish(no_store());
  on_worker(parts_.disk, call, [this, call, request] {
    const absl::Status status = parts_.store->remove(store::Kind::kSnapshot, call->tenant().name, request->name());
    if (status.code() == absl::StatusCode::kNotFound) return schedule::not_found("name", request->name());
    return from_store("name", status);
  });
}

}  // namespace axion::server::rpc
