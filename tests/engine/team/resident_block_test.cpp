// What the CUDA kernel does, done by threads of the host: worlds end in the bits of a plain run wherever their scratch
// lies and whoever steps them, and no block writes beyond its memory.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/cuda/resident_block.hpp"
#include "engine/backend/engine_model.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/team/serial_team.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/solver/solver_scenes.hpp"
#include "tests/engine/team/host_step.hpp"
#include "tests/support/compiled_step.hpp"

namespace axion::testing {
namespace {

constexpr std::size_t kAll = std::size_t(1) << 40;
constexpr auto kGarbage = std::byte{0xff};  // not-a-number and -1, so that what is read before it is written shows

// Some worlds of one model, all different.
template <typename Real>
struct Worlds {
  Worlds(const model::SceneSpec& scene, model::Preset preset, int count, int steps) : model(compile_scene(scene)) {
    const auto& engine_model = dynamic_cast<const backend::EngineModel&>(*model);
    const auto options = model::make_options(preset);
    job.m = model::batch_view(engine_model.arrays<Real>().view(), options);
    job.user = engine_model.user<Real>().view();
    job.settings = model::make_step_settings<Real>(options, 0.005);
    job.world_stride = model::world_bytes(job.m).world;
    blocks.resize(job.world_stride * count), statistics.resize(count);
    for (int i = 0; i < count; ++i) {
      backend::WorldBlock<Real> world(engine_model, blocks.data() + i * job.world_stride);
      world.set_default_parameters();
      world.reset(-1);
      for (int b = 0; b < job.m.body_count; ++b) world.view().omega[b] = {Real(0.3), Real(-0.2), Real(0.1 * (i + 1))};
    }
    start = blocks;
    job.worlds = blocks.data(), job.statistics = statistics.data(), job.world_count = count, job.step_count = steps;
  }
  std::vector<std::byte> plain() const {
    Worlds copy = *this;
    copy.blocks = start, copy.job.worlds = copy.blocks.data(), copy.job.statistics = copy.statistics.data();
    std::vector<std::byte> scratch(model::world_bytes(job.m).scratch);
    for (int row = 0; row < job.world_count; ++row) run_row_of(team::SerialTeam{}, copy.job, row, scratch.data());
    return copy.blocks;
  }
  void restart() { blocks = start; }

  std::shared_ptr<const Model> model;
  step::StepJob<Real> job{};
  std::vector<std::byte> blocks, start;
  std::vector<StepStatistics> statistics;
};

// Memory with a guard behind it.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + kGuard, kGarbage) {}
  std::byte* data() { return memory_.data(); }
  bool is_whole() const {
    return std::all_of(memory_.begin() + bytes_, memory_.end(), [](std::byte b) { return b == kGarbage; });
  }

 private:
  static constexpr std::size_t kGuard = 4096;
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

// A launch of some jobs with so much near memory, as the engine packs it.
template <typename Real>
struct Launch {
  Launch(const std::vector<const Worlds<Real>*>& all, std::size_t near_bytes) {
    for (const auto* worlds : all) {
      jobs.push_back(worlds->job);
      places.push_back(model::place_fields(worlds->job.m, near_bytes));
      row_start.push_back(row_start.back() + worlds->job.world_count);
      near = std::max(near, places.back().near_bytes), far = std::max(far, places.back().far_bytes);
    }
    next = row_start[0];
  }
  backend::ResidentLaunch<Real> view() {
    return {jobs.data(),      places.data(), row_start.data(),
            int(jobs.size()), row_start[0],  row_start.back() - row_start[0],
            nullptr,          nullptr,       0};
  }
  int take() { return next.fetch_add(1); }

  std::vector<step::StepJob<Real>> jobs;
  std::vector<model::WorldPlaces> places;
  std::vector<int> row_start{40};  // launches of a group begin in the middle of a table
  std::size_t near = 0, far = 0;
  std::atomic<int> next;
};

template <typename Real>
void run_alone(Launch<Real>& launch) {
  Guarded near(launch.near), far(launch.far);
  backend::ResidentState<Real> state;
  backend::run_resident(
      team::SerialTeam{}, launch.view(), state, near.data(), far.data(), [&] { return launch.take(); },
      [](const auto&... arguments) { run_steps_of(arguments...); });
  EXPECT_TRUE(near.is_whole() && far.is_whole());
}

template <typename Real>
void run_blocks(Launch<Real>& launch, int blocks, int threads) {
  const backend::ResidentLaunch<Real> view = launch.view();
  std::vector<std::jthread> running;
  for (int block = 0; block < blocks; ++block) {
    running.emplace_back([&] {
      Guarded near(launch.near), far(launch.far);
      backend::ResidentState<Real> state;
      run_block(threads, [&](const HostTeam& team) {
        backend::run_resident(
            team, view, state, near.data(), far.data(), [&] { return launch.take(); },
            [](const auto&... arguments) { run_steps_by_block(arguments...); });
      });
      EXPECT_TRUE(near.is_whole() && far.is_whole());
    });
  }
}

template <typename Real>
void expect_the_bits_of_a_plain_run(const model::SceneSpec& scene, model::Preset preset, int steps) {
  Worlds<Real> worlds(scene, preset, 2, steps);
  const std::vector<std::byte> plain = worlds.plain();
  EXPECT_NE(plain, worlds.start);
  for (const std::size_t near_bytes :
       {std::size_t(0), std::size_t(1000), std::size_t(15) << 10, std::size_t(50) << 10, kAll}) {
    worlds.restart();
    Launch<Real> launch({&worlds}, near_bytes);
    EXPECT_LE(launch.near, near_bytes);
    run_alone(launch);
    EXPECT_TRUE(worlds.blocks == plain) << scene.name << ", " << near_bytes << " bytes near";
  }
}

TEST(ResidentBlock, near_memory_of_any_size_changes_no_bit) {
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kAxionSeed, model::Preset::kVelocity}) {
    for (const auto& scene :
         {box_and_sphere(), all_joints(), quadruped(), mixed_scene(), four_bar(), box_stack(9, 3)}) {
      expect_the_bits_of_a_plain_run<float>(scene, preset, 25);
    }
    expect_the_bits_of_a_plain_run<double>(all_joints(), preset, 25);
    expect_the_bits_of_a_plain_run<double>(mixed_scene(), preset, 25);
  }
}

TEST(ResidentBlock, blocks_share_out_the_worlds_of_several_models) {
  Worlds<float> falling(box_and_sphere(), model::Preset::kDefault, 5, 20);
  Worlds<float> robots(quadruped(), model::Preset::kDefault, 2, 3);
  const std::vector<std::int32_t> backwards{4, 3, 2, 1, 0};
  falling.job.world_indices = backwards.data();
  const std::vector<std::byte> plain_falling = falling.plain(), plain_robots = robots.plain();
  const auto expect_plain = [&](std::size_t near_bytes, int blocks, int threads) {
    EXPECT_TRUE(falling.blocks == plain_falling) << near_bytes << " near, " << blocks << " of " << threads;
    EXPECT_TRUE(robots.blocks == plain_robots) << near_bytes << " near, " << blocks << " of " << threads;
    for (const StepStatistics& s : falling.statistics) EXPECT_EQ(s.world_steps, 20);
    for (const StepStatistics& s : robots.statistics) EXPECT_EQ(s.world_steps, 3);
    falling.restart(), robots.restart();
  };
  for (const std::size_t near_bytes : {std::size_t(0), std::size_t(9) << 10, kAll}) {
    Launch<float> alone({&falling, &robots}, near_bytes);
    run_alone(alone);
    expect_plain(near_bytes, 1, 1);
    Launch<float> shared({&falling, &robots}, near_bytes);
    run_blocks(shared, 2, 3);
    expect_plain(near_bytes, 2, 3);
  }
}

TEST(ResidentBlock, a_block_with_no_row_left_to_take_ends) {
  Worlds<float> worlds(box_and_sphere(), model::Preset::kDefault, 1, 1);
  Launch<float> launch({&worlds}, 1000);
  launch.next = 41;
  run_alone(launch);
  EXPECT_EQ(worlds.blocks, worlds.start);
}

}  // namespace
}  // namespace axion::testing
