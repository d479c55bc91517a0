// A pendulum chain without contacts against C MuJoCo: the trajectory's error falls linearly with dt.
//
// Both read the same MJCF. MuJoCo runs with its fourth order integrator and a step so small that it counts as exact.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

constexpr double kDuration = 0.5;

// Three links with offset anchors, oblique axes, armature, damping and springs; a universal joint in the middle.
constexpr const char* kChain = R"(<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81" integrator="RK4" timestep="1e-5"/>
  <worldbody>
    <body pos="0 0 2">
      <joint name="a" type="hinge" axis="0 1 0" damping="0.05" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.4 0.05 0" size="0.04" contype="0" conaffinity="0"/>
      <body pos="0.4 0.05 0">
        <joint name="b" type="hinge" axis="0 1 0.2" stiffness="1" damping="0.02"/>
        <joint name="c" type="hinge" axis="1 0 0" pos="0.02 0 0" armature="0.005"/>
        <geom type="box" pos="0.2 0 0" size="0.2 0.05 0.03" contype="0" conaffinity="0"/>
        <body pos="0.4 0 0">
          <joint name="d" type="hinge" axis="0 1 -0.3" damping="0.01"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.03" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>)";

std::vector<double> mujoco_positions() {
  const std::string path = ::testing::TempDir() + "/axion_chain.xml";
  std::ofstream(path) << kChain;
  char error[1000] = "";
  mjModel* model = mj_loadXML(path.c_str(), nullptr, error, sizeof(error));
  EXPECT_NE(model, nullptr) << error;
  mjData* data = mj_makeData(model);
  const int steps = static_cast<int>(std::lround(kDuration / model->opt.timestep));
  for (int k = 0; k < steps; ++k) mj_step(model, data);
  std::vector<double> q(data->qpos, data->qpos + model->nq);
  mj_deleteData(data);
  mj_deleteModel(model);
  return q;
}

double error_at(double dt, const std::vector<double>& exact, model::JointMode mode) {
  const auto imported = import::import_mjcf(kChain);
  EXPECT_TRUE(imported.ok());
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = 1e-9;
  options.joint_mode = mode;
  testing::SingleWorld<double> world(imported.value().scene, options, dt);
  world.step(static_cast<int>(std::lround(kDuration / dt)));
  double error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(world.world().axis_position[i] - exact[i]));
  }
  return error;
}

class ChainAgainstMujoco : public ::testing::TestWithParam<model::JointMode> {};

TEST_P(ChainAgainstMujoco, error_falls_linearly_with_dt) {
  const std::vector<double> exact = mujoco_positions();
  ASSERT_EQ(exact.size(), 4u);
  const double dt[4] = {4e-3, 2e-3, 1e-3, 5e-4};
  double error[4];
  for (int k = 0; k < 4; ++k) {
    error[k] = error_at(dt[k], exact, GetParam());
    std::printf("dt %.4f: largest coordinate error %.3e rad%s\n", dt[k], error[k],
                k == 0 ? "" : (", order " + std::to_string(std::log2(error[k - 1] / error[k]))).c_str());
  }
  EXPECT_LT(error[3], 2e-2);
  for (int k = 1; k < 4; ++k) {
    EXPECT_GT(std::log2(error[k - 1] / error[k]), 0.85);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ChainAgainstMujoco,
                         ::testing::Values(model::JointMode::kBlended, model::JointMode::kCurrent),
                         [](const auto& info) {
                           return info.param == model::JointMode::kBlended ? "blended" : "current";
                         });

}  // namespace
}  // namespace axion
