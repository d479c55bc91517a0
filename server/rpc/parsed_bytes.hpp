// What a message will take once it is parsed, from its bytes on the wire: two bytes can be a message of a hundred.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <grpcpp/support/byte_buffer.h>

#include "google/protobuf/descriptor.h"

namespace axion::server::rpc {

// A field with more entries than part_limit() says, in words that come after its name.
struct TooManyParts {
  std::string field, what;
};

struct ParsedSize {
  // An estimate from above, of bytes in memory without those on the wire.
  std::size_t bytes = 0;
  std::optional<TooManyParts> too_many;
};

ParsedSize parsed_size(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type);
// Of bytes at hand.
ParsedSize parsed_size(const std::string& bytes, const google::protobuf::Descriptor& type);

}  // namespace axion::server::rpc
