// State goes in and comes out in the user's order and frames; reset starts again; a frozen world stays so until then.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/newton/solver_scenes.hpp"

namespace axion::testing::state_test {
namespace {

using model::Precision;

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

struct Fixture {
  explicit Fixture(const model::SceneSpec& scene, int worlds, Precision precision = Precision::kFloat64)
      : engine(cpu_engine()), batch(take(engine->create_batch(batch_spec(compile_scene(scene), worlds, precision)))) {}
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Batch> batch;
};

TEST(State, the_initial_state_is_the_scene) {
  const Fixture f(all_joints(), 2);
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose, {1});
  const model::SceneSpec scene = all_joints();
  for (int b = 0; b < 4; ++b) {
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(pose[7 * b + k], scene.bodies[b].X_WB.position[k], 1e-14);
    EXPECT_NEAR(pose[7 * b + 3], 1, 1e-14);
  }
  expect_near(read(*f.batch, Field::kJointPosition, {1}), {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0.3}, 1e-14);
}

TEST(State, a_keyframe_reads_back_as_joint_coordinates) {
  const Fixture f(all_joints(), 3);
  ResetRequest reset;
  reset.keyframe = 0;
  check(f.batch->reset(reset));
  std::vector<double> position = all_joints().keyframes[0].joint_position;
  const double length = std::sqrt(0.81 + 0.01 + 0.09 + 0.04);
  for (int k = 7; k < 11; ++k) position[k] /= length;
  expect_near(read(*f.batch, Field::kJointPosition, {2}), position, 1e-12);
  expect_near(read(*f.batch, Field::kJointVelocity, {2}), all_joints().keyframes[0].joint_velocity, 1e-12);
  EXPECT_EQ(read(*f.batch, Field::kTime, {2})[0], 2.5);
}

TEST(State, joint_coordinates_place_the_bodies_that_they_are_read_from) {
  Fixture f(all_joints(), 2);
  scatter_worlds(*f.batch);
  step(*f.engine, *f.batch, 40, {0.5, 0.3, -0.5, -0.3});
  const std::vector<double> q = read(*f.batch, Field::kJointPosition), u = read(*f.batch, Field::kJointVelocity);
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose), velocity = read(*f.batch, Field::kBodyVelocity);
  check(f.batch->reset({}));
  StateUpdate state;
  state.joint_position = input(q, 15), state.joint_velocity = input(u, 13);
  check(f.batch->set_state({}, state));
  // The bodies of a stepped world miss their joints by the solver's tolerance.
  expect_near(read(*f.batch, Field::kBodyPose), pose, 2e-4);
  expect_near(read(*f.batch, Field::kBodyVelocity), velocity, 2e-3);
  expect_near(read(*f.batch, Field::kJointPosition), q, 1e-10);
  expect_near(read(*f.batch, Field::kJointVelocity), u, 1e-10);
}

// Poses after 0.2 s of a world whose state a client reads and sets again at every step, by bodies or by joints, or
// leaves alone.
enum class SetBy { kNothing, kBodies, kJoints };

std::vector<double> run_and_set(double dt, SetBy set_by) {
  const auto engine = cpu_engine();
  model::SceneSpec scene = all_joints();
  scene.joints[2].axes[1].limited = false;  // the drive swings it there, and what an impact does depends on its step
  BatchSpec spec = batch_spec(compile_scene(scene), 1);
  spec.dt = dt, spec.options.tolerance = 1e-9;
  const auto batch = take(engine->create_batch(spec));
  ResetRequest start;
  start.keyframe = 0;
  check(batch->reset(start));
  for (int k = 0; k < static_cast<int>(std::lround(0.2 / dt)); ++k) {
    step(*engine, *batch, 1, {0.5, 0.3, -0.5, -0.3});
    const bool by_joints = set_by == SetBy::kJoints;
    const std::vector<double> position = read(*batch, by_joints ? Field::kJointPosition : Field::kBodyPose);
    const std::vector<double> velocity = read(*batch, by_joints ? Field::kJointVelocity : Field::kBodyVelocity);
    StateUpdate state;
    if (set_by == SetBy::kBodies) state.body_pose = input(position, 28), state.body_velocity = input(velocity, 24);
    if (by_joints) state.joint_position = input(position, 15), state.joint_velocity = input(velocity, 13);
    if (set_by != SetBy::kNothing) check(batch->set_state({}, state));
  }
  return read(*batch, Field::kBodyPose);
}

double greatest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double greatest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, std::abs(a[i] - b[i]));
  return greatest;
}

TEST(State, set_as_it_was_read_at_every_step_continues_with_second_order) {
  for (const SetBy set_by : {SetBy::kBodies, SetBy::kJoints}) {
    const double coarse = greatest_difference(run_and_set(0.005, set_by), run_and_set(0.005, SetBy::kNothing));
    const double fine = greatest_difference(run_and_set(0.00125, set_by), run_and_set(0.00125, SetBy::kNothing));
    std::printf("set by %s: %.2e at 5 ms, %.2e at 1.25 ms\n", set_by == SetBy::kBodies ? "bodies" : "joints", coarse,
                fine);
    EXPECT_LT(coarse, 1e-5);
    EXPECT_TRUE(fine < 1e-9 || std::log2(coarse / fine) / 2 > 1.8);
  }
}

TEST(State, joint_velocities_are_the_time_derivative_of_joint_positions) {
  const Fixture f(all_joints(), 1);
  ResetRequest reset;
  reset.keyframe = 0;
  check(f.batch->reset(reset));
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose), velocity = read(*f.batch, Field::kBodyVelocity);
  const std::vector<double> q = read(*f.batch, Field::kJointPosition), u = read(*f.batch, Field::kJointVelocity);
  // Axes only: coordinates 11 .. 14, rates 9 .. 12. Bodies move as the difference of two placements says.
  const double h = 1e-6;
  StateUpdate ahead;
  std::vector<double> next = q;
  for (int k = 0; k < 4; ++k) next[11 + k] += h * u[9 + k];
  ahead.joint_position = input(next, 15);
  check(f.batch->set_state({}, ahead));
  const std::vector<double> moved = read(*f.batch, Field::kBodyPose);
  std::vector<double> still(13, 0.0);
  std::copy(u.begin() + 9, u.end(), still.begin() + 9);
  StateUpdate back;
  back.joint_position = input(q, 15), back.joint_velocity = input(still, 13);
  check(f.batch->set_state({}, back));
  const std::vector<double> rate = read(*f.batch, Field::kBodyVelocity);
  for (const int b : {2, 3}) {  // their centres of mass are their origins
    for (int k = 0; k < 3; ++k) EXPECT_NEAR((moved[7 * b + k] - pose[7 * b + k]) / h, rate[6 * b + k], 1e-5) << b << k;
  }
}

TEST(State, body_state_reads_back_as_it_was_set) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Fixture f(all_joints(), 3, precision);
    std::vector<double> pose = noise(2 * 28, 1.0, 11);
    const std::vector<double> velocity = noise(2 * 24, 1.0, 12), time{1.5, -2};
    StateUpdate state;
    state.body_pose = input(pose, 28), state.body_velocity = input(velocity, 24), state.time = input(time, 1);
    const std::vector<std::int32_t> worlds{2, 0};
    const std::string before = state_bytes(*f.batch, 1);
    check(f.batch->set_state(worlds, state));
    for (std::size_t i = 0; i < pose.size(); i += 7) {
      const double n = std::hypot(std::hypot(pose[i + 3], pose[i + 4]), std::hypot(pose[i + 5], pose[i + 6]));
      for (int k = 3; k < 7; ++k) pose[i + k] /= n;
    }
    const double tolerance = precision == Precision::kFloat32 ? 1e-6 : 1e-14;
    expect_near(read(*f.batch, Field::kBodyPose, worlds), pose, tolerance);
    expect_near(read(*f.batch, Field::kBodyVelocity, worlds), velocity, tolerance);
    EXPECT_EQ(read(*f.batch, Field::kTime, worlds), time);
    EXPECT_EQ(state_bytes(*f.batch, 1), before);
  }
}

// A joint that closes a loop has none of the coordinates.
TEST(State, coordinates_of_a_robot_with_a_loop_are_set_as_they_are_read) {
  Fixture f(four_bar(), 2);
  step(*f.engine, *f.batch, 30);
  const std::vector<double> q = read(*f.batch, Field::kJointPosition), u = read(*f.batch, Field::kJointVelocity);
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose);
  ASSERT_EQ(q.size(), 6u);
  StateUpdate state;
  state.joint_position = input(q, 3), state.joint_velocity = input(u, 3);
  check(f.batch->set_state({}, state));
  expect_near(read(*f.batch, Field::kBodyPose), pose, 1e-6);  // what the solver leaves of the joints
  check(f.batch->reset({std::vector<std::int32_t>{1}, -1, state}));
  step(*f.engine, *f.batch, 20);
  const std::vector<double> after = read(*f.batch, Field::kBodyPose);
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(after[i], after[21 + i]) << i;
}

TEST(State, what_follows_a_set_state_depends_on_that_state_alone) {
  Fixture f(box_and_sphere(), 2);
  step(*f.engine, *f.batch, 200);  // world 1 rests on the floor, with impulses to remember
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose, {1}), still(12, 0.0);
  check(f.batch->reset({}));
  step(*f.engine, *f.batch, 3);
  StateUpdate state;
  const std::vector<double> time{0, 0};
  std::vector<double> both = pose, zero(24, 0.0);
  both.insert(both.end(), pose.begin(), pose.end());
  state.body_pose = input(both, 14), state.body_velocity = input(zero, 12), state.time = input(time, 1);
  check(f.batch->set_state({}, state));
  step(*f.engine, *f.batch, 20);
  const std::vector<double> after = read(*f.batch, Field::kBodyPose);
  EXPECT_EQ(std::vector<double>(after.begin(), after.begin() + 14),
            std::vector<double>(after.begin() + 14, after.end()));
}

TEST(State, reset_gives_the_bits_of_a_new_batch) {
  Fixture f(quadruped(), 2, Precision::kFloat32);
  const std::string first = state_bytes(*f.batch, 0);
  step(*f.engine, *f.batch, 30);
  const std::string later = state_bytes(*f.batch, 0);
  EXPECT_NE(later, first);
  const std::int32_t world = 0;
  ResetRequest request;
  request.world_indices = {&world, 1};
  check(f.batch->reset(request));
  EXPECT_EQ(state_bytes(*f.batch, 0), first);
  EXPECT_EQ(f.batch->step_index(0), 0);
  EXPECT_EQ(f.batch->step_index(1), 30);
  StepRequest step_request;
  step_request.batch = f.batch.get(), step_request.step_count = 30, step_request.world_indices = {&world, 1};
  take(f.engine->step({&step_request, 1}));
  EXPECT_EQ(state_bytes(*f.batch, 0), later);
}

TEST(State, a_non_finite_world_freezes_alone_and_reset_revives_it) {
  Fixture f(quadruped(), 3, Precision::kFloat32);
  Fixture reference(quadruped(), 3, Precision::kFloat32);
  const int nb = static_cast<int>(f.batch->field_shape(Field::kBodyVelocity)[0]);
  const std::vector<double> velocity(6 * nb, 1e25);
  StateUpdate state;
  state.body_velocity = input(velocity, 6 * nb);
  const std::int32_t world = 1;
  check(f.batch->set_state({&world, 1}, state));
  const std::vector<double> pose = read(*f.batch, Field::kBodyPose, {1});
  const StepStatistics s = step(*f.engine, *f.batch, 10);
  step(*reference.engine, *reference.batch, 10);
  EXPECT_EQ(s.non_finite, 1);
  const auto outcome = static_cast<std::uint32_t>(read(*f.batch, Field::kOutcome, {1})[0]);
  EXPECT_EQ(outcome & (kNonFinite | kConverged), kNonFinite);
  EXPECT_EQ(read(*f.batch, Field::kBodyPose, {1}), pose);
  EXPECT_EQ(read(*f.batch, Field::kBodyVelocity, {1})[0], static_cast<float>(1e25));
  for (const int i : {0, 2}) EXPECT_EQ(state_bytes(*f.batch, i), state_bytes(*reference.batch, i));
  EXPECT_EQ(step(*f.engine, *f.batch, 1).world_steps, 2);  // still frozen
  EXPECT_EQ(f.batch->step_index(1), 0);
  ResetRequest request;
  request.world_indices = {&world, 1};
  check(f.batch->reset(request));
  EXPECT_EQ(read(*f.batch, Field::kOutcome, {1})[0], 0);
  StepRequest again;
  again.batch = f.batch.get(), again.world_indices = {&world, 1}, again.step_count = 10;
  take(f.engine->step({&again, 1}));
  EXPECT_EQ(state_bytes(*f.batch, 1), state_bytes(*reference.batch, 1));
}

TEST(State, resting_contacts_carry_the_weight_along_upward_normals) {
  Fixture f(box_and_sphere(), 1);
  step(*f.engine, *f.batch, 400);
  double weight = 0;
  for (const ContactInfo& contact : take(f.batch->contacts(0))) {
    EXPECT_EQ(contact.body_b, model::kWorldBody);
    EXPECT_EQ(contact.shape_b, 0);
    EXPECT_EQ(contact.shape_a, contact.body_a + 1);
    EXPECT_NEAR(contact.normal[2], 1, 1e-9);
    EXPECT_NEAR(contact.gap, 0, 1e-4);
    weight += contact.normal_impulse;
  }
  EXPECT_NEAR(weight, 3 * 9.81 * 0.005, 1e-3 * 3 * 9.81 * 0.005);
}

TEST(State, the_impulse_of_a_joint_holds_up_what_hangs_from_it) {
  model::SceneSpec scene = all_joints();
  scene.joints[0].kind =
      model::JointKind::kAxes;  // base: a hinge on the world, vertical, so it holds all of the weight
  model::AxisSpec axis;
  axis.name = "yaw";
  scene.joints[0].axes = {axis};
  scene.keyframes.clear();
  scene.joints.resize(1), scene.bodies.resize(1), scene.actuators.clear();
  Fixture f(scene, 1);
  step(*f.engine, *f.batch, 10);
  const std::vector<double> impulse = read(*f.batch, Field::kJointImpulse);
  expect_near(impulse, {0, 0, 3 * 9.81 * 0.005, 0, 0, 0}, 1e-4);
}

// Where a point of a body is in the world, from body_pose.
std::array<double, 3> point(const std::vector<double>& pose, int body, std::array<double, 3> p) {
  const double* X = pose.data() + 7 * body;
  const double w = X[3], x = X[4], y = X[5], z = X[6];
  const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                          {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                          {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  std::array<double, 3> out;
  for (int i = 0; i < 3; ++i) out[i] = X[i] + R[i][0] * p[0] + R[i][1] * p[1] + R[i][2] * p[2];
  return out;
}

TEST(State, joints_hold_as_seen_from_the_poses) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Fixture f(all_joints(), 2, precision);
    scatter_worlds(*f.batch);
    step(*f.engine, *f.batch, 200, {0.5, 0.3, -0.5, -0.3});
    for (const int world : {0, 1}) {
      const std::vector<double> pose = read(*f.batch, Field::kBodyPose, {world});
      const auto ball_on_base = point(pose, 0, {0.3, 0, 0}), ball = point(pose, 1, {-0.2, 0, 0});
      const auto wrist_on_arm = point(pose, 2, {0.2, 0, 0}), wrist = point(pose, 3, {-0.2, 0, 0});
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(ball[k], ball_on_base[k], 2e-5);
        EXPECT_NEAR(wrist[k], wrist_on_arm[k], 2e-5);
      }
      EXPECT_LT(pose[2], 0.5);  // it fell all the while
    }
  }
}

TEST(State, overrides_change_their_world_alone) {
  const auto engine = cpu_engine();
  const auto model = compile_scene(box_and_sphere());
  BatchSpec spec = batch_spec(model, 2);
  std::vector<double> pose = read(*take(engine->create_batch(spec)), Field::kBodyPose);
  pose[14 + 2] += 0.5;  // the box of world 1 starts higher
  const std::vector<double> mass{1, 1, 2, 1}, friction{1, 0};
  spec.overrides.body_pose = input(pose, 14), spec.overrides.mass_scale = input(mass, 2);
  spec.overrides.friction_scale = input(friction, 1);
  const auto batch = take(engine->create_batch(spec)), plain = take(engine->create_batch(batch_spec(model, 1)));
  EXPECT_NEAR(read(*batch, Field::kBodyPose, {1})[2], 0.8, 1e-14);
  std::vector<double> wrench(2 * 12);
  wrench[0] = wrench[12] = 1;  // 1 N on each box while it falls
  StepRequest request;
  request.batch = batch.get(), request.step_count = 10, request.body_wrench = input(wrench, 12);
  take(engine->step({&request, 1}));
  const std::vector<double> velocity = read(*batch, Field::kBodyVelocity);
  EXPECT_NEAR(velocity[0], 0.05, 1e-12);
  EXPECT_NEAR(velocity[12], 0.025, 1e-12);
  check(batch->reset({}));
  EXPECT_NEAR(read(*batch, Field::kBodyPose, {1})[2], 0.8, 1e-14);
  EXPECT_EQ(state_bytes(*batch, 0), state_bytes(*plain, 0));
}

}  // namespace
}  // namespace axion::testing::state_test
