// Messages and the bytes that gRPC carries.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"

namespace axion::server::rpc {

// Parses and releases the bytes. INVALID_ARGUMENT with the message's type and the number of its bytes.
absl::Status parse_message(grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

// INTERNAL if the message cannot be written.
absl::Status write_message(const google::protobuf::MessageLite& message, grpc::ByteBuffer& bytes);

}  // namespace axion::server::rpc
