#include "server/rpc/batch_snapshot.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/options_conversion.hpp"
#include "server/rpc/parsed_bytes.hpp"
#include "server/rpc/scene_conversion.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/rpc/step_exchange.hpp"
#include "server/rpc/task_conversion.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"
#include "server/store/store.hpp"

namespace axion::server::rpc {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths are written as they lie in memory");

constexpr absl::string_view kMagic = "AXIONBAT";
constexpr std::size_t kHeadBytes = 16, kSumBytes = 32;
constexpr std::size_t kPartBytes = 4 << 20;
// Of a remembered request: as requests have it, and more than any refusal of ours.
constexpr std::size_t kMaxStoredId = 128, kMaxRefusal = 1024;

absl::Status wrong(absl::string_view what) {
  return schedule::make_failure(absl::StatusCode::kInvalidArgument, absl::StrCat("the snapshot ", what),
                                {.reason = std::string(schedule::reason::kDamaged)});
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T read(absl::string_view bytes, std::size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Takes what a message will take once it is parsed.
absl::Status take_parsed(const std::string& bytes, const google::protobuf::Descriptor& type,
                         schedule::MemoryHold& memory) {
  const ParsedSize size = parsed_size(bytes, type);
  if (size.too_many.has_value())
    return wrong(absl::StrCat("has ", size.too_many->field, ", which ", size.too_many->what));
  return memory.grow(static_cast<std::int64_t>(size.bytes), "the snapshot");
}

void store_answer(const std::string& request_id, const schedule::Remembered& remembered, v1::StoredAnswer& out) {
  out.set_request_id(request_id);
  out.set_request_hash(remembered.request_hash);
  if (remembered.memory != nullptr) {
    out.set_response(response_bytes(*remembered.memory));
    return;
  }
  out.set_code(static_cast<int>(remembered.refusal.code()));
  out.set_message(std::string(remembered.refusal.message()));
  out.set_reason(schedule::details_of(remembered.refusal).reason);
}

// All but its worlds.
void save_head(const schedule::BatchHandle& batch, SavedBatch& saved) {
  const schedule::BatchInfo& info = batch.info;
  v1::StoredBatch& head = saved.head;
  head.set_model_name(info.model_name);
  head.set_batch_name(info.name);
  head.set_world_count(info.world_count);
  head.set_dt(info.dt);
  fill_options(info.options, *head.mutable_options());
  fill_duration(info.idle_ttl, *head.mutable_idle_ttl());
  if (info.stream_ttl < absl::InfiniteDuration()) fill_duration(info.stream_ttl, *head.mutable_stream_ttl());
  head.set_seed(info.seed);
  head.set_joint_position_noise(info.noise.joint_position);
  head.set_joint_velocity_noise(info.noise.joint_velocity);
  fill_time(info.create_time, *head.mutable_create_time());
  head.set_incarnation(info.incarnation);
  head.set_request_id(info.request_id);
  head.set_request_hash(info.request_hash);
  if (info.task != nullptr) head.mutable_task()->ParseFromString(info.task_message);
  for (const auto& [id, remembered] : batch.replays.entries()) store_answer(id, remembered, *head.add_answers());
  if (!batch.resting.first.empty()) {
    store_answer(batch.resting.first, {.memory = nullptr, .refusal = batch.resting.second}, *head.add_answers());
  }
  for (const std::uint64_t id : batch.replays.forgotten()) head.add_forgotten_requests(id);
  saved.min_step_index = saved.max_step_index = batch.engine->step_index(0);
  for (int world = 1; world < info.world_count; ++world) {
    const std::int64_t at = batch.engine->step_index(world);
    saved.min_step_index = std::min(saved.min_step_index, at);
    saved.max_step_index = std::max(saved.max_step_index, at);
  }
}

}  // namespace

std::vector<schedule::Pass> save_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                        const std::shared_ptr<SavedBatch>& saved) {
  const auto save = [batch, saved](Engine&, std::size_t first, std::size_t last) {
    const auto take = [&](std::string world) {
      saved->worlds.push_back(std::move(world));
      return absl::OkStatus();
    };
    return schedule::read_snapshots(*batch, schedule::group_of({}, first, last), take);
  };
  return {schedule::whole([batch, saved](Engine&) {
            save_head(*batch, *saved);
            return absl::OkStatus();
          }),
          {.count = static_cast<std::size_t>(batch->info.world_count), .run = save}};
}

absl::StatusOr<SavedBatch> save_batch(const schedule::BatchHandle& batch) {
  SavedBatch saved;
  save_head(batch, saved);
  const absl::Status status = schedule::read_snapshots(batch, {}, [&](std::string world) {
    saved.worlds.push_back(std::move(world));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return saved;
}

std::vector<std::string> to_parts(const SavedBatch& saved) {
  std::vector<std::string> parts{saved.head.SerializeAsString()};
  v1::StoredWorlds group;
  std::size_t bytes = 0;
  const auto close_group = [&] {
    if (group.worlds_size() > 0) parts.push_back(group.SerializeAsString());
    group.Clear();
    bytes = 0;
  };
  for (const std::string& world : saved.worlds) {
    if (bytes + world.size() > kPartBytes) close_group();
    group.add_worlds(world);
    bytes += world.size();
  }
  close_group();
  return parts;
}

absl::StatusOr<SavedBatch> of_parts(std::span<const std::string> parts, schedule::MemoryHold& memory) {
  SavedBatch saved;
  if (parts.empty()) return wrong("has no description that can be read");
  if (absl::Status fits = take_parsed(parts.front(), *v1::StoredBatch::descriptor(), memory); !fits.ok()) return fits;
  if (!saved.head.ParseFromString(parts.front())) return wrong("has no description that can be read");
  for (const std::string& part : parts.subspan(1)) {
    if (absl::Status fits = take_parsed(part, *v1::StoredWorlds::descriptor(), memory); !fits.ok()) return fits;
    v1::StoredWorlds group;
    if (!group.ParseFromString(part)) return wrong("has worlds that cannot be read");
    for (std::string& world : *group.mutable_worlds()) saved.worlds.push_back(std::move(world));
  }
  const int count = saved.head.world_count();
  if (count < 1 || saved.worlds.size() != static_cast<std::size_t>(count)) {
    return wrong(absl::StrCat("says that it has ", count, " worlds and has ", saved.worlds.size()));
  }
  return saved;
}

std::string to_content(std::span<const std::string> parts) {
  std::string content(kMagic);
  append(content, static_cast<std::uint32_t>(kSnapshotSchemaVersion));
  append(content, static_cast<std::uint32_t>(parts.size()));
  for (const std::string& part : parts) {
    append(content, static_cast<std::uint64_t>(part.size()));
    content += part;
  }
  return content + store::checksum(content);
}

absl::StatusOr<std::vector<std::string>> parts_of_content(absl::string_view content) {
  if (content.size() < kHeadBytes + kSumBytes || content.substr(0, kMagic.size()) != kMagic) {
    return wrong("is not the content of a snapshot");
  }
  const auto version = read<std::uint32_t>(content, kMagic.size());
  if (version != static_cast<std::uint32_t>(kSnapshotSchemaVersion)) {
    return wrong(absl::StrCat("has schema version ", version, "; this server reads ", kSnapshotSchemaVersion));
  }
  const absl::string_view body = content.substr(0, content.size() - kSumBytes);
  if (store::checksum(body) != content.substr(body.size())) return wrong("is damaged: its checksum is another");
  const auto count = read<std::uint32_t>(content, kMagic.size() + 4);
  std::vector<std::string> parts;
  std::size_t at = kHeadBytes;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (body.size() - at < sizeof(std::uint64_t)) return wrong("ends within a part");
    const auto length = read<std::uint64_t>(body, at);
    at += sizeof(std::uint64_t);
    if (length > body.size() - at) return wrong("ends within a part");
    parts.emplace_back(body.substr(at, static_cast<std::size_t>(length)));
    at += static_cast<std::size_t>(length);
  }
  if (at != body.size()) return wrong("has bytes after its last part");
  return parts;
}

v1::StoredModel to_stored(const schedule::ModelRecord& model) {
  v1::StoredModel stored;
  stored.set_scene(model.scene);
  for (std::size_t i = 0; i < model.source_warnings; ++i) stored.add_warnings(model.warnings[i]);
  stored.set_visuals(model.visuals);
  return stored;
}

absl::StatusOr<SceneOfModel> of_stored(const v1::StoredModel& model, schedule::MemoryHold& memory) {
  // The message, the scene, and the message that is made of it again.
  for (int copy = 0; copy < 3; ++copy) {
    if (absl::Status fits = take_parsed(model.scene(), *v1::SceneSpec::descriptor(), memory); !fits.ok()) return fits;
  }
  v1::SceneSpec message;
  if (!message.ParseFromString(model.scene())) return wrong("has a scene that cannot be read");
  auto scene = to_scene(message);
  if (!scene.ok()) return scene.status();
  auto colors = to_colors(message);
  if (!colors.ok()) return colors.status();
  // In the bytes of this build, so that it is found by the content that a client sends.
  message = to_message(*scene);
  fill_colors(*colors, *message.mutable_shapes());
  schedule::ModelContent content{.scene = message.SerializeAsString(), .warnings = {}, .colors = *std::move(colors)};
  content.warnings.assign(model.warnings().begin(), model.warnings().end());
  if (!v1::VisualsSpec().ParseFromString(model.visuals())) return wrong("has visuals that cannot be read");
  content.visuals = model.visuals();
  return SceneOfModel{.content = std::move(content), .scene = *std::move(scene)};
}

absl::StatusOr<std::shared_ptr<schedule::BatchHandle>> handle_of(const v1::StoredBatch& head,
                                                                 const schedule::ModelRecord& model,
                                                                 const std::string& tenant,
                                                                 const schedule::MemoryHold& memory) {
  const auto options = to_options(head.options());
  if (!options.ok()) return options.status();
  const absl::Duration ttl = absl::Seconds(head.idle_ttl().seconds()) + absl::Nanoseconds(head.idle_ttl().nanos());
  const double noise[] = {head.joint_position_noise(), head.joint_velocity_noise()};
  for (const double width : noise) {
    if (!(width >= 0 && width <= 1e9)) return wrong(absl::StrCat("has initial noise of ", width));
  }
  if (ttl <= absl::ZeroDuration() || ttl > absl::Hours(24 * 365))
    return wrong(absl::StrCat("has an idle_ttl of ", absl::FormatDuration(ttl)));
  const absl::Duration stream_ttl =
      head.has_stream_ttl() ? absl::Seconds(head.stream_ttl().seconds()) + absl::Nanoseconds(head.stream_ttl().nanos())
                            : absl::InfiniteDuration();
  if (stream_ttl < absl::ZeroDuration()) return wrong("has a stream_ttl below 0");
  if (!std::isfinite(head.dt()) || head.dt() <= 0) return wrong(absl::StrCat("has dt = ", head.dt()));
  auto handle = std::make_shared<schedule::BatchHandle>();
  schedule::BatchInfo& info = handle->info;
  info.tenant = tenant;
  info.model_name = model.name;
  info.model = model.model;
  info.world_count = head.world_count();
  info.dt = head.dt();
  info.options = *options;
  info.idle_ttl = ttl;
  info.stream_ttl = stream_ttl;
  info.noise = {noise[0], noise[1]};
  info.seed = head.seed();
  if (head.has_task()) {
    if (absl::Status status = set_task(head.task(), INT64_MAX, info); !status.ok()) return status;
  }
  auto replays = replays_of(head, memory);
  if (!replays.ok()) return replays.status();
  handle->memory = memory.another();
  handle->kept = memory.another();
  handle->replays = *std::move(replays);
  schedule::count_replays(*handle);
  return handle;
}

absl::StatusOr<schedule::ReplayCache> replays_of(const v1::StoredBatch& head, const schedule::MemoryHold& memory) {
  schedule::ReplayCache replays;
  for (const std::uint64_t id : head.forgotten_requests()) replays.forget(id);
  for (const v1::StoredAnswer& answer : head.answers()) {
    if (answer.request_id().size() > kMaxStoredId || answer.message().size() > kMaxRefusal) {
      return wrong("remembers a request whose id or refusal is too long");
    }
    schedule::Remembered remembered;
    remembered.request_hash = answer.request_hash();
    if (answer.has_response()) {
      schedule::MemoryHold hold = memory.another();
      if (absl::Status fits = take_parsed(answer.response(), *v1::StepResponse::descriptor(), hold); !fits.ok()) {
        return fits;
      }
      remembered.memory = stored_response(answer.response(), std::move(hold));
    }
    if (remembered.memory == nullptr) {
      // What is refused for ever is ABORTED, whatever hostile bytes say.
      remembered.refusal = schedule::make_failure(
          absl::StatusCode::kAborted, answer.message().empty() ? "the request was given up" : answer.message(),
          {.reason = std::string(schedule::reason::kGivenUp), .field = "request_id"});
    }
    replays.put(answer.request_id(), std::move(remembered));
  }
  return replays;
}

std::vector<schedule::Pass> restore_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                           const std::shared_ptr<const SavedBatch>& saved, const std::string& field) {
  schedule::WorldChange change;
  change.field = field;
  change.state.snapshots.assign(saved->worlds.begin(), saved->worlds.end());
  auto passes = schedule::change_passes(batch, std::move(change));
  passes.front().run = [saved, run = passes.front().run](Engine& engine, std::size_t first, std::size_t last) {
    return run(engine, first, last);  // and what is saved lives as long as that
  };
  return passes;
}

std::vector<schedule::Pass> remake_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                          const std::shared_ptr<const SavedBatch>& saved, const std::string& field) {
  std::vector<schedule::Pass> passes{
      schedule::whole([batch](Engine& engine) { return schedule::make_worlds(engine, *batch, {}); })};
  static const BatchOverrides none;
  for (schedule::Pass& pass : schedule::start_passes(batch, none)) passes.push_back(std::move(pass));
  for (schedule::Pass& pass : restore_passes(batch, saved, field)) {
    pass.changes = false;  // no client knows of the batch yet
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace axion::server::rpc
