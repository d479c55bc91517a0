#include "server/schedule/world_work.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "server/schedule/failure.hpp"
#include "server/schedule/initial_noise.hpp"

namespace axion::server::schedule {
namespace {

constexpr int kManyWorlds = 16;
constexpr std::size_t kFewNumbers = 4;  // worlds whose own numbers are worked out sooner than another thread wakes

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

bool draws_numbers(const BatchHandle& batch) { return batch.info.task != nullptr && !batch.info.task->draw.empty(); }

absl::Status make_episodes(BatchHandle& batch) {
  if (batch.info.task == nullptr) return absl::OkStatus();
  if (absl::Status fits = batch.kept.grow(episode_bytes(batch.info), "the task"); !fits.ok()) return fits;
  std::vector<std::uint64_t> seeds;
  seeds.reserve(static_cast<std::size_t>(batch.info.world_count));
  for (int world = 0; world < batch.info.world_count; ++world) {
    seeds.push_back(world_seed(batch.info.seed, static_cast<std::uint64_t>(world)));
  }
  batch.episodes = std::make_unique<task::Episodes>(batch.info.task, *batch.engine, seeds);
  const Status taken = batch.episodes->take_model(*batch.engine);
  if (!taken.ok()) return from_engine(taken.error(), "task");
  // Each episode gives its world numbers: all that these can take is counted from the start.
  if (!draws_numbers(batch) || batch.memory.bytes() == 0) return absl::OkStatus();
  return batch.memory.grow(batch.engine->memory_bound() - batch.memory.bytes(), "the worlds' own numbers");
}

// The room that a batch's memory is counted in, while worlds are given numbers of their own: all that these can take,
// and in the end what they have taken.
class RoomForNumbers {
 public:
  explicit RoomForNumbers(std::shared_ptr<BatchHandle> batch) : batch_(std::move(batch)) {}
  RoomForNumbers(const RoomForNumbers&) = delete;
  RoomForNumbers& operator=(const RoomForNumbers&) = delete;
  ~RoomForNumbers() {
    if (!counts_ || batch_->engine == nullptr) return;
    batch_->memory.shrink(batch_->memory.bytes() - batch_->engine->memory_bytes());
  }
  absl::Status take(const StateUpdate& state) {
    counts_ = batch_->memory.bytes() > 0 && !draws_numbers(*batch_) && batch_->info.device == "cpu" &&
              (!state.parameters.empty() ||
               std::any_of(state.snapshots.begin(), state.snapshots.end(), [](auto s) { return has_own_numbers(s); }));
    const std::int64_t more = counts_ ? batch_->engine->memory_bound() - batch_->memory.bytes() : 0;
    return more > 0 ? batch_->memory.grow(more, "the worlds' own numbers") : absl::OkStatus();
  }

 private:
  const std::shared_ptr<BatchHandle> batch_;
  bool counts_ = false;
};

bool is_given(const StateUpdate& state) {
  const std::array views{state.body_pose, state.body_velocity, state.joint_position, state.joint_velocity,
                         state.time,      state.activation,    state.mocap_pose};
  return !state.parameters.empty() ||
         std::any_of(views.begin(), views.end(), [](const InputView& view) { return view.data != nullptr; });
}

std::span<const std::uint64_t> seeds_of(const std::vector<std::uint64_t>& seeds, std::size_t first, std::size_t last) {
  return seeds.empty() ? std::span<const std::uint64_t>() : std::span(seeds).subspan(first, last - first);
}

// On the worlds as they stand. `seeds` is one a world, or empty: the batch's.
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

// A change that is under way.
class Change {
 public:
  Change(std::shared_ptr<BatchHandle> batch, WorldChange asked)
      : batch_(std::move(batch)), asked_(std::move(asked)), room_(batch_) {}

  absl::Status prepare() {
    if (absl::Status status = parts_.take(*batch_, asked_.state, asked_.field); !status.ok()) return status;
    if (begins() && draws_numbers(*batch_) && !parts_.state().parameters.empty()) {
      return invalid_field(asked_.field + ".parameters", "are given, but the task draws numbers as the episode begins");
    }
    if (absl::Status status = room_.take(parts_.state()); !status.ok()) return status;
    if (begins() && !is_given(parts_.state())) return absl::OkStatus();
    auto prepared =
        batch_->engine->prepare(asked_.worlds, parts_.state(), begins() ? std::optional<int>() : asked_.keyframe);
    if (!prepared.ok()) return from_engine(prepared.error(), asked_.field);
    prepared_ = std::move(prepared).value();
    return absl::OkStatus();
  }

  absl::Status make(std::size_t first, std::size_t last) {
    const std::vector<std::int32_t> group = group_of(asked_.worlds, first, last);
    const auto seeds = seeds_of(asked_.seeds, first, last);
    if (begins()) {
      if (absl::Status status = begin(group, seeds); !status.ok()) return status;
    }
    if (prepared_ != nullptr) {
      const Status status = batch_->engine->make(*prepared_, static_cast<int>(first), static_cast<int>(last));
      if (!status.ok()) return from_engine(status.error(), asked_.field);
      if (absl::Status loaded = parts_.load(*batch_, asked_.worlds, first, last); !loaded.ok()) return loaded;
    }
    if (begins() && prepared_ != nullptr) {
      const Status status = batch_->episodes->look_again(*batch_->engine, group);
      if (!status.ok()) return from_engine(status.error(), asked_.field);
    }
    const bool from_snapshot = !asked_.state.snapshots.empty();
    if (from_snapshot || asked_.keyframe) {  // the snapshot has the whole outcome
      for (const std::int32_t world : group) batch_->carried_outcome[static_cast<std::size_t>(world)] = kConverged;
    }
    return asked_.keyframe && !from_snapshot && batch_->info.noise.present() ? add_initial_noise(*batch_, group, seeds)
                                                                             : absl::OkStatus();
  }

 private:
  // Whether episodes begin, and their starts instead of a reset.
  bool begins() const {
    return batch_->episodes != nullptr && asked_.keyframe.has_value() && asked_.state.snapshots.empty();
  }
  absl::Status begin(std::span<const std::int32_t> group, std::span<const std::uint64_t> seeds) {
    if (!seeds.empty()) batch_->episodes->give_seeds(group, seeds);
    const Status status = batch_->episodes->start(*batch_->engine, group);
    return status.ok() ? absl::OkStatus() : from_engine(status.error(), "task.start");
  }

  const std::shared_ptr<BatchHandle> batch_;
  const WorldChange asked_;
  EpisodesOfSnapshots parts_;
  RoomForNumbers room_;
  std::unique_ptr<StateChange> prepared_;  // none: nothing is set
};

}  // namespace

std::vector<std::int32_t> group_of(std::span<const std::int32_t> worlds, std::size_t first, std::size_t last) {
  std::vector<std::int32_t> group(last - first);
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = world_at(worlds, first + i);
  return group;
}

std::vector<OutputView> after(std::span<const OutputView> views, std::size_t worlds) {
  std::vector<OutputView> shifted(views.begin(), views.end());
  for (OutputView& view : shifted) view.data += worlds * view.world_stride;
  return shifted;
}

std::vector<Pass> change_passes(std::shared_ptr<BatchHandle> batch, WorldChange change) {
  const std::size_t count = world_count_of(change.worlds, *batch);
  const bool is_long = count > kFewNumbers && (!change.state.parameters.empty() || !change.state.snapshots.empty());
  const auto made = std::make_shared<Change>(std::move(batch), std::move(change));
  return {{.count = 1,
           .run = [made](Engine&, std::size_t, std::size_t) { return made->prepare(); },
           .beside = is_long,
           .changes = false},
          {.count = count,
           .run = [made](Engine&, std::size_t first, std::size_t last) { return made->make(first, last); },
           .beside = false,
           .changes = true}};
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
  auto made = engine.create_batch({info.model, info.world_count, info.dt, info.options, overrides, false});
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

std::vector<Pass> start_passes(std::shared_ptr<BatchHandle> batch, const BatchOverrides& overrides) {
  const auto start = std::make_shared<std::unique_ptr<StateChange>>();
  const auto count = static_cast<std::size_t>(batch->info.world_count);
  const auto prepare = [batch, start, &overrides](Engine&, std::size_t, std::size_t) {
    auto prepared = batch->engine->prepare_start(overrides);
    if (!prepared.ok()) return from_engine(prepared.error());
    *start = std::move(prepared).value();
    if (batch->episodes == nullptr) return absl::OkStatus();
    const Status drawn = batch->episodes->check_draws(*batch->engine);
    return drawn.ok() ? absl::OkStatus() : from_engine(drawn.error(), "task");
  };
  const auto make = [batch, start](Engine&, std::size_t first, std::size_t last) {
    Status status = batch->engine->make(**start, static_cast<int>(first), static_cast<int>(last));
    if (!status.ok()) return from_engine(status.error());
    const std::vector<std::int32_t> group = group_of({}, first, last);
    if (batch->info.noise.present()) {
      if (absl::Status noise = add_initial_noise(*batch, group, {}); !noise.ok()) return noise;
    }
    if (batch->episodes != nullptr) status = batch->episodes->start(*batch->engine, group);
    return status.ok() ? absl::OkStatus() : from_engine(status.error(), "task.start");
  };
  const bool is_long = (count > kFewNumbers && !overrides.parameters.empty()) || draws_numbers(*batch);
  return {{.count = 1, .run = prepare, .beside = is_long, .changes = false},
          {.count = count, .run = make, .beside = false, .changes = false}};
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

}  // namespace axion::server::schedule
