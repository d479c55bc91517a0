// What the CUDA kernel does, done by threads of the host: worlds end in the bits of a plain run wherever their scratch
// lies and whoever steps them, no block writes beyond its memory, and every row's results are handed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/cuda/resident_block.hpp"
#include "engine/backend/engine_model.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/team/serial_team.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/team/host_step.hpp"
#include "tests/support/compiled_step.hpp"

namespace axion::testing::resident_block_test {
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
    job.world_stride = world::world_bytes(job.m).world;
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
    std::vector<std::byte> scratch(world::world_bytes(job.m).scratch);
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

struct HostSignals {
  template <typename Real>
  int take(const backend::ResidentLaunch<Real>& launch) const {
    return static_cast<int>(std::atomic_ref(*launch.taken).fetch_add(1) - launch.taken_before);
  }
  int arrive(int* counter) const { return std::atomic_ref(*counter).fetch_add(1); }
  void raise(unsigned* flag, unsigned value) const { std::atomic_ref(*flag).store(value); }
};

constexpr int kPacketWords = 3;   // a step index, a time, a count of contacts
constexpr unsigned kNumber = 7;   // of the launch
constexpr unsigned kTaken = ~1u;  // a counter that runs over

// What the host gets of one job.
struct Results {
  explicit Results(int rows)
      : packets(rows * kPacketWords, -1),
        host_packets(packets),
        sums((rows + kStatisticsGroup - 1) / kStatisticsGroup) {}
  std::vector<std::int64_t> packets, host_packets;
  std::vector<StepStatistics> sums;
};

// A launch of some jobs with so much near memory, as the engine packs it.
template <typename Real>
struct Launch {
  Launch(const std::vector<const Worlds<Real>*>& all, std::size_t near_bytes) {
    for (const auto* worlds : all) {
      results.emplace_back(worlds->job.world_count);
      add_job(worlds->job, results.back());
      places.push_back(backend::place_fields(worlds->job.m, near_bytes));
      row_start.push_back(row_start.back() + worlds->job.world_count);
      near = std::max(near, places.back().near_bytes), far = std::max(far, places.back().far_bytes);
    }
    arrived.resize(groups), ready.resize(groups);
  }
  void add_job(step::StepJob<Real> job, Results& result) {
    constexpr std::size_t kBytes = kPacketWords * sizeof(std::int64_t);
    auto* first = reinterpret_cast<std::byte*>(result.packets.data());
    job.outputs[0] = {Field::kTime, first + 8, kBytes, 8};
    job.outputs[1] = {Field::kContactCount, first + 16, kBytes, 8};
    job.output_count = 2;
    jobs.push_back(job);
    job_results.push_back({first, reinterpret_cast<std::byte*>(result.host_packets.data()), kBytes, result.sums.data(),
                           std::size_t(groups)});
    groups += static_cast<int>(result.sums.size());
  }
  backend::ResidentLaunch<Real> view() {
    return {jobs.data(),
            places.data(),
            job_results.data(),
            row_start.data(),
            int(jobs.size()),
            row_start[0],
            row_start.back() - row_start[0],
            &taken,
            kTaken,
            arrived.data(),
            ready.data(),
            kNumber,
            nullptr,
            0};
  }

  std::vector<step::StepJob<Real>> jobs;
  std::vector<backend::WorldPlaces> places;
  std::deque<Results> results;  // [jobs]
  std::vector<backend::JobResults> job_results;
  std::vector<int> row_start{40};  // launches of a group begin in the middle of a table
  std::size_t near = 0, far = 0;
  int groups = 0;
  unsigned taken = kTaken;
  std::vector<int> arrived;
  std::vector<unsigned> ready;
};

template <typename Real>
void run_alone(Launch<Real>& launch) {
  Guarded near(launch.near), far(launch.far);
  backend::ResidentState<Real> state;
  backend::run_resident(team::SerialTeam{}, launch.view(), state, near.data(), far.data(), HostSignals{},
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
        backend::run_resident(team, view, state, near.data(), far.data(), HostSignals{},
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

bool same_bits(const StepStatistics& a, const StepStatistics& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// The sums of a job's groups, and the packets, as the host finds them.
template <typename Real>
void expect_results(const Worlds<Real>& worlds, const Results& results, int steps) {
  const auto count = worlds.statistics.size();
  for (std::size_t g = 0; g < results.sums.size(); ++g) {
    StepStatistics sum;
    for (std::size_t i = g * kStatisticsGroup; i < std::min(count, (g + 1) * kStatisticsGroup); ++i) {
      sum.add(worlds.statistics[i]);
    }
    EXPECT_TRUE(same_bits(results.sums[g], sum)) << g;
    EXPECT_GT(sum.world_steps, 0);
  }
  for (std::size_t row = 0; row < count; ++row) {
    const std::int64_t* packet = results.host_packets.data() + row * kPacketWords;
    double time = 0;
    std::memcpy(&time, packet + 1, sizeof time);
    EXPECT_EQ(packet[0], steps) << row;
    EXPECT_NEAR(time, 0.005 * steps, 1e-9) << row;
  }
}

TEST(ResidentBlock, every_row_hands_its_packet_over_and_every_group_of_rows_its_statistics) {
  constexpr int kSteps = 2, kRows = 2 * kStatisticsGroup + 5;
  Worlds<float> falling(box_and_sphere(), model::Preset::kDefault, kRows, kSteps);
  Worlds<float> few(box_and_sphere(), model::Preset::kDefault, 3, kSteps);
  for (const int blocks : {1, 3}) {
    Launch<float> launch({&few, &falling}, 1000);
    run_blocks(launch, blocks, 2);
    expect_results(few, launch.results[0], kSteps);
    expect_results(falling, launch.results[1], kSteps);
    EXPECT_THAT(launch.ready, ::testing::Each(kNumber));
    EXPECT_THAT(launch.arrived, ::testing::Each(0));  // for the next launch
    EXPECT_EQ(launch.taken, kTaken + kRows + 3 + blocks);
    falling.restart(), few.restart();
  }
}

TEST(ResidentBlock, a_sum_by_words_is_the_sum_of_statistics) {
  using backend::StatisticsWord;
  std::vector<StepStatistics> rows(kStatisticsGroup);
  StepStatistics expected;
  for (int i = 0; i < kStatisticsGroup; ++i) {
    auto* words = reinterpret_cast<std::int64_t*>(&rows[i]);
    for (int k = 0; k < backend::kStatisticsWords; ++k) {
      const double value = 1.0 / (1 + (7 * i + 13 * k) % 29);
      words[k] =
          backend::kind_of_statistics_word(k) == StatisticsWord::kCount ? i * k : std::bit_cast<std::int64_t>(value);
    }
    expected.add(rows[i]);
  }
  StepStatistics sum;
  for (int k = 0; k < backend::kStatisticsWords; ++k)
    backend::sum_statistics_word(k, rows.data(), kStatisticsGroup, &sum);
  EXPECT_TRUE(same_bits(sum, expected));
}

TEST(ResidentBlock, a_block_with_no_row_left_to_take_ends) {
  Worlds<float> worlds(box_and_sphere(), model::Preset::kDefault, 1, 1);
  Launch<float> launch({&worlds}, 1000);
  launch.taken = kTaken + 1;
  run_alone(launch);
  EXPECT_EQ(worlds.blocks, worlds.start);
  EXPECT_EQ(launch.ready[0], 0u);
  EXPECT_EQ(launch.taken, kTaken + 2);
}

}  // namespace
}  // namespace axion::testing::resident_block_test
