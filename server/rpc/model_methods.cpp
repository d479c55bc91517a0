// Models: create, get, list, delete.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "engine/import/mjcf.hpp"
#include "engine/import/urdf.hpp"

#include "server/rpc/asset_download.hpp"
#include "server/rpc/asset_upload.hpp"
#include "server/rpc/page_bytes.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/request_hash.hpp"
#include "server/rpc/scene_conversion.hpp"
#include "server/rpc/scene_overrides.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/status.hpp"
#include "server/rpc/visuals.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/step_rules.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

using import::ImportOptions;  // a line that begins with `import` is a module's to clang-format

// The files that a request names by digest, as far as they are here.
struct NamedAssets {
  std::vector<std::pair<std::string, std::shared_ptr<const schedule::Asset>>> found;  // by name
  std::vector<std::pair<std::string, std::string>> absent;                            // name and digest
};

absl::StatusOr<NamedAssets> named_assets(const v1::CreateModelRequest& request, const schedule::Tenant& tenant,
                                         schedule::AssetStore& store, absl::Time now) {
  NamedAssets named;
  for (const auto& [name, digest] : request.asset_digests()) {
    const std::string field = absl::StrCat("asset_digests[\"", schedule::shown(name), "\"]");
    if (absl::Status status = check_digest(field, digest); !status.ok()) return status;
    if (request.assets().contains(name)) return invalid_field(field, "is in assets, too");
    if (auto asset = store.find(tenant, digest, now)) {
      named.found.emplace_back(name, std::move(asset));
    } else {
      named.absent.emplace_back(name, digest);
    }
  }
  return named;
}

ImportOptions import_options(const v1::CreateModelRequest& request, const NamedAssets& named) {
  ImportOptions options{.allow_unsupported = request.allow_unsupported(), .assets = {}};
  for (const auto& [name, bytes] : request.assets()) options.assets.emplace(name, bytes);
  for (const auto& [name, asset] : named.found) options.assets.emplace(name, asset->bytes);
  for (const auto& [name, digest] : named.absent) options.assets.elsewhere.insert(name);
  options.wants_visuals = request.keep_visuals();
  return options;
}

// As many as fit a status.
constexpr std::size_t kMaxMissingTold = 40;

absl::Status missing_assets(const ImportOptions& options, const NamedAssets& named) {
  std::vector<std::string> digests, names;
  absl::flat_hash_set<absl::string_view> told;
  for (const auto& [name, digest] : named.absent) {
    if (!options.assets.wanted.contains(name) || !told.insert(digest).second) continue;
    digests.push_back(digest);
    names.push_back(name);
  }
  const std::string all = absl::StrCat(
      "assets: the scene needs ", digests.size(), " files that are not here, of which ", "the first is \"",
      schedule::shown(names.front()), "\", ", digests.front(), "; send them by UploadAssets and repeat the request");
  digests.resize(std::min(digests.size(), kMaxMissingTold));
  return schedule::make_failure(
      absl::StatusCode::kFailedPrecondition, all,
      {.reason = std::string(schedule::reason::kAssetsMissing), .field = "asset_digests", .missing = digests});
}

absl::StatusOr<import::UrdfOptions> urdf_options(const v1::UrdfOptions& message) {
  if (!v1::UrdfBase_IsValid(message.base())) {
    return invalid_field("urdf_options.base", absl::StrCat("is ", static_cast<int>(message.base()),
                                                           "; it must be a UrdfBase: FIXED or FREE"));
  }
  if (!v1::UrdfActuators_IsValid(message.actuators())) {
    return invalid_field("urdf_options.actuators", absl::StrCat("is ", static_cast<int>(message.actuators()),
                                                                "; it must be a UrdfActuators: NONE or MOTOR"));
  }
  import::UrdfOptions options;
  options.free_base = message.base() == v1::URDF_BASE_FREE;
  options.motors = message.actuators() == v1::URDF_ACTUATORS_MOTOR;
  options.ground = message.ground();
  if (message.has_self_collision()) options.self_collision = message.self_collision();
  options.keep_overlaps = message.keep_overlaps();
  options.massless = message.massless();
  const v1::Pose& pose = message.base_pose();
  if (pose.has_position()) options.X_WR.position = {pose.position().x(), pose.position().y(), pose.position().z()};
  if (pose.has_rotation()) {
    const v1::Quaternion& q = pose.rotation();
    options.X_WR.rotation = {q.w(), q.x(), q.y(), q.z()};
  }
  return options;
}

absl::StatusOr<import::ImportedScene> read_scene(const v1::CreateModelRequest& request, const ImportOptions& files) {
  if (request.has_urdf_options() && request.source_case() != v1::CreateModelRequest::kUrdf) {
    return invalid_field("urdf_options", "are for urdf");
  }
  switch (request.source_case()) {
    case v1::CreateModelRequest::kMjcf: {
      Result<import::ImportedScene> imported = import::import_mjcf(request.mjcf(), files);
      if (!imported.ok()) return schedule::from_engine(imported.error(), "mjcf");
      return std::move(imported).value();
    }
    case v1::CreateModelRequest::kUrdf: {
      const auto options = urdf_options(request.urdf_options());
      if (!options.ok()) return options.status();
      Result<import::ImportedScene> imported = import::import_urdf(request.urdf(), files, *options);
      if (!imported.ok()) {
        return schedule::from_engine(imported.error(), imported.error().field == "base_pose" ? "urdf_options" : "urdf");
      }
      return std::move(imported).value();
    }
    case v1::CreateModelRequest::kScene: {
      for (const auto& [field, count] :
           {std::pair("assets", request.assets_size()), {"asset_digests", request.asset_digests_size()}}) {
        if (count > 0) return invalid_field(field, "are for mjcf and urdf; a scene names no files");
      }
      auto scene = to_scene(request.scene());
      if (!scene.ok()) return scene.status();
      auto colors = to_colors(request.scene());
      if (!colors.ok()) return colors.status();
      return import::ImportedScene{.scene = *std::move(scene), .warnings = {}, .shape_colors = *std::move(colors)};
    }
    case v1::CreateModelRequest::SOURCE_NOT_SET:
      break;
  }
  return invalid_field("source", "is absent; give mjcf, urdf or scene");
}

// What the document needs and is not here ends this with what is missing, whatever else is wrong with it.
absl::StatusOr<import::ImportedScene> scene_of(const v1::CreateModelRequest& request, const NamedAssets& named) {
  ImportOptions files = import_options(request, named);
  auto scene = read_scene(request, files);
  if (files.assets.wanted.empty()) return scene;
  // Where the first file that is missing ended it, it is read on for the others.
  if (!std::exchange(files.allow_unsupported, true)) read_scene(request, files).IgnoreError();
  return missing_assets(files, named);
}

// What reading a scene takes besides the message: a document's tree is many times its text.
std::int64_t reading_bytes(const v1::CreateModelRequest& request, const NamedAssets& named) {
  std::size_t bytes = 24 * (request.mjcf().size() + request.urdf().size());
  for (const auto& [name, content] : request.assets()) bytes += 3 * content.size();
  for (const auto& [name, asset] : named.found) bytes += 3 * asset->bytes.size();
  if (request.has_scene()) bytes += 3 * request.scene().SpaceUsedLong();
  return static_cast<std::int64_t>(bytes);
}

// Names of models are all as long as this one.
constexpr absl::string_view kNameOfAModel = "models/0123456789abcdef";

// All that decides what the model is and what its creator is told. The message has no maps, so its bytes are the same
// for the same scene in one build.
schedule::ModelContent content_of(const import::ImportedScene& imported) {
  v1::SceneSpec scene = to_message(imported.scene);
  fill_colors(imported.shape_colors, *scene.mutable_shapes());
  std::vector<std::string> warnings;
  for (const std::string& warning : imported.warnings) warnings.push_back(wire_text(warning));
  return {.scene = scene.SerializeAsString(), .warnings = std::move(warnings), .colors = imported.shape_colors};
}

}  // namespace

absl::Status SimulationService::create_model(const schedule::Tenant& tenant, const v1::CreateModelRequest& request,
                                             v1::Model& response) {
  std::string digest = request_digest(request);
  if (const auto known = parts_.registry.find_request(tenant, digest)) {
    fill_model(*known, response);
    return absl::OkStatus();
  }
  auto named = named_assets(request, tenant, parts_.registry.assets(), parts_.batcher.now());
  if (!named.ok()) return named.status();
  schedule::MemoryHold reading = memory(tenant);
  const absl::Status fits = reading.grow(reading_bytes(request, *named), "reading the scene");
  if (!fits.ok()) return fits;
  auto imported = scene_of(request, *named);
  if (!imported.ok()) return imported.status();
  if (absl::Status overrides = apply_overrides(request, imported->scene); !overrides.ok()) return overrides;
  schedule::ModelContent content = content_of(*imported);
  // Asked for again it holds what has come since of files that were absent: it is to be read again for that.
  if (named->absent.empty()) content.request = std::move(digest);
  content.visuals = visuals_of(*imported, request);
  keep_inline_visuals(tenant, *imported, request, content.assets);
  for (auto& [name, asset] : named->found) content.assets.push_back(std::move(asset));
  auto found = find_or_compile(tenant, std::move(content), imported->scene,
                               request.source_case() == v1::CreateModelRequest::kScene ? "scene" : "");
  if (!found.ok()) return found.status();
  fill_model(*found->record, response);
  return absl::OkStatus();
}

absl::StatusOr<SimulationService::FoundModel> SimulationService::find_or_compile(const schedule::Tenant& tenant,
                                                                                 schedule::ModelContent content,
                                                                                 const model::SceneSpec& scene,
                                                                                 const char* field) {
  if (auto record = parts_.registry.find_content(tenant, content)) return FoundModel{record, false};
  auto model = compile_model(scene);
  if (!model.ok()) return schedule::from_engine(in_wire_names(model.error()), field);
  // What cannot be described to anybody, alone on a page of ListModels, is not kept either.
  schedule::ModelRecord described{std::string(kNameOfAModel), model.value(), content.warnings, parts_.batcher.now()};
  described.colors = content.colors, described.visuals = content.visuals;
  const std::vector<std::string>& own = model.value()->info().warnings;
  described.warnings.insert(described.warnings.end(), own.begin(), own.end());
  v1::Model description;
  fill_model(described, description);
  if (absl::Status fits = check_page(description.ByteSizeLong(), parts_.limits); !fits.ok()) return fits;
  schedule::MemoryHold memory = this->memory(tenant);
  if (absl::Status fits = memory.grow(model_bytes(description, content), "the model"); !fits.ok()) return fits;
  auto record = parts_.registry.add_model(tenant, std::move(content), std::move(model).value(), parts_.batcher.now(),
                                          std::move(memory));
  if (!record.ok()) return record.status();
  return FoundModel{*std::move(record), true};
}

void SimulationService::CreateModel(UnaryCall* call, const v1::CreateModelRequest* request, v1::Model* response) {
  on_worker(parts_.compiler, call,
            [this, call, request, response] { return create_model(call->tenant(), *request, *response); });
}

void SimulationService::keep_inline_visuals(const schedule::Tenant& tenant, const import::ImportedScene& imported,
                                            const v1::CreateModelRequest& request, schedule::Assets& held) {
  std::map<std::string, schedule::Asset> kept;  // by digest
  for (const import::Visual& visual : imported.visuals) {
    const auto file = request.assets().find(visual.file);
    if (file == request.assets().end()) continue;
    const std::string digest = digest_of(file->second);
    if (kept.contains(digest)) continue;
    if (auto known = find_asset(tenant, digest)) {
      held.push_back(std::move(known));
      continue;
    }
    schedule::MemoryHold memory = this->memory(tenant);
    const auto bytes = static_cast<std::int64_t>(file->second.size()) + schedule::kAssetOverhead;
    if (!memory.grow(bytes, "a mesh for the eye").ok()) continue;  // viewers elsewhere do without
    kept[digest] = {.digest = digest, .bytes = file->second, .memory = std::move(memory)};
  }
  std::vector<schedule::Asset> assets;
  for (auto& [digest, asset] : kept) assets.push_back(std::move(asset));
  if (assets.empty()) return;
  keep_assets(tenant, std::move(assets));
  for (const auto& [digest, asset] : kept) {
    // Another call may have wanted its memory since.
    if (auto found = find_asset(tenant, digest)) held.push_back(std::move(found));
  }
}

void SimulationService::keep_assets(const schedule::Tenant& tenant, std::vector<schedule::Asset> assets) {
  parts_.registry.assets().add(tenant, std::move(assets), parts_.batcher.now());
  parts_.batcher.wake();  // it looks for what expires
}

std::shared_ptr<const schedule::Asset> SimulationService::find_asset(const schedule::Tenant& tenant,
                                                                     const std::string& digest) {
  return parts_.registry.assets().find(tenant, digest, parts_.batcher.now());
}

WatchStream* SimulationService::DownloadAsset(grpc::CallbackServerContext* context, grpc::ByteBuffer& request) {
  auto* download = new AssetDownload(*this, *context);
  download->start(request);
  return download;
}

UploadStream* SimulationService::UploadAssets(grpc::CallbackServerContext* context, grpc::ByteBuffer* answer) {
  auto* upload = new AssetUpload(*this, *context, *answer);
  upload->start();
  return upload;
}

void SimulationService::GetModel(UnaryCall* call, const v1::GetModelRequest* request, v1::Model* response) {
  call->finish(get_model(call->tenant(), *request, *response));
}

absl::Status SimulationService::get_model(const schedule::Tenant& tenant, const v1::GetModelRequest& request,
                                          v1::Model& response) const {
  if (!v1::ModelView_IsValid(request.view())) {
    return invalid_field(
        "view", absl::StrCat("is ", static_cast<int>(request.view()), "; it must be a ModelView: BASIC or FULL"));
  }
  const auto record = parts_.registry.find_model(tenant, "name", request.name());
  if (!record.ok()) return record.status();
  fill_model(**record, response);
  if (request.view() != v1::MODEL_VIEW_FULL) return absl::OkStatus();
  *response.mutable_scene() = to_message((*record)->model->info().scene);
  fill_colors((*record)->colors, *response.mutable_scene()->mutable_shapes());
  return check_answer_bytes(static_cast<double>(response.ByteSizeLong()), parts_.limits);
}

void SimulationService::ListModels(UnaryCall* call, const v1::ListModelsRequest* request,
                                   v1::ListModelsResponse* response) {
  const auto page = parts_.registry.list_models(call->tenant(), request->page_size(), request->page_token());
  if (page.ok()) {
    fill_page(*page, parts_.limits, *response->mutable_models(), *response->mutable_next_page_token(),
              [](const schedule::ModelRecord& record, v1::Model& message) {
                fill_model(record, message);
                return absl::string_view(record.name);
              });
  }
  call->finish(page.status());
}

void SimulationService::DeleteModel(UnaryCall* call, const v1::DeleteModelRequest* request, google::protobuf::Empty*) {
  const absl::Status status = parts_.registry.remove_model(call->tenant(), request->name());
  if (!status.ok()) return call->finish(status);
  finish_when_forgotten(call, [this, tenant = call->tenant().name, name = request->name()] {
    parts_.checkpoints->forget_model(tenant, name);
  });
}

}  // namespace axion::server::rpc
