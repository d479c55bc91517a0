#include "clients/cpp/task.hpp"

#include <google/protobuf/util/json_util.h>

#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace axion::client {

absl::StatusOr<v1::TaskSpec> task_of_json(std::string_view json) {
  v1::TaskSpec spec;
  const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(json), &spec);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("task: ", std::string(parsed.message())));
  }
  return spec;
}

absl::StatusOr<v1::StepRequest> make_task_step_request(const v1::Batch& batch, const TaskStepArguments& arguments) {
  if (!batch.has_task()) {
    return absl::InvalidArgumentError(absl::StrCat("batch: ", batch.name(), " has no task"));
  }
  auto request = make_step_request(batch, {.outputs = arguments.outputs,
                                           .worlds = arguments.worlds,
                                           .body_wrench = arguments.body_wrench,
                                           .request_id = arguments.request_id});
  if (!request.ok()) {
    return request.status();
  }
  const std::int64_t n = arguments.worlds.empty() ? batch.world_count() : std::ssize(arguments.worlds);
  auto action = arguments.action.tensor({n, batch.task().action_size()}, "action");
  if (!action.ok()) {
    return action.status();
  }
  request->clear_step_count();  // the task says it
  *request->mutable_action() = *std::move(action);
  return request;
}

}  // namespace axion::client
