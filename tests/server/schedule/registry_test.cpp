#include "absl/algorithm/container.h"

#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

using Registry = ScheduleTest;

TEST_F(Registry, equal_content_is_one_model) {
  const auto first =
      registry.add_model(anyone, {.scene = "a", .warnings = {"w"}}, std::make_shared<FakeModel>(), now());
  const auto again =
      registry.add_model(anyone, {.scene = "a", .warnings = {"w"}}, std::make_shared<FakeModel>(), now());
  const auto other = registry.add_model(anyone, {.scene = "b", .warnings = {}}, std::make_shared<FakeModel>(), now());
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ((*first)->name, (*again)->name);
  EXPECT_NE((*first)->name, (*other)->name);
  EXPECT_EQ(registry.find_content(anyone, {.scene = "a", .warnings = {"w"}}), *first);
  EXPECT_EQ(registry.find_content(anyone, {.scene = "a", .warnings = {}}), nullptr);  // its reader saw more in it
}

TEST_F(Registry, a_request_that_comes_again_finds_the_model_that_it_asked_for) {
  const schedule::Tenant other{.name = "other", .quota = {}};
  const auto ask = [&](const char* scene, const char* request) {
    return *registry.add_model(anyone, {.scene = scene, .warnings = {}, .request = request},
                               std::make_shared<FakeModel>(), now());
  };
  const auto first = ask("a", "1"), second = ask("b", "2");
  EXPECT_EQ(registry.find_request(anyone, "1"), first);
  EXPECT_EQ(registry.find_request(anyone, "2"), second);
  EXPECT_EQ(registry.find_request(anyone, "3"), nullptr);
  EXPECT_EQ(registry.find_request(other, "1"), nullptr);
  ask("a", "3");  // other words for the same scene
  EXPECT_EQ(registry.find_request(anyone, "3"), first);
  ASSERT_TRUE(registry.remove_model(anyone, first->name).ok());
  EXPECT_EQ(registry.find_request(anyone, "3"), nullptr);
}

TEST_F(Registry, a_name_is_never_given_again) {
  const auto first = registry.add_model(anyone, {.scene = "a", .warnings = {}}, std::make_shared<FakeModel>(), now());
  ASSERT_TRUE(registry.remove_model(anyone, (*first)->name).ok());
  const auto second = registry.add_model(anyone, {.scene = "a", .warnings = {}}, std::make_shared<FakeModel>(), now());
  EXPECT_NE((*first)->name, (*second)->name);
  EXPECT_EQ(registry.find_model(anyone, "name", (*first)->name).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Registry, names_that_are_not_ours_are_not_found) {
  for (const char* name : {"", "models/", "models/0", "batches/0123456789abcdef", "models/0123456789abcdeg",
                           "models/0123456789abcdef", "models/0123456789ABCDEF"}) {
    EXPECT_EQ(registry.find_model(anyone, "name", name).status().code(), absl::StatusCode::kNotFound) << name;
  }
}

TEST_F(Registry, a_limit_of_models_that_are_all_in_use_is_named) {
  std::vector<std::shared_ptr<const schedule::ModelRecord>> held;  // as calls hold them
  for (const char* content : {"a", "b", "c"}) {
    held.push_back(
        *registry.add_model(anyone, {.scene = content, .warnings = {}}, std::make_shared<FakeModel>(), now()));
  }
  const auto refused = registry.add_model(anyone, {.scene = "d", .warnings = {}}, std::make_shared<FakeModel>(), now());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(schedule::details_of(refused.status()).quota_subject, "max_models");
}

TEST_F(Registry, a_model_that_nobody_uses_makes_room_for_a_new_one_the_least_recently_used_first) {
  const auto add = [&](const schedule::Tenant& tenant, const std::string& content) {
    const auto added =
        registry.add_model(tenant, {.scene = content, .warnings = {}}, std::make_shared<FakeModel>(), now());
    EXPECT_TRUE(added.ok()) << added.status();
    return added.ok() ? (*added)->name : std::string();
  };
  const auto is_there = [&](const schedule::Tenant& tenant, const std::string& name) {
    return registry.list_models(tenant, 1000, "")->items.size() > 0 &&
           absl::c_any_of(registry.list_models(tenant, 1000, "")->items,
                          [&](const auto& m) { return m->name == name; });
  };
  const std::string a = add(anyone, "a"), b = add(anyone, "b"), c = add(anyone, "c");
  ASSERT_TRUE(registry.find_model(anyone, "name", a).ok());  // used later than b and c
  const std::string d = add(anyone, "d");
  EXPECT_TRUE(is_there(anyone, a) && !is_there(anyone, b) && is_there(anyone, c) && is_there(anyone, d));
  // Of the tenant that has most, not the one that was used last by a tenant with few.
  const schedule::Tenant red{.name = "red"};
  const std::string of_red = add(red, "a");
  EXPECT_FALSE(is_there(anyone, c));
  ASSERT_TRUE(registry.find_model(anyone, "name", a).ok() && registry.find_model(anyone, "name", d).ok());
  add(anyone, "e");
  EXPECT_TRUE(is_there(red, of_red));
  EXPECT_FALSE(is_there(anyone, a));
  // At its own quota a tenant loses one of its own.
  const schedule::Tenant small{.name = "red", .quota = {.max_models = 1}};
  const std::string newer = add(small, "b");
  EXPECT_TRUE(is_there(red, newer) && !is_there(red, of_red) && is_there(anyone, d));
}

TEST_F(Registry, the_budget_of_worlds_is_held_until_the_reservation_goes) {
  {
    const auto held_worlds = registry.reserve_worlds(anyone, 60);
    ASSERT_TRUE(held_worlds.ok());
    const auto refused = registry.reserve_worlds(anyone, 41);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(schedule::details_of(refused.status()).quota_subject, "max_worlds");
    EXPECT_TRUE(registry.reserve_worlds(anyone, 40).ok());
  }
  EXPECT_TRUE(registry.reserve_worlds(anyone, 100).ok());
}

TEST_F(Registry, a_model_in_use_is_not_deleted) {
  make_batcher();
  const Handle batch = make_batch(1);
  const absl::Status refused = registry.remove_model(anyone, record->name);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(schedule::details_of(refused).reason, schedule::reason::kInUse);
  registry.remove_batch(*batch);
  EXPECT_TRUE(registry.remove_model(anyone, record->name).ok());
}

TEST_F(Registry, what_one_tenant_made_does_not_exist_for_another) {
  const schedule::Tenant red{.name = "red"}, blue{.name = "blue"};
  make_batcher();
  const auto model = registry.add_model(red, {.scene = "same", .warnings = {}}, std::make_shared<FakeModel>(), now());
  const auto other = registry.add_model(blue, {.scene = "same", .warnings = {}}, std::make_shared<FakeModel>(), now());
  ASSERT_TRUE(model.ok() && other.ok());
  EXPECT_NE((*model)->name, (*other)->name);
  EXPECT_EQ(registry.find_content(blue, {.scene = "same", .warnings = {}}), *other);
  EXPECT_EQ(registry.find_model(blue, "name", (*model)->name).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry.find_model(anyone, "name", (*model)->name).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry.remove_model(blue, (*model)->name).code(), absl::StatusCode::kNotFound);
  const std::string batch = make_batch(1)->info.name;  // anyone's
  EXPECT_EQ(registry.use_batch(red, "batch", batch, now()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry.find_batch(red, "batch", batch).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(registry.list_batches(red, 0, "")->items.empty());
  ASSERT_EQ(registry.list_models(red, 0, "")->items.size(), 1u);
  EXPECT_EQ(registry.list_models(red, 1, "")->next_token, "");
  EXPECT_EQ(registry.counts(red).models, 1);
  EXPECT_EQ(registry.counts().models, 3);
}

TEST_F(Registry, a_batch_is_not_made_of_another_tenants_model) {
  make_batcher();
  auto handle = std::make_shared<schedule::BatchHandle>();
  handle->info.model_name = record->name;
  handle->info.model = record->model;
  handle->info.tenant = "red";
  EXPECT_EQ(registry.add_batch(handle, now()).code(), absl::StatusCode::kNotFound);
}

TEST_F(Registry, quotas_hold_for_their_tenant_alone) {
  const schedule::Tenant red{.name = "red", .quota = {.max_worlds = 10, .max_models = 1}}, blue{.name = "blue"};
  const auto held = registry.add_model(red, {.scene = "a", .warnings = {}}, std::make_shared<FakeModel>(), now());
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(registry.add_model(red, {.scene = "a", .warnings = {}}, std::make_shared<FakeModel>(), now())
                  .ok());  // the same one
  const absl::Status models =
      registry.add_model(red, {.scene = "b", .warnings = {}}, std::make_shared<FakeModel>(), now()).status();
  EXPECT_EQ(schedule::details_of(models).quota_subject, "max_models");
  EXPECT_TRUE(registry.add_model(blue, {.scene = "b", .warnings = {}}, std::make_shared<FakeModel>(), now()).ok());
  {
    const auto held_worlds = registry.reserve_worlds(red, 6);
    ASSERT_TRUE(held_worlds.ok());
    const absl::Status refused = registry.reserve_worlds(red, 5).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(schedule::details_of(refused).quota_subject, "max_worlds");
    EXPECT_TRUE(registry.reserve_worlds(red, 4).ok());
    EXPECT_TRUE(registry.reserve_worlds(blue, 11).ok());
  }
  EXPECT_TRUE(registry.reserve_worlds(red, 10).ok());
}

TEST_F(Registry, a_tenant_has_as_many_batches_as_its_quota_says_until_one_is_gone) {
  const schedule::Tenant red{.name = "red", .quota = {.max_batches = 2}}, blue{.name = "blue"};
  auto first = registry.reserve_worlds(red, 1), second = registry.reserve_worlds(red, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status refused = registry.reserve_worlds(red, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(schedule::details_of(refused).quota_subject, "max_batches");
  EXPECT_EQ(refused.message(), "max_batches: the tenant has 2 batches, its quota; delete one first");
  EXPECT_TRUE(registry.reserve_worlds(blue, 1).ok());
  *second = {};
  EXPECT_TRUE(registry.reserve_worlds(red, 1).ok());
}

// A call that arrives while a server ends must not hear that its batch never was.
TEST_F(Registry, who_asks_for_a_batch_after_all_were_taken_hears_that_the_server_drains) {
  make_batcher();
  const std::string name = make_batch(1)->info.name;
  EXPECT_EQ(registry.find_batch(anyone, "batch", "batches/0123456789abcdef").status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_EQ(registry.take_all().size(), 1u);
  const absl::Status used = registry.use_batch(anyone, "batch", name, now()).status();
  const absl::Status found = registry.find_batch(anyone, "batch", name).status();
  for (const absl::Status& status : {used, found}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(schedule::details_of(status).reason, schedule::reason::kDraining);
  }
}

// A creation that was repeated because its connection broke: the first call is lost, the second was answered.
TEST_F(Registry, a_batch_goes_with_its_creation_only_if_no_repetition_was_answered_with_it) {
  make_batcher();
  auto handle = std::make_shared<schedule::BatchHandle>();
  handle->info.model_name = record->name;
  handle->info.model = record->model;
  handle->info.request_id = "once";
  handle->info.request_hash = 7;
  handle->info.idle_ttl = absl::Hours(1);
  ASSERT_TRUE(registry.add_batch(handle, now()).ok());
  const std::string name = handle->info.name;
  EXPECT_EQ(registry.created_by(anyone, "once", 8, now()).status().code(), absl::StatusCode::kInvalidArgument)
      << "another request, which hears of nothing";
  EXPECT_EQ(*registry.created_by(anyone, "once", 7, now()), handle);
  EXPECT_EQ(registry.unheard({.name = "red"}, name), nullptr);
  EXPECT_EQ(registry.unheard(anyone, name), nullptr) << "the repetition has heard of it";
  EXPECT_TRUE(registry.use_batch(anyone, "batch", name, now()).ok());
  // The repetition is lost as well.
  EXPECT_EQ(registry.unheard(anyone, name), handle);
  EXPECT_EQ(registry.unheard(anyone, name), nullptr);
  EXPECT_EQ(*registry.created_by(anyone, "once", 0, now()), nullptr);
  EXPECT_EQ(registry.find_batch(anyone, "batch", name).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry.use_batch(anyone, "batch", name, now()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(registry.list_batches(anyone, 0, "")->items.empty());
  EXPECT_TRUE(registry.remove_batch(*handle));
}

TEST_F(Registry, counts_and_the_next_expiry_follow_batches_that_come_and_go) {
  make_batcher();
  const Handle first = make_batch(3), second = make_batch(4);
  EXPECT_EQ(registry.counts().batches, 2);
  EXPECT_EQ(registry.counts().worlds, 7);
  const absl::Time expires = registry.expire_time(*first);
  EXPECT_EQ(registry.next_expiry(), expires);
  registry.touch(*first, now() + absl::Minutes(1));
  EXPECT_EQ(registry.next_expiry(), registry.expire_time(*second));
  registry.remove_batch(*second);
  EXPECT_EQ(registry.next_expiry(), expires + absl::Minutes(1));
  EXPECT_EQ(registry.counts().worlds, 3);
  registry.remove_batch(*first);
  EXPECT_EQ(registry.counts().batches, 0);
  EXPECT_EQ(registry.counts().worlds, 0);
}

TEST_F(Registry, pages_give_every_item_once_in_order_of_creation_even_when_some_go) {
  make_batcher();
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) names.push_back(make_batch(1)->info.name);
  const auto first = registry.list_batches(anyone, 2, "");
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->items.size(), 2u);
  EXPECT_EQ(first->items[0]->info.name, names[0]);
  registry.remove_batch(*first->items[1]);  // the one that the token names
  const auto second = registry.list_batches(anyone, 2, first->next_token);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->items.size(), 2u);
  EXPECT_EQ(second->items[0]->info.name, names[2]);
  const auto third = registry.list_batches(anyone, 2, second->next_token);
  ASSERT_EQ(third->items.size(), 1u);
  EXPECT_EQ(third->next_token, "");
}

TEST_F(Registry, bad_pages_are_refused_by_field) {
  EXPECT_EQ(schedule::details_of(registry.list_batches(anyone, -1, "").status()).field, "page_size");
  EXPECT_EQ(schedule::details_of(registry.list_batches(anyone, 1, "x").status()).field, "page_token");
}

}  // namespace
}  // namespace axion::server::testing
