// Worlds that diverged are worlds: whoever has the snapshot of one gets it back, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::diverged_snapshot_test {
namespace {

using model::Precision;

bool emulated() { return cpu_engine()->device().kind == "cuda"; }

std::string snapshot_of(const Batch& batch, std::int32_t world) {
  return take(batch.snapshots({&world, 1}, {})).front();
}

void set(Batch& batch, std::int32_t world, const std::string& snapshot) {
  StateUpdate state;
  state.snapshots = {snapshot};
  check(batch.set_state({&world, 1}, state));
}

// Velocities of that size, of all bodies and in several directions.
void push(Batch& batch, std::int32_t world, double speed) {
  const std::size_t numbers = 6 * batch.spec().model->info().bodies.size();
  std::vector<double> velocity(numbers, speed);
  for (std::size_t i = 0; i < numbers; i += 4) velocity[i] = -0.3 * speed;
  StateUpdate update;
  update.body_velocity = input(velocity, static_cast<int>(numbers));
  check(batch.set_state({&world, 1}, update));
}

// A step that was accepted may leave numbers that are not finite, and so may one that was not.
void expect_taken_again(const model::SceneSpec& scene, Precision precision) {
  const auto engine = cpu_engine(2);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(scene), 2, precision)));
  const std::string start = snapshot_of(*batch, 0);
  const auto everything = [&](int world) { return state_bytes(*batch, world) + snapshot_of(*batch, world); };
  for (const double speed : {1e8, 1e20, 1e30}) {
    for (const int steps : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << speed << " m/s, " << steps << " steps");
      set(*batch, 0, start);
      push(*batch, 0, speed);
      step(*engine, *batch, steps);
      set(*batch, 1, snapshot_of(*batch, 0));
      ASSERT_EQ(everything(1), everything(0));
      step(*engine, *batch, 2);
      ASSERT_EQ(everything(1), everything(0)) << "two steps later";
      set(*batch, 1, snapshot_of(*batch, 0));
    }
  }
}

TEST(DivergedSnapshot, is_taken_again_with_its_bits) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const model::SceneSpec& scene : {box_and_sphere(), quadruped(), all_joints()}) {
      expect_taken_again(scene, precision);
      if (emulated()) return;
    }
  }
}

}  // namespace
}  // namespace axion::testing::diverged_snapshot_test
