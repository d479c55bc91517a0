// What a request asks for, in 64 bits: whether one that comes with a request_id again is the same.
#pragma once

#include <cstdint>
#include <string>

#include "axion/v1/simulation.pb.h"

namespace axion::server::rpc {

// The first bits of a SHA-256, the same on every machine and in every run, since they are kept; 0 only without a
// request_id. Of what is done to a batch neither where it is made, since a batch may go on under another name, nor
// which incarnation it expects, which a repetition may find out.
std::uint64_t request_hash(const v1::StepRequest& request);
std::uint64_t request_hash(const v1::CreateBatchRequest& request);
std::uint64_t request_hash(const v1::ResetRequest& request);
std::uint64_t request_hash(const v1::SetStateRequest& request);
std::uint64_t request_hash(const v1::RestoreSnapshotRequest& request);

// The SHA-256 of all that a request says, in one build of the server.
std::string request_digest(const v1::CreateModelRequest& request);

}  // namespace axion::server::rpc
