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

// The fields of a list of names, e.g. StepRequest.outputs; an unknown or repeated name is refused as "outputs[1]".
absl::StatusOr<std::vector<Field>> fields_of(absl::string_view path,
                                             const google::protobuf::RepeatedPtrField<std::string>& names);

}  // namespace axion::server::rpc
