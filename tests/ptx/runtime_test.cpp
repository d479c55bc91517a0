// The emulated CUDA runtime: what it refuses, and how the engine hears of it.
#include "tools/ptx/runtime/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/engine/backend/scenes.hpp"
#include "tools/ptx/runtime/linked_ptx.hpp"

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

// One entry of a fat binary: what linked_ptx.hpp says of its header, and data.
std::string entry(std::uint16_t kind, std::uint32_t capability, std::uint64_t flags, const std::string& data) {
  std::string header(64, '\0');
  const std::uint16_t version = 0x101;
  const std::uint32_t header_size = 64;
  const std::uint64_t size = data.size();
  std::memcpy(&header[0], &kind, 2);
  std::memcpy(&header[2], &version, 2);
  std::memcpy(&header[4], &header_size, 4);
  std::memcpy(&header[8], &size, 8);
  std::memcpy(&header[28], &capability, 4);
  std::memcpy(&header[40], &flags, 8);
  return header + data;
}

std::string fat_binary(const std::string& entries) {
  const std::uint32_t magic = 0xba55ed50;
  const std::uint16_t version = 1, header_size = 16;
  const std::uint64_t size = entries.size();
  std::string header(16, '\0');
  std::memcpy(&header[0], &magic, 4);
  std::memcpy(&header[4], &version, 2);
  std::memcpy(&header[6], &header_size, 2);
  std::memcpy(&header[8], &size, 8);
  return header + entries;
}

constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

TEST(LinkedPtx, is_that_of_the_greatest_capability_among_all_objects) {
  const std::string padding(12, '\0');
  const std::string first =
      fat_binary(entry(kMachineCode, 100, 0, "code") + entry(kPtx, 80, 0, std::string("old\0", 4)));
  const std::string second =
      fat_binary(entry(kPtx, 90, 0, std::string("new\0\0", 8)) + entry(kPtx, 100, 0x2000, "LZ4"));
  EXPECT_EQ(ptx::find_ptx(first + padding + second), "new");
  EXPECT_EQ(ptx::find_ptx(second + padding + first), "new");
}

TEST(LinkedPtx, what_cannot_be_read_is_an_error_that_says_what_to_build) {
  const auto error = [](const std::string& bytes) {
    try {
      ptx::find_ptx(bytes);
    } catch (const ptx::ParseError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error(fat_binary(entry(kPtx, 90, 0x2000, "LZ4"))), HasSubstr("compressed"));
  EXPECT_THAT(error(fat_binary(entry(kMachineCode, 90, 0, "code"))), HasSubstr("CMAKE_CUDA_ARCHITECTURES"));
  const std::string whole = fat_binary(entry(kPtx, 90, 0, "text"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error(whole.substr(0, size)), HasSubstr("no PTX"));
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
