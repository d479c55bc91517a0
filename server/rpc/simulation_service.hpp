// The methods of the service axion.v1.Simulation; wire_service registers them with gRPC.
//
// Each method finishes its call once, now or later; request and answer live as long as the call. They only convert and
// submit: whatever touches a batch is a job for the device's owner, and scenes are compiled on a thread of their own.
// Everything given to the constructor outlives the service.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.pb.h"

#include "engine/import/mjcf.hpp"

#include "server/observe/metrics.hpp"
#include "server/rpc/admission.hpp"
#include "server/rpc/batch_snapshot.hpp"
#include "server/rpc/checkpoints.hpp"
#include "server/rpc/unary_call.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/memory_budget.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/resource_ids.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/worker.hpp"
#include "server/store/store.hpp"

namespace axion::server::rpc {

class StepStreamReactor;
class WatchReactor;

// What names a change that may be asked for again.
struct ChangeId {
  std::string request_id;  // empty: it is made as often as it is asked for
  std::uint64_t hash = 0;  // of what is asked for
};

struct ServiceParts {
  schedule::Registry& registry;
  schedule::StepBatcher& batcher;
  schedule::Worker& compiler;
  observe::Metrics& metrics;
  schedule::Limits limits;
  observe::BuildInfo build;
  const Admission& admission;
  std::shared_ptr<schedule::MemoryBudget> memory;
  std::string advertise_address;             // told with each batch; may be empty
  schedule::Worker& disk;                    // what waits for the disk
  store::Store* store = nullptr;             // none: nothing is kept
  Checkpoints* checkpoints = nullptr;        // with a store
  observe::TraceExporter* traces = nullptr;  // none: no call is traced
};

// What a stream reads and writes: messages as bytes, so that one that cannot be parsed is told from the end of the
// stream.
using WireStream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// What writes a stream of answers to one request.
using WatchStream = grpc::ServerWriteReactor<grpc::ByteBuffer>;
using UploadStream = grpc::ServerReadReactor<grpc::ByteBuffer>;

class SimulationService final {
 public:
  explicit SimulationService(const ServiceParts& parts);
  observe::Metrics& metrics() { return parts_.metrics; }
  observe::TraceExporter* traces() { return parts_.traces; }
  const Admission& admission() const { return parts_.admission; }
  std::int64_t memory_limit() const { return parts_.memory->limit(); }
  absl::Duration asset_idle_timeout() const { return parts_.limits.asset_idle_timeout; }
  void keep_assets(const schedule::Tenant& tenant, std::vector<schedule::Asset> assets);
  std::shared_ptr<const schedule::Asset> find_asset(const schedule::Tenant& tenant, const std::string& digest);
  schedule::MemoryHold memory() const { return schedule::MemoryHold(parts_.memory); }
  schedule::MemoryHold memory(const schedule::Tenant& tenant) const { return {parts_.memory, tenant}; }

  // Streams read nothing more and end, with UNAVAILABLE, after their pending answers.
  void begin_drain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Named as in the service's definition.
  // NOLINTBEGIN(readability-identifier-naming)
  void GetServerInfo(UnaryCall* call, const v1::GetServerInfoRequest* request, v1::ServerInfo* response);

  // model_methods.cpp
  void CreateModel(UnaryCall* call, const v1::CreateModelRequest* request, v1::Model* response);
  void GetModel(UnaryCall* call, const v1::GetModelRequest* request, v1::Model* response);
  void ListModels(UnaryCall* call, const v1::ListModelsRequest* request, v1::ListModelsResponse* response);
  void DeleteModel(UnaryCall* call, const v1::DeleteModelRequest* request, google::protobuf::Empty* response);
  UploadStream* UploadAssets(grpc::CallbackServerContext* context, grpc::ByteBuffer* answer);
  WatchStream* DownloadAsset(grpc::CallbackServerContext* context, grpc::ByteBuffer& request);

  // batch_methods.cpp
  void CreateBatch(UnaryCall* call, const v1::CreateBatchRequest* request, v1::Batch* response);
  void GetBatch(UnaryCall* call, const v1::GetBatchRequest* request, v1::Batch* response);
  void ListBatches(UnaryCall* call, const v1::ListBatchesRequest* request, v1::ListBatchesResponse* response);
  void DeleteBatch(UnaryCall* call, const v1::DeleteBatchRequest* request, google::protobuf::Empty* response);
  void KeepAlive(UnaryCall* call, const v1::KeepAliveRequest* request, v1::KeepAliveResponse* response);

  // snapshot_methods.cpp
  void SaveSnapshot(UnaryCall* call, const v1::SaveSnapshotRequest* request, v1::Snapshot* response);
  void RestoreSnapshot(UnaryCall* call, const v1::RestoreSnapshotRequest* request, v1::Batch* response);
  void ListSnapshots(UnaryCall* call, const v1::ListSnapshotsRequest* request, v1::ListSnapshotsResponse* response);
  void DeleteSnapshot(UnaryCall* call, const v1::DeleteSnapshotRequest* request, google::protobuf::Empty* response);

  // simulation_service.cpp
  void Step(UnaryCall* call, const v1::StepRequest* request, v1::StepResponse* response);
  WireStream* StepStream(grpc::CallbackServerContext* context);
  WatchStream* Watch(grpc::CallbackServerContext* context, grpc::ByteBuffer& request);

  // state_methods.cpp
  void Reset(UnaryCall* call, const v1::ResetRequest* request, v1::ResetResponse* response);
  void GetState(UnaryCall* call, const v1::GetStateRequest* request, v1::GetStateResponse* response);
  void SetState(UnaryCall* call, const v1::SetStateRequest* request, v1::SetStateResponse* response);
  void GetContacts(UnaryCall* call, const v1::GetContactsRequest* request, v1::GetContactsResponse* response);
  void GetSolverStats(UnaryCall* call, const v1::GetSolverStatsRequest* request, v1::GetSolverStatsResponse* response);
  void CastRays(UnaryCall* call, const v1::CastRaysRequest* request, v1::CastRaysResponse* response);
  void GetDistances(UnaryCall* call, const v1::GetDistancesRequest* request, v1::GetDistancesResponse* response);
  void GetDynamics(UnaryCall* call, const v1::GetDynamicsRequest* request, v1::GetDynamicsResponse* response);
  void Linearize(UnaryCall* call, const v1::LinearizeRequest* request, v1::LinearizeResponse* response);
  void StepGradient(UnaryCall* call, const v1::StepGradientRequest* request, v1::StepGradientResponse* response);
  // NOLINTEND(readability-identifier-naming)

 private:
  friend class StepStreamReactor;
  friend class WatchReactor;
  using Work = std::vector<schedule::Pass>;

  // Has `work` done at the device, and finishes the call with what comes of it.
  void on_device(UnaryCall* call, std::shared_ptr<schedule::BatchHandle> batch, schedule::Effect effect, Work work);
  // The same with the batch of that name, whose lease is renewed; `prepare` checks the request against it first.
  using Prepare = std::function<absl::StatusOr<Work>(const std::shared_ptr<schedule::BatchHandle>&)>;
  void with_batch(UnaryCall* call, const std::string& name, schedule::Effect effect, const Prepare& prepare);
  absl::Status create_model(const schedule::Tenant& tenant, const v1::CreateModelRequest& request, v1::Model& response);
  // The model of that content, compiled from `scene` where there is none yet. Errors name fields below `field`.
  struct FoundModel {
    std::shared_ptr<const schedule::ModelRecord> record;
    bool is_new;
  };
  absl::StatusOr<FoundModel> find_or_compile(const schedule::Tenant& tenant, schedule::ModelContent content,
                                             const model::SceneSpec& scene, const char* field);
  absl::Status get_model(const schedule::Tenant& tenant, const v1::GetModelRequest& request, v1::Model& response) const;
  // Meshes for the eye whose bytes a request carries, for viewers elsewhere, where there is memory.
  void keep_inline_visuals(const schedule::Tenant& tenant, const import::ImportedScene& imported,
                           const v1::CreateModelRequest& request, schedule::Assets& held);
  // What a CreateBatch or RestoreSnapshot with that request_id has made before; none if there is none, or no id.
  absl::StatusOr<std::shared_ptr<schedule::BatchHandle>> created_before(const schedule::Tenant& tenant,
                                                                        const std::string& request_id,
                                                                        std::uint64_t hash) const;
  // Whether there is that, and the call is answered with it.
  absl::StatusOr<bool> made_before(UnaryCall& call, const ChangeId& id, v1::Batch& response);
  // The last of the passes that make a batch: lists it, unless that has been made meanwhile, and answers the call.
  schedule::Pass listing_of(UnaryCall& call, std::shared_ptr<schedule::BatchHandle> handle, v1::Batch& response);
  absl::StatusOr<Work> prepare_batch(UnaryCall& call, const v1::CreateBatchRequest& request, v1::Batch& response);
  // Finishes the call of a deletion once no checkpoint has what was deleted.
  void finish_when_forgotten(UnaryCall* call, std::function<void()> forget);
  // Runs `work` on a thread of the worker, and finishes the call where it returns a status; it returns none where the
  // call goes on elsewhere.
  void on_worker(schedule::Worker& worker, UnaryCall* call, std::function<std::optional<absl::Status>()> work);
  // Nothing: the call goes on on the device.
  std::optional<absl::Status> save_worlds(UnaryCall* call, const v1::SaveSnapshotRequest* request,
                                          v1::Snapshot* response);
  absl::Status keep_snapshot(const schedule::Tenant& tenant, const v1::SaveSnapshotRequest& request, SavedBatch saved,
                             schedule::MemoryHold& memory, v1::Snapshot& response);
  // Whether a request with that request_id has kept one, which is the answer then.
  absl::StatusOr<bool> kept_before(const schedule::Tenant& tenant, const v1::SaveSnapshotRequest& request,
                                   schedule::MemoryHold& memory, v1::Snapshot& response);
  absl::StatusOr<SavedBatch> find_snapshot(const schedule::Tenant& tenant, const v1::RestoreSnapshotRequest& request,
                                           schedule::MemoryHold& memory) const;
  // Nothing: the call goes on on the device.
  std::optional<absl::Status> restore_into(UnaryCall* call, const std::shared_ptr<const SavedBatch>& saved,
                                           const ChangeId& id, const v1::RestoreSnapshotRequest& request,
                                           v1::Batch* response);
  std::optional<absl::Status> restore_into_new(UnaryCall* call, const std::shared_ptr<const SavedBatch>& saved,
                                               const ChangeId& id, const char* field, v1::Batch* response);
  absl::Status list_snapshots(const schedule::Tenant& tenant, const v1::ListSnapshotsRequest& request,
                              v1::ListSnapshotsResponse& response) const;
  // Of a new one; for a request_id always the same.
  std::string snapshot_name(const schedule::Tenant& tenant, const std::string& request_id) ABSL_LOCKS_EXCLUDED(mutex_);
  schedule::Pass end_of(const std::shared_ptr<schedule::BatchHandle>& batch);
  // Ends a batch that its maker never heard of.
  void discard_batch(const schedule::Tenant& tenant, const std::string& name);
  void fill_batch(const schedule::BatchHandle& batch, v1::Batch& message) const;
  void forget(StepStreamReactor* stream) ABSL_LOCKS_EXCLUDED(mutex_);
  void forget(WatchReactor* watch) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of all tenants.
  std::int64_t watch_count() ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts one more, until it is forgotten, or refuses it: RESOURCE_EXHAUSTED beyond the limit of a tenant.
  absl::Status count_stream(const std::string& tenant) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts one more, until it is forgotten. RESOURCE_EXHAUSTED beyond the limit of a tenant.
  absl::Status count_watch(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);

  ServiceParts parts_;
  const absl::Time start_time_;
  absl::Mutex mutex_;
  absl::flat_hash_set<StepStreamReactor*> streams_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<WatchReactor*> watches_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::int64_t> streams_of_ ABSL_GUARDED_BY(mutex_), watches_of_
      ABSL_GUARDED_BY(mutex_);  // by tenant
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t next_snapshot_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace axion::server::rpc
