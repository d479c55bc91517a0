#include "server/rpc/wire_message.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include <grpcpp/impl/codegen/proto_utils.h>

#include "absl/strings/str_cat.h"

#include "server/rpc/parsed_bytes.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

namespace {

// What is smaller is counted by its length alone, which is quicker.
constexpr std::size_t kSmall = 4096, kSmallFactor = 64;

}  // namespace

absl::Status parse_message(grpc::ByteBuffer& bytes, google::protobuf::Message& message, schedule::MemoryHold& memory) {
  const std::size_t length = bytes.Valid() ? bytes.Length() : 0;
  const bool present = bytes.Valid();
  const ParsedSize parsed = length <= kSmall ? ParsedSize{.bytes = kSmallFactor * length, .too_many = {}}
                                             : parsed_size(bytes, *message.GetDescriptor());
  const auto on_wire = static_cast<std::int64_t>(length);
  const absl::Status fits = parsed.too_many.has_value()
                                ? schedule::invalid_field(parsed.too_many->field, parsed.too_many->what)
                                : memory.grow(static_cast<std::int64_t>(parsed.bytes) + on_wire, "the request");
  if (!fits.ok()) {
    bytes.Clear();
    return fits;
  }
  bool whole = false;
  const absl::Status status = schedule::guarded([&] {
    whole = present && grpc::SerializationTraits<google::protobuf::MessageLite>::Deserialize(&bytes, &message).ok();
    return absl::OkStatus();
  });
  if (whole || !status.ok()) {
    bytes.Clear();
    memory.shrink(on_wire);
    return status;
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
