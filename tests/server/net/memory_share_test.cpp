// What a control group leaves of memory and processors, and how much the process has allocated.
#include "server/net/memory_share.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"

namespace axion::server::net {
namespace {

TEST(Memory, is_the_least_that_a_control_group_or_one_about_it_may_have) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "cgroup";
  fs::remove_all(root);
  const auto limit = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  const std::string unit = "0::/system.slice/axiond.service\n";
  EXPECT_EQ(group_memory(unit, root), UINT64_MAX);
  limit("system.slice/axiond.service/memory.max", "max");
  EXPECT_EQ(group_memory(unit, root), UINT64_MAX);
  limit("system.slice/axiond.service/memory.max", "1000");
  EXPECT_EQ(group_memory(unit, root), 1000u);
  limit("system.slice/memory.max", "900");
  EXPECT_EQ(group_memory(unit, root), 900u);
  EXPECT_EQ(group_memory("0::/\n", root), UINT64_MAX);
  EXPECT_EQ(group_memory("0::/../system.slice\n", root), UINT64_MAX);
  limit("memory/docker/7/memory.limit_in_bytes", "800");
  EXPECT_EQ(group_memory("5:cpu,cpuacct:/docker/7\n4:memory:/docker/7\n" + unit, root), 800u);
  EXPECT_EQ(group_memory("5:cpu,cpuacct:/docker/7\n", root), UINT64_MAX);
  limit("memory.max", "700");  // as a container sees its own
  EXPECT_EQ(group_memory("", root), 700u);
  EXPECT_EQ(group_memory("0::/../../elsewhere\n", root), 700u);
}

TEST(Processors, are_the_least_quota_of_a_control_group_and_those_about_it_rounded_up) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "cpu_cgroup";
  fs::remove_all(root);
  const auto say = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  const std::string unit = "0::/system.slice/axiond.service\n";
  EXPECT_EQ(group_processors(unit, root), 0);
  say("system.slice/axiond.service/cpu.max", "max 100000");
  EXPECT_EQ(group_processors(unit, root), 0);
  say("system.slice/axiond.service/cpu.max", "750000 100000");
  EXPECT_EQ(group_processors(unit, root), 8);
  say("system.slice/cpu.max", "600000 100000");
  EXPECT_EQ(group_processors(unit, root), 6);
  EXPECT_EQ(group_processors("0::/\n", root), 0);
  EXPECT_EQ(group_processors("0::/../system.slice\n", root), 0);
  say("cpu/docker/7/cpu.cfs_quota_us", "-1");
  say("cpu/docker/7/cpu.cfs_period_us", "50000");
  EXPECT_EQ(group_processors("5:cpu,cpuacct:/docker/7\n", root), 0);
  say("cpu/docker/7/cpu.cfs_quota_us", "200001");
  EXPECT_EQ(group_processors("5:cpu,cpuacct:/docker/7\n" + unit, root), 5);
  EXPECT_EQ(group_processors("5:cpuset:/docker/7\n", root), 0);
  say("cpu.max", "1000 100000");  // as a container sees its own
  EXPECT_EQ(group_processors("", root), 1);
  say("cpu.max", "1000 0");
  EXPECT_EQ(group_processors("", root), 0) << "nonsense is no quota";
  EXPECT_EQ(process_processors(1), 1);
  EXPECT_GE(process_processors(64), 1);
}

TEST(HeapWatch, tells_what_is_allocated_and_in_use) {
  constexpr std::size_t kSize = 256 << 20, kPieces = 1024;
  if (mallinfo2().uordblks == 0) GTEST_SKIP() << "the allocator of sanitizers does not tell what is in use";
  HeapWatch watch;
  EXPECT_EQ(watch.in_use(std::size_t(1) << 40, absl::Now()), 0u);
  std::vector<void*> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::malloc(kSize / kPieces));
    std::memset(pieces.back(), 1, kSize / kPieces);
  }
  EXPECT_GE(watch.in_use(kSize / 2, absl::Now()), kSize);
  for (void* piece : pieces) std::free(piece);
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(watch.in_use(kSize / 2, absl::Now()), 0u) << "what is free again is not in use";
}

}  // namespace
}  // namespace axion::server::net
