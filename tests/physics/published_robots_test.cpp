// Published robots with random controls: what must hold on every one of them, in both precisions. The bounds are of the
// stop test and the compliance of preset DEFAULT; places of 1 m round by 1e-7 m in float32, far below them.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/support/published_model.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::published_robots_test {
namespace {

struct Robot {
  const char* file;
  double dt;
};

class PublishedRobots : public ::testing::TestWithParam<Robot> {
 protected:
  template <typename Real>
  void run() {
    const std::string text = testing::published_model(GetParam().file);
    if (text.empty()) GTEST_SKIP() << GetParam().file << " is not in " << AXION_MODELS_DIR;
    const auto imported = import::import_mjcf(text);
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    testing::SingleWorld<Real> world(imported.value().scene, model::make_options(model::Preset::kDefault),
                                     GetParam().dt);
    auto& w = world.world();
    const int steps = 500;
    const double start = world.energy();
    double penetration = 0, joint_error = 0, highest = 0;
    int converged = 0;
    unsigned seed = 1;
    for (int k = 0; k < steps; ++k) {
      for (int i = 0; i < world.model().control_count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        w.control[i] = Real(0.1) * (Real(seed >> 8) / Real(1 << 23) - Real(1));
      }
      world.step();
      ASSERT_EQ(world.record().outcome & step::kNonFiniteBit, 0u) << "step " << k;
      converged += world.converged();
      penetration = std::max(penetration, double(world.record().max_penetration));
      joint_error = std::max(joint_error, double(world.record().max_joint_error));
      highest = std::max(highest, world.energy() - start);
    }
    const testing::Validation<Real> row("published robots");
    char name[80];
    std::snprintf(name, sizeof(name), "%s at %g ms: ", GetParam().file, 1e3 * GetParam().dt);
    row.at_least(std::string(name) + "steps converged", double(converged) / steps, 0.97);
    row.at_most(std::string(name) + "deepest overlap, m", penetration, 2e-3);
    row.at_most(std::string(name) + "joints together, m", joint_error, 1e-4);
    // The motors of these robots do tens of joules at most in so many steps; a body that an unwanted root of the
    // position-level rows whirls round within a step has thousands.
    row.at_most(std::string(name) + "energy above the start, J", highest, 50);
  }
};

TEST_P(PublishedRobots, converge_hold_together_and_stay_sane_in_float32) { run<float>(); }
TEST_P(PublishedRobots, converge_hold_together_and_stay_sane_in_float64) { run<double>(); }

INSTANTIATE_TEST_SUITE_P(Files, PublishedRobots,
                         ::testing::Values(Robot{"humanoid.xml", 0.005}, Robot{"ant.xml", 0.01},
                                           Robot{"ant.xml", 0.005}, Robot{"hopper.xml", 0.002},
                                           Robot{"half_cheetah.xml", 0.01}, Robot{"walker2d.xml", 0.002}),
                         [](const auto& info) {
                           std::string name = info.param.file;
                           name =
                               name.substr(0, name.find('.')) + "_" + std::to_string(int(info.param.dt * 1000)) + "ms";
                           return name;
                         });

}  // namespace
}  // namespace axion::published_robots_test
