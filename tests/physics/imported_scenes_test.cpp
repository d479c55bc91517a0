// What files say of contacts and joints, seen in the motion: exclusions, priority, many shapes on a body, and joints
// that are made into a chain. The bounds are of the compliance, the step and the method: 1e-4 m and more, where places
// of 1 m round by 6e-8 m in float32, so that both precisions share them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/support/mujoco_model.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::imported_scenes_test {
namespace {

template <typename Real>
class ImportedScenes : public ::testing::Test {};
TYPED_TEST_SUITE(ImportedScenes, testing::Precisions, testing::PrecisionNames);

template <typename Real>
testing::SingleWorld<Real> imported(const std::string& xml, double dt) {
  const auto scene = import::import_mjcf("<mujoco>" + xml + "</mujoco>");
  if (!scene.ok()) throw std::runtime_error(scene.error().message);
  return {scene.value().scene, model::make_options(model::Preset::kDefault), dt};
}

TYPED_TEST(ImportedScenes, a_ball_that_is_excluded_from_a_fixed_base_lies_on_the_floor) {
  auto world = imported<TypeParam>(
      "<worldbody><geom type='plane' size='5 5 1'/>"
      "<body name='base' pos='0 0 .1'><geom type='box' size='.3 .3 .1'/></body>"
      "<body name='ball' pos='0 0 .5'><freejoint/><geom size='.1'/></body>"
      "<body name='other' pos='0 .8 .5'><freejoint/><geom size='.1'/></body></worldbody>"
      "<contact><exclude body1='ball' body2='base'/></contact>",
      0.005);
  world.step(400);
  // Through the base, and not through the floor: at its radius, to what contacts sink.
  EXPECT_NEAR(double(world.world().x[0].z), 0.1, 1e-3);
  EXPECT_NEAR(double(world.world().x[1].z), 0.1, 1e-3);
}

TYPED_TEST(ImportedScenes, a_box_of_higher_priority_slides_as_its_own_friction_lets_it) {
  const auto distance = [](const std::string& box) {
    const double dt = 0.002;
    auto world = imported<TypeParam>(
        "<worldbody><geom type='plane' size='5 5 1' friction='.9'/><body pos='0 0 .1'>"
        "<freejoint/><geom type='box' size='.2 .2 .1' friction='.1' " +
            box + "/></body></worldbody>",
        dt);
    world.world().v[0] = {1, 0, 0};
    world.step(1000);
    EXPECT_NEAR(double(world.world().v[0].x), 0, 1e-4);
    return double(world.world().x[0].x);
  };
  // v^2 / (2 mu g), to the way of one step.
  EXPECT_NEAR(distance("priority='1'"), 1 / (2 * 0.1 * 9.81), 3e-3);
  EXPECT_NEAR(distance(""), 1 / (2 * 0.9 * 9.81), 3e-3);
}

TYPED_TEST(ImportedScenes, a_body_of_many_spheres_keeps_all_its_contacts) {
  std::string spheres;
  for (int i = 0; i < 36; ++i) {
    spheres += "<geom size='.05' pos='" + std::to_string(0.1 * (i % 6)) + " " + std::to_string(0.1 * (i / 6)) + " 0'/>";
  }
  auto world = imported<TypeParam>(
      "<worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .06'><freejoint/>" + spheres + "</body></worldbody>",
      0.005);
  int most = 0;
  for (int k = 0; k < 200; ++k) {
    world.step();
    ASSERT_EQ(world.record().outcome & step::kContactOverflowBit, 0u) << "step " << k;
    most = std::max(most, world.record().contact_count);
  }
  EXPECT_EQ(most, 36);
  EXPECT_NEAR(double(world.world().x[0].z), 0.05, 1e-3);
}

// Two parallel hinges of one body, its anchors apart; and hinges before a slide.
constexpr const char* kChains[] = {
    "<worldbody><body pos='0 0 2'><joint name='a' axis='0 1 0' armature='.05' damping='.1'/>"
    "<joint name='b' axis='0 1 0' pos='.4 0 0' armature='.02' damping='.05'/>"
    "<geom type='capsule' fromto='.4 0 0 1 0 0' size='.05' contype='0' conaffinity='0'/></body></worldbody>",
    "<worldbody><body pos='0 0 2'><joint name='a' axis='0 1 0' armature='.05' damping='.1'/>"
    "<joint name='b' type='slide' axis='1 0 0' stiffness='200' damping='1' armature='.1'/>"
    "<geom type='capsule' fromto='.4 0 0 1 0 0' size='.05' contype='0' conaffinity='0'/></body></worldbody>"};

TYPED_TEST(ImportedScenes, a_chain_made_of_the_joints_of_one_body_moves_as_they_do) {
  for (const char* xml : kChains) {
    const auto m = testing::load_mujoco("<mujoco>" + std::string(xml) + "</mujoco>");
    m->opt.integrator = mjINT_RK4;
    m->opt.timestep = 1e-4;
    const testing::MujocoData d(mj_makeData(m.get()));
    for (int k = 0; k < 5000; ++k) mj_step(m.get(), d.get());
    const double dt = 5e-4;
    auto world = imported<TypeParam>(xml, dt);
    const int body = world.compiled().internal_body[0];
    int converged = 0;
    for (int k = 0; k < 1000; ++k) world.step(), converged += world.converged();
    const auto& x = world.world().x[body];
    // 1e-4 of the mass is in the part between, and dampers are of first order in dt.
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(double(x[i]), d->xipos[3 + i], 2e-3) << xml << " " << i;
    EXPECT_GE(converged, 990);
  }
}

}  // namespace
}  // namespace axion::imported_scenes_test
