// Tasks between messages and server/task.
#pragma once

#include "absl/status/statusor.h"
#include "axion/v1/task.pb.h"

#include "server/schedule/batch_handle.hpp"

namespace axion::server::rpc {

// What has no value among an enumeration's is refused by its path ("task.reward[2].measure"); the rest is for
// compile_task to check.
absl::StatusOr<task::TaskSpec> to_task(const v1::TaskSpec& message);
// Sets the task of a batch whose model, dt and noise are there. Errors name fields below "task".
absl::Status set_task(const v1::TaskSpec& message, std::int64_t max_steps, schedule::BatchInfo& info);
// Of a batch that has a task.
void fill_task_info(const schedule::BatchInfo& info, v1::TaskInfo& message);

}  // namespace axion::server::rpc
