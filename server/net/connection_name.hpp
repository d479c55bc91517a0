// The other end of a connection, named as gRPC names it in grpc::ServerContext::peer().
#pragma once

#include <string>

namespace axion::server::net {

// "ipv4:192.0.2.7:40132" or "ipv6:%5B2001:db8::7%5D:40132"; empty where the descriptor is no connection.
std::string connection_name(int descriptor);

// Of such a name, what other connections from the same address have in common.
std::string address_of(const std::string& connection_name);

}  // namespace axion::server::net
