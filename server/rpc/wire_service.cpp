#include "server/rpc/wire_service.hpp"

#include "server/rpc/unary_call.hpp"
#include "server/rpc/wire_message.hpp"

namespace axion::server::rpc {
namespace {

// A unary call with its messages.
template <typename Request, typename Response>
class MessageCall final : public UnaryCall {
 public:
  MessageCall(const char* method, grpc::CallbackServerContext& context, SimulationService& service,
              grpc::ByteBuffer& answer)
      : UnaryCall(method, context, service.metrics(), service.traces(), service.memory()), answer_(answer) {}

  Request request;
  Response response;

 private:
  const google::protobuf::Message& request_message() const override { return request; }
  absl::Status write_answer() override { return write_message(response, answer_); }
  grpc::ByteBuffer& answer_;  // gRPC's, as long as the call
};

template <typename Request, typename Response>
grpc::ServerUnaryReactor* serve(SimulationService& service, const char* name,
                                void (SimulationService::*method)(UnaryCall*, const Request*, Response*),
                                grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
                                grpc::ByteBuffer* answer) {
  auto* call = new MessageCall<Request, Response>(name, *context, service, *answer);
  absl::Status status = call->admit(service.admission());
  // gRPC has made the buffer for this call alone; parsed in place, its bytes are released at once.
  if (status.ok()) status = parse_message(const_cast<grpc::ByteBuffer&>(*bytes), call->request, call->memory());
  if (status.ok()) {
    (service.*method)(call, &call->request, &call->response);
  } else {
    call->finish(status);
  }
  return call;
}

}  // namespace

grpc::ServerUnaryReactor* WireService::GetServerInfo(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "GetServerInfo", &SimulationService::GetServerInfo, context, request, response);
}

grpc::ServerUnaryReactor* WireService::CreateModel(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "CreateModel", &SimulationService::CreateModel, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve(service_, "GetModel", &SimulationService::GetModel, context, request, response);
}

grpc::ServerUnaryReactor* WireService::ListModels(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return serve(service_, "ListModels", &SimulationService::ListModels, context, request, response);
}

grpc::ServerUnaryReactor* WireService::DeleteModel(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "DeleteModel", &SimulationService::DeleteModel, context, request, response);
}

grpc::ServerUnaryReactor* WireService::CreateBatch(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "CreateBatch", &SimulationService::CreateBatch, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetBatch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve(service_, "GetBatch", &SimulationService::GetBatch, context, request, response);
}

grpc::ServerUnaryReactor* WireService::ListBatches(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "ListBatches", &SimulationService::ListBatches, context, request, response);
}

grpc::ServerUnaryReactor* WireService::DeleteBatch(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "DeleteBatch", &SimulationService::DeleteBatch, context, request, response);
}

grpc::ServerUnaryReactor* WireService::KeepAlive(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return serve(service_, "KeepAlive", &SimulationService::KeepAlive, context, request, response);
}

grpc::ServerUnaryReactor* WireService::Step(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return serve(service_, "Step", &SimulationService::Step, context, request, response);
}

grpc::ServerUnaryReactor* WireService::Reset(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) {
  return serve(service_, "Reset", &SimulationService::Reset, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetState(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve(service_, "GetState", &SimulationService::GetState, context, request, response);
}

grpc::ServerUnaryReactor* WireService::SetState(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve(service_, "SetState", &SimulationService::SetState, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetContacts(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "GetContacts", &SimulationService::GetContacts, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetSolverStats(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "GetSolverStats", &SimulationService::GetSolverStats, context, request, response);
}

grpc::ServerUnaryReactor* WireService::CastRays(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve(service_, "CastRays", &SimulationService::CastRays, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetDistances(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "GetDistances", &SimulationService::GetDistances, context, request, response);
}

grpc::ServerUnaryReactor* WireService::GetDynamics(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "GetDynamics", &SimulationService::GetDynamics, context, request, response);
}

grpc::ServerUnaryReactor* WireService::Linearize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return serve(service_, "Linearize", &SimulationService::Linearize, context, request, response);
}

grpc::ServerUnaryReactor* WireService::StepGradient(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "StepGradient", &SimulationService::StepGradient, context, request, response);
}

grpc::ServerUnaryReactor* WireService::SaveSnapshot(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "SaveSnapshot", &SimulationService::SaveSnapshot, context, request, response);
}

grpc::ServerUnaryReactor* WireService::RestoreSnapshot(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "RestoreSnapshot", &SimulationService::RestoreSnapshot, context, request, response);
}

grpc::ServerUnaryReactor* WireService::ListSnapshots(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "ListSnapshots", &SimulationService::ListSnapshots, context, request, response);
}

grpc::ServerUnaryReactor* WireService::DeleteSnapshot(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return serve(service_, "DeleteSnapshot", &SimulationService::DeleteSnapshot, context, request, response);
}

WireStream* WireService::StepStream(grpc::CallbackServerContext* context) { return service_.StepStream(context); }

UploadStream* WireService::UploadAssets(grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return service_.UploadAssets(context, response);
}

WatchStream* WireService::DownloadAsset(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return service_.DownloadAsset(context, const_cast<grpc::ByteBuffer&>(*request));  // gRPC's, for this call alone
}

WatchStream* WireService::Watch(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return service_.Watch(context, const_cast<grpc::ByteBuffer&>(*request));  // gRPC's, for this call alone
}

}  // namespace axion::server::rpc
