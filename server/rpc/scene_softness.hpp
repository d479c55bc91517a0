// How contacts and limits give way, and pairs with laws of their own, between messages and the engine's types.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axion/v1/scene.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

// What is not given stays as it is. Faults are named by `path`, that of the message.
absl::Status take_softness(const std::string& path, const v1::Softness& message, model::SoftnessSpec& softness);

// Of the limits and the dry friction of an axis or a tendon.
template <typename Message, typename Spec>
absl::Status take_row_softness(const std::string& path, const Message& message, Spec& spec) {
  absl::Status status = take_softness(path + ".limit_softness", message.limit_softness(), spec.limit_softness);
  status.Update(take_softness(path + ".friction_softness", message.friction_softness(), spec.friction_softness));
  return status;
}

void take_softness_rule(const v1::SoftnessRule& message, model::SoftnessRule& rule);
absl::StatusOr<model::ContactPairSpec> to_contact_pair(const std::string& path, const v1::ContactPairSpec& message);

void fill_softness(const model::SoftnessSpec& softness, v1::Softness& message);
// Of an element of a scene that has a softness by this field; nothing where it is the usual one.
template <typename Message>
void fill_softness(const model::SoftnessSpec& softness, Message& message, v1::Softness* (Message::*field)()) {
  if (softness != model::SoftnessSpec{}) fill_softness(softness, *(message.*field)());
}

void fill_softness_rule(const model::SoftnessRule& rule, v1::SoftnessRule& message);
void fill_contact_pair(const model::ContactPairSpec& pair, v1::ContactPairSpec& message);

}  // namespace axion::server::rpc
