// Teams of several threads give the bits of one thread.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/backend/engine_model.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/step/run_steps.hpp"
#include "engine/team/serial_team.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/team/host_block.hpp"
#include "tests/engine/team/host_step.hpp"
#include "tests/support/compiled_step.hpp"

namespace axion::testing::cooperative_team_test {
namespace {

constexpr int kThreadCounts[] = {1, 3, 8, 32, 64};

TEST(CooperativeTeam, sums_have_the_bits_of_one_thread) {
  for (const int count : {0, 1, 31, 32, 33, 100, 257}) {
    const std::vector<double> wide = noise(count, 1e3, 5);
    const std::vector<float> narrow(wide.begin(), wide.end());
    const double expected = team::SerialTeam{}.sum<double>(count, [&](int i) { return wide[i]; });
    const float expected_narrow = team::SerialTeam{}.sum<float>(count, [&](int i) { return narrow[i]; });
    for (const int threads : kThreadCounts) {
      run_block(threads, [&](const HostTeam& team) {
        EXPECT_EQ(team.sum<double>(count, [&](int i) { return wide[i]; }), expected) << count << " " << threads;
        EXPECT_EQ(team.sum<float>(count, [&](int i) { return narrow[i]; }), expected_narrow) << count << " " << threads;
      });
    }
  }
}

TEST(CooperativeTeam, the_greatest_term_is_found_and_nan_stays) {
  std::vector<double> terms = noise(100, 1, 6);
  terms[77] = 5;
  for (const int threads : kThreadCounts) {
    run_block(threads, [&](const HostTeam& team) {
      EXPECT_EQ(team.max<double>(100, [&](int i) { return terms[i]; }), 5);
      EXPECT_EQ(team.max<double>(0, [&](int i) { return terms[i]; }), 0);
      EXPECT_EQ(team.max<double>(3, [](int) { return -1.0; }), 0);
      EXPECT_TRUE(std::isnan(
          team.max<double>(100, [&](int i) { return i == 50 ? std::numeric_limits<double>::quiet_NaN() : terms[i]; })));
    });
  }
}

TEST(CooperativeTeam, what_is_kept_keeps_its_order) {
  for (const int count : {0, 1, 5, 64, 200}) {
    const auto keep = [](int i) { return i % 3 == 1 || i % 7 == 0; };
    std::vector<int> expected(count, -1);
    const int kept = team::SerialTeam{}.filter(count, keep, [&](int i, int k) { expected[k] = i; });
    for (const int threads : kThreadCounts) {
      std::vector<int> found(count, -1);
      run_block(threads, [&](const HostTeam& team) {
        EXPECT_EQ(team.filter(count, keep, [&](int i, int k) { found[k] = i; }), kept);
      });
      EXPECT_EQ(found, expected) << count << " " << threads;
    }
    for (const int threads : {32, 64, 128}) {
      std::vector<int> found(count, -1);
      run_voting_block(threads, [&](const VotingTeam& team) {
        EXPECT_EQ(team.filter(count, keep, [&](int i, int k) { found[k] = i; }), kept);
      });
      EXPECT_EQ(found, expected) << count << " " << threads << ", voting";
    }
  }
}

TEST(CooperativeTeam, all_find_the_first) {
  const auto check = [](const auto& team) {
    for (const int at : {0, 5, 31, 32, 63, 64, 100, 199}) {
      EXPECT_EQ(team.first(0, 200, [&](int i) { return i >= at && i % 2 == at % 2; }), at);
      EXPECT_EQ(team.first(at, 200, [](int) { return true; }), at);
      EXPECT_EQ(team.first(at, at, [](int) { return true; }), at);
      EXPECT_EQ(team.first(0, at, [](int) { return false; }), at);
    }
  };
  check(team::SerialTeam{});
  for (const int threads : kThreadCounts) run_block(threads, check);
  for (const int threads : {32, 64, 128}) run_voting_block(threads, check);
}

TEST(CooperativeTeam, threads_together_meet_and_keep_what_they_have) {
  for (const int threads : kThreadCounts) {
    std::vector<int> left(threads), sums(threads);
    run_block(threads, [&](const HostTeam& team) {
      team.together([&](int thread, auto&& meet) {
        int own = thread;
        for (int turn = 0; turn < 3; ++turn) {
          left[thread] = own;
          meet();
          own += left[(thread + 1) % threads];
          meet();
        }
        sums[thread] = own;
      });
    });
    // Binomial weights of itself and its next three.
    for (int t = 0; t < threads; ++t) {
      EXPECT_EQ(sums[t], t + 3 * ((t + 1) % threads) + 3 * ((t + 2) % threads) + (t + 3) % threads) << threads;
    }
  }
}

// One world ready to step.
template <typename Real>
struct World {
  World(const Model& model, const BatchSpec& spec, int steps) {
    const auto& engine_model = dynamic_cast<const backend::EngineModel&>(model);
    job.m = model::batch_view(engine_model.arrays<Real>().view(), spec.options);
    job.user = engine_model.user<Real>().view();
    job.settings = model::make_step_settings<Real>(spec.options, spec.dt);
    const world::WorldBytes bytes = world::world_bytes(job.m);
    block.resize(bytes.world), scratch.resize(bytes.scratch);
    backend::WorldBlock<Real> world(engine_model, block.data());
    world.set_default_parameters();
    world.reset(-1);
    for (int b = 0; b < job.m.body_count; ++b) world.view().omega[b] = {Real(0.3), Real(-0.2), Real(0.1)};
    job.worlds = block.data(), job.world_count = 1, job.step_count = steps, job.statistics = &statistics;
  }
  step::StepJob<Real> job{};
  std::vector<std::byte> block, scratch;
  StepStatistics statistics;
};

template <typename Real>
void expect_the_bits_of_one_thread(const model::SceneSpec& scene, model::Preset preset, int threads, int steps,
                                   model::ContactSoftness softness = model::ContactSoftness::kRigid) {
  const auto model = compile_scene(scene);
  BatchSpec spec;
  spec.options = model::make_options(preset);
  spec.options.contact_softness = softness;
  World<Real> alone(*model, spec, steps), together(*model, spec, steps);
  run_row_of(team::SerialTeam{}, alone.job, 0, alone.scratch.data());
  const model::WorldView<Real> view = world::bind_world(together.job.m, together.block.data(), together.scratch.data());
  run_block(threads, [&](const HostTeam& team) { run_steps_by_block(team, together.job, view, 0); });
  EXPECT_EQ(together.statistics.world_steps, steps);
  EXPECT_TRUE(alone.block == together.block) << scene.name << " with " << threads << " threads";
}

TEST(CooperativeTeam, a_block_of_threads_steps_a_world_to_the_bits_of_one) {
  expect_the_bits_of_one_thread<float>(box_and_sphere(), model::Preset::kDefault, 3, 60);
  expect_the_bits_of_one_thread<double>(all_joints(), model::Preset::kDefault, 2, 10);
  expect_the_bits_of_one_thread<float>(all_joints(), model::Preset::kAxionSeed, 3, 6);
  expect_the_bits_of_one_thread<float>(quadruped(), model::Preset::kDefault, 4, 6);
  expect_the_bits_of_one_thread<float>(quadruped(), model::Preset::kDefault, 4, 20, model::ContactSoftness::kMjcf);
}

}  // namespace
}  // namespace axion::testing::cooperative_team_test
