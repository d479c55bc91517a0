// The residual blocks that a step reports against an oracle that recomputes them from the states and impulses before
// and after the step. Steps are stopped early, so that there are residuals to compare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/engine/newton/record_oracle.hpp"
#include "tests/engine/newton/solver_scenes.hpp"

namespace axion::step_record_test {
namespace {

using model::JointMode;

struct Case {
  const char* name;
  model::SceneSpec scene;
};

// Angles have another formula here, equal only where the locked directions hold exactly.
void expect_reported(const char* block, float reported, double exact) {
  EXPECT_NEAR(reported, exact, 1e-6 * std::abs(exact) + 1e-6) << block;
}

// Throws the world about, steps it a few times and compares the record of each. Notes the greatest residuals met.
void check(const Case& given, const model::SolverOptions& options, unsigned seed, double (&greatest)[5],
           int& compared) {
  SCOPED_TRACE(std::string(given.name) + ", joint mode " + std::to_string(int(options.joint_mode)) + ", seed " +
               std::to_string(seed));
  testing::SingleWorld<double> world(given.scene, options, 0.005);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  auto& w = world.world();
  const auto m = world.model();
  for (int b = 0; b < m.body_count; ++b) {
    for (int k = 0; k < 3; ++k) w.v[b][k] = u(random), w.omega[b][k] = u(random);
  }
  for (int i = 0; i < m.control_count; ++i) w.control[i] = u(random);
  for (int step = 0; step < 3; ++step) {
    w.state_is_new[0] = 1;  // armature then acts on the rates of the state
    testing::RecordOracle oracle(world);
    world.step();
    // Joints of another mode, and locks that are eased, have another residual.
    if ((world.record().outcome & (step::kFallbackBit | step::kEasedBit)) != 0) return;
    const testing::RecordOracle::Blocks exact = oracle.residuals();
    const float* reported = world.record().residual;
    ++compared;
    expect_reported("dynamics", reported[0], exact.dynamics);
    expect_reported("joint", reported[1], exact.joint);
    expect_reported("contact", reported[2], exact.contact);
    expect_reported("friction", reported[3], exact.friction);
    expect_reported("control", reported[4], exact.control);
    for (int k = 0; k < 5; ++k) {
      greatest[k] = std::max(greatest[k], double(reported[k]));
      EXPECT_NEAR(world.record().residual_normalised[k], reported[k] / world.settings().velocity_tolerance,
                  1e-5 * reported[k] / world.settings().velocity_tolerance);
    }
  }
}

TEST(StepRecord, residuals_equal_those_recomputed_from_states_and_impulses) {
  const Case cases[] = {{"mixed", testing::mixed_scene()},
                        {"ring", testing::ring_of_bars(6, true)},
                        {"four-bar", testing::four_bar()},
                        {"stack", testing::box_stack(3, 5)}};
  double greatest[5] = {};
  int compared = 0;
  for (const Case& c : cases) {
    for (const JointMode mode : {JointMode::kPrevious, JointMode::kCurrent}) {
      for (unsigned seed = 1; seed <= 5; ++seed) {
        model::SolverOptions options = model::make_options(model::Preset::kDefault);
        options.joint_mode = mode;
        options.half_step_start = false;
        options.max_newton_iterations = 1;
        options.tolerance = 1;  // no fallback below a hundred times that
        check(c, options, seed, greatest, compared);
      }
    }
  }
  EXPECT_GT(compared, 80);                                                    // of 120
  for (int k = 0; k < 5; ++k) EXPECT_GT(greatest[k], 1e-3) << "block " << k;  // there was something to compare
}

// A chain with a heavy end, thrown about: impulses along J(q⁻) are unstable there, and some steps fall back.
TEST(StepRecord, tells_the_joint_mode_that_a_step_ended_in) {
  for (const JointMode asked : {JointMode::kPrevious, JointMode::kCurrent, JointMode::kBlended}) {
    model::SolverOptions options = model::make_options(model::Preset::kDefault);
    options.joint_mode = asked;
    testing::SingleWorld<double> world(testing::pendulum_chain(8, 1000), options, 0.1);
    int fallbacks = 0;
    for (int step = 0; step < 60; ++step) {
      world.step();
      const bool fell_back = (world.record().outcome & step::kFallbackBit) != 0;
      const JointMode ended = world.record().joint_mode;
      EXPECT_EQ(ended != asked, fell_back) << "step " << step;
      EXPECT_TRUE(!fell_back || ended == JointMode::kCurrent || ended == JointMode::kLinearised) << "step " << step;
      fallbacks += fell_back;
    }
    if (asked == JointMode::kPrevious) {
      EXPECT_GT(fallbacks, 0);
    }
  }
}

}  // namespace
}  // namespace axion::step_record_test
