// Bad requests get an error that names the field and the value, and change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::requests_test {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Requests : public ::testing::Test {
 protected:
  Requests() : engine_(cpu_engine(2)), model_(compile_scene(all_joints())) {
    batch_ = take(engine_->create_batch(batch_spec(model_, 3, model::Precision::kFloat32)));
    step(*engine_, *batch_, 3);
  }

  template <typename T>
  void expect_refused(const Result<T>& result, const std::string& field, const std::string& value) {
    ASSERT_FALSE(result.ok()) << field;
    expect_error(result.error(), field, value);
  }
  void expect_refused(const Status& status, const std::string& field, const std::string& value) {
    ASSERT_FALSE(status.ok()) << field;
    expect_error(status.error(), field, value);
  }
  void expect_error(const Error& error, const std::string& field, const std::string& value) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.message;
    EXPECT_EQ(error.field, field) << error.message;
    EXPECT_THAT(error.message, HasSubstr(value));
  }

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Batch> batch_;
};

TEST_F(Requests, a_batch_needs_worlds_a_time_step_and_valid_options) {
  const auto refuse = [&](const std::function<void(BatchSpec&)>& change, const char* field, const char* value) {
    BatchSpec spec = batch_spec(model_, 3);
    change(spec);
    expect_refused(engine_->create_batch(spec), field, value);
  };
  refuse([](BatchSpec& s) { s.model = nullptr; }, "model", "compile_model");
  refuse([](BatchSpec& s) { s.world_count = 0; }, "world_count", "0");
  refuse([](BatchSpec& s) { s.world_count = -5; }, "world_count", "-5");
  refuse([](BatchSpec& s) { s.world_count = 1 << 30; }, "world_count", "1073741824");
  refuse([](BatchSpec& s) { s.dt = 0; }, "dt", "0");
  refuse([](BatchSpec& s) { s.dt = -0.01; }, "dt", "-0.01");
  refuse([](BatchSpec& s) { s.dt = kNan; }, "dt", "nan");
  refuse([](BatchSpec& s) { s.dt = 1.5; }, "dt", "1.5");
  refuse([](BatchSpec& s) { s.options.max_newton_iterations = 0; }, "options.max_newton_iterations", "0");
}

TEST_F(Requests, overrides_must_be_finite_and_in_range) {
  std::vector<double> mass(12, 1.0), pose(84, 1.0), gain(6, 1.0), friction(3, 1.0);
  const auto refuse = [&](double& place, double value, const char* field, const char* text) {
    const double kept = std::exchange(place, value);
    BatchSpec spec = batch_spec(model_, 3);
    spec.overrides = {input(pose, 28), input(mass, 4), input(friction, 1), input(gain, 2)};
    expect_refused(engine_->create_batch(spec), field, text);
    place = kept;
  };
  refuse(mass[6], 0, "overrides.mass_scale[1,2]", "0");
  refuse(mass[11], -2, "overrides.mass_scale[2,3]", "-2");
  refuse(mass[0], 1e9, "overrides.mass_scale[0,0]", "1000000000");
  refuse(friction[2], -0.5, "overrides.friction_scale[2]", "-0.5");
  refuse(gain[3], kNan, "overrides.gain_scale[1,1]", "nan");
  refuse(pose[28 + 7 * 2 + 1], kInfinity, "overrides.body_pose[1,2,1]", "inf");
}

TEST_F(Requests, steps_are_checked_before_anything_runs) {
  const std::string before = state_bytes(*batch_, 0) + state_bytes(*batch_, 1) + state_bytes(*batch_, 2);
  std::vector<double> control(6), wrench(72);
  std::vector<std::int32_t> worlds;
  std::vector<float> poses(3 * 28);
  OutputView out{Field::kBodyPose, reinterpret_cast<std::byte*>(poses.data()), 28 * sizeof(float), 28 * sizeof(float)};
  const auto refuse = [&](const std::function<void(StepRequest&)>& change, const char* field, const char* value) {
    StepRequest request;
    request.batch = batch_.get(), request.control = input(control, 2), request.body_wrench = input(wrench, 24);
    request.outputs = {&out, 1};
    change(request);
    request.world_indices = worlds;
    expect_refused(engine_->step({&request, 1}), field, value);
    EXPECT_EQ(state_bytes(*batch_, 0) + state_bytes(*batch_, 1) + state_bytes(*batch_, 2), before) << field;
  };
  refuse([](StepRequest& r) { r.step_count = 0; }, "step_count", "0");
  refuse([](StepRequest& r) { r.step_count = -3; }, "step_count", "-3");
  refuse([](StepRequest& r) { r.step_count = 10, r.record_every = 3; }, "record_every", "3");
  refuse([](StepRequest& r) { r.record_every = -1; }, "record_every", "-1");
  refuse([](StepRequest& r) { r.batch = nullptr; }, "requests[0].batch", "batch");
  refuse([](StepRequest& r) { r.control.dtype = DType::kInt32; }, "control", "float32");
  refuse([&](StepRequest&) { out.data = nullptr; }, "outputs[0]", "memory");
  out.data = reinterpret_cast<std::byte*>(poses.data()), out.world_stride = 27 * sizeof(float);
  refuse([](StepRequest&) {}, "outputs[0]", "108");
  out.world_stride = 28 * sizeof(float);
  worlds = {0, 3};
  refuse([](StepRequest&) {}, "world_indices[1]", "3");
  worlds = {-1};
  refuse([](StepRequest&) {}, "world_indices[0]", "-1");
  worlds = {2, 1, 2};
  refuse([](StepRequest&) {}, "world_indices[2]", "2");
  worlds.clear();
  control[3] = kNan;
  refuse([](StepRequest&) {}, "control[1,1]", "nan");
  control[3] = 1e300;
  refuse([](StepRequest&) {}, "control[1,1]", "1e+300");
  control[3] = 0, wrench[24 + 13] = -kInfinity;
  refuse([](StepRequest&) {}, "body_wrench[1,2,1]", "-inf");
}

TEST_F(Requests, a_bad_request_stops_the_whole_launch_and_is_named) {
  const auto other = take(engine_->create_batch(batch_spec(model_, 1)));
  const std::string before = state_bytes(*batch_, 0);
  StepRequest requests[2];
  requests[0].batch = batch_.get(), requests[1].batch = other.get();
  requests[1].step_count = 0;
  expect_refused(engine_->step(requests), "requests[1].step_count", "0");
  EXPECT_EQ(state_bytes(*batch_, 0), before);
  requests[1].batch = batch_.get(), requests[1].step_count = 1;
  expect_refused(engine_->step(requests), "requests[1].batch", "already");
  const auto stranger = cpu_engine();
  expect_refused(stranger->step({requests, 1}), "requests[0].batch", "engine");
}

TEST_F(Requests, a_bad_control_in_a_sequence_is_named_with_its_step) {
  std::vector<float> control(3 * 4 * 2);
  control[1 * 8 + 2 * 2 + 1] = std::numeric_limits<float>::infinity();
  StepRequest request;
  request.batch = batch_.get(), request.step_count = 4;
  request.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat32, 8 * sizeof(float),
                     2 * sizeof(float)};
  expect_refused(engine_->step({&request, 1}), "control[1,2,1]", "inf");
}

TEST_F(Requests, state_must_be_finite_and_have_rotations) {
  const std::string before = state_bytes(*batch_, 0) + state_bytes(*batch_, 2);
  std::vector<double> pose(84, 1.0), velocity(72), position(45, 1.0), time(3);
  const auto refuse = [&](const std::function<void(StateUpdate&)>& change, const char* field, const char* value) {
    StateUpdate state;
    change(state);
    expect_refused(batch_->set_state({}, state), field, value);
    ResetRequest reset;
    reset.state = state;
    expect_refused(batch_->reset(reset), field, value);
    EXPECT_EQ(state_bytes(*batch_, 0) + state_bytes(*batch_, 2), before);
  };
  const auto set_pose = [&](StateUpdate& s) { s.body_pose = input(pose, 28); };
  pose[56 + 7 + 4] = kNan;
  refuse(set_pose, "body_pose[2,1,4]", "nan");
  for (int k = 3; k < 7; ++k) pose[56 + 7 + k] = 0;
  refuse(set_pose, "body_pose[2,1,3]", "quaternion");
  velocity[24 + 6] = kInfinity;
  refuse([&](StateUpdate& s) { s.body_velocity = input(velocity, 24); }, "body_velocity[1,1,0]", "inf");
  velocity[24 + 6] = -2e30;
  refuse([&](StateUpdate& s) { s.body_velocity = input(velocity, 24); }, "body_velocity[1,1,0]", "-2e+30");
  for (int k = 7; k < 11; ++k) position[15 + k] = 0;
  refuse([&](StateUpdate& s) { s.joint_position = input(position, 15); }, "joint_position[1,7]", "quaternion");
  time[1] = kNan;
  refuse([&](StateUpdate& s) { s.time = input(time, 1); }, "time[1]", "nan");
  velocity[24 + 6] = 0, position.assign(45, 1.0);
  refuse([&](StateUpdate& s) { s.body_velocity = input(velocity, 24), s.joint_position = input(position, 15); },
         "joint_position", "not by both");
}

TEST_F(Requests, queries_and_resets_name_what_does_not_exist) {
  ResetRequest reset;
  reset.keyframe = 1;
  expect_refused(batch_->reset(reset), "keyframe", "1");
  const std::int32_t world = 7;
  expect_refused(batch_->get({&world, 1}, {}), "world_indices[0]", "7");
  expect_refused(batch_->contacts(3), "world", "3");
  expect_refused(batch_->statistics(-1), "world", "-1");
  expect_refused(field_from_name("body_poses"), "outputs", "body_poses");
}

TEST_F(Requests, every_field_has_a_name_and_a_shape) {
  for (int f = 0; f < kFieldCount; ++f) {
    const Field field = static_cast<Field>(f);
    EXPECT_EQ(take(field_from_name(field_name(field))), field);
  }
  EXPECT_EQ(batch_->field_shape(Field::kBodyPose), (std::vector<std::int64_t>{4, 7}));
  EXPECT_EQ(batch_->field_shape(Field::kJointPosition), std::vector<std::int64_t>{15});
  EXPECT_EQ(batch_->field_shape(Field::kJointVelocity), std::vector<std::int64_t>{13});
  EXPECT_EQ(batch_->field_shape(Field::kJointImpulse), (std::vector<std::int64_t>{4, 6}));
  EXPECT_TRUE(batch_->field_shape(Field::kTime).empty());
  EXPECT_EQ(batch_->field_dtype(Field::kBodyPose), DType::kFloat32);
  EXPECT_EQ(batch_->field_dtype(Field::kTime), DType::kFloat64);
}

}  // namespace
}  // namespace axion::testing::requests_test
