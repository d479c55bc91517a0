// Sensors of accelerations and forces against closed forms, what a step leaves of them, and scenes' own sensors.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/backend/sensing.hpp"

namespace axion::testing::sensors_test {
namespace {

std::string box_on_floor(double mass) {
  return R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="box" pos="0 0 .2"><freejoint/>
      <geom type="box" size=".3 .2 .2" mass=")" +
         std::to_string(mass) + R"("/><site name="low" pos="0 0 -.2" type="box" size=".4 .4 .02"/>
      <site name="corner" pos=".3 .2 -.2" size=".05"/><site name="imu" pos=".1 .1 .1" euler="0 0 90"/>
      <body name="load" pos=".1 0 .3"><geom type="box" size=".1 .1 .1" mass="2"/><site name="load" euler="90 0 0"/>
        </body>
      </body></worldbody><sensor><accelerometer name="a" site="imu"/><touch name="touch" site="low"/>
      <touch name="corner" site="corner"/><force name="f" site="load"/><torque name="t" site="load"/>
      <framelinacc name="lin" objtype="body" objname="box"/><force name="whole" site="imu"/></sensor></mujoco>)";
}

TEST(Sensors, a_box_at_rest_feels_its_weight_in_accelerometer_touch_and_weld) {
  Sensing s(box_on_floor(3));
  s.run(400);
  expect_near(s("a"), {0, 0, kGravity}, 2e-3, "accelerometer");
  expect_near(s("lin"), {0, 0, kGravity}, 2e-3, "framelinacc");
  EXPECT_NEAR(s.scalar("touch"), 5 * kGravity, 2e-2);
  EXPECT_GT(s.scalar("corner"), 1);  // one of four
  EXPECT_LT(s.scalar("corner"), 5 * kGravity / 2);
  expect_near(s("f"), {0, 2 * kGravity, 0}, 1e-2, "weld");  // up is y of a site that is turned by 90 degrees
  expect_near(s("t"), {0, 0, 0}, 1e-3, "moment of the weld");
  expect_near(s("whole"), {0, 0, 0}, 2e-2, "nothing holds a free body but the floor");
  const Numbers impulse = read(s.batch(), Field::kContactImpulse, {0});
  EXPECT_NEAR(impulse[2], 5 * kGravity * 0.002, 1e-5);
}

TEST(Sensors, a_body_that_falls_and_tumbles_feels_what_its_turning_makes) {
  // Free of forces but gravity: an accelerometer at r feels α × r + ω × (ω × r), α by Euler's equations.
  const std::string xml = R"(<mujoco><worldbody><body name="b" pos="0 0 3"><freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia=".1 .2 .25"/><site name="s" pos=".3 .1 -.2"/><site name="c"/></body>
        </worldbody>
      <sensor><accelerometer name="a" site="s"/><accelerometer name="c" site="c"/><gyro name="w" site="c"/>
      <frameangacc name="alpha" objtype="site" objname="s"/><framequat name="q" objtype="site" objname="s"/></sensor>
        </mujoco>)";
  constexpr double kStep = 1e-3;
  Sensing s(xml, kStep);
  s.set({0, 0, 3, 1, 0, 0, 0}, {1, 2, 3, 2, -3, 1.5});
  const auto cross = [](const Numbers& a, const Numbers& b) {
    return Numbers{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  for (int k = 0; k < 200; ++k) {
    const Numbers w = s("w");  // at the start of the step whose accelerations are read after it
    s.run(1);
    const Numbers alpha{(0.2 - 0.25) * w[1] * w[2] / 0.1, (0.25 - 0.1) * w[2] * w[0] / 0.2,
                        (0.1 - 0.2) * w[0] * w[1] / 0.25};
    const Numbers r{.3, .1, -.2}, turn = cross(alpha, r), spin = cross(w, cross(w, r));
    expect_near(s("a"), {turn[0] + spin[0], turn[1] + spin[1], turn[2] + spin[2]}, 2e-5, "accelerometer");
    expect_near(s("c"), {0, 0, 0}, 1e-9, "accelerometer at the centre");
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Sensors, a_pendulum_under_a_motor_reads_what_its_equation_says) {
  // (m l² + a) θ'' = τ − m g l sin θ about y; the link's point mass at l below the hinge.
  constexpr double kMass = 1.5, kLength = 0.4, kArmature = 0.03, kTorque = 2.0, kStep = 1e-3, kI = 1e-3;
  const std::string xml = R"(<mujoco><worldbody><body name="b" pos="0 0 1"><joint name="j" axis="0 1 0" armature=".03"/>
      <inertial pos="0 0 -.4" mass="1.5" diaginertia="1e-3 1e-3 1e-3"/><site name="hinge"/>
        <site name="bob" pos="0 0 -.4"/></body></worldbody>
      <actuator><motor name="m" joint="j" gear="2"/></actuator>
      <sensor><accelerometer name="a" site="bob"/><force name="f" site="hinge"/><torque name="t" site="hinge"/>
      <frameangacc name="alpha" objtype="body" objname="b"/><actuatorfrc name="u" actuator="m"/>
      <jointactuatorfrc name="ju" joint="j"/><jointpos name="s" joint="j"/><jointvel name="v" joint="j"/></sensor>
        </mujoco>)";
  Sensing s(xml, kStep);
  s.set({0.7}, {1.1});
  for (int k = 0; k < 300; ++k) {
    const double angle = s.scalar("s"), rate = s.scalar("v");
    s.run(1, {kTorque / 2});
    // The bob is at (−l sin, 0, −l cos), so gravity turns it back.
    const double inertia = kMass * kLength * kLength + kI;
    const double alpha = (kTorque - kMass * kGravity * kLength * std::sin(angle)) / (inertia + kArmature);
    const double up = kLength * rate * rate;
    EXPECT_NEAR(s("alpha")[1], alpha, 2e-3) << k;
    const Numbers a = s("a"), f = s("f"), t = s("t");
    // Frame of the link: x across, z from the bob to the hinge. Less gravity, g sin θ across and g cos θ along.
    const double across = -kLength * alpha - kGravity * std::sin(angle), radial = up + kGravity * std::cos(angle);
    EXPECT_NEAR(a[0], across, 2e-3) << k;
    EXPECT_NEAR(a[2], radial, 2e-2) << k;
    EXPECT_NEAR(f[0], kMass * across, 3e-3) << k;
    EXPECT_NEAR(f[2], kMass * radial, 3e-2) << k;
    EXPECT_NEAR(t[1], kTorque - kArmature * alpha, 2e-3) << k;  // what armature takes does not reach the link
    EXPECT_NEAR(s.scalar("u"), kTorque / 2, 1e-12);
    EXPECT_NEAR(s.scalar("ju"), kTorque, 1e-12);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Sensors, a_joint_on_its_stop_reads_the_force_of_the_stop) {
  const std::string xml =
      R"(<mujoco><compiler autolimits="true"/><worldbody><body><joint name="j" type="slide" axis="0 0 1" range="-.1 1"/>
      <geom size=".1" mass="4" contype="0" conaffinity="0"/></body></worldbody>
      <sensor><jointlimitfrc name="f" joint="j"/><jointlimitfrc name="cut" joint="j" cutoff="5"/>
        <jointlimitpos name="p" joint="j"/></sensor></mujoco>)";
  Sensing s(xml);
  s.run(1);
  EXPECT_EQ(s.scalar("f"), 0);
  s.run(500);
  EXPECT_NEAR(s.scalar("f"), 4 * kGravity, 1e-3);
  EXPECT_EQ(s.scalar("cut"), 5);
  EXPECT_NEAR(s.scalar("p"), 0, 1e-5);
  s.set({-0.15}, {0.0});
  EXPECT_NEAR(s.scalar("p"), -0.05, 1e-12);
}

TEST(Sensors, a_held_loop_shows_in_the_force_of_the_joint_that_it_relieves) {
  // A beam on a hinge whose other end is tied to the world: the hinge carries half of it.
  const std::string xml = R"(<mujoco><worldbody><body name="beam"><joint name="j" axis="0 1 0"/>
      <geom type="box" size=".5 .05 .05" pos=".5 0 0" mass="6" contype="0" conaffinity="0"/><site name="s"/></body>
        </worldbody>
      <equality><connect body1="beam" anchor="1 0 0"/></equality>
      <sensor><force name="f" site="s"/><torque name="t" site="s"/></sensor></mujoco>)";
  Sensing s(xml);
  s.run(50);
  expect_near(s("f"), {0, 0, 3 * kGravity}, 1e-6 * kGravity + 1e-4, "force");
  expect_near(s("t"), {0, 0, 0}, 1e-4, "torque");
}

TEST(Sensors, a_rangefinder_meets_the_nearest_shape_of_every_kind) {
  const std::string xml =
      R"(<mujoco><asset><mesh name="wedge" vertex="-1 -1 -.5  1 -1 -.5  1 1 -.5  -1 1 -.5  -1 -1 .5  -1 1 .5"/>
        </asset><worldbody>
      <geom type="plane" size="0 0 1" pos="0 0 -5"/>
      <geom type="sphere" size=".5" pos="10 0 0"/><geom type="box" size=".5 .6 .7" pos="20 0 0" euler="0 0 30"/>
      <geom type="capsule" size=".3 .5" pos="30 0 0"/><geom type="cylinder" size=".3 .5" pos="40 0 0"/>
      <geom type="ellipsoid" size=".3 .4 .5" pos="50 0 0"/><geom name="w" type="mesh" mesh="wedge" pos="60 0 0"/>
      <body name="b" pos="0 0 4"><joint name="j" type="slide" axis="1 0 0"/><geom size=".1"/>
        <site name="s" euler="180 0 0"/>
      <site name="up"/></body></worldbody>
      <sensor><rangefinder name="r" site="s"/><rangefinder name="none" site="up"/>
        <rangefinder name="cut" site="s" cutoff="2"/>
      <framepos name="w" objtype="geom" objname="w"/></sensor></mujoco>)";
  Sensing s(xml);
  const auto range_at = [&](double x) {
    s.set({x}, {0});
    return s.scalar("r");
  };
  EXPECT_NEAR(range_at(0), 9, 1e-12);
  EXPECT_NEAR(range_at(10), 3.5, 1e-12);
  EXPECT_NEAR(range_at(10.3), 4 - 0.4, 1e-12);
  EXPECT_NEAR(range_at(20.4), 3.3, 1e-12);
  EXPECT_NEAR(range_at(30), 3.2, 1e-12);
  EXPECT_NEAR(range_at(30.18), 4 - 0.5 - 0.24, 1e-12);
  EXPECT_NEAR(range_at(40.29), 3.5, 1e-12);
  EXPECT_NEAR(range_at(40.31), 9, 1e-12);
  EXPECT_NEAR(range_at(50.18), 4 - 0.5 * 0.8, 1e-12);
  // The mesh's frame is at its centre: the document's point x = 0 of the wedge is where the slope has height 0.
  EXPECT_EQ(s.scalar("none"), -1);
  EXPECT_EQ(s.scalar("cut"), 2);
  // A slope from +1/2 at x = -1 to -1/2 at x = 1: two heights a known distance apart.
  const double high = range_at(60 - 0.2), low = range_at(60 + 0.2);
  EXPECT_NEAR(low - high, 0.2, 1e-9);
  EXPECT_GT(high, 3);
  EXPECT_LT(low, 5);
}

TEST(Sensors, readings_of_a_request_are_those_of_its_steps_made_one_by_one) {
  Sensing many(box_on_floor(1)), single(box_on_floor(1));
  const int size = many.info().sensor_size;
  Numbers records(static_cast<std::size_t>(20 * size));
  const OutputView out{Field::kSensorData, reinterpret_cast<std::byte*>(records.data()), records.size() * 8,
                       static_cast<std::size_t>(size) * 8};
  StepRequest request;
  request.batch = &many.batch();
  request.step_count = 20, request.record_every = 1;
  request.outputs = {&out, 1};
  take(many.engine().step({&request, 1}));
  for (int k = 0; k < 20; ++k) {
    single.run(1);
    const Numbers one = read(single.batch(), Field::kSensorData, {0});
    EXPECT_EQ(one, Numbers(records.begin() + k * size, records.begin() + (k + 1) * size)) << "step " << k;
  }
}

TEST(Sensors, a_snapshot_carries_readings_and_a_new_state_forgets_forces) {
  Sensing s(box_on_floor(1)), other(box_on_floor(1));
  s.run(30);
  const auto snapshots = take(s.batch().snapshots({}, {}));
  StateUpdate state;
  state.snapshots = {snapshots[0]};
  check(other.batch().set_state({}, state));
  EXPECT_EQ(read(s.batch(), Field::kSensorData), read(other.batch(), Field::kSensorData));
  EXPECT_GT(s.scalar("touch"), 0);
  s.set({0, 0, 1, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(s.scalar("touch"), 0);
  expect_near(s("a"), {0, 0, 0}, 0, "no step was made of this state");
  // Of a model with other sensors no snapshot is taken: it would lack readings.
  model::SceneSpec scene = s.info().scene;
  scene.sensors.pop_back();
  Sensing fewer(scene, 0.002);
  EXPECT_FALSE(fewer.batch().set_state({}, state).ok());
}

// Without sensors of accelerations a step does what it did; and with them too.
TEST(Sensors, sensors_change_no_bit_of_the_motion) {
  const model::SceneSpec scene = take(import::import_mjcf(box_on_floor(1), {})).scene;
  model::SceneSpec plain = scene;
  plain.sensors.clear();
  for (const model::Precision precision : {model::Precision::kFloat32, model::Precision::kFloat64}) {
    Sensing with(scene, 0.002, 1, precision), without(plain, 0.002, 1, precision);
    with.run(100), without.run(100);
    for (const Field field : {Field::kBodyPose, Field::kBodyVelocity, Field::kJointImpulse}) {
      EXPECT_EQ(read(with.batch(), field), read(without.batch(), field));
    }
  }
}

TEST(Sensors, a_scene_names_what_is_wrong_with_its_sensors) {
  const model::SceneSpec good = quadruped();
  const auto field_of = [&](const auto& change) {
    model::SceneSpec scene = good;
    model::SensorSpec sensor;
    sensor.name = "s";
    change(sensor);
    scene.sensors.push_back(sensor);
    const auto model = compile_model(scene);
    return model.ok() ? std::string("fine") : model.error().field;
  };
  using model::SensorKind;
  EXPECT_EQ(field_of([](auto&) {}), "fine");
  EXPECT_EQ(field_of([](auto& s) { s.name = ""; }), "sensors[0].name");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kGyro, s.frame.body = 999; }), "sensors[0].frame.body");
  EXPECT_EQ(field_of([](auto& s) {
              s.kind = SensorKind::kGyro, s.frame.X_BF.rotation = {0, 0, 0, 0};
            }),
            "sensors[0].frame.X_BF.rotation");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kJointPosition; }), "sensors[0].joint");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kJointPosition, s.joint = 0; }), "sensors[0].joint");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kActuatorForce; }), "sensors[0].actuator");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kTouch; }), "sensors[0].zone_size[0]");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kUser, s.dimension = 0; }), "sensors[0].dimension");
  EXPECT_EQ(field_of([](auto& s) { s.kind = SensorKind::kGyro, s.has_reference = true; }), "sensors[0].reference");
  EXPECT_EQ(field_of([](auto& s) { s.cutoff = -1; }), "sensors[0].cutoff");
  EXPECT_EQ(field_of([](auto& s) { s.noise = std::nan(""); }), "sensors[0].noise");
}

TEST(Sensors, a_document_names_what_is_wrong_with_its_sensors_and_what_is_left_out) {
  const auto read_document = [](const std::string& sensor) {
    return import::import_mjcf(
        R"(<mujoco><worldbody><site name="s"/><camera name="c" mode="track"/><body name="b"><joint name="j"/>
        <geom name="g" size=".1"/><body name="e" pos="0 0 1"><joint name="ball" type="ball"/><geom size=".1"/></body>
        </body></worldbody>
        <actuator><motor name="m" joint="j"/></actuator><sensor><clock/>)" +
            sensor + "<clock name=\"last\"/></sensor></mujoco>",
        {});
  };
  for (const auto& [sensor, field] :
       {std::pair{"<gyro site='x'/>", "gyro.site"}, std::pair{"<gyro/>", "gyro.site"},
        std::pair{"<jointpos joint='x'/>", "jointpos.joint"}, std::pair{"<jointpos joint='ball'/>", "jointpos.joint"},
        std::pair{"<ballquat joint='j'/>", "ballquat.joint"},
        std::pair{"<actuatorfrc actuator='x'/>", "actuatorfrc.actuator"},
        std::pair{"<framepos objtype='body' objname='x'/>", "framepos.objname"},
        std::pair{"<framepos objtype='tendon' objname='x'/>", "framepos.objtype"},
        std::pair{"<framelinacc objtype='body' objname='b' reftype='site' refname='s'/>", "framelinacc.reftype"},
        std::pair{"<subtreecom body='x'/>", "subtreecom.body"}, std::pair{"<user dim='0'/>", "user.dim"},
        std::pair{"<tendonpos tendon='t'/>", "tendonpos.tendon"}, std::pair{"<clock cutoff='-1'/>", "clock.cutoff"},
        std::pair{"<clock name='last'/>", "clock.name"}, std::pair{"<gyro sight='s'/>", "gyro.sight"},
        std::pair{"<giro site='s'/>", "giro"}}) {
    const auto document = read_document(sensor);
    ASSERT_FALSE(document.ok()) << sensor;
    EXPECT_EQ(document.error().field, field) << document.error().message;
  }
  for (const char* sensor : {"<rangefinder camera='c'/>", "<framepos objtype='camera' objname='c'/>",
                             "<camprojection site='s' camera='c'/>", "<tactile geom='g' mesh='m'/>"}) {
    const auto document = read_document(sensor);
    ASSERT_TRUE(document.ok()) << sensor;
    ASSERT_EQ(document.value().scene.sensors.size(), 2u) << sensor;
    ASSERT_EQ(document.value().warnings.size(), 1u) << sensor;
    EXPECT_NE(document.value().warnings[0].find("left out"), std::string::npos) << document.value().warnings[0];
  }
}

TEST(Sensors, a_reset_to_a_keyframe_gives_its_controls) {
  const std::string xml =
      R"(<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <actuator><general name="left_out" joint="j" dyntype="user"/><motor name="m" joint="j"/>
        <position name="p" joint="j" kp="3"/></actuator>
      <keyframe><key name="k" qpos=".3" time="2" ctrl="9 1.5 -.4"/><key name="none" qpos=".1"/></keyframe></mujoco>)";
  const import::ImportedScene document = take(import::import_mjcf(xml, {.allow_unsupported = true, .assets = {}}));
  Sensing s(document.scene, 0.002), told(document.scene, 0.002);
  EXPECT_EQ(read(s.batch(), Field::kControl), (Numbers{0, 0}));
  ResetRequest reset;
  reset.keyframe = 0;
  check(s.batch().reset(reset)), check(told.batch().reset(reset));
  EXPECT_EQ(read(s.batch(), Field::kControl), (Numbers{1.5, -0.4}));
  expect_near(read(s.batch(), Field::kActuatorForce), {1.5, 3 * (-0.4 - 0.3)}, 1e-12, "efforts at once");
  s.run(10), told.run(10, {1.5, -0.4});
  EXPECT_EQ(read(s.batch(), Field::kBodyPose), read(told.batch(), Field::kBodyPose));
  reset.keyframe = 1;
  check(s.batch().reset(reset));
  EXPECT_EQ(read(s.batch(), Field::kControl), (Numbers{0, 0}));
  model::SceneSpec wrong = document.scene;
  wrong.keyframes[0].control.push_back(1);
  const auto model = compile_model(wrong);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().field, "keyframes[0].control");
}

TEST(Sensors, users_sensors_are_zero_and_have_their_place) {
  Sensing s(R"(<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody>
      <sensor><clock/><user name="u" dim="3" noise=".1"/><clock name="t"/></sensor></mujoco>)");
  s.run(5);
  expect_near(s("u"), {0, 0, 0}, 0, "user");
  EXPECT_NEAR(s.scalar("t"), 0.01, 1e-12);
  EXPECT_EQ(s.info().sensors[2].start, 4);
  EXPECT_EQ(s.info().sensors[0].name, "sensor0");
  EXPECT_EQ(s.info().sensors[1].noise, 0.1);
}

}  // namespace
}  // namespace axion::testing::sensors_test
