// What the numbers of a field are called, with their units.
#pragma once

#include <cstdint>
#include <string>

#include "axion/v1/simulation.pb.h"
#include "clients/cli/trace.hpp"

namespace axion::cli {

// "trunk z (m)" of the third number of body_pose: by the names of the model's bodies, joints, actuators and sensors.
// Empty where the field has numbers of another kind, or what the number belongs to has no name.
std::string channel_name(const v1::Model& model, const Channel& channel);

// "trunk" of the first number that body_pose, or another field of several numbers a thing, has of it.
std::string thing_name(const v1::Model& model, const std::string& field, std::int64_t index);

}  // namespace axion::cli
