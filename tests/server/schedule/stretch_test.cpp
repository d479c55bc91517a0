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
  Result run(std::int64_t cap, std::int64_t record_every) {
    make_batcher({.max_launch_steps = cap});
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
  EXPECT_TRUE(on_device(batch, [&](Engine&, schedule::BatchHandle* handle) {
                StateUpdate state;
                state.snapshots = {"the fake engine takes any"};
                const std::int32_t world = 1;
                return schedule::set_worlds(*handle, {&world, 1}, state);
              }).ok());
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
    }
  }
}

TEST(LaunchPacer, gives_short_launches_when_others_wait_and_at_least_one_step) {
  schedule::LaunchPacer pacer(absl::Milliseconds(10), absl::Milliseconds(50));
  EXPECT_EQ(pacer.cap(1, false), schedule::LaunchPacer::kFirstCap);
  pacer.measured(1000, absl::Milliseconds(100));  // 0.1 ms a world-step
  EXPECT_EQ(pacer.cap(10, true), 10);
  EXPECT_EQ(pacer.cap(10, false), 50);
  EXPECT_EQ(pacer.cap(1'000'000, true), 1);
  EXPECT_EQ(pacer.retry_delay(), absl::Milliseconds(400));
}

}  // namespace
}  // namespace axion::server::testing
