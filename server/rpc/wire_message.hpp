// Messages and the bytes that gRPC carries.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

#include "server/schedule/memory_budget.hpp"

namespace axion::server::rpc {

// Parses and releases the bytes. INVALID_ARGUMENT with the message's type and the number of its bytes,
// or with the field that has more entries than part_limit() says;
// RESOURCE_EXHAUSTED where what it takes does not fit, which `memory` holds from then on.
absl::Status parse_message(grpc::ByteBuffer& bytes, google::protobuf::Message& message, schedule::MemoryHold& memory);

// INTERNAL if the message cannot be written.
absl::Status write_message(const google::protobuf::MessageLite& message, grpc::ByteBuffer& bytes);

}  // namespace axion::server::rpc
