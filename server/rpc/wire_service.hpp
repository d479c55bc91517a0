// The service axion.v1.Simulation as gRPC calls it: messages as bytes, parsed and written here.
//
// gRPC would parse by itself, but it answers a unary message that cannot be parsed with an empty UNIMPLEMENTED and
// shows a stream's as the end of the stream. Here it is INVALID_ARGUMENT, logged and counted like every refusal.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "axion/v1/simulation.grpc.pb.h"

#include "server/rpc/simulation_service.hpp"

namespace axion::server::rpc {

// `Service` with the given methods taking bytes.
template <class Service, template <class> class... Methods>
struct WithRawMethods {
  using type = Service;
};
template <class Service, template <class> class First, template <class> class... Rest>
struct WithRawMethods<Service, First, Rest...> {
  using type = First<typename WithRawMethods<Service, Rest...>::type>;
};

using Rpc = v1::Simulation;
using RawService = WithRawMethods<
    Rpc::Service, Rpc::WithRawCallbackMethod_GetServerInfo, Rpc::WithRawCallbackMethod_CreateModel,
    Rpc::WithRawCallbackMethod_GetModel, Rpc::WithRawCallbackMethod_ListModels, Rpc::WithRawCallbackMethod_DeleteModel,
    Rpc::WithRawCallbackMethod_CreateBatch, Rpc::WithRawCallbackMethod_GetBatch, Rpc::WithRawCallbackMethod_ListBatches,
    Rpc::WithRawCallbackMethod_DeleteBatch, Rpc::WithRawCallbackMethod_KeepAlive, Rpc::WithRawCallbackMethod_Step,
    Rpc::WithRawCallbackMethod_Reset, Rpc::WithRawCallbackMethod_GetState, Rpc::WithRawCallbackMethod_SetState,
    Rpc::WithRawCallbackMethod_GetContacts, Rpc::WithRawCallbackMethod_GetSolverStats,
    Rpc::WithRawCallbackMethod_CastRays, Rpc::WithRawCallbackMethod_GetDistances,
    Rpc::WithRawCallbackMethod_GetDynamics, Rpc::WithRawCallbackMethod_Linearize,
    Rpc::WithRawCallbackMethod_StepGradient, Rpc::WithRawCallbackMethod_SaveSnapshot,
    Rpc::WithRawCallbackMethod_RestoreSnapshot, Rpc::WithRawCallbackMethod_ListSnapshots,
    Rpc::WithRawCallbackMethod_DeleteSnapshot, Rpc::WithRawCallbackMethod_StepStream, Rpc::WithRawCallbackMethod_Watch,
    Rpc::WithRawCallbackMethod_UploadAssets, Rpc::WithRawCallbackMethod_DownloadAsset>::type;

class WireService final : public RawService {
 public:
  // `service` outlives it.
  explicit WireService(SimulationService& service) : service_(service) {}

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CreateModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CreateBatch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetBatch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListBatches(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteBatch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* KeepAlive(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Step(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Reset(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetState(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SetState(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetContacts(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetSolverStats(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CastRays(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetDistances(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetDynamics(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Linearize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* StepGradient(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SaveSnapshot(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RestoreSnapshot(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListSnapshots(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteSnapshot(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  WireStream* StepStream(grpc::CallbackServerContext* context) override;
  WatchStream* Watch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) override;
  WatchStream* DownloadAsset(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) override;
  UploadStream* UploadAssets(grpc::CallbackServerContext* context, grpc::ByteBuffer* response) override;

 private:
  SimulationService& service_;
};

}  // namespace axion::server::rpc
