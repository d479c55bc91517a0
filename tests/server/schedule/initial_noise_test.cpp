#include <cmath>

#include "server/schedule/initial_noise.hpp"
#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

class InitialNoise : public ScheduleTest {
 protected:
  std::vector<double> positions(const Handle& batch) {
    std::vector<double> x(static_cast<std::size_t>(batch->info.world_count));
    EXPECT_TRUE(on_device(batch, [&](Engine&, schedule::BatchHandle* handle) {
                  const OutputView view{Field::kJointPosition, reinterpret_cast<std::byte*>(x.data()), 8, 0};
                  return schedule::read_fields(*handle, {}, std::span(&view, 1));
                }).ok());
    return x;
  }
  void reset(const Handle& batch, std::vector<std::int32_t> worlds, std::vector<std::uint64_t> seeds) {
    const auto passes = schedule::change_passes(batch, {.worlds = worlds, .state = {}, .keyframe = -1, .seeds = seeds});
    EXPECT_TRUE(on_device(batch, [&](Engine& e, schedule::BatchHandle*) { return do_all(e, passes); }).ok());
  }
};

TEST_F(InitialNoise, is_a_function_of_the_seed_and_the_world_alone) {
  make_batcher();
  const Handle batch = make_batch(8, absl::Hours(1), {.joint_position = 0.2, .joint_velocity = 0});
  reset(batch, {}, {});
  const auto first = positions(batch);
  reset(batch, {5, 2}, {});
  EXPECT_EQ(positions(batch), first);
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_NE(first[i], first[0]);
  reset(batch, {0, 1}, {77, 77});
  const auto seeded = positions(batch);
  EXPECT_EQ(seeded[0], seeded[1]);
  EXPECT_NE(seeded[0], first[0]);
}

TEST_F(InitialNoise, stays_within_its_width_and_within_limits) {
  make_batcher();
  const Handle narrow = make_batch(40, absl::Hours(1), {.joint_position = 0.1, .joint_velocity = 0});
  reset(narrow, {}, {});
  double greatest = 0;
  for (double x : positions(narrow)) greatest = std::max(greatest, std::abs(x));
  EXPECT_LE(greatest, 0.1);
  EXPECT_GT(greatest, 0.07);
  const Handle wide = make_batch(40, absl::Hours(1), {.joint_position = 10, .joint_velocity = 0});
  reset(wide, {}, {});
  for (double x : positions(wide)) EXPECT_LE(std::abs(x), 0.25);  // the axis's limits
}

TEST_F(InitialNoise, of_velocities_leaves_positions_as_they_are) {
  make_batcher();
  const Handle batch = make_batch(4, absl::Hours(1), {.joint_position = 0, .joint_velocity = 1});
  reset(batch, {}, {});
  EXPECT_EQ(positions(batch), std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace axion::server::testing
