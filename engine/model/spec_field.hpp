// SpecField: what is known of a field of a scene's struct besides its type, its default and its comment.
//
// Each struct is followed by the one list of its fields, kFieldsOf<Spec>, in the order in which the fingerprint takes
// them. From the list follow the bounds that validation holds numbers to (scene_checker.hpp), the fingerprint
// (fingerprint.hpp), the conversion of messages both ways (server/rpc/scene_fields.hpp), what may not be on loop joints
// (validate_joints.cpp), and the numbers that a world may have of its own (vary.hpp). What concerns several fields at
// once stands where it is asked.
#pragma once

#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>

#include "engine/model/parameters.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

// How the fingerprint takes a field. A number above 0: where the field is not as it is by default, with the number in
// front of it, so that scenes from before there was the field keep their fingerprint.
inline constexpr int kByName = 0;  // likewise, with the name of the field in place of a number
inline constexpr int kAlways = -1;
inline constexpr int kNever = -2;  // it does not decide how a world moves, or fingerprint.cpp takes it by itself

inline constexpr const char* kInNoMessage = "";

struct FieldRules {
  double least = -std::numeric_limits<double>::infinity();  // of each of its numbers; all are finite
  double most = std::numeric_limits<double>::infinity();
  bool is_checked = true;  // false: validation checks it only in some scenes, by itself
  int hash = kByName;
  const char* wire = nullptr;               // its name in the message, where that is another one
  bool is_omitted = false;                  // a message has it only where it is not as it is by default
  bool acts_along = false;                  // it is a force along a coordinate, which loop joints have not
  std::optional<Parameter> parameter = {};  // what it is called among the numbers that a world may have of its own
};

// A member without which the field means nothing: only where it is true does the fingerprint take the field, and a
// message that can be without the field have it.
template <typename Spec>
struct FieldCondition {
  bool Spec::*member = nullptr;
  bool is_presence = false;  // the message has no such field: the member is whether the message has this one
};
template <typename Spec>
constexpr FieldCondition<Spec> where(bool Spec::*member) {
  return {member, false};
}
template <typename Spec>
constexpr FieldCondition<Spec> where_given(bool Spec::*member) {
  return {member, true};
}

template <typename Spec, typename T>
struct SpecField {
  const char* name;  // in refusals
  T Spec::*member;
  FieldRules rules = {};
  FieldCondition<Spec> condition = {};

  constexpr const char* wire() const { return rules.wire == nullptr ? name : rules.wire; }
  constexpr bool holds(const Spec& spec) const { return condition.member == nullptr || spec.*condition.member; }
};
template <typename Spec, typename T>
SpecField(const char*, T Spec::*, FieldRules = {}, std::type_identity_t<FieldCondition<Spec>> = {})
    -> SpecField<Spec, T>;

template <typename Spec>
inline constexpr auto kFieldsOf = nullptr;

// Whether a field is as it is by default.
template <typename Spec, typename T>
bool is_usual(const SpecField<Spec, T>& field, const Spec& spec) {
  static const Spec usual;
  const T& value = spec.*field.member;
  if constexpr (requires(T list) { list.clear(); }) {
    return value.empty();
  } else if constexpr (requires { value.limited; }) {
    return !value.limited;
  } else {
    return value == usual.*field.member;
  }
}

// Calls f(field) for each field of a struct.
template <typename Spec, typename F>
constexpr void for_each_field(F&& f) {
  std::apply([&f](const auto&... fields) { (f(fields), ...); }, kFieldsOf<Spec>);
}

// The lists of what other structs are made of (spec_types.hpp).
template <>
inline constexpr auto kFieldsOf<PoseSpec> = std::tuple{
    SpecField{"position", &PoseSpec::position, {.hash = kAlways}},
    SpecField{"rotation", &PoseSpec::rotation, {.hash = kAlways}},
};
template <>
inline constexpr auto kFieldsOf<FrameSpec> = std::tuple{
    SpecField{"body", &FrameSpec::body, {.hash = kAlways}},
    SpecField{"X_BF", &FrameSpec::X_BF, {.hash = kAlways, .wire = "pose"}},
};
template <>
inline constexpr auto kFieldsOf<SoftnessSpec> = std::tuple{
    SpecField{"solref", &SoftnessSpec::solref, {.hash = kAlways}},
    SpecField{"solimp", &SoftnessSpec::solimp, {.hash = kAlways}},
    SpecField{"margin", &SoftnessSpec::margin, {.least = 0, .hash = kAlways}},
};
template <>
inline constexpr auto kFieldsOf<ForceRangeSpec> = std::tuple{
    SpecField{"lower", &ForceRangeSpec::lower, {.hash = kAlways}},
    SpecField{"upper", &ForceRangeSpec::upper, {.hash = kAlways}},
};

}  // namespace axion::model
