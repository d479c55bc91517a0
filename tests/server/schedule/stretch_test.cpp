// A step that is cut into launches gives what one launch gives: outputs, records, outcomes and state.
#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

struct Result {
  std::vector<double> positions;        // by world, record
  std::vector<std::uint32_t> outcomes;  // by world, record
  schedule::StepAnswer answer;
  std::uint32_t outcome_read = 0;  // of world 0 afterwards

  bool operator==(const Result& o) const {
    return positions == o.positions && outcomes == o.outcomes && answer.outcome == o.answer.outcome &&
           answer.step_index == o.answer.step_index && answer.time == o.answer.time && outcome_read == o.outcome_read;
  }
};

class Stretches : public ScheduleTest {
 protected:
  static constexpr std::size_t kSteps = 12;

  // Two of three worlds, a control for each step that makes some steps fail to converge.
  Result run(std::int64_t cap, std::int64_t record_every, std::size_t worlds = SIZE_MAX) {
    make_batcher({.max_launch_steps = cap, .max_launch_worlds = worlds});
    const Handle batch = make_batch(3);
    std::vector<double> control(2 * kSteps * 2);
    for (std::size_t i = 0; i < control.size(); ++i)
      control[i] = (i % 7 == 3) ? -2.0 : 0.1 * static_cast<double>(i % 5);
    const std::size_t records = record_every == 0 ? 1 : kSteps / static_cast<std::size_t>(record_every);
    Result result;
    result.positions.resize(2 * records);
    result.outcomes.resize(2 * records);
    auto sink = std::make_shared<Sink>();
    schedule::StepWork work;
    work.world_indices = {2, 0};
    work.step_count = kSteps;
    work.record_every = record_every;
    work.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, kSteps * 2 * sizeof(double),
                    2 * sizeof(double)};
    work.outputs = {{Field::kJointPosition, reinterpret_cast<std::byte*>(result.positions.data()),
                     records * sizeof(double), sizeof(double)},
                    {Field::kOutcome, reinterpret_cast<std::byte*>(result.outcomes.data()),
                     records * sizeof(std::uint32_t), sizeof(std::uint32_t)}};
    work.sink = sink;
    EXPECT_TRUE(submit(batch, std::move(work)).ok());
    EXPECT_TRUE(sink->wait().ok());
    result.answer = sink->answer;
    EXPECT_TRUE(on_device(batch, [&](Engine&, schedule::BatchHandle* handle) {
                  const OutputView view{Field::kOutcome, reinterpret_cast<std::byte*>(&result.outcome_read), 4, 0};
                  const std::int32_t world = 0;
                  return schedule::read_fields(*handle, std::span(&world, 1), std::span(&view, 1));
                }).ok());
    batcher.reset();
    return result;
  }
};

TEST_F(Stretches, a_snapshot_has_the_outcome_of_the_whole_request) {
  make_batcher({});
  const Handle batch = make_batch(3);
  batch->carried_outcome[1] = kMaxIterations | kFallback;  // what earlier launches of its last request left
  std::vector<std::string> outcomes;
  EXPECT_TRUE(on_device(batch, [&](Engine&, schedule::BatchHandle* handle) {
                static_cast<FakeBatch&>(*handle->engine).worlds[1].outcome = kConverged;
                static_cast<FakeBatch&>(*handle->engine).worlds[2].outcome = kConverged;
                const std::vector<std::int32_t> worlds{2, 1};
                return schedule::read_snapshots(*handle, worlds, [&](std::string snapshot) {
                  outcomes.push_back(std::move(snapshot));
                  return absl::OkStatus();
                });
              }).ok());
  EXPECT_EQ(outcomes,
            (std::vector<std::string>{std::to_string(kConverged), std::to_string(kMaxIterations | kFallback)}));
  StateUpdate state;
  state.snapshots = {"the fake engine takes any"};
  const auto passes = schedule::change_passes(batch, {.worlds = {1}, .state = state});
  EXPECT_TRUE(on_device(batch, [&](Engine& e, schedule::BatchHandle*) { return do_all(e, passes); }).ok());
  EXPECT_EQ(batch->carried_outcome[1], std::uint32_t{kConverged}) << "the snapshot has the whole outcome";
  batcher.reset();
}

TEST_F(Stretches, a_cut_step_gives_what_one_launch_gives) {
  for (const std::int64_t record_every : {0, 1, 2, 3, 4, 6, 12}) {
    const Result whole = run(1000, record_every);
    // The inputs must make this a test: some steps converge and some do not.
    EXPECT_EQ(whole.answer.outcome[0], kMaxIterations);
    for (const std::int64_t cap : {1, 2, 3, 5, 7, 11}) {
      EXPECT_TRUE(run(cap, record_every) == whole) << "cap " << cap << ", record_every " << record_every;
      EXPECT_TRUE(run(cap, record_every, 1) == whole)
          << "a world a launch, cap " << cap << ", record_every " << record_every;
    }
  }
}

class Paced : public ScheduleTest {
 protected:
  // A step of `steps` steps of all of a batch's worlds, which take `cost` seconds each.
  schedule::Job& job(int worlds, std::int64_t steps, double cost) {
    auto made = std::make_unique<schedule::Job>();
    made->batch = std::make_shared<schedule::BatchHandle>();
    made->batch->info.world_count = worlds;
    made->batch->world_step_cost = cost;
    schedule::StepWork work;
    work.step_count = steps;
    made->work = std::move(work);
    jobs.push_back(std::move(made));
    return *jobs.back();
  }
  std::vector<schedule::Portion> portions(bool others_wait) const {
    std::vector<schedule::Job*> all;
    for (const auto& held : jobs) all.push_back(held.get());
    return pacer.portions(all, others_wait);
  }

  std::vector<std::unique_ptr<schedule::Job>> jobs;
  schedule::LaunchPacer pacer{absl::Milliseconds(10), absl::Milliseconds(50)};
};

TEST_F(Paced, a_launch_lasts_a_slice_and_a_shorter_one_when_others_wait) {
  job(10, 1000, 1e-4);
  EXPECT_EQ(portions(true)[0].steps, 10);
  EXPECT_EQ(portions(false)[0].steps, 50);
  EXPECT_EQ(portions(true)[0].worlds, 10u);
}

TEST_F(Paced, one_step_of_too_many_worlds_is_made_of_some_of_them) {
  job(65536, 10, 1e-4);
  EXPECT_EQ(portions(true)[0].steps, 1);
  EXPECT_EQ(portions(true)[0].worlds, 64u);  // 100 in a slice, in whole groups
  job(1, 10, 1.0);
  EXPECT_EQ(portions(true)[1].worlds, 1u);
  EXPECT_EQ(portions(true)[1].steps, 1);
}

TEST_F(Paced, a_batch_that_nothing_is_known_of_starts_with_a_few_world_steps) {
  job(1000, 1000, 0);
  EXPECT_EQ(portions(false)[0].worlds, 4u);
  job(2, 1000, 0);
  EXPECT_EQ(portions(false)[1].steps, 2);
}

TEST_F(Paced, a_slice_is_shared_out_so_that_small_steps_are_whole_and_greedy_ones_alike) {
  job(4096, 100, 1e-4), job(1, 1, 1e-4), job(8192, 100, 2e-4);
  const auto shared = portions(false);
  EXPECT_EQ(shared[1].worlds, 1u);
  EXPECT_EQ(shared[0].worlds, 192u);  // (50 ms − 0.1 ms) / 2 / 0.1 ms, in whole groups
  EXPECT_EQ(shared[2].worlds, 64u);   // and of worlds that cost twice as much
  EXPECT_EQ(schedule::share_out(10, std::vector<double>{1, 100, 4, 2}), (std::vector<double>{1, 3.5, 3.5, 2}));
}

TEST_F(Paced, steps_that_a_quarter_of_a_slice_is_enough_for_go_before_those_that_fill_it) {
  const auto quick = [&] {
    std::vector<schedule::Job*> all;
    for (const auto& held : jobs) all.push_back(held.get());
    return pacer.quick(all);
  };
  schedule::Job &small = job(1, 1, 1e-4), &other = job(4, 5, 1e-4);
  EXPECT_TRUE(quick().empty());  // nothing is beside them that would hold them up
  job(4096, 100, 1e-4);
  EXPECT_EQ(quick(), (std::vector<schedule::Job*>{&small, &other}));
  job(1, 1, 0);      // of which nothing is known
  job(40, 1, 1e-4);  // 4 ms: too long for a launch of its own
  EXPECT_EQ(quick(), (std::vector<schedule::Job*>{&small, &other}));
  job(5, 1, 1e-4);  // 2.6 ms together: no longer quick
  EXPECT_TRUE(quick().empty());
}

TEST_F(Paced, what_a_world_costs_is_learned_of_each_batch_and_follows_changes) {
  schedule::BatchHandle& cheap = *job(10, 10, 0).batch;
  schedule::BatchHandle& dear = *job(10, 10, 0).batch;
  pacer.measured(std::vector<schedule::LaunchPacer::Part>{{&cheap, 100}}, absl::Milliseconds(10));
  EXPECT_NEAR(cheap.world_step_cost, 1e-4, 1e-9);
  pacer.measured(std::vector<schedule::LaunchPacer::Part>{{&cheap, 100}, {&dear, 10}}, absl::Milliseconds(110));
  EXPECT_NEAR(cheap.world_step_cost, 1e-4, 1e-9);
  EXPECT_NEAR(dear.world_step_cost, 1e-2, 1e-7);
  for (int k = 0; k < 40; ++k) {
    pacer.measured(std::vector<schedule::LaunchPacer::Part>{{&cheap, 100}}, absl::Milliseconds(20));
  }
  EXPECT_NEAR(cheap.world_step_cost, 2e-4, 1e-6);
  EXPECT_GT(pacer.retry_delay(), absl::Milliseconds(5));
}

}  // namespace
}  // namespace axion::server::testing
