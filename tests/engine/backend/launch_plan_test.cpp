// Which blocks are chosen for which model, number of worlds and device: what fits, and what is wanted of the choice.
// Devices are described by their data sheets.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/engine_model.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/support/scenes.hpp"

namespace axion::testing::launch_plan_test {
namespace {

using backend::BlockShape;
using backend::DeviceLimits;
using backend::KernelUse;
using backend::PlannedJob;

struct Device {
  std::string name;
  DeviceLimits limits;
};
constexpr std::size_t kKi = 1024;
const std::vector<Device> kDevices{{"H200", {132, 228 * kKi, 227 * kKi, kKi, 50 * kKi* kKi}},
                                   {"A100", {108, 164 * kKi, 163 * kKi, kKi, 40 * kKi* kKi}},
                                   {"RTX 4090", {128, 100 * kKi, 99 * kKi, kKi, 72 * kKi* kKi}}};
// 65,536 registers at 128 a thread hold 16 warps.
const KernelUse kUse{2256, {16, 8, 4, 2}};

model::ModelView<float> view_of(const std::shared_ptr<const Model>& model) {
  return dynamic_cast<const backend::EngineModel&>(*model).arrays<float>().view();
}

struct Choice {
  Choice(const Device& of, const model::ModelView<float>& m)
      : device(of.limits),
        shapes(backend::block_shapes(device, kUse, {})),
        clocks(backend::verb_clocks(m, device, shapes)) {}
  BlockShape of(int worlds) const {
    const PlannedJob job{&clocks, worlds};
    return shapes[backend::choose_shape(shapes, {&job, 1}, device.multiprocessors, 0)];
  }
  DeviceLimits device;
  std::vector<BlockShape> shapes;
  std::vector<double> clocks;
};

TEST(LaunchPlan, blocks_of_every_shape_fit_on_a_multiprocessor_and_leave_little_of_its_memory) {
  for (const Device& device : kDevices) {
    const auto shapes = backend::block_shapes(device.limits, kUse, {});
    for (std::size_t i = 0; i < backend::kBlockThreads.size(); ++i) {
      const int threads = backend::kBlockThreads[i];
      EXPECT_EQ(std::count_if(shapes.begin(), shapes.end(), [&](const BlockShape& s) { return s.threads == threads; }),
                kUse.most_blocks[i]);
    }
    for (const BlockShape& shape : shapes) {
      const std::size_t block = kUse.static_shared + backend::dynamic_shared_bytes(shape);
      EXPECT_LE(block, device.limits.shared_per_block);
      const std::size_t all = shape.blocks * (block + device.limits.reserved_per_block);
      EXPECT_LE(all, device.limits.shared_per_multiprocessor);
      EXPECT_GT(all + shape.blocks * 256 + kKi, device.limits.shared_per_multiprocessor) << device.name << shape.blocks;
      EXPECT_EQ(shape.near_bytes % world::kFieldAlignment, 0u);
    }
  }
}

TEST(LaunchPlan, a_wish_is_granted_or_nothing_is) {
  for (const Device& device : kDevices) {
    for (const BlockShape& shape : backend::block_shapes(device.limits, kUse, {.threads = 64}))
      EXPECT_EQ(shape.threads, 64);
    const auto none = backend::block_shapes(device.limits, kUse, {.threads = 32, .near_bytes = 0});
    ASSERT_EQ(none.size(), 1u);
    EXPECT_EQ(none[0].near_bytes, 0u);
    EXPECT_EQ(none[0].blocks, 16);
    const auto some = backend::block_shapes(device.limits, kUse, {.threads = 64, .near_bytes = 31001});
    ASSERT_EQ(some.size(), 1u);
    EXPECT_EQ(some[0].near_bytes, world::align_up(31001, world::kFieldAlignment));
    EXPECT_EQ(some[0].blocks, device.name == "H200" ? 6 : device.name == "A100" ? 4 : 2);
    EXPECT_TRUE(backend::block_shapes(device.limits, kUse, {.near_bytes = 1 << 20}).empty());
    EXPECT_TRUE(backend::block_shapes(device.limits, kUse, {.threads = 48}).empty());
  }
}

TEST(LaunchPlan, a_kernel_of_which_no_block_fits_has_no_shape) {
  EXPECT_TRUE(backend::block_shapes(kDevices[0].limits, {2256, {0, 0, 0, 0}}, {}).empty());
  EXPECT_TRUE(backend::block_shapes(kDevices[0].limits, {300 * kKi, {16, 8, 4, 2}}, {}).empty());
}

TEST(LaunchPlan, few_worlds_get_all_near_memory_and_many_worlds_get_many_blocks) {
  for (const Device& device : kDevices) {
    const Choice choice(device, view_of(compile_scene(quadruped())));
    const BlockShape one = choice.of(1), all_alone = choice.of(device.limits.multiprocessors),
                     many = choice.of(100'000);
    EXPECT_EQ(one.blocks, 1) << device.name;
    EXPECT_GT(one.near_bytes, device.limits.shared_per_block - 8 * kKi);
    EXPECT_EQ(all_alone.blocks, 1);
    EXPECT_GE(many.blocks * many.threads, 256) << device.name;
    EXPECT_GT(many.blocks, 4);
    EXPECT_EQ(choice.of(8192).threads, many.threads);
  }
}

TEST(LaunchPlan, wide_worlds_get_more_threads_than_narrow_ones) {
  for (const Device& device : kDevices) {
    const Choice narrow(device, view_of(compile_scene(box_and_sphere())));
    const Choice wide(device, view_of(compile_scene(box_stack(500, 1))));
    EXPECT_EQ(narrow.of(1).threads, 32);
    EXPECT_GT(wide.of(1).threads, narrow.of(1).threads) << device.name;
    EXPECT_GE(wide.of(10'000).threads, narrow.of(10'000).threads);
  }
}

TEST(LaunchPlan, more_near_memory_is_never_thought_slower) {
  for (const Device& device : kDevices) {
    const auto m = view_of(compile_scene(quadruped()));
    const std::vector<BlockShape> shapes{{64, 2, 0}, {64, 2, 8 * kKi}, {64, 2, 16 * kKi}, {64, 2, 48 * kKi}};
    const auto clocks = backend::verb_clocks(m, device.limits, shapes);
    EXPECT_TRUE(std::is_sorted(clocks.rbegin(), clocks.rend()));
    EXPECT_LT(clocks.back(), 0.8 * clocks.front());
  }
}

TEST(LaunchPlan, every_job_is_in_one_group_with_those_of_as_many_threads) {
  const Device& device = kDevices[0];
  const Choice narrow(device, view_of(compile_scene(box_and_sphere())));
  const Choice robot(device, view_of(compile_scene(quadruped())));
  const Choice wide(device, view_of(compile_scene(box_stack(500, 1))));
  const std::vector<PlannedJob> jobs{
      {&wide.clocks, 3}, {&narrow.clocks, 10}, {&robot.clocks, 20}, {&wide.clocks, 1}, {&narrow.clocks, 5}};
  const backend::JobOrder order = backend::group_jobs(narrow.shapes, jobs, device.limits.multiprocessors, 39);
  std::vector<int> sorted = order.order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3, 4}));
  ASSERT_GE(order.groups.size(), 2u);
  int next = 0, threads = 0;
  for (const backend::JobGroup& group : order.groups) {
    EXPECT_EQ(group.first, next);
    EXPECT_GT(group.count, 0);
    EXPECT_GT(group.shape.threads, threads);
    next += group.count, threads = group.shape.threads;
  }
  EXPECT_EQ(next, 5);
  EXPECT_EQ(order.order[0], 1);  // jobs of a group stay in their order
  EXPECT_EQ(order.order[4], 3);
  EXPECT_TRUE(backend::group_jobs(narrow.shapes, {}, device.limits.multiprocessors, 0).groups.empty());
}

}  // namespace
}  // namespace axion::testing::launch_plan_test
