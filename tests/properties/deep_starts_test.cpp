// No start throws anybody: bodies that begin in each other, by any chain of joints, are no faster in the first second
// than they are without contacts and equalities by more than start_speeds.hpp allows. tests/bench/deep_starts.py asks
// the same of folders of published models.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/engine/import/imported_world.hpp"
#include "tests/support/published_model.hpp"
#include "tests/support/start_speeds.hpp"

namespace axion {
namespace {

constexpr auto kBoth = {model::Precision::kFloat32, model::Precision::kFloat64};

void expect_held(const std::string& name, const model::SceneSpec& scene, double dt, int starts,
                 std::initializer_list<bool> softness = {false, true},
                 std::initializer_list<model::Precision> precisions = kBoth) {
  for (const bool soft : softness) {
    for (const auto precision : precisions) {
      model::SolverOptions options;
      options.precision = precision;
      if (soft) options.contact_softness = model::ContactSoftness::kMjcf;
      for (int i = 0; i < starts; ++i) {
        const testing::StartSpeeds s = testing::measure_start(scene, options, dt, i);
        EXPECT_EQ(s.refused, "") << name;
        EXPECT_LE(s.speed, s.allowed) << name << (soft ? " soft" : " rigid") << ", start " << i << ": " << s.body;
        EXPECT_LT(s.joint_error, 1e-3) << name << (soft ? " soft" : " rigid") << ", start " << i;
      }
    }
  }
}

// A crane that is packed flat on its own pedestal: three links on each other, half of each within the one below.
void expect_packed_links_held(model::Precision precision) {
  const std::string xml = R"(<mujoco><default><joint damping="0.2" armature="0.02"/><geom density="500"/></default>
    <worldbody><geom type="plane" size="3 3 1"/><body pos="0 0 0.15"><geom type="box" size="0.08 0.06 0.15"/>
    <body pos="0 0 0.1"><joint axis="0 0 1"/><geom type="cylinder" size="0.04 0.03"/>
      <body><joint axis="0 1 0" range="-150 150"/><geom type="box" size="0.03 0.03 0.12" pos="0 0 -0.12"/>
        <body pos="0 0 -0.24"><joint axis="0 1 0" range="-170 170"/>
          <geom type="box" size="0.025 0.03 0.12" pos="0.02 0 0.12"/>
          <body pos="0 0 0.24"><joint axis="1 0 0"/><geom type="box" size="0.02 0.02 0.1" pos="0 0 -0.1"/></body>
        </body></body></body></body></worldbody></mujoco>)";
  expect_held("packed crane", import::imported(xml).scene, 0.002, 1, {false, true}, {precision});
}

TEST(DeepStart, links_that_are_packed_into_each_other_are_not_thrown) {
  expect_packed_links_held(model::Precision::kFloat32);
}

TEST(DeepStart, links_that_are_packed_into_each_other_are_not_thrown_in_float64) {
  expect_packed_links_held(model::Precision::kFloat64);
}

// A hand that is welded half a metre from where it starts, with a linkage that closes. With softness MJCF a weld pulls
// as hard as MuJoCo's law says, and brings it there at 10 to 16 m/s.
TEST(DeepStart, a_weld_that_starts_far_off_does_not_throw_the_arm) {
  const std::string xml = R"(<mujoco><default><joint damping="0.5" armature="0.01"/><geom contype="0" conaffinity="0"/>
    </default><worldbody><site name="goal" pos="0.4 0.5 0.2"/><body pos="0 0 0.5"><joint axis="0 0 1"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0.25 0 0" mass="1"/><body pos="0.25 0 0"><joint axis="0 1 0"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.25 0 0" mass="0.7"/><body pos="0.25 0 0"><joint axis="0 0 1"/>
        <geom type="box" size="0.02 0.03 0.01" mass="0.2"/><site name="palm"/></body></body></body></worldbody>
    <equality><weld site1="palm" site2="goal"/></equality></mujoco>)";
  expect_held("welded hand", import::imported(xml).scene, 0.002, 3, {false});
}

TEST(DeepStart, published_robots_that_start_in_the_floor_are_not_thrown) {
  for (const char* file : {"half_cheetah.xml", "ant.xml"}) {
    const std::string text = testing::published_model(file);
    if (text.empty()) GTEST_SKIP() << "AXION_MODELS_DIR has no " << file;
    expect_held(file, import::imported(text).scene, 0.005, 2);
  }
}

}  // namespace
}  // namespace axion
