#include "server/rpc/field_names.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

std::string known_fields(bool with_snapshot) {
  std::vector<std::string> names;
  names.reserve(kFieldCount + 1);
  for (int field = 0; field < kFieldCount; ++field) names.emplace_back(field_name(static_cast<Field>(field)));
  if (with_snapshot) names.emplace_back(kSnapshotName);
  return known_names(names);
}

void add_field(Field field, v1::DType dtype, const std::vector<std::int64_t>& shape, v1::FieldInfo& message) {
  message.set_name(std::string(field_name(field)));
  message.set_dtype(dtype);
  message.mutable_shape()->Assign(shape.begin(), shape.end());
  message.set_description(description_of(field).description);
}

}  // namespace

void fill_model_fields(const ModelInfo& info, v1::Model& message) {
  for (int i = 0; i < kFieldCount; ++i) {
    const Field field = static_cast<Field>(i);
    const FieldDescription& description = description_of(field);
    const v1::DType precision_of_batch = v1::DTYPE_UNSPECIFIED;
    add_field(field, description.is_real ? precision_of_batch : to_wire(description.dtype), field_shape(info, field),
              *message.add_fields());
  }
}

void fill_batch_fields(const schedule::BatchInfo& info, v1::Batch& message) {
  for (int i = 0; i < kParameterCount; ++i) {
    const auto parameter = static_cast<Parameter>(i);
    const std::vector<std::int64_t> shape = parameter_shape(info.model->info(), parameter);
    v1::FieldInfo& out = *message.add_parameters();
    out.set_name(kParameters[i].name);
    out.set_dtype(v1::DTYPE_FLOAT64);
    out.mutable_shape()->Assign(shape.begin(), shape.end());
    out.set_description(kParameters[i].description);
  }
  for (const schedule::FieldShape& shape : info.fields) {
    add_field(shape.field, to_wire(shape.dtype), shape.shape, *message.add_fields());
  }
}

absl::StatusOr<std::vector<Field>> fields_of(absl::string_view path,
                                             const google::protobuf::RepeatedPtrField<std::string>& names,
                                             bool* snapshot) {
  std::vector<Field> fields;
  for (int i = 0; i < names.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (names[i] == kSnapshotName) {
      if (snapshot == nullptr) return schedule::invalid_field(at, "\"snapshot\" is read by GetState, between steps");
      if (*snapshot) return schedule::invalid_field(at, "\"snapshot\" is named twice");
      *snapshot = true;
      continue;
    }
    const Result<Field> field = field_from_name(names[i]);
    if (!field.ok()) {
      return schedule::invalid_field(at, absl::StrCat("\"", schedule::shown(names[i]), "\" is not a field of a batch; ",
                                                      known_fields(snapshot != nullptr)));
    }
    if (std::find(fields.begin(), fields.end(), field.value()) != fields.end()) {
      return schedule::invalid_field(at, absl::StrCat("\"", schedule::shown(names[i]), "\" is named twice"));
    }
    fields.push_back(field.value());
  }
  return fields;
}

std::string known_parameters() {
  std::string known = "the parameters are ";
  for (int i = 0; i < kParameterCount; ++i) absl::StrAppend(&known, i == 0 ? "" : ", ", kParameters[i].name);
  return known;
}

absl::StatusOr<std::vector<Parameter>> parameters_of(absl::string_view path,
                                                     const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < names.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    const std::string shown = absl::StrCat("\"", schedule::shown(names[i]), "\"");
    const Result<Parameter> parameter = parameter_from_name(names[i]);
    if (!parameter.ok())
      return schedule::invalid_field(at, absl::StrCat(shown, " is no parameter; ", known_parameters()));
    if (std::find(parameters.begin(), parameters.end(), parameter.value()) != parameters.end()) {
      return schedule::invalid_field(at, absl::StrCat(shown, " is named twice"));
    }
    parameters.push_back(parameter.value());
  }
  return parameters;
}

std::string known_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  if (names.empty()) return "there are none";
  const std::size_t shown = std::min(names.size(), kMost);
  std::string text = absl::StrCat(
      "there are ", absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

}  // namespace axion::server::rpc
