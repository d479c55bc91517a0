// What a connection shows of itself and asks of the server, from options and environment. For the other files of this
// room.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cpp/client.hpp"

namespace axion::client {

struct Credentials {
  std::shared_ptr<grpc::ChannelCredentials> channel;
  std::string token, server_name;  // empty: none
};

// INVALID_ARGUMENT names what is wrong.
absl::StatusOr<Credentials> resolve_credentials(const std::string& target, const ConnectOptions& options);

// What may be wrong where a connection failed, by gRPC's words; empty if it was something else.
std::string connection_hint(const std::string& message);

}  // namespace axion::client
