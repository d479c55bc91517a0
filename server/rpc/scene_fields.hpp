// Structs of a scene between messages and the engine's types, field by field of their lists (model/spec_field.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include "engine/engine.hpp"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What a field by itself does not say. Faults are named by `path`, that of the message.
absl::Status take_rest(const std::string& path, const Message& message, model::ActuatorSpec& actuator);
absl::Status take_rest(const std::string& path, const Message& message, model::TendonPointSpec& point);
absl::Status take_rest(const std::string& path, const Message& message, model::EqualitySpec& equality);
absl::Status take_rest(const std::string& path, const Message& message, model::SensorSpec& sensor);
void fill_rest(const model::ActuatorSpec& actuator, Message& message);
void fill_rest(const model::TendonPointSpec& point, Message& message);
void fill_rest(const model::EqualitySpec& equality, Message& message);
void fill_rest(const model::SensorSpec& sensor, Message& message);

// Fields of the message that goes with a struct, in the order of the struct's list; null: it has no such field.
template <typename Spec>
const std::vector<const FieldDescriptor*>& wire_fields(const Message& message) {
  static const auto fields = [&message] {
    std::vector<const FieldDescriptor*> found;
    model::for_each_field<Spec>(
        [&](const auto& field) { found.push_back(message.GetDescriptor()->FindFieldByName(field.wire())); });
    return found;
  }();
  return fields;
}

// A field that is absent leaves what `spec` has. Faults are named by `path`, that of the message.
template <typename Spec>
absl::Status take_fields(const std::string& path, const Message& message, Spec& spec);
template <typename Spec>
void fill_fields(const Spec& spec, Message& message);

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
absl::Status take_value(const std::string& path, const Message& message, const FieldDescriptor* field, T& value) {
  const google::protobuf::Reflection& from = *message.GetReflection();
  const auto refuse = [&](const std::string& what) {
    return schedule::invalid_field(absl::StrCat(path, ".", field->name()), what);
  };
  if constexpr (std::is_same_v<T, double>) {
    value = from.GetDouble(message, field);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = from.GetBool(message, field);
  } else if constexpr (std::is_same_v<T, int>) {
    value = from.GetInt32(message, field);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    value = from.GetUInt32(message, field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = from.GetString(message, field);
  } else if constexpr (std::is_enum_v<T>) {  // in the order of the message's, after UNSPECIFIED
    const int number = from.GetEnumValue(message, field);
    if (number < 1 || field->enum_type()->FindValueByNumber(number) == nullptr) {
      return refuse(absl::StrCat("is ", number, "; it must name a kind"));
    }
    value = static_cast<T>(number - 1);
  } else if constexpr (kIsList<T>) {
    for (int i = 0; i < from.FieldSize(message, field); ++i) {
      absl::Status status = take_fields(absl::StrCat(path, ".", field->name(), "[", i, "]"),
                                        from.GetRepeatedMessage(message, field, i), value.emplace_back());
      if (!status.ok()) return status;
    }
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    if (!field->is_repeated()) {  // a message with a field for each number
      const Message& part = from.GetMessage(message, field);
      for (std::size_t i = 0; i < value.size(); ++i) {
        value[i] = part.GetReflection()->GetDouble(part, part.GetDescriptor()->field(static_cast<int>(i)));
      }
      return absl::OkStatus();
    }
    const int size = from.FieldSize(message, field);
    if (size != 0 && size != static_cast<int>(value.size())) {
      return refuse(absl::StrCat("must have ", value.size(), " numbers; it has ", size));
    }
    for (int i = 0; i < size; ++i) value[static_cast<std::size_t>(i)] = from.GetRepeatedDouble(message, field, i);
  } else {
    if constexpr (std::is_same_v<T, model::ForceRangeSpec>) value.limited = true;
    return take_fields(absl::StrCat(path, ".", field->name()), from.GetMessage(message, field), value);
  }
  return absl::OkStatus();
}

template <typename T>
void fill_value(const T& value, const FieldDescriptor* field, Message& message) {
  const google::protobuf::Reflection& to = *message.GetReflection();
  if constexpr (std::is_same_v<T, double>) {
    to.SetDouble(&message, field, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    to.SetBool(&message, field, value);
  } else if constexpr (std::is_same_v<T, int>) {
    to.SetInt32(&message, field, value);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    to.SetUInt32(&message, field, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    to.SetString(&message, field, value);
  } else if constexpr (std::is_enum_v<T>) {
    to.SetEnumValue(&message, field, static_cast<int>(value) + 1);
  } else if constexpr (kIsList<T>) {
    for (const auto& item : value) fill_fields(item, *to.AddMessage(&message, field));
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    Message* part = field->is_repeated() ? nullptr : to.MutableMessage(&message, field);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (part == nullptr) {
        to.AddDouble(&message, field, value[i]);
      } else {
        part->GetReflection()->SetDouble(part, part->GetDescriptor()->field(static_cast<int>(i)), value[i]);
      }
    }
  } else {
    fill_fields(value, *to.MutableMessage(&message, field));
  }
}

template <typename Spec>
absl::Status take_fields(const std::string& path, const Message& message, Spec& spec) {
  absl::Status status;
  auto wire = wire_fields<Spec>(message).begin();
  model::for_each_field<Spec>([&](const auto& field) {
    const FieldDescriptor* from = *wire++;
    if (from == nullptr || !status.ok()) return;
    const bool is_given = !from->has_presence() || message.GetReflection()->HasField(message, from);
    if (field.condition.is_presence) spec.*field.condition.member = is_given;
    if (is_given) status = take_value(path, message, from, spec.*field.member);
  });
  if constexpr (requires { take_rest(path, message, spec); }) status.Update(take_rest(path, message, spec));
  return status;
}

template <typename Spec>
void fill_fields(const Spec& spec, Message& message) {
  auto wire = wire_fields<Spec>(message).begin();
  model::for_each_field<Spec>([&](const auto& field) {
    const FieldDescriptor* to = *wire++;
    if (to == nullptr || (to->has_presence() && !field.holds(spec))) return;
    if (field.rules.is_omitted && is_usual(field, spec)) return;
    fill_value(spec.*field.member, to, message);
  });
  if constexpr (requires { fill_rest(spec, message); }) fill_rest(spec, message);
}

}  // namespace axion::server::rpc
