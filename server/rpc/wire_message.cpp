#include "server/rpc/wire_message.hpp"

#include <cstddef>
#include <string>

#include <grpcpp/impl/codegen/proto_utils.h>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

absl::Status parse_message(grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  const std::size_t length = bytes.Valid() ? bytes.Length() : 0;
  const bool present = bytes.Valid();
  if (present && grpc::SerializationTraits<google::protobuf::MessageLite>::Deserialize(&bytes, &message).ok()) {
    return absl::OkStatus();
  }
  bytes.Clear();
  message.Clear();
  const std::string what = present ? absl::StrCat("its ", length, " bytes cannot be parsed as ", message.GetTypeName(),
                                                  ": not this message, cut off, or text that is not UTF-8")
                                   : absl::StrCat("no message was sent where ", message.GetTypeName(), " is expected");
  return schedule::make_failure(absl::StatusCode::kInvalidArgument, absl::StrCat("the request is malformed: ", what),
                                {.reason = std::string(schedule::reason::kMalformed)});
}

absl::Status write_message(const google::protobuf::MessageLite& message, grpc::ByteBuffer& bytes) {
  bool own = false;
  const grpc::Status status =
      grpc::SerializationTraits<google::protobuf::MessageLite>::Serialize(message, &bytes, &own);
  if (status.ok()) return absl::OkStatus();
  return schedule::make_failure(absl::StatusCode::kInternal, "the answer cannot be written",
                                {.reason = std::string(schedule::reason::kInternal)});
}

}  // namespace axion::server::rpc
