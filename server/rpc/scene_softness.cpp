#include "server/rpc/scene_softness.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

template <std::size_t Count>
absl::Status take_numbers(const std::string& path, const google::protobuf::RepeatedField<double>& given,
                          std::array<double, Count>& numbers) {
  if (given.empty()) return absl::OkStatus();
  if (static_cast<std::size_t>(given.size()) != Count) {
    return schedule::invalid_field(path, absl::StrCat("must have ", Count, " numbers; it has ", given.size()));
  }
  std::copy(given.begin(), given.end(), numbers.begin());
  return absl::OkStatus();
}

}  // namespace

absl::Status take_softness(const std::string& path, const v1::Softness& message, model::SoftnessSpec& softness) {
  absl::Status status = take_numbers(absl::StrCat(path, ".solref"), message.solref(), softness.solref);
  status.Update(take_numbers(absl::StrCat(path, ".solimp"), message.solimp(), softness.solimp));
  softness.margin = message.margin();
  return status;
}

void take_softness_rule(const v1::SoftnessRule& message, model::SoftnessRule& rule) {
  rule.pyramidal = !message.elliptic();
  if (message.has_impedance_ratio()) rule.impedance_ratio = message.impedance_ratio();
  rule.least_time_constant = message.least_time_constant();
}

absl::StatusOr<model::ContactPairSpec> to_contact_pair(const std::string& path, const v1::ContactPairSpec& message) {
  model::ContactPairSpec pair;
  pair.shape_a = message.shape_a(), pair.shape_b = message.shape_b();
  if (message.has_friction()) pair.friction = message.friction();
  if (message.has_contact_dimension()) pair.contact_dimension = message.contact_dimension();
  if (message.has_cone_dimension()) pair.cone_dimension = message.cone_dimension();
  pair.torsional_friction = message.torsional_friction(), pair.rolling_friction = message.rolling_friction();
  const absl::Status status = take_softness(absl::StrCat(path, ".softness"), message.softness(), pair.softness);
  if (!status.ok()) return status;
  return pair;
}

void fill_softness(const model::SoftnessSpec& softness, v1::Softness& message) {
  for (const double number : softness.solref) message.add_solref(number);
  for (const double number : softness.solimp) message.add_solimp(number);
  message.set_margin(softness.margin);
}

void fill_softness_rule(const model::SoftnessRule& rule, v1::SoftnessRule& message) {
  message.set_elliptic(!rule.pyramidal);
  message.set_impedance_ratio(rule.impedance_ratio);
  message.set_least_time_constant(rule.least_time_constant);
}

void fill_contact_pair(const model::ContactPairSpec& pair, v1::ContactPairSpec& message) {
  message.set_shape_a(pair.shape_a);
  message.set_shape_b(pair.shape_b);
  message.set_friction(pair.friction);
  message.set_contact_dimension(pair.contact_dimension);
  message.set_cone_dimension(pair.cone_dimension);
  message.set_torsional_friction(pair.torsional_friction);
  message.set_rolling_friction(pair.rolling_friction);
  fill_softness(pair.softness, message, &v1::ContactPairSpec::mutable_softness);
}

}  // namespace axion::server::rpc
