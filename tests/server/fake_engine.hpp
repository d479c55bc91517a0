// A small deterministic engine for tests of the scheduler: one number a world, and a look at every launch.
//
// World state x steps as x <- 0.9 x + c + 0.001 i, with c the sum of the world's controls and i its step index, so that
// a missed, repeated or misplaced step or control shows in every later value. A step that ends with x < 0 has the
// outcome MAX_ITERATIONS, else CONVERGED.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

#include "engine/engine.hpp"

namespace axion::server::testing {

class FakeModel final : public Model {
 public:
  FakeModel() {
    info_.name = "fake";
    info_.bodies.resize(1);
    JointInfo joint;
    joint.kind = model::JointKind::kAxes;
    joint.position_count = joint.velocity_count = 1;
    joint.axes.resize(1);
    joint.axes[0].limited = true;
    joint.axes[0].lower = -0.25;
    joint.axes[0].upper = 0.25;
    info_.joints = {joint};
    info_.actuators.resize(2);
    info_.timestep = 0.01;
    info_.joint_position_count = info_.joint_velocity_count = 1;
  }
  const ModelInfo& info() const override { return info_; }

 private:
  ModelInfo info_;
};

struct FakeWorld {
  double x = 0, rate = 0;
  std::int64_t step = 0;
  std::uint32_t outcome = 0;
  std::array<double, 2> control{};
};

class FakeBatch final : public Batch {
 public:
  explicit FakeBatch(const BatchSpec& spec, std::atomic<std::int64_t>* live)
      : spec_(spec), worlds(static_cast<std::size_t>(spec.world_count)), live_(live) {
    ++*live_;
  }
  ~FakeBatch() override { --*live_; }

  const BatchSpec& spec() const override { return spec_; }
  DType real_dtype() const override { return DType::kFloat64; }
  std::int64_t memory_bytes() const override { return 100 * spec_.world_count; }
  std::int64_t memory_bound() const override { return memory_bytes(); }
  std::int64_t step_index(int world) const override { return worlds[static_cast<std::size_t>(world)].step; }

  std::vector<std::int64_t> field_shape(Field field) const override {
    switch (field) {
      case Field::kBodyPose:
        return {1, 7};
      case Field::kBodyVelocity:
      case Field::kJointImpulse:
        return {1, 6};
      case Field::kJointPosition:
      case Field::kJointVelocity:
        return {1};
      case Field::kControl:
        return {2};
      default:
        return {};
    }
  }
  DType field_dtype(Field field) const override {
    if (field == Field::kContactCount) return DType::kInt32;
    if (field == Field::kOutcome) return DType::kUint32;
    return field == Field::kStepIndex ? DType::kInt64 : DType::kFloat64;
  }

  void write(std::size_t world, Field field, std::byte* at) const {
    const FakeWorld& w = worlds[world];
    const double time = static_cast<double>(w.step) * spec_.dt;
    switch (field) {
      case Field::kJointPosition:
        std::memcpy(at, &w.x, sizeof w.x);
        break;
      case Field::kJointVelocity:
        std::memcpy(at, &w.rate, sizeof w.rate);
        break;
      case Field::kControl:
        std::memcpy(at, w.control.data(), sizeof w.control);
        break;
      case Field::kOutcome:
        std::memcpy(at, &w.outcome, sizeof w.outcome);
        break;
      case Field::kTime:
        std::memcpy(at, &time, sizeof time);
        break;
      case Field::kStepIndex:
        std::memcpy(at, &w.step, sizeof w.step);
        break;
      default:
        break;
    }
  }

  Status get(std::span<const std::int32_t> indices, std::span<const OutputView> out) const override {
    for (const OutputView& view : out) {
      for (std::size_t i = 0; i < count(indices); ++i)
        write(at(indices, i), view.field, view.data + i * view.world_stride);
    }
    return {};
  }
  Result<std::vector<std::string>> snapshots(std::span<const std::int32_t> indices,
                                             std::span<const std::uint32_t> outcomes) const override {
    std::vector<std::string> texts;  // the outcome that each is told to have
    for (std::size_t i = 0; i < count(indices); ++i) texts.push_back(std::to_string(outcomes[i]));
    return texts;
  }
  struct Change final : StateChange {
    std::vector<std::int32_t> indices;
    StateUpdate state;
    bool resets = false;
  };
  Result<std::unique_ptr<StateChange>> prepare(std::span<const std::int32_t> indices, const StateUpdate& state,
                                               std::optional<int> keyframe) const override {
    if (on_prepare) on_prepare();
    auto change = std::make_unique<Change>();
    for (std::size_t i = 0; i < count(indices); ++i)
      change->indices.push_back(static_cast<std::int32_t>(at(indices, i)));
    change->state = state, change->resets = keyframe.has_value();
    return std::unique_ptr<StateChange>(std::move(change));
  }
  Result<std::unique_ptr<StateChange>> prepare_start(const BatchOverrides&) const override {
    return prepare({}, {}, std::nullopt);
  }
  Status make(StateChange& prepared, int first, int last) override {
    auto& change = static_cast<Change&>(prepared);
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      FakeWorld& world = worlds[static_cast<std::size_t>(change.indices[i])];
      if (change.resets) world = {};
      if (change.state.joint_position.data) world.x = real(change.state.joint_position, i, 0, 0);
      if (change.state.joint_velocity.data) world.rate = real(change.state.joint_velocity, i, 0, 0);
    }
    return {};
  }
  Status set_state(std::span<const std::int32_t> indices, const StateUpdate& state) override {
    auto change = prepare(indices, state, std::nullopt);
    return make(*change.value(), 0, static_cast<int>(count(indices)));
  }
  Status reset(const ResetRequest& request) override {
    auto change = prepare(request.world_indices, request.state, request.keyframe);
    return make(*change.value(), 0, static_cast<int>(count(request.world_indices)));
  }
  Status parameters(std::span<const std::int32_t>, Parameter, std::span<double>) const override { return {}; }
  Status check(std::span<const std::int32_t>, const RayQuery&) const override { return {}; }
  Status check(std::span<const std::int32_t>, std::span<const ShapePairQuery>, double) const override { return {}; }
  Status check(std::span<const std::int32_t>, const DynamicsQuery&) const override { return {}; }
  Status cast_rays(std::span<const std::int32_t>, const RayQuery&, const RayHits&) const override { return {}; }
  Status distances(std::span<const std::int32_t>, std::span<const ShapePairQuery>, double,
                   const PairDistances&) const override {
    return {};
  }
  Status dynamics(std::span<const std::int32_t>, const DynamicsQuery&, const Dynamics&) const override { return {}; }
  Result<std::vector<ContactInfo>> contacts(int) const override { return std::vector<ContactInfo>{}; }
  Result<WorldStatistics> statistics(int) const override { return WorldStatistics{}; }
  BatchStatistics statistics() const override { return {}; }

  std::size_t count(std::span<const std::int32_t> indices) const {
    return indices.empty() ? worlds.size() : indices.size();
  }
  static std::size_t at(std::span<const std::int32_t> indices, std::size_t i) {
    return indices.empty() ? i : static_cast<std::size_t>(indices[i]);
  }
  static double real(const InputView& view, std::size_t world, std::size_t step, std::size_t j) {
    double value = 0;
    std::memcpy(&value, view.data + world * view.world_stride + step * view.step_stride + j * sizeof(double),
                sizeof(double));
    return value;
  }

 private:
  const BatchSpec spec_;

 public:
  std::vector<FakeWorld> worlds;
  std::function<void()> on_prepare;  // of a change, on whatever thread prepares it

 private:
  std::atomic<std::int64_t>* live_;
};

struct FakeLaunch {
  std::vector<std::pair<const Batch*, int>> parts;  // batch, steps
};

class FakeEngine final : public Engine {
 public:
  // Called by the device's owner before a launch; may block to let a test arrange what waits.
  std::function<void()> before_step;
  // A request of this batch makes a launch fail.
  const Batch* refused = nullptr;
  std::atomic<bool> failed{false};  // as a GPU that fell off its bus

  DeviceInfo device() const override {
    return {.kind = "cpu",
            .id = "cpu",
            .name = "fake",
            .memory_total_bytes = 1000,
            .memory_used_bytes = live_,
            .threads = 1};
  }
  Result<std::unique_ptr<Batch>> create_batch(const BatchSpec& spec) override {
    return std::unique_ptr<Batch>(new FakeBatch(spec, &live_));
  }
  Result<StepStatistics> step(std::span<const StepRequest> requests) override {
    if (before_step) before_step();
    if (failed) return Error{ErrorCode::kInternal, "", "The device fell off its bus."};
    FakeLaunch launch;
    for (const StepRequest& request : requests) launch.parts.emplace_back(request.batch, request.step_count);
    {
      absl::MutexLock lock(&mutex_);
      launches_.push_back(launch);
    }
    for (const StepRequest& request : requests) {
      if (request.batch == refused) return invalid_argument("control", "is refused by the fake engine.");
    }
    StepStatistics statistics;
    for (const StepRequest& request : requests) run(request, statistics);
    return statistics;
  }

  std::vector<FakeLaunch> launches() const {
    absl::MutexLock lock(&mutex_);
    return launches_;
  }

 private:
  static void run(const StepRequest& request, StepStatistics& statistics) {
    auto& batch = static_cast<FakeBatch&>(*request.batch);
    for (std::size_t i = 0; i < batch.count(request.world_indices); ++i) {
      FakeWorld& world = batch.worlds[FakeBatch::at(request.world_indices, i)];
      std::uint32_t outcome = kConverged;
      for (int t = 0; t < request.step_count; ++t) {
        if (request.control.data) {
          for (std::size_t j = 0; j < 2; ++j) {
            world.control[j] = FakeBatch::real(request.control, i, static_cast<std::size_t>(t), j);
          }
        }
        world.x = 0.9 * world.x + world.control[0] + world.control[1] + 0.001 * static_cast<double>(world.step);
        ++world.step;
        ++statistics.world_steps;
        if (world.x < 0) outcome = kMaxIterations;
        world.outcome = outcome;
        const int every = request.record_every == 0 ? request.step_count : request.record_every;
        if ((t + 1) % every != 0) continue;
        const auto record = static_cast<std::size_t>((t + 1) / every - 1);
        for (const OutputView& view : request.outputs) {
          batch.write(FakeBatch::at(request.world_indices, i), view.field,
                      view.data + i * view.world_stride + record * view.record_stride);
        }
      }
    }
  }

  mutable absl::Mutex mutex_;
  std::vector<FakeLaunch> launches_;
  std::atomic<std::int64_t> live_ = 0;  // a batch ends on the thread that held it last
};

}  // namespace axion::server::testing
