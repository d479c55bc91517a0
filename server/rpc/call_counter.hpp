// Tells which connections send messages, and which take calls back, of all services of a server.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include <grpcpp/support/server_interceptor.h>

namespace axion::server::rpc {

struct CallEvents {
  // The connection by grpc::ServerContext::peer(). From any thread; must not block.
  std::function<void(const std::string& connection)> message;  // the first one of a call came in whole
  std::function<void(const std::string& connection, std::size_t bytes)> bytes = [](const std::string&, std::size_t) {
  };  // any of a call came in whole
  // An answer waits to be sent; it has been sent, or its call has ended.
  std::function<void(const std::string& connection, std::size_t bytes)> answer = [](const std::string&, std::size_t) {};
  std::function<void(const std::string& connection, std::size_t bytes)> answered = [](const std::string&, std::size_t) {
  };
  std::function<void(const std::string& connection)> taken_back;  // a call ended before its answer had been sent
  std::function<void(const std::string& connection)> open = [](const std::string&) {};  // a call has begun
  std::function<void(const std::string& connection)> closed = [](const std::string&) {
  };  // and its answer was handed on, or it ended
};

class CallCounter final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallCounter(CallEvents events) : events_(std::move(events)) {}
  // Named as gRPC names it. NOLINTNEXTLINE(readability-identifier-naming)
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) override;

 private:
  const CallEvents events_;
};

}  // namespace axion::server::rpc
