// A change of state that is prepared, and made of some worlds at a time.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/stop.hpp"

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::changes_test {
namespace {

constexpr int kWorlds = 7;

class Changes : public ::testing::Test {
 protected:
  // Worlds that are all different and have moved, two of which have numbers of their own.
  std::unique_ptr<Batch> make_batch() {
    auto batch = take(engine->create_batch(batch_spec(model, kWorlds)));
    scatter_worlds(*batch);
    step(*engine, *batch, 3);
    const std::vector<std::int32_t> some{1, 4};
    StateUpdate state;
    state.parameters = {{Parameter::kGravity, input(gravities, 3)}};
    check(batch->set_state(some, state));
    return batch;
  }
  std::vector<double> masses(double scale) const {
    std::vector<double> values;
    for (int world = 0; world < kWorlds; ++world) {
      for (const BodyInfo& body : model->info().bodies) values.push_back(body.mass * (1 + scale * world));
    }
    return values;
  }
  StateUpdate with_masses(const std::vector<double>& values) const {
    StateUpdate state;
    state.parameters = {{Parameter::kBodyMass, input(values, static_cast<int>(model->info().bodies.size()))}};
    return state;
  }
  // All that a world is, as it moves on.
  std::vector<std::string> all_of(Batch& batch) {
    step(*engine, batch, 5);
    std::vector<std::string> all = take(batch.snapshots({}, {}));
    for (int world = 0; world < kWorlds; ++world) all.push_back(state_bytes(batch, world));
    return all;
  }
  void make_in_parts(Batch& batch, const StateUpdate& state, std::optional<int> keyframe) {
    const auto change = take(batch.prepare({}, state, keyframe));
    check(batch.make(*change, 0, 1));
    check(batch.make(*change, 1, 5));
    check(batch.make(*change, 5, kWorlds));
  }

  const std::vector<double> gravities{0, 0, -3, 0.5, 0, -9};
  const std::shared_ptr<const Model> model = compile_scene(all_joints());
  const std::unique_ptr<Engine> engine = cpu_engine();
};

TEST_F(Changes, made_of_some_worlds_at_a_time_are_what_they_are_at_once) {
  const std::vector<double> values = masses(0.1);
  const StateUpdate own = with_masses(values);
  const auto source = make_batch();
  step(*engine, *source, 4);
  const std::vector<std::string> saved = take(source->snapshots({}, {}));
  StateUpdate snapshots;
  snapshots.snapshots.assign(saved.begin(), saved.end());
  const std::vector<std::pair<StateUpdate, std::optional<int>>> changes{
      {own, std::nullopt}, {own, -1}, {{}, 0}, {snapshots, std::nullopt}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto at_once = make_batch(), in_parts = make_batch();
    const auto& [state, keyframe] = changes[i];
    check(keyframe ? at_once->reset({{}, *keyframe, state}) : at_once->set_state({}, state));
    make_in_parts(*in_parts, state, keyframe);
    EXPECT_TRUE(all_of(*at_once) == all_of(*in_parts)) << i;
  }
}

TEST_F(Changes, of_numbers_again_and_back_to_the_models_are_the_same_in_parts) {
  const std::vector<double> first = masses(0.1), second = masses(0.2), none = masses(0);
  const auto at_once = make_batch(), in_parts = make_batch();
  for (const auto& values : {first, second, none}) {
    check(at_once->set_state({}, with_masses(values)));
    make_in_parts(*in_parts, with_masses(values), std::nullopt);
    EXPECT_TRUE(all_of(*at_once) == all_of(*in_parts));
  }
}

TEST_F(Changes, that_are_prepared_and_thrown_away_have_changed_nothing) {
  const std::vector<double> values = masses(0.1);
  const auto batch = make_batch(), untouched = make_batch();
  take(batch->prepare({}, with_masses(values), -1)).reset();
  EXPECT_TRUE(all_of(*batch) == all_of(*untouched));
}

TEST_F(Changes, are_stopped_between_worlds_while_they_are_prepared) {
  const std::vector<double> values = masses(0.1);
  const auto batch = make_batch(), untouched = make_batch();
  int asked = 0;
  const StopScope scope([&] { return ++asked == kWorlds - 2; });
  EXPECT_THROW((void)batch->prepare({}, with_masses(values), std::nullopt), Stopped);
  EXPECT_TRUE(all_of(*batch) == all_of(*untouched));
}

TEST_F(Changes, that_start_worlds_in_parts_give_what_a_batch_starts_with) {
  const std::vector<double> values = masses(0.1);
  BatchSpec spec = batch_spec(model, kWorlds);
  spec.overrides.parameters = with_masses(values).parameters;
  const auto at_once = take(engine->create_batch(spec));
  spec.started = false;
  const auto in_parts = take(engine->create_batch(spec));
  const auto start = take(in_parts->prepare_start(spec.overrides));
  check(in_parts->make(*start, 0, 3));
  check(in_parts->make(*start, 3, kWorlds));
  EXPECT_TRUE(all_of(*at_once) == all_of(*in_parts));
}

}  // namespace
}  // namespace axion::testing::changes_test
