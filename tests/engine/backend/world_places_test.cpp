// Where fields lie: no two of them together, none beyond the budget, the hottest near.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

// By slot: bytes, kind, and the place in the order of heat (-1 for what is not scratch).
struct Field {
  FieldKind kind{};
  std::size_t bytes = 0;
  int heat = -1;
};

template <typename Real>
int slot_of(const WorldView<Real>& view, const void* pointer) {
  return int((static_cast<const std::byte*>(pointer) - reinterpret_cast<const std::byte*>(&view)) / sizeof(void*));
}

template <typename Real>
std::map<int, Field> fields_of(const ModelView<Real>& m) {
  std::map<int, Field> fields;
  WorldView<Real> view{};
  for_each_field(m, view, [&](FieldKind kind, const char* name, auto*& array, std::size_t count) {
    const int slot = slot_of(view, &array);
    EXPECT_FALSE(fields.contains(slot)) << name;
    fields[slot] = {kind, count * sizeof(*array), -1};
  });
  int heat = 0;
  for_each_heat(view, [&](auto*& array, int share) {
    EXPECT_EQ(fields[slot_of(view, &array)].heat, -1) << "listed twice";
    EXPECT_GE(share, 0);
    fields[slot_of(view, &array)].heat = heat++;
  });
  return fields;
}

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
  for (const auto& [slot, field] : fields_of(m)) {
    const Place place = places.slots[slot];
    EXPECT_EQ(place.memory == Memory::kWorld, !is_scratch(field.kind));
    if (field.bytes == 0) continue;
    const std::size_t start = place.offset * kFieldAlignment;
    const std::size_t room = place.memory == Memory::kNear  ? places.near_bytes
                             : place.memory == Memory::kFar ? places.far_bytes
                                                            : world_bytes(m).world;
    EXPECT_LE(start + field.bytes, room);
    spans.push_back({place.memory, start, start + field.bytes, field.kind});
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

TEST(WorldPlaces, every_field_of_scratch_has_its_place_in_the_order_of_heat) {
  for (const ModelArrays<double>& arrays : models()) {
    const auto fields = fields_of(arrays.view());
    EXPECT_EQ(fields.size(), std::size_t(kWorldSlots));
    for (const auto& [slot, field] : fields) EXPECT_EQ(field.heat >= 0, is_scratch(field.kind)) << slot;
  }
  int shares = 0;
  WorldView<float> view{};
  for_each_heat(view, [&](auto*&, int share) { shares += share; });
  EXPECT_GT(shares, 900);  // the rest is state and parameters
  EXPECT_LE(shares, 1000);
}

TEST(WorldPlaces, a_field_is_far_only_where_hotter_ones_leave_it_no_room) {
  for (const ModelArrays<double>& arrays : models()) {
    for (const std::size_t budget : {std::size_t(2000), std::size_t(15) << 10, std::size_t(60) << 10}) {
      const WorldPlaces places = place_fields(arrays.view(), budget);
      std::vector<std::pair<int, int>> by_heat;  // heat, slot
      const auto fields = fields_of(arrays.view());
      for (const auto& [slot, field] : fields) {
        if (field.heat >= 0) by_heat.emplace_back(field.heat, slot);
      }
      std::sort(by_heat.begin(), by_heat.end());
      std::size_t used = 0;
      for (const auto& [heat, slot] : by_heat) {
        const std::size_t bytes = align_up(fields.at(slot).bytes, kFieldAlignment);
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
    std::map<std::string, const void*> placed;
    for_each_field(m, view, [&](FieldKind, const char* name, auto*& array, std::size_t) { placed[name] = array; });
    WorldState<double> state = bind_state(m, world.data());
    for_each_field(m, state, [&](FieldKind, const char* name, auto*& array, std::size_t) {
      EXPECT_EQ(placed[name], array) << name;
    });
  }
}

}  // namespace
}  // namespace axion::backend::world_places_test
