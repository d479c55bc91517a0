#include "server/rpc/call_counter.hpp"

#include <string>

#include <grpcpp/server_context.h>

namespace axion::server::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;

class OneCall final : public grpc::experimental::Interceptor {
 public:
  OneCall(grpc::experimental::ServerRpcInfo& call, const CallEvents& events)
      : call_(call),
        // Reflection alone is served by threads of gRPC for blocking services, where this question asks itself again.
        knows_its_end_(dynamic_cast<grpc::CallbackServerContext*>(call.server_context()) != nullptr),
        events_(events) {}
  ~OneCall() override {
    if (open_) events_.closed(connection_);
  }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

  // NOLINTNEXTLINE(readability-identifier-naming)
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    const grpc::ServerContextBase& context = *call_.server_context();
    if (!open_) {
      open_ = true;
      connection_ = context.peer();
      events_.open(connection_);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) && !asked_) {
      asked_ = true;
      events_.message(connection_);
    }
    if (knows_its_end_ && batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE) &&
        context.IsCancelled()) {
      events_.taken_back(connection_);
    }
    batch->Proceed();
  }

 private:
  grpc::experimental::ServerRpcInfo& call_;
  const bool knows_its_end_;
  const CallEvents& events_;
  std::string connection_;
  bool open_ = false;
  bool asked_ = false;  // the first message of a stream stands for all
};

}  // namespace

grpc::experimental::Interceptor* CallCounter::CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) {
  return new OneCall(*call, events_);
}

}  // namespace axion::server::rpc
