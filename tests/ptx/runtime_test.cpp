// The emulated CUDA runtime: what it refuses, and how the engine hears of it.
#include "tools/ptx/runtime/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing {
namespace {

using ::testing::HasSubstr;

TEST(Runtime, copies_stay_within_what_is_allocated_and_go_where_they_say) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 1000), cudaSuccess);
  std::vector<char> host(1001);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 1000, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_NE(cudaMemcpy(device, host.data(), 1001, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_NE(cudaMemcpy(device, host.data(), 1000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(cudaMemset(device, 0, 1001), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_NE(cudaMemcpy(host.data(), device, 1000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(cudaFree(device), cudaSuccess);
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(RuntimeDeathTest, device_memory_is_not_the_hosts) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  EXPECT_DEATH(std::memset(device, 0, 64), "");
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Runtime, names_of_entries_are_found_again_in_another_compilation) {
  const char* here =
      "__nv_static_32__0abc68ed_10_kernels_cu_10c69822__ZN5axion43_GLOBAL__N__0abc68ed_10_kernels_cu_"
      "10c698224stepEv";
  const char* there = "_ZN5axion49_GLOBAL__N__07f8d567_10_kernels_cu_990db433_218994stepEv";
  EXPECT_EQ(ptx::plain_name(here), "_ZN5axion@4stepEv");
  EXPECT_EQ(ptx::plain_name(there), "_ZN5axion@4stepEv");
  EXPECT_EQ(ptx::plain_name("_ZN5axion4stepEv"), "_ZN5axion4stepEv");
}

TEST(Runtime, no_instruction_of_the_engine_leaves_its_bits_open) {
  EXPECT_THAT(ptx::Runtime::get().machine().module().inexact, ::testing::IsEmpty());
}

TEST(Runtime, auto_takes_the_gpu_and_a_batch_has_its_memory_there) {
  const auto engine = take(create_engine({.device = "auto"}));
  EXPECT_EQ(engine->device().kind, "cuda");
  const ptx::U64 before = ptx::Runtime::get().machine().memory().allocated();
  auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 4)));
  EXPECT_GT(ptx::Runtime::get().machine().memory().allocated(), before);
  step(*engine, *batch, 1);
  batch.reset();
  const auto refused = create_engine({.device = "cuda:1"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("1 CUDA devices"));
}

TEST(Runtime, a_step_like_the_one_before_is_one_launch_and_no_copy) {
  const auto engine = take(create_engine({.device = "cuda:0"}));
  const auto model = compile_scene(all_joints());
  auto batch = take(engine->create_batch(batch_spec(model, 3)));
  auto other = take(engine->create_batch(batch_spec(model, 70)));
  const std::size_t stride = 7 * model->info().bodies.size() * sizeof(double);
  std::vector<std::byte> poses(3 * stride);
  const OutputView output{Field::kBodyPose, poses.data(), stride, 0};
  StepRequest request;
  const auto expect_calls = [&](Batch& of, std::span<const OutputView> outputs, ptx::U64 copies) {
    request.batch = &of, request.outputs = outputs;
    ptx::Runtime& runtime = ptx::Runtime::get();
    const ptx::U64 launches_before = runtime.launches, copies_before = runtime.copies;
    const StepStatistics statistics = take(engine->step({&request, 1}));
    EXPECT_EQ(statistics.world_steps, of.spec().world_count);
    EXPECT_EQ(runtime.launches - launches_before, 1u);
    EXPECT_EQ(runtime.copies - copies_before, copies);
  };
  expect_calls(*batch, {&output, 1}, 1);  // its tables
  const std::vector<std::byte> first = poses;
  expect_calls(*batch, {&output, 1}, 0);
  EXPECT_NE(poses, first);
  expect_calls(*batch, {&output, 1}, 0);
  expect_calls(*other, {}, 1);
  expect_calls(*other, {}, 0);
  expect_calls(*batch, {&output, 1}, 1);
  EXPECT_EQ(batch->step_index(2), 4);
}

// Last: the error stays.
TEST(Runtime, what_a_kernel_does_wrong_is_the_launchs_error) {
  const auto engine = take(create_engine({.device = "cuda:0"}));
  auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 1)));
  // Memory that the next launch reads goes away behind the engine's back.
  ptx::Memory& memory = ptx::Runtime::get().machine().memory();
  for (ptx::U64 at = memory.last_allocation(); at != 0; at = memory.last_allocation()) ASSERT_TRUE(memory.release(at));
  StepRequest request;
  request.batch = batch.get(), request.step_count = 1;
  const auto result = engine->step({&request, 1});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("nothing is allocated"));
}

}  // namespace
}  // namespace axion::testing
