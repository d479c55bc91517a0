// What a linearisation leaves alone, what changes no bit of it, which kinks and bounds it sees, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/engine/backend/linearising.hpp"

namespace axion::testing::linearise_requests_test {
namespace {

using model::Precision;
using model::SceneSpec;
using ::testing::HasSubstr;

TEST(LineariseRequests, nothing_of_the_batch_changes) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Linearised f(quadruped(), 3, [&](BatchSpec& spec) { spec.options.precision = precision; });
    step(*f.engine, *f.batch, 60);
    const auto before = take(f.batch->snapshots({}, {}));
    const std::int64_t steps = f.batch->statistics().steps.world_steps, bytes = f.batch->memory_bytes();
    LinearisationSpec spec;
    linearised(*f.engine, *f.batch, spec);
    EXPECT_EQ(take(f.batch->snapshots({}, {})), before);
    EXPECT_EQ(f.batch->statistics().steps.world_steps, steps);
    EXPECT_EQ(f.batch->memory_bytes(), bytes);
    step(*f.engine, *f.batch, 1);
    const std::string after = state_bytes(*f.batch, 1);
    StateUpdate back;
    back.snapshots.assign(before.begin(), before.end());
    check(f.batch->set_state({}, back));
    step(*f.engine, *f.batch, 1);
    EXPECT_EQ(state_bytes(*f.batch, 1), after);
  }
}

TEST(LineariseRequests, no_division_and_no_company_changes_a_bit) {
  Linearised f(quadruped(), 2);
  step(*f.engine, *f.batch, 60);
  const std::vector<double> control = noise(2 * 3 * 12, 0.5, 3);
  LinearisationSpec spec;
  spec.step_count = 3;
  spec.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, 36 * 8, 12 * 8};
  const Answer whole = linearised(*f.engine, *f.batch, spec);
  EXPECT_EQ(linearised(*f.engine, *f.batch, spec, 1), whole);
  EXPECT_EQ(linearised(*f.engine, *f.batch, spec, 7), whole);
  const auto many = cpu_engine(5);
  const auto other = take(many->create_batch(tight_spec(f.batch->spec().model, 2)));
  const auto snapshots = take(f.batch->snapshots({}, {}));
  StateUpdate state;
  state.snapshots.assign(snapshots.begin(), snapshots.end());
  check(other->set_state({}, state));
  EXPECT_EQ(linearised(*many, *other, spec), whole);
  spec.worlds = {1};
  spec.control.data += spec.control.world_stride;
  const Answer alone = linearised(*f.engine, *f.batch, spec);
  EXPECT_EQ(alone.A,
            std::vector<double>(whole.A.begin() + static_cast<std::ptrdiff_t>(whole.A.size() / 2), whole.A.end()));
}

TEST(LineariseRequests, a_batch_in_float32_is_linearised_as_one_in_float64) {
  Answer answers[2] = {Answer({}, 0, 0), Answer({}, 0, 0)};
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Linearised f(robot(), 1, [&](BatchSpec& spec) {
      spec.options.precision = precision;
      spec.options.tolerance = 1e-3, spec.options.max_newton_iterations = 32;
    });
    const std::vector<double> position = robot().keyframes[0].joint_position;
    const std::vector<double> velocity = robot().keyframes[0].joint_velocity, control{0.2, 0.1};
    LinearisationSpec spec;
    spec.start.joint_position = input(position, 15), spec.start.joint_velocity = input(velocity, 13);
    spec.control = input(control, 2);
    answers[precision == Precision::kFloat32 ? 0 : 1] = linearised(*f.engine, *f.batch, spec);
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_NEAR(answers[0].velocity[3], 0.3, 1e-12);
}

TEST(LineariseRequests, without_a_control_it_is_the_last_one) {
  Linearised f(robot());
  bend(*f.batch);
  const std::vector<double> control{0.7, 0.3};
  step(*f.engine, *f.batch, 1, control);
  LinearisationSpec last, given;
  given.control = input(control, 2);
  EXPECT_EQ(linearised(*f.engine, *f.batch, last), linearised(*f.engine, *f.batch, given));
}

TEST(LineariseRequests, a_control_at_its_bound_is_moved_to_the_side_within) {
  Linearised f(robot());
  bend(*f.batch);
  const auto of_control = [&](double u) {
    const std::vector<double> control{u, 0.1};
    LinearisationSpec spec;
    spec.control = input(control, 2);
    return linearised(*f.engine, *f.batch, spec).B;
  };
  const std::vector<double> within = of_control(0.9), bound = of_control(1), beyond = of_control(1.1);
  double greatest = 0;
  for (std::size_t i = 0; i < within.size(); i += 2) {
    greatest = std::max(greatest, std::abs(within[i]));
    EXPECT_NEAR(bound[i], within[i], 1e-6);
    EXPECT_NEAR(beyond[i], 0, 1e-10) << i;  // a turn between equal quaternions rounds
  }
  EXPECT_GT(greatest, 1e-3);
}

TEST(LineariseRequests, a_limit_that_one_side_meets_is_a_kink) {
  Linearised f(robot());
  bend(*f.batch);
  std::vector<double> position = read(*f.batch, Field::kJointPosition), velocity(13, 0.0);
  velocity[10] = 1;  // rad/s, towards the limit
  const auto kinks = [&](double lift) {
    position[12] = lift;  // of [-0.5, 0.5]
    LinearisationSpec spec;
    spec.start.joint_position = input(position, 15), spec.start.joint_velocity = input(velocity, 13);
    return linearised(*f.engine, *f.batch, spec).kink;
  };
  EXPECT_THAT(kinks(0.3), ::testing::Each(0));
  // The first place, by bisection, from which a step ends at the limit: there its sides differ.
  double free = 0.3, held = 0.499;
  const auto pushes = [&](double lift) {
    position[12] = lift;
    return stepped(*f.engine, *f.batch, 0, {position, velocity, {}, {0, 0}}).position[12] >= 0.5;
  };
  for (int i = 0; i < 50; ++i) (pushes((free + held) / 2) ? held : free) = (free + held) / 2;
  const std::vector<std::int32_t> at_limit = kinks(free);
  EXPECT_EQ(at_limit[10], 1);  // of the coordinate itself
}

TEST(LineariseRequests, a_frozen_world_has_no_derivatives_and_its_neighbours_have_theirs) {
  Linearised f(box_and_sphere(), 2);
  const std::vector<double> wrench(12, 1e308);
  const std::int32_t first = 0;
  StepRequest request;
  request.batch = f.batch.get(), request.world_indices = {&first, 1}, request.body_wrench = input(wrench, 12);
  take(f.engine->step({&request, 1}));
  ASSERT_NE(static_cast<std::uint32_t>(read(*f.batch, Field::kOutcome)[0]) & kNonFinite, 0u);
  const Answer answer = linearised(*f.engine, *f.batch, {});
  EXPECT_NE(answer.outcome[0] & kNonFinite, 0u);
  EXPECT_EQ(answer.outcome[1] & kNonFinite, 0u);
  for (std::size_t i = 0; i < answer.A.size(); ++i) EXPECT_EQ(std::isnan(answer.A[i]), i < answer.A.size() / 2) << i;
}

TEST(LineariseRequests, what_cannot_be_is_refused_with_its_field) {
  Linearised f(robot(), 2);
  const auto expect = [](const Error& error, const char* field, const char* words) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.message;
    EXPECT_EQ(error.field, field) << error.message;
    EXPECT_THAT(error.message, HasSubstr(words));
  };
  const auto refused = [&](const std::function<void(LinearisationSpec&)>& change) {
    LinearisationSpec spec;
    change(spec);
    return refusal(*f.engine, *f.batch, spec);
  };
  const std::vector<double> nan(4, std::numeric_limits<double>::quiet_NaN()), zero(30, 0.0);
  expect(refused([](auto& spec) { spec.worlds = {2}; }), "world_indices[0]", "2");
  expect(refused([](auto& spec) { spec.worlds = {1, 1}; }), "world_indices[1]", "1");
  expect(refused([](auto& spec) { spec.difference = 1; }), "difference", "is 1");
  expect(refused([&](auto& spec) { spec.difference = nan[0]; }), "difference", "nan");
  expect(refused([&](auto& spec) { spec.control = input(nan, 2); }), "control[0,0]", "finite");
  expect(refused([&](auto& spec) { spec.start.joint_position = input(zero, 15); }), "start.joint_position[0,3]", "");
  expect(refused([&](auto& spec) {
           spec.start.parameters = {{Parameter::kGravity, input(zero, 3)}};
         }),
         "start.parameters", "SetState");
  expect(refused([&](auto& spec) { spec.start.snapshots = {"x"}; }), "start.snapshot", "SetState");
  expect(refused([](auto& spec) { spec.step_count = 0; }), "control", "0 steps");

  SceneSpec scene = box_and_sphere();
  scene.joints.pop_back();
  const Linearised unjointed(scene);
  expect(refusal(*unjointed.engine, *unjointed.batch, {}), "batch", "\"sphere\"");
  scene = robot();
  scene.joints[3].lock_stiffness = 1e5;
  const Linearised soft(scene);
  expect(refusal(*soft.engine, *soft.batch, {}), "batch", "\"hand\", has a lock_stiffness");
}

TEST(LineariseRequests, what_does_not_fit_on_the_device_is_refused_and_leaves_no_trace) {
  const auto model = compile_scene(quadruped());
  const auto engine = cpu_engine(1, 3 << 20);
  const auto measure = take(engine->create_batch(tight_spec(model, 1)));
  const int most = static_cast<int>((engine->device().memory_total_bytes - engine->device().memory_used_bytes) /
                                    measure->memory_bytes());
  const auto batch = take(engine->create_batch(tight_spec(model, most - 1)));
  const std::int64_t used = engine->device().memory_used_bytes;
  const Error error = refusal(*engine, *batch, {});
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.message, HasSubstr("Beside the batch 2 worlds of float64 are stepped."));
  EXPECT_EQ(engine->device().memory_used_bytes, used);
  step(*engine, *batch, 1);
}

TEST(LineariseRequests, coordinates_have_names_and_units) {
  const Linearised f(robot());
  std::vector<std::string> names, units;
  for (const StateCoordinate& coordinate : state_coordinates(f.info())) {
    names.push_back(coordinate.name), units.push_back(coordinate.unit);
  }
  ASSERT_EQ(names.size(), 26u);
  const std::vector<std::string> positions(names.begin(), names.begin() + 13);
  EXPECT_EQ(positions,
            (std::vector<std::string>{"root.x", "root.y", "root.z", "root.rx", "root.ry", "root.rz", "ball.rx",
                                      "ball.ry", "ball.rz", "arm.reach", "arm.lift", "arm.turn", "hand"}));
  EXPECT_EQ(std::vector<std::string>(names.begin() + 13, names.end()), positions);
  const std::vector<std::string> of_root{"m", "m", "m", "rad", "rad", "rad"};
  EXPECT_EQ(std::vector<std::string>(units.begin(), units.begin() + 6), of_root);
  EXPECT_EQ((std::vector<std::string>{units[9], units[12], units[13], units[25]}),
            (std::vector<std::string>{"m", "rad", "m/s", "rad/s"}));
}

}  // namespace
}  // namespace axion::testing::linearise_requests_test
