// How many parts of a kind a message may have, so that they are counted before anything is made of them.
#pragma once

#include <climits>

#include "google/protobuf/descriptor.h"

namespace axion::server::rpc {

inline constexpr int kNoPartLimit = INT_MAX;

// Most entries of a repeated field of messages, as what reads the message allows; kNoPartLimit where it allows any.
int part_limit(const google::protobuf::FieldDescriptor& field);

}  // namespace axion::server::rpc
