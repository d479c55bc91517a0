// Which device an engine takes, and how much of its memory batches may have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::devices_test {
namespace {

using ::testing::HasSubstr;

bool has_gpu() { return create_engine({.device = "cuda:0"}).ok(); }

TEST(Devices, auto_always_finds_one_and_says_why_it_is_the_cpu) {
  std::string note = "old";
  const auto engine = take(create_engine({.device = "auto"}, &note));
  if (has_gpu()) {
    EXPECT_EQ(engine->device().kind, "cuda");
    EXPECT_EQ(note, "");
  } else {
    EXPECT_EQ(engine->device().kind, "cpu");
    EXPECT_THAT(note, HasSubstr("CUDA"));
  }
}

// As taskset and containers leave it one.
TEST(Devices, a_cpu_has_a_thread_for_each_processor_that_may_be_used) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_EQ(take(create_engine({.device = "cpu"}))->device().threads, CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const int threads = take(create_engine({.device = "cpu"}))->device().threads;
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_EQ(threads, 1);
}

TEST(Devices, a_gpu_that_is_not_there_is_a_failed_precondition_with_a_reason) {
  const auto engine = create_engine({.device = "cuda:63"});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(engine.error().field, "device");
  EXPECT_FALSE(engine.error().message.empty());
}

TEST(Devices, unknown_devices_and_bad_limits_are_refused) {
  for (const char* device : {"gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", ""}) {
    const auto engine = create_engine({.device = device});
    ASSERT_FALSE(engine.ok()) << device;
    EXPECT_EQ(engine.error().code, ErrorCode::kInvalidArgument) << device;
    EXPECT_EQ(engine.error().field, "device");
  }
  EXPECT_EQ(create_engine({.device = "cpu", .instruction_set = "mmx"}).error().field, "instruction_set");
  EXPECT_EQ(create_engine({.device = "cpu", .threads = -1}).error().field, "threads");
  EXPECT_EQ(create_engine({.device = "cpu", .memory_limit_bytes = -1}).error().field, "memory_limit_bytes");
  EXPECT_EQ(create_engine({.device = "cpu", .block_threads = 48}).error().field, "block_threads");
  EXPECT_EQ(create_engine({.device = "cpu", .near_bytes = -2}).error().field, "near_bytes");
}

TEST(Devices, the_cpu_is_always_compiled) {
  const std::vector<std::string> backends = compiled_backends();
  EXPECT_NE(std::find(backends.begin(), backends.end(), "cpu"), backends.end());
}

TEST(Devices, a_batch_that_does_not_fit_is_refused_and_takes_nothing) {
  const auto model = compile_scene(quadruped());
  const auto roomy = cpu_engine(1);
  const auto one = take(roomy->create_batch(batch_spec(model, 1)));
  const auto two = take(roomy->create_batch(batch_spec(model, 2)));
  const std::int64_t world = two->memory_bytes() - one->memory_bytes();
  EXPECT_EQ(world, one->memory_bytes());
  const std::int64_t scratch = roomy->device().memory_used_bytes - 3 * world;
  EXPECT_GT(scratch, 0);

  const auto engine = cpu_engine(1, 10 * world + scratch);
  const auto kept = take(engine->create_batch(batch_spec(model, 6)));
  const std::int64_t used = engine->device().memory_used_bytes;
  const auto refused = engine->create_batch(batch_spec(model, 5));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().field, "world_count");
  EXPECT_THAT(refused.error().message, HasSubstr("5"));
  EXPECT_EQ(engine->device().memory_used_bytes, used);
  auto rest = take(engine->create_batch(batch_spec(model, 4)));
  EXPECT_EQ(engine->device().memory_used_bytes, used + 4 * world);
  rest.reset();
  EXPECT_EQ(engine->device().memory_used_bytes, used);
  step(*engine, *kept, 1);
}

TEST(Devices, more_worlds_than_any_machine_holds_are_refused_at_once) {
  const auto engine = cpu_engine(1);
  const auto refused = engine->create_batch(batch_spec(compile_scene(quadruped()), 1 << 24));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace axion::testing::devices_test
