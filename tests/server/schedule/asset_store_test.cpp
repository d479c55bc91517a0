#include "server/schedule/asset_store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace axion::server::testing {
namespace {

using schedule::AssetStore;
using schedule::MemoryBudget;
using schedule::MemoryHold;
using schedule::Tenant;

const Tenant red{.name = "red"}, blue{.name = "blue"};
const absl::Time start = absl::FromUnixSeconds(1000);

class AssetStoreTest : public ::testing::Test {
 protected:
  AssetStoreTest() {
    budget->on_shortage([this](const std::string* tenant, std::int64_t bytes) { return store.reclaim(tenant, bytes); });
  }
  // Held as an upload holds it.
  void add(const Tenant& tenant, const std::string& digest, std::size_t size, absl::Time now = start) {
    std::vector<schedule::Asset> assets;
    assets.push_back({.digest = digest, .bytes = std::string(size, 'x'), .memory = MemoryHold(budget, tenant)});
    ASSERT_TRUE(assets.back().memory.grow(static_cast<std::int64_t>(size), "it").ok());
    store.add(tenant, std::move(assets), now);
  }
  bool has(const Tenant& tenant, const std::string& digest) { return store.find(tenant, digest, start) != nullptr; }

  std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>(1000);
  AssetStore store{absl::Seconds(100)};
};

TEST_F(AssetStoreTest, an_asset_is_its_tenants_and_held_once) {
  add(red, "a", 100);
  add(red, "a", 100);
  EXPECT_EQ(budget->used(), 100);
  EXPECT_EQ(store.find(red, "a", start)->bytes, std::string(100, 'x'));
  EXPECT_FALSE(has(blue, "a"));
  add(blue, "a", 100);
  EXPECT_EQ(budget->used(), 200);
}

TEST_F(AssetStoreTest, what_nothing_holds_makes_room_the_least_recently_used_of_the_tenant_with_most_first) {
  add(red, "a", 300), add(red, "b", 300), add(blue, "a", 200);
  const auto held = store.find(red, "b", start);
  ASSERT_TRUE(has(red, "a"));
  add(blue, "b", 100);
  ASSERT_TRUE(has(blue, "a"));  // later than b
  MemoryHold room(budget, red);
  ASSERT_TRUE(room.grow(300, "a batch").ok());  // beside 900
  EXPECT_FALSE(has(red, "a"));
  EXPECT_TRUE(has(red, "b") && has(blue, "a") && has(blue, "b"));
  // Beside 900; of blue alone is there something that nothing holds, and its "b" was just asked for after its "a".
  ASSERT_TRUE(room.grow(150, "a batch").ok());
  EXPECT_TRUE(has(red, "b") && !has(blue, "a") && has(blue, "b"));
  EXPECT_FALSE(room.grow(500, "a batch").ok()) << "what is held stays";
  EXPECT_TRUE(has(red, "b"));
}

TEST_F(AssetStoreTest, what_could_never_fit_takes_nothing_away) {
  add(red, "a", 300);
  MemoryHold room(budget, red);
  EXPECT_FALSE(room.grow(1001, "a batch").ok());
  EXPECT_TRUE(has(red, "a"));
}

TEST_F(AssetStoreTest, at_its_quota_a_tenant_gives_up_its_own) {
  const Tenant small{.name = "red", .quota = {.max_memory = 400}};
  add(blue, "a", 500), add(small, "a", 300);
  add(small, "b", 200);
  EXPECT_TRUE(has(blue, "a") && !has(red, "a") && has(red, "b"));
}

TEST_F(AssetStoreTest, what_no_call_names_ends_and_what_is_held_or_named_does_not) {
  add(red, "held", 1), add(red, "named", 1), add(red, "lonely", 1);
  const auto held = store.find(red, "held", start);
  ASSERT_NE(store.find(red, "named", start + absl::Seconds(60)), nullptr);
  store.drop_expired(start + absl::Seconds(101));
  EXPECT_EQ(store.count(), 2);
  EXPECT_LE(store.next_look(), start + absl::Seconds(101 + 60));
  store.drop_expired(start + absl::Seconds(101 + 99));  // held until then
  EXPECT_EQ(store.count(), 1);
  EXPECT_EQ(held.use_count(), 2);
}

}  // namespace
}  // namespace axion::server::testing
