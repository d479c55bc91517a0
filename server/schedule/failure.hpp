// Why a call was refused, in a form that a client's program can read.
//
// A refusal is an absl::Status. What goes beyond code and message rides along as payloads, so that this room needs no
// protobuf; server/rpc turns them into google.rpc details.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "engine/base/result.hpp"

namespace axion::server::schedule {

// Reasons are few and fixed: they are also the label of axion_rejected_total.
namespace reason {
inline constexpr absl::string_view kInvalidField = "INVALID_FIELD";
inline constexpr absl::string_view kMalformed = "MALFORMED_MESSAGE";
inline constexpr absl::string_view kNotFound = "RESOURCE_NOT_FOUND";
inline constexpr absl::string_view kQueueFull = "QUEUE_FULL";
inline constexpr absl::string_view kLimitReached = "LIMIT_REACHED";
inline constexpr absl::string_view kStepMismatch = "STEP_MISMATCH";
inline constexpr absl::string_view kInUse = "RESOURCE_IN_USE";
inline constexpr absl::string_view kDraining = "DRAINING";
inline constexpr absl::string_view kCancelled = "CANCELLED";
inline constexpr absl::string_view kAnswerForgotten = "ANSWER_FORGOTTEN";
inline constexpr absl::string_view kRolledBack = "ROLLED_BACK";
inline constexpr absl::string_view kNoStore = "NO_STORE";
inline constexpr absl::string_view kDiskFull = "DISK_FULL";
inline constexpr absl::string_view kDamaged = "DAMAGED";
inline constexpr absl::string_view kDeviceFault = "DEVICE_FAULT";
inline constexpr absl::string_view kGivenUp = "REQUEST_GIVEN_UP";
inline constexpr absl::string_view kDeadline = "DEADLINE_EXCEEDED";
inline constexpr absl::string_view kPrecondition = "FAILED_PRECONDITION";
inline constexpr absl::string_view kUnsupported = "UNSUPPORTED";
inline constexpr absl::string_view kTokenMissing = "TOKEN_MISSING";
inline constexpr absl::string_view kTokenMalformed = "TOKEN_MALFORMED";
inline constexpr absl::string_view kTokenUnknown = "TOKEN_UNKNOWN";
inline constexpr absl::string_view kDisabled = "METHOD_DISABLED";
inline constexpr absl::string_view kAssetsMissing = "ASSETS_MISSING";
inline constexpr absl::string_view kInternal = "INTERNAL";
}  // namespace reason

// What a refusal carries besides its code and message. Empty or zero where it does not apply.
struct FailureDetails {
  std::string reason{};
  std::string field{};          // path in the request
  std::string quota_subject{};  // the limit that was reached
  absl::Duration retry_delay = absl::ZeroDuration();
  std::vector<std::string> missing{};  // what the request wants to be there, words without spaces
};

absl::Status make_failure(absl::StatusCode code, absl::string_view message, const FailureDetails& details);
FailureDetails details_of(const absl::Status& status);

// A value of a request as a message shows it: what is longer than 64 bytes is cut there, between two characters of
// UTF-8.
std::string shown(absl::string_view value);

// INVALID_ARGUMENT. `message` is a full sentence that includes the value.
absl::Status invalid_field(absl::string_view field, absl::string_view message);
// Nothing, or INVALID_ARGUMENT where a request_id comes again with a request that hashes otherwise. A hash of 0 is not
// known.
absl::Status check_same_request(absl::string_view request_id, std::uint64_t first, std::uint64_t repeated);
// NOT_FOUND. `field` is where the request names the resource.
absl::Status not_found(absl::string_view field, absl::string_view resource);
// RESOURCE_EXHAUSTED for a limit of this server; a zero delay means that waiting alone does not help.
absl::Status limit_reached(absl::string_view limit, absl::string_view message,
                           absl::Duration retry_delay = absl::ZeroDuration());
absl::Status queue_full(std::size_t capacity, absl::Duration retry_delay);
// One client has its share of the queue.
absl::Status queue_share_full(std::size_t share, std::size_t capacity, absl::Duration retry_delay);
absl::Status draining();
// CANCELLED.
absl::Status stream_ended();
absl::Status cancelled();
// UNAVAILABLE: the device failed, and the server is started again.
absl::Status device_fault(absl::string_view what);

// A refusal of the engine; `prefix` is put before its field ("scene" + "bodies[3].mass").
absl::Status from_engine(const Error& error, absl::string_view prefix = "");

}  // namespace axion::server::schedule
