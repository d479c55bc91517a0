#include "server/schedule/memory_budget.hpp"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

#include "server/schedule/failure.hpp"

namespace axion::server::testing {
namespace {

using schedule::MemoryBudget;
using schedule::MemoryHold;
using schedule::Tenant;

TEST(MemoryBudget, a_quota_bounds_all_holds_of_its_tenant_and_no_others) {
  const auto budget = std::make_shared<MemoryBudget>(1000);
  const Tenant red{.name = "red", .quota = {.max_memory = 100}}, blue{.name = "blue"};
  MemoryHold first(budget, red), other(budget, blue);
  ASSERT_TRUE(first.grow(60, "the model").ok());
  MemoryHold second = first.another();
  const absl::Status refused = second.grow(41, "the batch");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(schedule::details_of(refused).quota_subject, "max_memory");
  EXPECT_TRUE(absl::StrContains(refused.message(), "the batch would take about 41 bytes beside the 60 of the tenant"))
      << refused;
  EXPECT_EQ(budget->used(), 60) << "what is refused is not held";
  EXPECT_TRUE(second.grow(40, "the batch").ok());
  EXPECT_TRUE(other.grow(800, "the batch").ok());
  EXPECT_EQ(schedule::details_of(MemoryHold(budget, red).grow(1, "it")).quota_subject, "max_memory");
  EXPECT_EQ(schedule::details_of(MemoryHold(budget, blue).grow(200, "it")).quota_subject, "memory_limit");
  first = {};
  EXPECT_TRUE(second.grow(60, "the batch").ok()) << "what is given back is free again";
  second.shrink(50);
  second.force(90);
  EXPECT_FALSE(MemoryHold(budget, red).grow(1, "it").ok()) << "what was there already counts";
}

TEST(MemoryBudget, what_the_server_has_no_room_for_counts_for_no_tenant) {
  const auto budget = std::make_shared<MemoryBudget>(50);
  const Tenant red{.name = "red", .quota = {.max_memory = 100}};
  MemoryHold hold(budget, red);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(schedule::details_of(hold.grow(60, "it")).quota_subject, "memory_limit");
  }
  EXPECT_TRUE(hold.grow(50, "it").ok());
}

TEST(MemoryBudget, a_quota_that_changes_holds_for_what_is_there) {
  const auto budget = std::make_shared<MemoryBudget>(1000);
  Tenant red{.name = "red"};
  MemoryHold old(budget, red);
  ASSERT_TRUE(old.grow(90, "it").ok());
  red.quota.max_memory = 100;
  MemoryHold hold = old.another(red);
  EXPECT_FALSE(hold.grow(11, "it").ok());
  EXPECT_FALSE(old.grow(11, "it").ok());
  red.quota.max_memory = 200;
  EXPECT_TRUE(old.another(red).grow(11, "it").ok());
}

}  // namespace
}  // namespace axion::server::testing
