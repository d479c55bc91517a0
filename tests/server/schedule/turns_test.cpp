// Whose turn it is: by tenants and their weights, then by batches; and what of a launch each gets.
#include "server/schedule/turns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/schedule/launch_plan.hpp"

namespace axion::server::schedule {
namespace {

class TurnsTest : public ::testing::Test {
 protected:
  // A step of `steps` steps of a batch of `worlds` worlds, which take `cost` seconds each.
  Job& job(const std::string& tenant, int worlds = 1, std::int64_t steps = 1, double cost = 1e-4) {
    auto made = std::make_unique<Job>();
    made->call.tenant = tenant;
    made->batch = std::make_shared<BatchHandle>();
    made->batch->info.world_count = worlds;
    made->batch->world_step_cost = cost;
    StepWork work;
    work.step_count = steps;
    made->work = std::move(work);
    jobs.push_back(std::move(made));
    return *jobs.back();
  }
  std::vector<Job*> sorted() const {
    std::vector<Job*> all;
    for (const auto& held : jobs) all.push_back(held.get());
    turns.sort(all);
    return all;
  }
  // Serves whose turn it is, so often, a second each.
  std::map<Job*, int> serve(int times) {
    std::map<Job*, int> served;
    for (int i = 0; i < times; ++i) {
      Job* const next = sorted().front();
      turns.served(*next, 1);
      ++served[next];
    }
    return served;
  }
  // Seconds of a launch that the jobs of a tenant get, and how many of them take part.
  std::pair<double, int> part_of(const std::string& tenant) const {
    const auto all = sorted();
    const auto portions = LaunchPacer(absl::Milliseconds(8), absl::Milliseconds(8)).portions(all, true);
    std::pair<double, int> part{0, 0};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->call.tenant != tenant || portions[i].worlds == 0) continue;
      const auto steps = static_cast<double>(portions[i].steps) * static_cast<double>(portions[i].worlds);
      part.first += steps * all[i]->batch->world_step_cost;
      ++part.second;
    }
    return part;
  }

  std::vector<std::unique_ptr<Job>> jobs;
  Turns turns;
};

TEST_F(TurnsTest, tenants_take_turns_however_many_batches_each_has) {
  for (int i = 0; i < 100; ++i) job("greedy");
  Job& other = job("other");
  EXPECT_EQ(serve(40)[&other], 20);
}

TEST_F(TurnsTest, a_tenant_has_as_many_turns_as_its_weight_says) {
  Job &heavy = job("heavy"), &light = job("light");
  heavy.call.weight = 3;
  auto served = serve(400);
  EXPECT_NEAR(served[&heavy], 300, 1);
  EXPECT_NEAR(served[&light], 100, 1);
}

TEST_F(TurnsTest, the_batches_of_a_tenant_take_turns) {
  std::vector<Job*> all;
  for (int i = 0; i < 5; ++i) all.push_back(&job("one"));
  auto served = serve(15);
  for (Job* each : all) EXPECT_EQ(served[each], 3);
}

TEST_F(TurnsTest, a_tenant_that_had_nothing_to_do_does_not_make_up_for_it) {
  Job& busy = job("busy");
  serve(1000);
  job("late");
  EXPECT_NEAR(serve(20)[&busy], 10, 1);
}

TEST_F(TurnsTest, a_launch_is_shared_out_among_tenants_before_their_batches) {
  for (int i = 0; i < 1000; ++i) job("greedy", 16, 20);
  for (int i = 0; i < 16; ++i) job("small", 2);
  EXPECT_NEAR(part_of("small").first, 3.2e-3, 1e-9);  // all that they want
  EXPECT_EQ(part_of("small").second, 16);
  // The rest of 8 ms, by so few batches that each has a millisecond's worth, in whole worlds.
  EXPECT_LE(part_of("greedy").first, 4.8e-3 + 1e-9);
  EXPECT_GE(part_of("greedy").first, 4e-3);
  EXPECT_LE(part_of("greedy").second, 4);
}

TEST_F(TurnsTest, a_launch_is_shared_out_by_the_weights_of_tenants) {
  job("heavy", 1, 1000).call.weight = 3;
  job("light", 1, 1000);
  EXPECT_NEAR(part_of("heavy").first, 6e-3, 1e-9);
  EXPECT_NEAR(part_of("light").first, 2e-3, 1e-9);
}

TEST_F(TurnsTest, batches_that_a_launch_leaves_out_have_the_next_ones) {
  for (int i = 0; i < 20; ++i) job("one", 1, 1000);
  std::map<Job*, int> part;
  for (int launch = 0; launch < 5; ++launch) {
    const auto all = sorted();
    const auto portions = LaunchPacer(absl::Milliseconds(8), absl::Milliseconds(8)).portions(all, true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (portions[i].worlds == 0) continue;
      ++part[all[i]];
      turns.served(*all[i], 1e-3);
    }
  }
  for (const auto& held : jobs) EXPECT_EQ(part[held.get()], 2);
}

}  // namespace
}  // namespace axion::server::schedule
