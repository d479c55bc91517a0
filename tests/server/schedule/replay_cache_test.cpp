#include "server/schedule/replay_cache.hpp"

#include <optional>

#include "absl/strings/str_cat.h"

#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

using schedule::Remembered;
using schedule::ReplayCache;

class Answer final : public schedule::StepMemory {
 public:
  explicit Answer(std::size_t bytes) : bytes_(bytes) {}
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
};

Remembered answer(std::size_t bytes = 1) { return {.memory = std::make_shared<const Answer>(bytes), .refusal = {}}; }

TEST(ReplayCache, an_answer_that_has_gone_is_refused_and_not_forgotten) {
  ReplayCache cache;
  for (int i = 0; i < 100; ++i) cache.put(absl::StrCat(i), answer());
  EXPECT_EQ(cache.size(), ReplayCache::kMaxEntries);
  ASSERT_NE(cache.find("99"), nullptr);
  EXPECT_NE(cache.find("99")->memory, nullptr);
  ASSERT_NE(cache.find("3"), nullptr);
  EXPECT_EQ(cache.find("3")->memory, nullptr);
  EXPECT_EQ(cache.find("3")->refusal.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(schedule::details_of(cache.find("3")->refusal).reason, schedule::reason::kAnswerForgotten);
  EXPECT_EQ(cache.find("100"), nullptr);
}

TEST(ReplayCache, bytes_bound_the_answers_but_the_newest_stays) {
  ReplayCache cache;
  cache.put("small", answer(10));
  cache.put("huge", answer(ReplayCache::kMaxBytes + 1));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), ReplayCache::kMaxBytes + 1);
  EXPECT_EQ(cache.find("small")->memory, nullptr);
  EXPECT_NE(cache.find("huge")->memory, nullptr);
}

TEST(ReplayCache, ids_are_known_for_as_long_as_is_said) {
  ReplayCache cache;
  const int known = static_cast<int>(ReplayCache::kMaxForgotten + ReplayCache::kMaxEntries);
  for (int i = 0; i <= known; ++i) cache.put(absl::StrCat(i), answer());
  EXPECT_EQ(cache.find("0"), nullptr);
  EXPECT_NE(cache.find("1"), nullptr);
}

TEST(ReplayCache, what_another_kept_comes_as_older) {
  ReplayCache cache, older;
  for (int i = 0; i < 70; ++i) older.put(absl::StrCat("o", i), answer());
  older.put("both", answer(7));
  cache.put("both", answer(9));
  for (int i = 0; i < 10; ++i) cache.put(absl::StrCat("n", i), answer());
  cache.put_older(older);
  EXPECT_EQ(cache.size(), ReplayCache::kMaxEntries);
  EXPECT_EQ(cache.find("both")->memory->bytes(), 9u);
  EXPECT_NE(cache.find("n0")->memory, nullptr);
  EXPECT_NE(cache.find("o69")->memory, nullptr);
  EXPECT_EQ(cache.find("o0")->refusal.code(), absl::StatusCode::kAborted);
  std::size_t bytes = 0;
  for (const auto& entry : cache.entries()) bytes += entry.second.memory->bytes();
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(ReplayCache, ids_hash_alike_in_every_run) {
  EXPECT_EQ(ReplayCache::hash_of("request"), ReplayCache::hash_of("request"));
  EXPECT_EQ(ReplayCache::hash_of(""), 0xF52A15E9A9B5E89Bu);
}

using AtTheEnd = ScheduleTest;

TEST_F(AtTheEnd, a_step_of_which_some_was_made_is_aborted_and_one_that_was_not_begun_unavailable) {
  std::vector<std::uint64_t> changes;
  schedule::ReplayCache kept;
  schedule::StepBatcherOptions options;
  options.max_launch_steps = 1;
  options.at_end = [&](auto batches) {
    for (const auto& batch : batches) {
      changes.push_back(batch->changes);
      kept = batch->replays;
      EXPECT_NE(batch->engine, nullptr);
    }
  };
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher(options);
  const Handle a = make_batch(1);
  auto sink = std::make_shared<Sink>();
  schedule::StepWork work = step_of(sink, 1'000'000);
  work.request_id = "long";
  ASSERT_TRUE(submit(a, work).ok());
  const auto behind = step(a);
  gate->wait_until_held();
  gate->open();
  EXPECT_FALSE(batcher->drain(absl::ZeroDuration()));
  EXPECT_EQ(sink->wait().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(behind->wait().code(), absl::StatusCode::kUnavailable);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_GT(changes[0], 0u);
  ASSERT_NE(kept.find("long"), nullptr);
  EXPECT_EQ(kept.find("long")->refusal.code(), absl::StatusCode::kAborted);
}

TEST_F(AtTheEnd, a_step_that_expects_another_incarnation_is_aborted) {
  make_batcher();
  const Handle a = make_batch(1);
  for (const std::int64_t expected : {0, 1}) {
    auto sink = std::make_shared<Sink>();
    schedule::StepWork work = step_of(sink);
    work.expected_incarnation = expected;
    ASSERT_TRUE(submit(a, work).ok());
    EXPECT_EQ(sink->wait().code(), expected == 0 ? absl::StatusCode::kOk : absl::StatusCode::kAborted);
    EXPECT_EQ(schedule::details_of(sink->status).reason, expected == 0 ? "" : schedule::reason::kRolledBack);
  }
}

}  // namespace
}  // namespace axion::server::testing
