#include "server/schedule/batch_handle.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "server/schedule/failure.hpp"
#include "server/schedule/initial_noise.hpp"
#include "server/schedule/task_snapshot.hpp"

namespace axion::server::schedule {
namespace {

constexpr int kManyWorlds = 16;

// Copies one field of some worlds to doubles and back: the noise is computed in double whatever the precision.
std::vector<double> to_doubles(std::span<const std::byte> bytes, DType dtype) {
  std::vector<double> values(bytes.size() / size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFloat64) {
      std::memcpy(&values[i], bytes.data() + i * sizeof(double), sizeof(double));
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      values[i] = value;
    }
  }
  return values;
}

}  // namespace

namespace {

// What the task of a batch and its episodes take of the machine's memory, about.
std::int64_t episode_bytes(const BatchInfo& info) {
  // Of the message the text, what is compiled from it, and lists of numbers that one number of it stands for.
  constexpr std::int64_t kMessageFactor = 8, kNumberBytes = 64;
  const task::Task& task = *info.task;
  std::int64_t numbers = task.observation_size + task.before_size;
  for (const int size : task.field_sizes) numbers += size;
  return kMessageFactor * static_cast<std::int64_t>(info.task_message.size()) + kNumberBytes * numbers +
         info.world_count * (std::int64_t(sizeof(double)) * task.memory_size() + 256);
}

absl::Status make_episodes(BatchHandle& batch) {
  if (batch.info.task == nullptr) return absl::OkStatus();
  if (absl::Status fits = batch.kept.grow(episode_bytes(batch.info), "the task"); !fits.ok()) return fits;
  std::vector<std::uint64_t> seeds;
  seeds.reserve(static_cast<std::size_t>(batch.info.world_count));
  for (int world = 0; world < batch.info.world_count; ++world) {
    seeds.push_back(world_seed(batch.info.seed, static_cast<std::uint64_t>(world)));
  }
  batch.episodes = std::make_unique<task::Episodes>(batch.info.task, *batch.engine, seeds);
  return absl::OkStatus();
}

std::vector<std::int32_t> all_of(std::span<const std::int32_t> worlds, const BatchHandle& batch) {
  std::vector<std::int32_t> all(world_count_of(worlds, batch));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = world_at(worlds, i);
  return all;
}

}  // namespace

const FieldShape* BatchInfo::find(Field field) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const FieldShape& f) { return f.field == field; });
  return it == fields.end() ? nullptr : &*it;
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::vector<FieldShape> field_shapes(const Batch& batch) {
  std::vector<FieldShape> shapes;
  for (int i = 0; i < kFieldCount; ++i) {
    const Field field = static_cast<Field>(i);
    FieldShape shape{.field = field, .dtype = batch.field_dtype(field), .shape = batch.field_shape(field)};
    shape.bytes = element_count(shape.shape) * size_of(shape.dtype);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

absl::Status make_worlds(Engine& engine, BatchHandle& batch, const BatchOverrides& overrides) {
  BatchInfo& info = batch.info;
  const bool counted = engine.device().kind == "cpu";
  if (counted && info.world_count > kManyWorlds) {
    // What one world takes, so that what does not fit is not made.
    const auto one = engine.create_batch({info.model, 1, info.dt, info.options, {}});
    if (!one.ok()) return from_engine(one.error());
    if (absl::Status fits = batch.memory.grow(one.value()->memory_bytes() * info.world_count, "the batch"); !fits.ok())
      return fits;
  }
  auto made = engine.create_batch({info.model, info.world_count, info.dt, info.options, overrides});
  if (!made.ok()) return from_engine(made.error());
  batch.engine = std::move(made).value();
  batch.carried_outcome.assign(static_cast<std::size_t>(info.world_count), kConverged);
  info.device = engine.device().id;
  info.memory_bytes = batch.engine->memory_bytes();
  info.real = batch.engine->real_dtype();
  info.fields = field_shapes(*batch.engine);
  absl::Status fits;
  if (counted) {
    batch.memory.shrink(batch.memory.bytes());
    fits = batch.memory.grow(info.memory_bytes, "the batch");
  }
  if (fits.ok()) fits = make_episodes(batch);
  if (!fits.ok()) batch.engine.reset();
  return fits;
}

absl::Status read_fields(const BatchHandle& batch, std::span<const std::int32_t> worlds,
                         std::span<const OutputView> outputs) {
  if (const Status status = batch.engine->get(worlds, outputs); !status.ok()) return from_engine(status.error());
  for (const OutputView& output : outputs) {
    if (output.field != Field::kOutcome) continue;
    for (std::size_t i = 0; i < world_count_of(worlds, batch); ++i) {
      std::uint32_t outcome = 0;
      std::byte* at = output.data + i * output.world_stride;
      std::memcpy(&outcome, at, sizeof(outcome));
      outcome = combine_outcomes(batch.carried_outcome[static_cast<std::size_t>(world_at(worlds, i))], outcome);
      std::memcpy(at, &outcome, sizeof(outcome));
    }
  }
  return absl::OkStatus();
}

absl::Status read_snapshots(const BatchHandle& batch, std::span<const std::int32_t> worlds,
                            const std::function<absl::Status(std::string)>& take) {
  constexpr std::size_t kGroup = 64;  // what is made before anybody sees whether it is too much
  const std::size_t count = world_count_of(worlds, batch);
  for (std::size_t start = 0; start < count; start += kGroup) {
    std::vector<std::int32_t> group;
    for (std::size_t i = start; i < std::min(count, start + kGroup); ++i) group.push_back(world_at(worlds, i));
    std::vector<std::uint32_t> outcomes(group.size());
    const OutputView view{.field = Field::kOutcome,
                          .data = reinterpret_cast<std::byte*>(outcomes.data()),
                          .world_stride = sizeof(std::uint32_t)};
    if (absl::Status status = read_fields(batch, group, {&view, 1}); !status.ok()) return status;
    auto snapshots = batch.engine->snapshots(group, outcomes);
    if (!snapshots.ok()) return from_engine(snapshots.error());
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::string snapshot = std::move(snapshots.value()[i]);
      if (batch.episodes != nullptr) snapshot = with_episode(std::move(snapshot), batch.episodes->save(group[i]));
      if (absl::Status status = take(std::move(snapshot)); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

namespace {

// The room that a batch's memory is counted in, while worlds are given numbers of their own: all that these can take,
// and in the end what they have taken.
class RoomForNumbers {
 public:
  explicit RoomForNumbers(BatchHandle& batch) : batch_(batch) {}
  ~RoomForNumbers() {
    if (counts_) batch_.memory.shrink(batch_.memory.bytes() - batch_.engine->memory_bytes());
  }
  absl::Status take(const StateUpdate& state) {
    counts_ = batch_.memory.bytes() > 0 && batch_.info.device == "cpu" &&
              (!state.parameters.empty() ||
               std::any_of(state.snapshots.begin(), state.snapshots.end(), [](auto s) { return has_own_numbers(s); }));
    const std::int64_t more = counts_ ? batch_.engine->memory_bound() - batch_.memory.bytes() : 0;
    return more > 0 ? batch_.memory.grow(more, "the worlds' own numbers") : absl::OkStatus();
  }

 private:
  BatchHandle& batch_;
  bool counts_ = false;
};

}  // namespace

absl::Status set_worlds(BatchHandle& batch, std::span<const std::int32_t> worlds, const StateUpdate& state,
                        absl::string_view field) {
  EpisodesOfSnapshots parts;
  if (absl::Status status = parts.take(batch, state, field); !status.ok()) return status;
  RoomForNumbers room(batch);
  if (absl::Status status = room.take(parts.state()); !status.ok()) return status;
  if (const Status status = batch.engine->set_state(worlds, parts.state()); !status.ok()) {
    return from_engine(status.error(), field);
  }
  for (std::size_t i = 0; !state.snapshots.empty() && i < world_count_of(worlds, batch); ++i) {
    batch.carried_outcome[static_cast<std::size_t>(world_at(worlds, i))] = kConverged;  // the snapshot has the whole
  }
  return parts.load(batch, worlds);
}

void count_replays(BatchHandle& batch) {
  const auto bytes = static_cast<std::int64_t>(batch.replays.own_bytes());
  batch.kept.force(bytes - std::exchange(batch.replay_bytes, bytes));
}

absl::Status begin_episodes(BatchHandle& batch) {
  const Status status = batch.episodes->start(*batch.engine, all_of({}, batch));
  return status.ok() ? absl::OkStatus() : from_engine(status.error(), "task.start");
}

absl::Status finish_task_step(BatchHandle& batch, const task::StepPlan& plan, std::span<const std::uint32_t> outcome,
                              task::StepAnswer& answer) {
  const Status status = batch.episodes->finish(*batch.engine, batch.changes, plan, outcome, answer);
  for (const std::int32_t row : answer.restarted_rows) {
    const auto world = static_cast<std::size_t>(plan.worlds[static_cast<std::size_t>(row)]);
    batch.carried_outcome[world] = kConverged;
  }
  return status.ok() ? absl::OkStatus() : from_engine(status.error(), "task");
}

namespace {

// The next episodes of these worlds, or the first of other seeds; `state` is set on top.
absl::Status restart_episodes(BatchHandle& batch, const ResetRequest& request, std::span<const std::uint64_t> seeds) {
  const std::vector<std::int32_t> worlds = all_of(request.world_indices, batch);
  const StateUpdate& state = request.state;
  const bool sets = state.body_pose.data != nullptr || state.body_velocity.data != nullptr ||
                    state.joint_position.data != nullptr || state.joint_velocity.data != nullptr ||
                    state.time.data != nullptr || !state.parameters.empty();
  std::vector<std::string> undo;  // the state may be refused when the episodes have begun
  if (sets) {
    const absl::Status kept = read_snapshots(batch, worlds, [&](std::string snapshot) {
      undo.push_back(std::move(snapshot));
      return absl::OkStatus();
    });
    if (!kept.ok()) return kept;
  }
  if (!seeds.empty()) batch.episodes->give_seeds(worlds, seeds);
  Status status = batch.episodes->start(*batch.engine, worlds);
  if (!status.ok()) return from_engine(status.error(), "task.start");
  if (!sets) return absl::OkStatus();
  status = batch.engine->set_state(worlds, state);
  if (!status.ok()) {
    StateUpdate back;
    back.snapshots.assign(undo.begin(), undo.end());
    const absl::Status undone = set_worlds(batch, worlds, back);
    return undone.ok() ? from_engine(status.error(), "state") : undone;
  }
  status = batch.episodes->look_again(*batch.engine, worlds);
  return status.ok() ? absl::OkStatus() : from_engine(status.error(), "state");
}

}  // namespace

absl::Status reset_worlds(BatchHandle& batch, const ResetRequest& request, std::span<const std::uint64_t> seeds) {
  const bool begins = batch.episodes != nullptr && request.state.snapshots.empty();
  RoomForNumbers room(batch);
  if (absl::Status status = room.take(request.state); !status.ok()) return status;
  EpisodesOfSnapshots parts;
  absl::Status done = begins ? restart_episodes(batch, request, seeds) : parts.take(batch, request.state, "state");
  if (!done.ok()) return done;
  if (!begins) {
    const ResetRequest plain{request.world_indices, request.keyframe, parts.state()};
    if (const Status status = batch.engine->reset(plain); !status.ok()) return from_engine(status.error(), "state");
    done = parts.load(batch, request.world_indices);
  }
  for (std::size_t i = 0; i < world_count_of(request.world_indices, batch); ++i) {
    batch.carried_outcome[static_cast<std::size_t>(world_at(request.world_indices, i))] = kConverged;
  }
  return done.ok() && batch.info.noise.present() && request.state.snapshots.empty()
             ? add_initial_noise(batch, request.world_indices, seeds)
             : done;
}

absl::Status add_initial_noise(BatchHandle& batch, std::span<const std::int32_t> worlds,
                               std::span<const std::uint64_t> seeds) {
  const FieldShape& position = *batch.info.find(Field::kJointPosition);
  const FieldShape& velocity = *batch.info.find(Field::kJointVelocity);
  const std::size_t count = world_count_of(worlds, batch);
  std::vector<std::byte> position_bytes(count * position.bytes), velocity_bytes(count * velocity.bytes);
  const std::array<OutputView, 2> views{
      OutputView{.field = Field::kJointPosition, .data = position_bytes.data(), .world_stride = position.bytes},
      OutputView{.field = Field::kJointVelocity, .data = velocity_bytes.data(), .world_stride = velocity.bytes}};
  if (const Status status = batch.engine->get(worlds, views); !status.ok()) return from_engine(status.error());

  std::vector<double> q = to_doubles(position_bytes, position.dtype);
  std::vector<double> v = to_doubles(velocity_bytes, velocity.dtype);
  const std::size_t nq = element_count(position.shape), nv = element_count(velocity.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const auto world = static_cast<std::uint64_t>(world_at(worlds, i));
    const std::uint64_t seed = seeds.empty() ? world_seed(batch.info.seed, world) : seeds[i];
    perturb(batch.info.model->info(), batch.info.noise, seed, std::span(q).subspan(i * nq, nq),
            std::span(v).subspan(i * nv, nv));
  }

  StateUpdate update;
  const auto bytes_of = [](const std::vector<double>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
  };
  if (nq > 0) update.joint_position = {bytes_of(q), DType::kFloat64, nq * sizeof(double), 0};
  if (nv > 0) update.joint_velocity = {bytes_of(v), DType::kFloat64, nv * sizeof(double), 0};
  if (nq == 0 && nv == 0) return absl::OkStatus();
  const Status status = batch.engine->set_state(worlds, update);
  return status.ok() ? absl::OkStatus() : from_engine(status.error(), "initial_noise");
}

}  // namespace axion::server::schedule
