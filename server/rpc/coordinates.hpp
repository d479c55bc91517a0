// The coordinates that derivatives are in, as messages.
#pragma once

#include "axion/v1/linearize.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

inline constexpr double kCoordinateBytes = 256;  // of a message, at most

void fill_coordinates(const ModelInfo& info, google::protobuf::RepeatedPtrField<v1::StateCoordinate>& to);

}  // namespace axion::server::rpc
