// Where fields lie: no two of them together, none beyond the budget, the hottest near.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/backend/world_places.hpp"
#include "engine/model/compile.hpp"
#include "tests/engine/newton/solver_scenes.hpp"

namespace axion::backend::world_places_test {
namespace {

using namespace model;
using namespace world;

constexpr std::size_t kAll = std::size_t(1) << 40;

std::vector<ModelArrays<double>> models() {
  std::vector<ModelArrays<double>> all;
  using namespace axion::testing;
  for (const SceneSpec& scene :
       {cube_on_plane(0.5), mixed_scene(), four_bar(), ring_of_bars(8, true), box_stack(60, 1), pendulum_chain(30)}) {
    auto compiled = compile(scene);
    EXPECT_TRUE(compiled.ok());
    all.push_back(compiled.value().arrays);
  }
  return all;
}

template <typename Real>
void expect_sound(const ModelView<Real>& m, std::size_t budget) {
  const WorldPlaces places = place_fields(m, budget);
  EXPECT_LE(places.near_bytes, budget);
  struct Span {
    Memory memory;
    std::size_t start, end;
    FieldKind kind;
  };
  std::vector<Span> spans;
  const auto fields = declarations<WorldView, Real>();
  for (int slot = 0; slot < kWorldSlots; ++slot) {
    const Place place = places.slots[slot];
    const std::size_t bytes = fields[slot].bytes(m);
    EXPECT_EQ(place.memory == Memory::kWorld, !is_scratch(fields[slot].kind));
    if (bytes == 0) continue;
    const std::size_t start = place.offset * kFieldAlignment;
    const std::size_t room = place.memory == Memory::kNear  ? places.near_bytes
                             : place.memory == Memory::kFar ? places.far_bytes
                                                            : world_bytes(m).world;
    EXPECT_LE(start + bytes, room);
    spans.push_back({place.memory, start, start + bytes, fields[slot].kind});
  }
  for (const Span& a : spans) {
    for (const Span& b : spans) {
      if (&a == &b || a.memory != b.memory || a.end <= b.start || b.end <= a.start) continue;
      EXPECT_TRUE(a.memory == Memory::kFar && shares_bytes(a.kind) && shares_bytes(b.kind) && a.kind != b.kind);
    }
  }
}

TEST(WorldPlaces, fields_lie_apart_aligned_and_within_the_budget) {
  for (const ModelArrays<double>& arrays : models()) {
    const ModelArrays<float> narrow = to_float(arrays);
    for (const std::size_t budget :
         {std::size_t(0), std::size_t(63), std::size_t(64), std::size_t(1000), std::size_t(8) << 10,
          std::size_t(37) << 10, std::size_t(99) << 10, std::size_t(227) << 10, kAll}) {
      expect_sound(arrays.view(), budget);
      expect_sound(narrow.view(), budget);
    }
  }
}

TEST(WorldPlaces, each_field_is_declared_once_and_scratch_alone_has_heat) {
  std::set<std::string> names;
  std::set<int> ranks;
  int thousandths = 0;
  for_each_owner<float>([&](const char* owner, const auto& fields) {
    for (const auto& field : fields) {
      EXPECT_TRUE(names.insert(std::string(owner) + "." + field.name).second) << field.name;
      thousandths += field.heat.thousandths;
      if (field.heat.rank == Heat{}.rank) continue;
      EXPECT_TRUE(is_scratch(field.kind)) << field.name;
      EXPECT_TRUE(ranks.insert(field.heat.rank).second) << field.name;
    }
  });
  EXPECT_EQ(names.size(), std::size_t(kWorldSlots));
  EXPECT_GT(thousandths, 900);  // the rest is state and parameters
  EXPECT_LE(thousandths, 1000);
}

TEST(WorldPlaces, a_field_is_far_only_where_hotter_ones_leave_it_no_room) {
  const auto fields = declarations<WorldView, double>();
  std::vector<std::pair<int, int>> by_heat;  // rank, slot
  for (int slot = 0; slot < kWorldSlots; ++slot) {
    if (is_scratch(fields[slot].kind)) by_heat.emplace_back(fields[slot].heat.rank, slot);
  }
  std::sort(by_heat.begin(), by_heat.end());
  for (const ModelArrays<double>& arrays : models()) {
    for (const std::size_t budget : {std::size_t(2000), std::size_t(15) << 10, std::size_t(60) << 10}) {
      const WorldPlaces places = place_fields(arrays.view(), budget);
      std::size_t used = 0;
      for (const auto& [rank, slot] : by_heat) {
        const std::size_t bytes = field_bytes(fields[slot], arrays.view());
        if (places.slots[slot].memory == Memory::kNear) {
          EXPECT_EQ(places.slots[slot].offset * kFieldAlignment, used);
          used += bytes;
        } else {
          EXPECT_GT(used + bytes, budget);
        }
      }
    }
  }
}

TEST(WorldPlaces, no_budget_leaves_all_scratch_far_and_a_great_one_none) {
  for (const ModelArrays<double>& arrays : models()) {
    const WorldPlaces far = place_fields(arrays.view(), 0), near = place_fields(arrays.view(), kAll);
    EXPECT_EQ(align_up(far.far_bytes, kBlockAlignment), world_bytes(arrays.view()).scratch);
    EXPECT_EQ(far.near_bytes, 0u);
    EXPECT_EQ(near.far_bytes, 0u);
    EXPECT_GE(near.near_bytes, far.far_bytes);  // near, nothing shares its bytes
  }
}

TEST(WorldPlaces, state_and_parameters_lie_where_the_host_looks_for_them) {
  for (const ModelArrays<double>& arrays : models()) {
    const auto m = arrays.view();
    std::vector<std::byte> world(world_bytes(m).world), scratch(world_bytes(m).scratch);
    const WorldPlaces places = place_fields(m, 20000);
    WorldView<double> view;
    for (int i = kWorldSlots - 1; i >= 0; --i) {
      bind_field(&view, i, places.slots[i], world.data(), scratch.data(), scratch.data());
    }
    WorldState<double> state = bind_state(m, world.data());
    const auto fields = declarations<WorldState, double>();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      EXPECT_EQ(slots(view)[i].first(), slots(state)[i].first()) << fields[i].name;
    }
  }
}

}  // namespace
}  // namespace axion::backend::world_places_test
