// Fields that can be asked for by name.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "axion/v1/simulation.pb.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"

namespace axion::server::rpc {

void fill_model_fields(const ModelInfo& info, v1::Model& message);
void fill_batch_fields(const schedule::BatchInfo& info, v1::Batch& message);

// What GetState calls all that a world carries; no tensor, so no Field.
inline constexpr absl::string_view kSnapshotName = "snapshot";

// The fields of a list of names, e.g. StepRequest.outputs; an unknown or repeated name is refused as "outputs[1]", with
// the names that there are. `snapshot` says whether they name it too; null where it cannot be asked for.
absl::StatusOr<std::vector<Field>> fields_of(absl::string_view path,
                                             const google::protobuf::RepeatedPtrField<std::string>& names,
                                             bool* snapshot = nullptr);

// The parameters of a list of names, likewise; and all of them in words.
absl::StatusOr<std::vector<Parameter>> parameters_of(absl::string_view path,
                                                     const google::protobuf::RepeatedPtrField<std::string>& names);
std::string known_parameters();

// "there are a, b, c", for errors about names; the first few of many.
std::string known_names(const std::vector<std::string>& names);

}  // namespace axion::server::rpc
