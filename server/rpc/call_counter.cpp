#include "server/rpc/call_counter.hpp"

#include <string>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/strings/match.h"

namespace axion::server::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;

class OneCall final : public grpc::experimental::Interceptor {
 public:
  OneCall(grpc::experimental::ServerRpcInfo& call, const CallEvents& events)
      : call_(call),
        // Reflection alone is served by threads of gRPC for blocking services, where this question asks itself again.
        knows_its_end_(dynamic_cast<grpc::CallbackServerContext*>(call.server_context()) != nullptr),
        // Messages of other services, reflection's, are parsed already, and small.
        has_bytes_(absl::StartsWith(call.method(), "/axion.")),
        events_(events) {}
  ~OneCall() override {
    sent();
    close();
  }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

  // NOLINTNEXTLINE(readability-identifier-naming)
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    const grpc::ServerContextBase& context = *call_.server_context();
    if (!begun_) {
      begun_ = open_ = true;
      connection_ = context.peer();
      events_.open(connection_);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      if (!asked_) events_.message(connection_);
      asked_ = true;
      events_.bytes(connection_, has_bytes_ ? length_of(batch->GetRecvMessage()) : 0);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE) && has_bytes_) {
      sent();
      waiting_ = length_of(batch->GetSendMessage());
      if (waiting_ > 0) events_.answer(connection_, waiting_);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_SEND_MESSAGE)) sent();
    // From the client's side it may end now, and make room for another one.
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) close();
    if (knows_its_end_ && batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE) &&
        context.IsCancelled()) {
      events_.taken_back(connection_);
    }
    batch->Proceed();
  }

 private:
  static std::size_t length_of(const void* message) {
    const auto* bytes = static_cast<const grpc::ByteBuffer*>(message);  // none at the end of a stream
    return bytes != nullptr && bytes->Valid() ? bytes->Length() : 0;
  }

  void close() {
    if (std::exchange(open_, false)) events_.closed(connection_);
  }

  void sent() {
    if (waiting_ > 0) events_.answered(connection_, waiting_);
    waiting_ = 0;
  }

  grpc::experimental::ServerRpcInfo& call_;
  const bool knows_its_end_, has_bytes_;
  const CallEvents& events_;
  std::string connection_;
  std::size_t waiting_ = 0;  // bytes of the answer that is being sent
  bool begun_ = false, open_ = false;
  bool asked_ = false;  // the first message of a stream stands for all
};

}  // namespace

grpc::experimental::Interceptor* CallCounter::CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) {
  return new OneCall(*call, events_);
}

}  // namespace axion::server::rpc
