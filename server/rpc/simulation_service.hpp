// The service axion.v1.Simulation on gRPC's callback API.
//
// Reactors only convert and submit: whatever touches a batch is a job for the device's owner, and scenes are compiled
// on a thread of their own. Everything given to the constructor outlives the service.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.grpc.pb.h"

#include "server/observe/metrics.hpp"
#include "server/rpc/unary_call.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/worker.hpp"

namespace axion::server::rpc {

class StepStreamReactor;

struct ServiceParts {
  schedule::Registry& registry;
  schedule::StepBatcher& batcher;
  schedule::Worker& compiler;
  observe::Metrics& metrics;
  schedule::Limits limits;
  observe::BuildInfo build;
};

class SimulationService final : public v1::Simulation::CallbackService {
 public:
  explicit SimulationService(const ServiceParts& parts);

  // Streams read nothing more and end, with UNAVAILABLE, after their pending answers.
  void begin_drain() ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* request,
                                          v1::ServerInfo* response) override;

  // model_methods.cpp
  grpc::ServerUnaryReactor* CreateModel(grpc::CallbackServerContext* context, const v1::CreateModelRequest* request,
                                        v1::Model* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const v1::GetModelRequest* request,
                                     v1::Model* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context, const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context, const v1::DeleteModelRequest* request,
                                        google::protobuf::Empty* response) override;

  // batch_methods.cpp
  grpc::ServerUnaryReactor* CreateBatch(grpc::CallbackServerContext* context, const v1::CreateBatchRequest* request,
                                        v1::Batch* response) override;
  grpc::ServerUnaryReactor* GetBatch(grpc::CallbackServerContext* context, const v1::GetBatchRequest* request,
                                     v1::Batch* response) override;
  grpc::ServerUnaryReactor* ListBatches(grpc::CallbackServerContext* context, const v1::ListBatchesRequest* request,
                                        v1::ListBatchesResponse* response) override;
  grpc::ServerUnaryReactor* DeleteBatch(grpc::CallbackServerContext* context, const v1::DeleteBatchRequest* request,
                                        google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* KeepAlive(grpc::CallbackServerContext* context, const v1::KeepAliveRequest* request,
                                      v1::KeepAliveResponse* response) override;

  // simulation_service.cpp
  grpc::ServerUnaryReactor* Step(grpc::CallbackServerContext* context, const v1::StepRequest* request,
                                 v1::StepResponse* response) override;
  grpc::ServerBidiReactor<v1::StepRequest, v1::StepResponse>* StepStream(grpc::CallbackServerContext* context) override;

  // state_methods.cpp
  grpc::ServerUnaryReactor* Reset(grpc::CallbackServerContext* context, const v1::ResetRequest* request,
                                  v1::ResetResponse* response) override;
  grpc::ServerUnaryReactor* GetState(grpc::CallbackServerContext* context, const v1::GetStateRequest* request,
                                     v1::GetStateResponse* response) override;
  grpc::ServerUnaryReactor* SetState(grpc::CallbackServerContext* context, const v1::SetStateRequest* request,
                                     v1::SetStateResponse* response) override;
  grpc::ServerUnaryReactor* GetContacts(grpc::CallbackServerContext* context, const v1::GetContactsRequest* request,
                                        v1::GetContactsResponse* response) override;
  grpc::ServerUnaryReactor* GetSolverStats(grpc::CallbackServerContext* context,
                                           const v1::GetSolverStatsRequest* request,
                                           v1::GetSolverStatsResponse* response) override;

 private:
  friend class StepStreamReactor;
  using Work = std::function<absl::Status(Engine&, schedule::BatchHandle*)>;

  UnaryCall* begin(const char* method, grpc::CallbackServerContext* context) {
    return new UnaryCall(method, *context, parts_.metrics);
  }
  // Runs `work` on the device's thread and finishes the call with what it returns.
  void on_device(UnaryCall* call, std::shared_ptr<schedule::BatchHandle> batch, Work work);
  // The same with the batch of that name, whose lease is renewed; `prepare` checks the request against it first.
  using Prepare = std::function<absl::StatusOr<Work>(const std::shared_ptr<schedule::BatchHandle>&)>;
  void with_batch(UnaryCall* call, const std::string& name, const Prepare& prepare);
  absl::Status create_model(const v1::CreateModelRequest& request, v1::Model& response);
  absl::Status get_model(const v1::GetModelRequest& request, v1::Model& response) const;
  absl::StatusOr<Work> prepare_batch(const v1::CreateBatchRequest& request, v1::Batch& response);
  void fill_batch(const schedule::BatchHandle& batch, v1::Batch& message) const;
  void forget(StepStreamReactor* stream) ABSL_LOCKS_EXCLUDED(mutex_);

  ServiceParts parts_;
  const absl::Time start_time_;
  absl::Mutex mutex_;
  absl::flat_hash_set<StepStreamReactor*> streams_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace axion::server::rpc
