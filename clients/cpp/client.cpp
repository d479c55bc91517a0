#include "clients/cpp/client.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/assets.hpp"
#include "clients/cpp/connection.hpp"
#include "clients/cpp/credentials.hpp"

namespace axion::client {
namespace {

using Stub = v1::Simulation::StubInterface;

// Bytes of a call that may be under way unread, and of one frame: answers are megabytes, and with gRPC's own 64 KiB and
// 16 KiB the two ends wake each other dozens of times before one is through.
constexpr int kStreamWindowBytes = 16 << 20;
constexpr int kFrameBytes = 1 << 20;
// Of an attempt to connect and the next: a server that comes back is seen within a second, not two minutes.
constexpr int kFirstWaitMs = 200, kLongestWaitMs = 1000, kMostToConnectMs = 5000;
// Of one file for one model: it may go for want of memory before that is made.
constexpr int kMostUploads = 3;

// The address with axiond's own port where it has none: gRPC means port 443 then. Whatever names a scheme is left.
std::string with_port(const std::string& target) {
  const auto completed = [](const std::string& host) { return absl::StrCat(host, ":", kDefaultPort); };
  if (absl::StartsWith(target, "[")) return absl::EndsWith(target, "]") ? completed(target) : target;
  const auto colons = std::count(target.begin(), target.end(), ':');
  const bool is_v6 = colons > 1 && target.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
  if (is_v6) return completed(absl::StrCat("[", target, "]"));
  return colons > 0 || target.empty() ? target : completed(target);
}

}  // namespace

Client Client::connect(const std::string& address, const ConnectOptions& options) {
  const std::string target = with_port(address);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstWaitMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestWaitMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kMostToConnectMs);
  auto found = resolve_credentials(target, options);
  if (!found.ok()) {
    auto nowhere = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
    return Client(std::make_shared<Connection>(v1::Simulation::NewStub(nowhere), options.timeout, options.retry, "",
                                               found.status()));
  }
  if (!found->server_name.empty()) {
    arguments.SetSslTargetNameOverride(found->server_name);
  }
  auto channel = grpc::CreateCustomChannel(target, found->channel, arguments);
  return Client(
      std::make_shared<Connection>(v1::Simulation::NewStub(channel), options.timeout, options.retry, found->token));
}

absl::StatusOr<v1::ServerInfo> Client::server_info() const {
  return connection_->call(&Stub::GetServerInfo, v1::GetServerInfoRequest());
}

namespace {

// Of what a scene file of either format comes with.
v1::CreateModelRequest model_request(const CreateModelOptions& options) {
  v1::CreateModelRequest request;
  request.set_allow_unsupported(options.allow_unsupported);
  for (const auto& [name, content] : options.assets) {
    (*request.mutable_assets())[name] = content;
  }
  request.mutable_shape_overrides()->Add(options.shape_overrides.begin(), options.shape_overrides.end());
  request.mutable_joint_overrides()->Add(options.joint_overrides.begin(), options.joint_overrides.end());
  return request;
}

}  // namespace

absl::StatusOr<v1::Model> Client::create_model(const std::string& mjcf, const CreateModelOptions& options) const {
  v1::CreateModelRequest request = model_request(options);
  request.set_mjcf(mjcf);
  return create_model(request);
}

absl::StatusOr<v1::Model> Client::create_model_of_urdf(const std::string& urdf,
                                                       const CreateModelOptions& options) const {
  v1::CreateModelRequest request = model_request(options);
  request.set_urdf(urdf);
  *request.mutable_urdf_options() = options.urdf;
  return create_model(request);
}

absl::StatusOr<v1::Model> Client::create_model(const v1::CreateModelRequest& request) const {
  v1::CreateModelRequest named = request;
  const AssetContents contents = take_large_assets(named);
  std::map<std::string, int> sent;
  while (true) {
    auto model = connection_->call(&Stub::CreateModel, named);
    const std::vector<std::string> missing = details_of(model.status()).missing;
    const bool helps = !missing.empty() && std::all_of(missing.begin(), missing.end(), [&](const std::string& digest) {
      return contents.contains(digest) && sent[digest]++ < kMostUploads;
    });
    if (model.ok() || !helps) {
      return model;
    }
    // Of a server that went away meanwhile the repeated request finds out whether it comes back.
    const absl::Status status = upload_assets(*connection_, contents, missing);
    if (!status.ok() && !absl::IsUnavailable(status)) {
      return status;
    }
  }
}

absl::StatusOr<v1::Model> Client::get_model(const std::string& name, v1::ModelView view) const {
  v1::GetModelRequest request;
  request.set_name(name);
  request.set_view(view);
  return connection_->call(&Stub::GetModel, request);
}

absl::StatusOr<std::vector<v1::Model>> Client::list_models() const {
  std::vector<v1::Model> models;
  v1::ListModelsRequest request;
  do {
    auto page = connection_->call(&Stub::ListModels, request);
    if (!page.ok()) {
      return page.status();
    }
    models.insert(models.end(), page->models().begin(), page->models().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return models;
}

absl::Status Client::delete_model(const std::string& name) const {
  v1::DeleteModelRequest request;
  request.set_name(name);
  return connection_->call(&Stub::DeleteModel, request).status();
}

absl::StatusOr<Batch> Client::create_batch(const std::string& model, int world_count) const {
  v1::CreateBatchRequest request;
  request.set_model(model);
  request.set_world_count(world_count);
  return create_batch(request);
}

absl::StatusOr<Batch> Client::create_batch(const v1::CreateBatchRequest& request) const {
  v1::CreateBatchRequest once = request;
  auto info = connection_->call_once(&Stub::CreateBatch, once);
  if (!info.ok()) {
    return info.status();
  }
  return Batch(connection_, *std::move(info), /*owned=*/true);
}

absl::StatusOr<Batch> Client::get_batch(const std::string& name) const {
  v1::GetBatchRequest request;
  request.set_name(name);
  auto info = connection_->call(&Stub::GetBatch, request);
  if (!info.ok()) {
    return info.status();
  }
  return Batch(connection_, *std::move(info), /*owned=*/false);
}

absl::StatusOr<std::vector<v1::Batch>> Client::list_batches() const {
  std::vector<v1::Batch> batches;
  v1::ListBatchesRequest request;
  do {
    auto page = connection_->call(&Stub::ListBatches, request);
    if (!page.ok()) {
      return page.status();
    }
    batches.insert(batches.end(), page->batches().begin(), page->batches().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return batches;
}

absl::Status Client::delete_batch(const std::string& name) const {
  v1::DeleteBatchRequest request;
  request.set_name(name);
  return connection_->call(&Stub::DeleteBatch, request).status();
}

absl::StatusOr<Batch> Client::restore_snapshot(const v1::RestoreSnapshotRequest& request) const {
  v1::RestoreSnapshotRequest once = request;
  auto info = connection_->call_once(&Stub::RestoreSnapshot, once);
  if (!info.ok()) {
    return info.status();
  }
  return Batch(connection_, *std::move(info), /*owned=*/false);
}

absl::StatusOr<std::vector<v1::Snapshot>> Client::list_snapshots() const {
  std::vector<v1::Snapshot> snapshots;
  v1::ListSnapshotsRequest request;
  do {
    auto page = connection_->call(&Stub::ListSnapshots, request);
    if (!page.ok()) {
      return page.status();
    }
    snapshots.insert(snapshots.end(), page->snapshots().begin(), page->snapshots().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return snapshots;
}

absl::Status Client::delete_snapshot(const std::string& name) const {
  v1::DeleteSnapshotRequest request;
  request.set_name(name);
  return connection_->call(&Stub::DeleteSnapshot, request).status();
}

absl::StatusOr<v1::SensorInfo> find_sensor(const v1::Model& model, const std::string& name) {
  for (const v1::SensorInfo& sensor : model.sensors()) {
    if (sensor.name() == name) {
      return sensor;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("model ", model.name(), " has no sensor '", name, "'; it has ", model.sensors_size()));
}

namespace {

// Length of a tendon in a keyframe.
double tendon_length(const v1::Model& model, const v1::TendonSpec& tendon, const v1::KeyframeSpec& key) {
  double length = 0;
  for (const v1::TendonTerm& term : tendon.terms()) {
    if (term.joint() >= model.joints_size()) continue;
    const int position = model.joints(term.joint()).position_start() + term.axis();
    if (position >= 0 && position < key.joint_position_size()) {
      length += term.coefficient() * key.joint_position(position);
    }
  }
  return length;
}

}  // namespace

absl::StatusOr<std::vector<double>> hold_control(const v1::Model& model, const std::string& keyframe) {
  for (const v1::KeyframeSpec& key : model.keyframes()) {
    if (key.name() != keyframe) {
      continue;
    }
    std::vector<double> control;
    for (const v1::ActuatorSpec& actuator : model.actuators()) {
      if (actuator.has_tendon() && actuator.tendon() < model.tendons_size()) {
        const bool holds = actuator.kind() == v1::ACTUATOR_KIND_POSITION;
        control.push_back(holds ? actuator.gear() * tendon_length(model, model.tendons(actuator.tendon()), key) : 0.0);
        continue;
      }
      const int position = actuator.joint() < model.joints_size()
                               ? model.joints(actuator.joint()).position_start() + actuator.axis()
                               : key.joint_position_size();
      const bool holds =
          actuator.kind() == v1::ACTUATOR_KIND_POSITION && position >= 0 && position < key.joint_position_size();
      control.push_back(holds ? actuator.gear() * key.joint_position(position) : 0.0);
    }
    return control;
  }
  std::vector<std::string> names;
  for (const v1::KeyframeSpec& key : model.keyframes()) {
    names.push_back(key.name());
  }
  return absl::NotFoundError(absl::StrCat("model ", model.name(), " has no keyframe '", keyframe, "'; there are ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace axion::client
