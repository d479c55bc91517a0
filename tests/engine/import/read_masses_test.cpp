// Masses that users read are those of the file, whatever bodies the importer has made besides.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/import/urdf.hpp"
#include "engine/model/vary.hpp"

namespace axion::import::read_masses_test {
namespace {

using model::BodySpec;

ImportedScene imported(const std::string& xml) {
  Result<ImportedScene> result = import_mjcf(xml);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

// As ModelInfo has them.
std::vector<BodySpec> bodies_of(const model::SceneSpec& scene) {
  const Result<model::WeldedScene> welded = model::merge_welds(scene);
  EXPECT_TRUE(welded.ok()) << welded.error().message;
  if (!welded.ok()) return {};
  std::vector<BodySpec> bodies = welded.value().scene.bodies;
  model::read_masses(welded.value().unread, bodies);
  return bodies;
}

void expect_read(const BodySpec& body, double mass, const model::Vec3d& centre, const std::array<double, 6>& inertia) {
  EXPECT_NEAR(body.mass, mass, 1e-12 * mass) << body.name;
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(body.p_BoBcm[k], centre[k], 1e-12) << body.name;
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(body.I_Bcm[k], inertia[k], 1e-12) << body.name;
}

const std::string kInertial = "<inertial pos='.1 0 .2' mass='2' diaginertia='.1 .2 .25'/>";
const std::string kBall = "<geom size='.1' contype='0' conaffinity='0'/>";

// A free body with armature, and what is welded to it: 2 kg, and 3 kg at a place of its own.
const std::string kFree = "<mujoco><worldbody><body name='b'><joint type='free' armature='.7'/>" + kInertial + kBall +
                          "<body name='w' pos='0 .5 0'>" +
                          "<inertial pos='0 0 0' mass='3' diaginertia='.3 .3 .3'/></body></body></worldbody></mujoco>";

TEST(ReadMasses, the_armature_of_a_free_joint_is_in_no_mass) {
  const std::vector<BodySpec> bodies = bodies_of(imported(kFree).scene);
  ASSERT_EQ(bodies.size(), 1u);
  // About the common centre (.04 .3 .08): each part's own moments and those of its place, by hand.
  const double x2 = 2 * .06 * .06 + 3 * .04 * .04, y2 = 2 * .3 * .3 + 3 * .2 * .2, z2 = 2 * .12 * .12 + 3 * .08 * .08;
  const double xy = 2 * .06 * -.3 + 3 * -.04 * .2, xz = 2 * .06 * .12 + 3 * -.04 * -.08,
               yz = 2 * -.3 * .12 + 3 * .2 * -.08;
  expect_read(bodies[0], 5, {.04, .3, .08}, {.4 + y2 + z2, .5 + x2 + z2, .55 + x2 + y2, -xy, -xz, -yz});
}

TEST(ReadMasses, a_part_between_joints_is_read_as_the_body_that_it_is_of) {
  const std::vector<BodySpec> bodies =
      bodies_of(imported("<mujoco><worldbody><body name='b'><joint axis='0 1 0'/><joint axis='0 1 0' pos='0 0 .3'/>"
                         "<joint type='slide' axis='1 0 0'/>" +
                         kInertial + kBall + "</body></worldbody></mujoco>")
                    .scene);
  ASSERT_EQ(bodies.size(), 3u);
  double sum = 0;
  for (const BodySpec& body : bodies) sum += body.mass;
  EXPECT_NEAR(sum, 2, 1e-12);
  for (const BodySpec& body : bodies) {
    if (body.name == "b") {
      expect_read(body, 2, {.1, 0, .2}, {.1, .2, .25, 0, 0, 0});
    } else {
      EXPECT_EQ(body.mass, 0) << body.name;
    }
  }
}

TEST(ReadMasses, what_a_urdf_link_lends_to_links_without_mass_is_read_as_its_own) {
  const Result<ImportedScene> robot = import_urdf(
      "<robot name='r'><link name='track'/><link name='x'/><link name='cart'><inertial><origin xyz='.1 0 .2'/>"
      "<mass value='2'/><inertia ixx='.1' iyy='.2' izz='.25'/></inertial></link>"
      "<joint name='jx' type='prismatic'><parent link='track'/><child link='x'/><axis xyz='1 0 0'/></joint>"
      "<joint name='jr' type='continuous'><origin xyz='.1 .2 .3' rpy='0 0 1'/><parent link='x'/><child link='cart'/>"
      "</joint></robot>");
  ASSERT_TRUE(robot.ok()) << robot.error().message;
  const std::vector<BodySpec> bodies = bodies_of(robot.value().scene);
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_EQ(bodies[0].mass, 0);
  expect_read(bodies[1], 2, {.1, 0, .2}, {.1, .2, .25, 0, 0, 0});
}

// Parameters are read as the masses are, and mean them: those that are as they were change nothing, and of a body that
// is twice as heavy the armature stays as it is, without weight.
TEST(ReadMasses, are_those_that_parameters_have_and_that_worlds_may_change) {
  const model::SceneSpec scene = imported(kFree).scene;
  const model::CompiledModel model = model::compile(scene).value();
  std::vector<double> values = model::parameter_values(model);
  const auto mass = static_cast<std::size_t>(model::parameter_start(model, Parameter::kBodyMass));
  EXPECT_NEAR(values[mass], 5, 1e-12);
  const model::ModelVariants variants(model, scene);
  const model::CompiledModel same = variants.vary(values).value();
  EXPECT_EQ(same.arrays.bodies, model.arrays.bodies);
  EXPECT_EQ(same.arrays.body_forces, model.arrays.body_forces);
  values[mass] = 10;
  const model::CompiledModel heavy = variants.vary(values).value();
  EXPECT_NEAR(heavy.welded.scene.bodies[0].mass, 10.7, 1e-12);
  EXPECT_NEAR(heavy.welded.lifts[0].mass, 0.7, 1e-12);
  EXPECT_NEAR(model::parameter_values(heavy)[mass], 10, 1e-12);
}

}  // namespace
}  // namespace axion::import::read_masses_test
