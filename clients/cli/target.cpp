#include "clients/cli/target.hpp"

#include <iostream>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/flags.hpp"
#include "clients/cli/scene_files.hpp"
#include "clients/cli/solver_choices.hpp"

namespace axion::cli {
namespace {

// "ball.restitution=0.8" as an Override. Names may hold dots: the last one before the value's '=' counts.
template <typename Override>
absl::StatusOr<Override> parse_override(const char* flag, const std::string& word) {
  const std::size_t equals = word.rfind('=');
  const std::size_t dot = equals == std::string::npos ? std::string::npos : word.rfind('.', equals);
  double value = 0;
  if (dot == std::string::npos || !absl::SimpleAtod(word.substr(equals + 1), &value)) {
    return usage_error(absl::StrCat("--", flag, ": '", word, "' is not NAME.CHANGE=VALUE"));
  }
  Override change;
  const std::string leaf = word.substr(dot + 1, equals - dot - 1);
  const auto* field = Override::descriptor()->FindFieldByName(leaf);
  if (field == nullptr || field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) {
    std::vector<std::string> names;
    for (int i = 1; i < Override::descriptor()->field_count(); ++i) {
      names.push_back(Override::descriptor()->field(i)->name());
    }
    return usage_error(absl::StrCat("--", flag, ": '", leaf, "' is none of ", absl::StrJoin(names, ", ")));
  }
  change.set_name(word.substr(0, dot));
  change.GetReflection()->SetDouble(&change, field, value);
  return change;
}

template <typename Override>
absl::Status parse_overrides(const char* flag, const std::vector<std::string>& words,
                             std::vector<Override>& overrides) {
  for (const std::string& word : words) {
    auto change = parse_override<Override>(flag, word);
    if (!change.ok()) {
      return change.status();
    }
    // Changes of one name after another are one: a damper comes with its spring.
    if (!overrides.empty() && overrides.back().name() == change->name()) {
      overrides.back().MergeFrom(*change);
    } else {
      overrides.push_back(*std::move(change));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<client::CreateModelOptions> model_options() {
  client::CreateModelOptions options;
  options.allow_unsupported = absl::GetFlag(FLAGS_allow_unsupported);
  for (const std::string& asset : absl::GetFlag(FLAGS_assets)) {
    const std::pair<std::string, std::string> name_and_path = absl::StrSplit(asset, absl::MaxSplits('=', 1));
    const std::string& path = name_and_path.second.empty() ? name_and_path.first : name_and_path.second;
    auto content = read_file(path);
    if (!content.ok()) {
      return content.status();
    }
    options.assets[name_and_path.first] = *std::move(content);
  }
  auto status = parse_overrides("shape_overrides", absl::GetFlag(FLAGS_shape_overrides), options.shape_overrides);
  status.Update(parse_overrides("joint_overrides", absl::GetFlag(FLAGS_joint_overrides), options.joint_overrides));
  if (!status.ok()) {
    return status;
  }
  return options;
}

absl::Status set_urdf_options(v1::UrdfOptions& options) {
  const std::string base = absl::GetFlag(FLAGS_base);
  if (base != "fixed" && base != "free") {
    return usage_error(absl::StrCat("--base: '", base, "' is neither fixed nor free"));
  }
  options.set_base(base == "free" ? v1::URDF_BASE_FREE : v1::URDF_BASE_FIXED);
  if (const double height = absl::GetFlag(FLAGS_base_height); height != 0) {
    options.mutable_base_pose()->mutable_position()->set_z(height);
  }
  options.set_actuators(absl::GetFlag(FLAGS_motors) ? v1::URDF_ACTUATORS_MOTOR : v1::URDF_ACTUATORS_NONE);
  options.set_ground(absl::GetFlag(FLAGS_ground));
  options.set_self_collision(absl::GetFlag(FLAGS_self_collision));
  options.set_keep_overlaps(absl::GetFlag(FLAGS_keep_overlaps));
  options.set_massless(absl::GetFlag(FLAGS_massless));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Model> open_model(const client::Client& client, const std::string& word) {
  if (absl::StartsWith(word, "models/")) {
    return client.get_model(word);
  }
  const auto content = read_file(word);
  if (!content.ok()) {
    return file_error(absl::StrCat(content.status().message(), "; batches are named batches/ID, and models models/ID"));
  }
  const std::string text = as_utf8(*content);
  auto options = model_options();
  if (!options.ok()) {
    return options.status();
  }
  const bool urdf = is_urdf(word, text);
  const std::vector<std::string> folders = absl::GetFlag(FLAGS_file_folders);
  auto files = urdf ? meshes_of_urdf(word, text, folders) : files_of_mjcf(word, text, folders);
  if (!files.ok()) {
    return files.status();
  }
  options->assets.merge(*std::move(files));  // what --assets gives comes first
  if (urdf) {
    if (const auto status = set_urdf_options(options->urdf); !status.ok()) {
      return status;
    }
  }
  auto model = urdf ? client.create_model_of_urdf(text, *options) : client.create_model(text, *options);
  if (model.ok()) {
    for (const std::string& warning : model->warnings()) {
      std::cerr << "warning: " << warning << "\n";
    }
  }
  return model;
}

absl::StatusOr<client::Batch> make_batch(const client::Client& client, const v1::Model& model) {
  v1::CreateBatchRequest request;
  request.set_model(model.name());
  request.set_world_count(absl::GetFlag(FLAGS_worlds));
  if (const double dt = absl::GetFlag(FLAGS_dt); dt != 0) {
    request.set_dt(dt);
  }
  if (const auto status = set_solver_options_of_flags(*request.mutable_options()); !status.ok()) {
    return status;
  }
  request.set_seed(absl::GetFlag(FLAGS_seed));
  if (const double noise = absl::GetFlag(FLAGS_noise); noise != 0) {
    request.mutable_initial_noise()->set_joint_position(noise);
  }
  if (const absl::Duration ttl = absl::GetFlag(FLAGS_idle_ttl); ttl != absl::ZeroDuration()) {
    request.mutable_idle_ttl()->set_seconds(absl::ToInt64Seconds(ttl));
    request.mutable_idle_ttl()->set_nanos(
        static_cast<std::int32_t>(absl::ToInt64Nanoseconds(ttl - absl::Seconds(absl::ToInt64Seconds(ttl)))));
  }
  return client.create_batch(request);
}

absl::StatusOr<client::Batch> open_batch(const client::Client& client, const std::string& word) {
  if (absl::StartsWith(word, "batches/")) {
    return client.get_batch(word);
  }
  const auto model = open_model(client, word);
  if (!model.ok()) {
    return model.status();
  }
  return make_batch(client, *model);
}

absl::StatusOr<client::Batch> named_batch(const Invocation& invocation, const char* command) {
  if (invocation.words.size() != 1 || !absl::StartsWith(invocation.words.front(), "batches/")) {
    return usage_error(absl::StrCat(command, " takes one batches/ID"));
  }
  return invocation.client.get_batch(invocation.words.front());
}

absl::StatusOr<std::vector<double>> control_of_flags(const client::Client& client, const client::Batch& batch) {
  const auto words = absl::GetFlag(FLAGS_control);
  const auto keyframe = absl::GetFlag(FLAGS_hold);
  if (!words.empty() && !keyframe.empty()) {
    return usage_error("give --control or --hold, not both");
  }
  if (!keyframe.empty()) {
    const auto model = client.get_model(batch.info().model());
    if (!model.ok()) {
      return model.status();
    }
    return client::hold_control(*model, keyframe);
  }
  std::vector<double> control;
  for (const std::string& word : words) {
    double value = 0;
    if (!absl::SimpleAtod(word, &value)) {
      return usage_error(absl::StrCat("--control: '", word, "' is not a number"));
    }
    control.push_back(value);
  }
  return control;
}

absl::StatusOr<std::vector<std::int32_t>> shown_worlds(const client::Batch& batch) {
  std::vector<std::int32_t> worlds;
  for (const std::string& word : absl::GetFlag(FLAGS_show)) {
    std::int32_t index = 0;
    if (!absl::SimpleAtoi(word, &index) || index < 0 || index >= batch.world_count()) {
      return usage_error(absl::StrCat("--show: '", word, "' is no world of 0 .. ", batch.world_count() - 1));
    }
    worlds.push_back(index);
  }
  return worlds;
}

}  // namespace axion::cli
