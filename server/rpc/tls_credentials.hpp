// Certificates as gRPC takes them: asked for at every handshake, so that a new one is in use from the next connection
// on.
#pragma once

#include <memory>

#include <grpcpp/security/server_credentials.h>

#include "server/access/credentials.hpp"

namespace axion::server::rpc {

// `credentials` has TLS and outlives every server that uses the result. A client without a certificate of the authority
// is refused in the handshake where one is asked for.
std::shared_ptr<grpc::ServerCredentials> tls_credentials(const access::Credentials& credentials);

}  // namespace axion::server::rpc
