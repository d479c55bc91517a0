// Sensors of distances, of points within sites and of images: known answers, and what is refused.
#include <cmath>
#include <numbers>

#include "engine/model/shape_kind.hpp"
#include "tests/engine/backend/sensing.hpp"

namespace axion::testing::distance_sensors_test {
namespace {

// A ball on a slide beside a wall, and two balls of one body beyond it.
std::string slide_along_x(const std::string& sensors) {
  return R"(<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" pos="0 0 -1"/>
      <geom name="wall" type="box" size=".1 1 1" pos="2 0 0" contype="0" conaffinity="0"/>
      <geom name="seen" type="cylinder" size=".1 .2" pos="0 0 3" contype="0" conaffinity="0"/>
      <site name="gate" type="box" size=".2 .3 .4" pos="1 0 0" euler="0 0 90"/>
      <camera name="down" pos="0 0 4" fovy="90" resolution="200 100"/>
      <body name="ball"><joint name="x" type="slide" axis="1 0 0"/>
        <geom name="ball" size=".25" contype="0" conaffinity="0"/><site name="centre"/></body>
      <body name="pair" pos="0 2 0"><geom name="near" size=".1"/><geom name="far" pos="0 2 0" size=".1"/></body>
      <body name="hand" mocap="true" pos="0 -3 0"><geom name="hand" size=".5" contype="0" conaffinity="0"/></body>
      </worldbody><sensor>)" +
         sensors + "</sensor></mujoco>";
}

TEST(DistanceSensors, a_ball_reads_its_distance_from_a_wall_and_its_depth_in_it) {
  const std::string xml =
      slide_along_x(R"(<distance name="d" geom1="ball" geom2="wall" cutoff="5"/><distance name="depth" geom1="ball"
      geom2="wall"/><normal name="n" geom1="ball" geom2="wall" cutoff="5"/>
      <fromto name="p" geom1="ball" geom2="wall" cutoff="5"/><fromto name="back" geom1="wall" geom2="ball" cutoff="5"/>
      <distance name="far" geom1="ball" geom2="wall" cutoff=".5"/><normal name="none" geom1="ball" geom2="wall"/>)");
  Sensing s(xml);
  s.set({0.5}, {0});
  EXPECT_NEAR(s.scalar("d"), 1.15, 1e-12);
  expect_near(s("n"), {1, 0, 0}, 1e-12, "normal");
  expect_near(s("p"), {0.75, 0, 0, 1.9, 0, 0}, 1e-12, "points");
  expect_near(s("back"), {1.9, 0, 0, 0.75, 0, 0}, 1e-12, "points, turned round");
  EXPECT_EQ(s.scalar("far"), 0.5);
  EXPECT_EQ(s.scalar("depth"), 0);
  expect_near(s("none"), {0, 0, 0}, 0, "nothing overlaps");
  s.set({1.7}, {0});
  EXPECT_NEAR(s.scalar("d"), -0.05, 1e-12);
  EXPECT_NEAR(s.scalar("depth"), -0.05, 1e-12);
  expect_near(s("n"), {-1, 0, 0}, 1e-12, "normal of an overlap");
  expect_near(s("p"), {1.95, 0, 0, 1.9, 0, 0}, 1e-12, "deepest points");
}

TEST(DistanceSensors, a_body_s_least_distance_counts_and_readings_follow_mocap_bodies) {
  Sensing s(slide_along_x(R"(<distance name="pair" geom1="ball" body2="pair" cutoff="9"/>
      <fromto name="points" body1="pair" body2="ball" cutoff="9"/><distance name="world" body1="ball" body2="world"
      cutoff="9"/><distance name="seen" geom1="seen" geom2="far" cutoff="9"/>
      <distance name="hand" body1="hand" geom2="ball" cutoff="9"/>)"));
  s.set({0}, {0});
  EXPECT_NEAR(s.scalar("pair"), 2 - 0.35, 1e-12);
  expect_near(s("points"), {0, 1.9, 0, 0, 0.25, 0}, 1e-12, "of the nearer ball");
  EXPECT_NEAR(s.scalar("world"), 0.75, 1e-12);  // the floor, not the wall
  EXPECT_NEAR(s.scalar("seen"), std::hypot(2.8, 3.9) - 0.1, 1e-9);
  EXPECT_NEAR(s.scalar("hand"), 3 - 0.75, 1e-12);
  const Numbers pose{0, -5, 0, 1, 0, 0, 0};
  StateUpdate state;
  state.mocap_pose = input(pose, 7);
  check(s.batch().set_state({}, state));
  EXPECT_NEAR(s.scalar("hand"), 5 - 0.75, 1e-12);
}

TEST(DistanceSensors, a_site_reads_what_is_within_it_and_a_camera_where_it_sees_it) {
  Sensing s(slide_along_x(R"(<insidesite name="in" site="gate" objtype="site" objname="centre"/>
      <insidesite name="body" site="gate" objtype="geom" objname="ball"/>
      <camprojection name="pixel" site="centre" camera="down"/>)"));
  for (const double x : {0.69, 0.71, 1.29, 1.31}) {  // the gate, turned by 90 degrees, is 0.3 wide here
    s.set({x}, {0});
    const double within = x > 0.7 && x < 1.3 ? 1 : 0;
    EXPECT_EQ(s.scalar("in"), within) << x;
    EXPECT_EQ(s.scalar("body"), within) << x;
    expect_near(s("pixel"), {100 + 50 * x / 4, 50}, 1e-12, "f = 0.5 / tan 45 degrees of 100 pixels, from 4 m");
  }
}

TEST(DistanceSensors, a_scene_of_its_own_has_them_and_readings_change_no_motion) {
  model::SceneSpec scene = quadruped();
  const model::SceneSpec plain = scene;
  model::SensorSpec sensor;
  sensor.name = "d", sensor.kind = model::SensorKind::kDistance, sensor.cutoff = 10;
  sensor.contact.first = {model::ContactSideKind::kBody, 0};
  sensor.contact.second = {model::ContactSideKind::kBody, model::kWorldBody};
  scene.sensors.push_back(sensor);
  Sensing with(scene, 0.002), without(plain, 0.002);
  with.run(50), without.run(50);
  EXPECT_EQ(read(with.batch(), Field::kBodyPose), read(without.batch(), Field::kBodyPose));
  EXPECT_GT(with.scalar("d"), 0);
  EXPECT_LT(with.scalar("d"), 10);
}

TEST(DistanceSensors, what_is_wrong_with_them_is_named) {
  const auto document = [](const std::string& sensor) {
    const auto read = import::import_mjcf(slide_along_x(sensor), {});
    return read.ok() ? std::string("fine") : read.error().field;
  };
  EXPECT_EQ(document("<distance geom1='ball' geom2='ball'/>"), "distance.geom2");
  EXPECT_EQ(document("<normal body1='ball' body2='ball'/>"), "normal.body2");
  EXPECT_EQ(document("<distance geom1='ball'/>"), "distance.geom2");
  EXPECT_EQ(document("<distance body2='ball'/>"), "distance.geom1");
  EXPECT_EQ(document("<fromto geom1='ball' body1='pair' geom2='wall'/>"), "fromto.body1");
  EXPECT_EQ(document("<fromto geom1='bull' geom2='wall'/>"), "fromto.geom1");
  EXPECT_EQ(document("<insidesite site='gate'/>"), "insidesite.objtype");
  EXPECT_EQ(document("<insidesite site='gap' objtype='geom' objname='ball'/>"), "insidesite.site");
  EXPECT_EQ(document("<camprojection site='gate' camera='up'/>"), "camprojection.camera");
  EXPECT_EQ(document("<camprojection site='gate' camera='down'/>"), "fine");

  using model::ContactSideKind;
  const auto field_of = [](const auto& change) {
    model::SceneSpec scene = quadruped();
    model::SensorSpec sensor;
    sensor.name = "s", sensor.kind = model::SensorKind::kDistance;
    sensor.contact.first = {ContactSideKind::kBody, 0}, sensor.contact.second = {ContactSideKind::kShape, 0};
    change(sensor);
    scene.sensors.push_back(sensor);
    const auto model = compile_model(scene);
    return model.ok() ? std::string("fine") : model.error().field;
  };
  EXPECT_EQ(field_of([](auto&) {}), "fine");
  EXPECT_EQ(field_of([](auto& s) { s.contact.first.kind = ContactSideKind::kAny; }), "sensors[0].contact.first.kind");
  EXPECT_EQ(field_of([](auto& s) { s.contact.second.index = -1; }), "sensors[0].contact.second.index");
  EXPECT_EQ(field_of([](auto& s) { s.contact.second = s.contact.first; }), "sensors[0].contact.second.index");
  EXPECT_EQ(field_of([](auto& s) { s.contact.first.index = 999; }), "sensors[0].contact.first.index");
  EXPECT_EQ(field_of([](auto& s) { s.kind = model::SensorKind::kInsideSite; }), "sensors[0].reference");
  EXPECT_EQ(field_of([](auto& s) { s.kind = model::SensorKind::kInsideSite, s.has_reference = true; }),
            "sensors[0].zone_size[0]");
  EXPECT_EQ(field_of([](auto& s) {
              s.kind = model::SensorKind::kCameraProjection, s.has_reference = true, s.image.focal_y = 0;
            }),
            "sensors[0].image.focal_y");
}

}  // namespace
}  // namespace axion::testing::distance_sensors_test
