// axion create, delete, step, state: worlds made, moved and looked at.
#include <algorithm>

#include "absl/flags/flag.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/channel_names.hpp"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/target.hpp"
#include "clients/cpp/tensor.hpp"

namespace axion::cli {
namespace {

// The model of a batch, for names; an empty one, which has none, where it was deleted.
v1::Model model_of(const client::Client& client, const client::Batch& batch) {
  auto model = client.get_model(batch.info().model());
  return model.ok() ? *std::move(model) : v1::Model();
}

// "body_pose [256, 13, 7]" and the rows of the shown worlds, each line with what it is about.
void print_field(const std::string& name, const v1::Tensor& tensor, const std::vector<std::int32_t>& worlds,
                 bool rows_are_worlds, const v1::Model& model) {
  absl::PrintF("%s %s\n", name, client::shape_text(tensor));
  const int dimensions = tensor.shape_size();
  const std::int64_t width = dimensions > 2 ? tensor.shape(dimensions - 1) : 1;
  const auto about = [&](std::int64_t line) {
    return width > 1 ? thing_name(model, name, line * width) : channel_name(model, {name, line});
  };
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const std::int64_t row = rows_are_worlds ? worlds[i] : static_cast<std::int64_t>(i);
    absl::PrintF("  world %d\n%s\n", worlds[i], row_text(tensor, row, "   ", about));
  }
}

void print_step(const client::StepResult& result, const std::vector<std::int32_t>& worlds, const v1::Model& model) {
  const int n = result.world_count();
  absl::PrintF("stepped %d worlds to step %d, time %g s\n", n, n > 0 ? result.step_index()[0] : 0,
               n > 0 ? result.time()[0] : 0.0);
  for (const auto bit : {v1::OUTCOME_CONVERGED, v1::OUTCOME_MAX_ITERATIONS, v1::OUTCOME_CONTACT_OVERFLOW,
                         v1::OUTCOME_NON_FINITE, v1::OUTCOME_FALLBACK, v1::OUTCOME_EASED, v1::OUTCOME_OVERLAP}) {
    if (const int count = result.worlds_with(bit); count > 0) {
      absl::PrintF("  %-16s %d worlds\n", outcome_text(bit), count);
    }
  }
  for (const std::string& name : absl::GetFlag(FLAGS_outputs)) {
    if (const v1::Tensor* tensor = result.tensor(name)) {
      print_field(name, *tensor, worlds, true, model);
    }
  }
}

nlohmann::json step_json(const client::StepResult& result) {
  nlohmann::json json;
  json["time"] = result.time();
  json["step_index"] = result.step_index();
  json["outcome"] = result.outcome();
  json["outputs"] = nlohmann::json::object();
  for (const auto& [name, tensor] : result.message().outputs()) {
    json["outputs"][name] = tensor_json(tensor);
  }
  return json;
}

}  // namespace

absl::Status run_create(const Invocation& invocation) {
  if (invocation.words.size() != 1) {
    return usage_error("create takes one MJCF or URDF file, or models/ID");
  }
  const auto model = open_model(invocation.client, invocation.words.front());
  if (!model.ok()) {
    return model.status();
  }
  nlohmann::json json{{"model", model->name()}};
  json["warnings"] = std::vector<std::string>(model->warnings().begin(), model->warnings().end());
  std::string batch_name;
  if (absl::GetFlag(FLAGS_worlds) != 0) {
    auto batch = make_batch(invocation.client, *model);
    if (!batch.ok()) {
      return batch.status();
    }
    batch->release();
    batch_name = batch->name();
    json["batch"] = batch_name;
    json["world_count"] = batch->world_count();
    json["dt"] = batch->dt();
    json["device"] = batch->info().device();
    json["memory_bytes"] = batch->info().memory_bytes();
  }
  if (invocation.json) {
    print_json(json);
    return absl::OkStatus();
  }
  absl::PrintF("%s  %s: %d bodies, nq %d, nv %d, nu %d\n", model->name(), model->display_name(), model->body_count(),
               model->joint_position_count(), model->joint_velocity_count(), model->control_count());
  if (!batch_name.empty()) {
    absl::PrintF("%s  %d worlds on %s, dt %g s, %s\n", batch_name, json["world_count"].get<int>(),
                 json["device"].get<std::string>(), json["dt"].get<double>(),
                 bytes_text(json["memory_bytes"].get<std::int64_t>()));
  }
  return absl::OkStatus();
}

absl::Status run_delete(const Invocation& invocation) {
  if (invocation.words.empty()) {
    return usage_error("delete takes names of batches and models");
  }
  for (const std::string& name : invocation.words) {
    const bool batch = absl::StartsWith(name, "batches/");
    if (!batch && !absl::StartsWith(name, "models/")) {
      return usage_error(absl::StrCat("'", name, "' is neither batches/ID nor models/ID"));
    }
    const absl::Status status = batch ? invocation.client.delete_batch(name) : invocation.client.delete_model(name);
    if (!status.ok()) {
      return status;
    }
    if (!invocation.json) {
      absl::PrintF("deleted %s\n", name);
    }
  }
  if (invocation.json) {
    print_json({{"deleted", invocation.words}});
  }
  return absl::OkStatus();
}

absl::Status run_step(const Invocation& invocation) {
  const auto batch = named_batch(invocation, "step");
  if (!batch.ok()) {
    return batch.status();
  }
  const auto control = control_of_flags(invocation.client, *batch);
  if (!control.ok()) {
    return control.status();
  }
  const auto worlds = shown_worlds(*batch);
  if (!worlds.ok()) {
    return worlds.status();
  }
  const auto result = batch->step(
      {.control = *control, .step_count = absl::GetFlag(FLAGS_steps), .outputs = absl::GetFlag(FLAGS_outputs)});
  if (!result.ok()) {
    return result.status();
  }
  if (invocation.json) {
    print_json(step_json(*result));
  } else {
    print_step(*result, *worlds, model_of(invocation.client, *batch));
  }
  return absl::OkStatus();
}

absl::Status run_state(const Invocation& invocation) {
  const auto batch = named_batch(invocation, "state");
  if (!batch.ok()) {
    return batch.status();
  }
  const auto worlds = shown_worlds(*batch);
  if (!worlds.ok()) {
    return worlds.status();
  }
  const auto state = batch->get_state(absl::GetFlag(FLAGS_fields), *worlds);
  if (!state.ok()) {
    return state.status();
  }
  nlohmann::json json{{"worlds", *worlds}, {"fields", nlohmann::json::object()}};
  const v1::Model model = invocation.json ? v1::Model() : model_of(invocation.client, *batch);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state->fields()) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const v1::Tensor& tensor = state->fields().at(name);
    if (invocation.json) {
      json["fields"][name] = tensor_json(tensor);
    } else {
      print_field(name, tensor, *worlds, false, model);
    }
  }
  for (int i = 0; i < state->snapshot_size(); ++i) {
    if (invocation.json) {
      json["snapshot"].push_back(absl::Base64Escape(state->snapshot(i)));
    } else {
      absl::PrintF("snapshot of world %d: %d bytes (--json prints them in base64)\n",
                   (*worlds)[static_cast<std::size_t>(i)], state->snapshot(i).size());
    }
  }
  if (invocation.json) {
    json["time"] = std::vector<double>(state->time().begin(), state->time().end());
    json["step_index"] = std::vector<std::int64_t>(state->step_index().begin(), state->step_index().end());
    print_json(json);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
