// What a message will take once it is parsed, from its bytes on the wire: two bytes can be a message of a hundred.
#pragma once

#include <cstddef>
#include <string>

#include <grpcpp/support/byte_buffer.h>

#include "google/protobuf/descriptor.h"

namespace axion::server::rpc {

// An estimate from above, of bytes in memory without those on the wire. Counts on until `enough`.
std::size_t parsed_bytes(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type, std::size_t enough);
// Of bytes at hand.
std::size_t parsed_bytes(const std::string& bytes, const google::protobuf::Descriptor& type);

}  // namespace axion::server::rpc
