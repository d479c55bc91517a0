// Lists of fields: what they say of a field holds in validation and in the fingerprint.
#include "engine/model/spec_field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "engine/model/fingerprint.hpp"
#include "engine/model/validate_scene.hpp"
#include "tests/engine/model/scene_builder.hpp"

namespace axion::model::testing {
namespace {

// A scene with a part of each struct, and calls of f(path, part of a scene) for these parts.
SceneSpec scene_of_parts() {
  SceneSpec scene = robot();
  scene.tendons.resize(1);
  scene.tendons[0].name = "cable";
  scene.tendons[0].terms = {{1, 0, 1.0}};
  scene.contact_pairs = {{0, 2}};
  return scene;
}

template <typename F>
void for_each_part(F&& f) {
  f(
      "bodies[0]", [](SceneSpec & scene) -> auto& { return scene.bodies[0]; });
  f(
      "joints[1]", [](SceneSpec & scene) -> auto& { return scene.joints[1]; });
  f(
      "joints[1].axes[0]", [](SceneSpec & scene) -> auto& { return scene.joints[1].axes[0]; });
  f(
      "shapes[0]", [](SceneSpec & scene) -> auto& { return scene.shapes[0]; });
  f(
      "actuators[0]", [](SceneSpec & scene) -> auto& { return scene.actuators[0]; });
  f(
      "tendons[0]", [](SceneSpec & scene) -> auto& { return scene.tendons[0]; });
  f(
      "contact_pairs[0]", [](SceneSpec & scene) -> auto& { return scene.contact_pairs[0]; });
}

// Calls f(path of the field, its rules, scene, field of the scene) for each number of each part, in a scene in which
// the field has a meaning.
template <typename F>
void for_each_number_of_parts(F&& f) {
  for_each_part([&](const std::string& path, const auto& part_of) {
    using Spec = std::remove_reference_t<decltype(part_of(std::declval<SceneSpec&>()))>;
    for_each_field<Spec>([&](const auto& field) {
      SceneSpec scene = scene_of_parts();
      Spec& part = part_of(scene);
      if (field.condition.member != nullptr) part.*field.condition.member = true;
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(part.*field.member)>, double>) {
        f(path + "." + field.name, field.rules, scene, part.*field.member);
      }
    });
  });
}

TEST(SpecFields, numbers_beyond_their_bounds_are_refused_by_name_and_value) {
  int bounds = 0;
  const auto expect_refused = [&](const std::string& path, const SceneSpec& scene, const char* value) {
    const Status status = validate_scene(scene);
    ASSERT_FALSE(status.ok()) << path;
    EXPECT_EQ(status.error().field, path);
    EXPECT_NE(status.error().message.find(std::string("it is ") + value + "."), std::string::npos)
        << status.error().message;
    ++bounds;
  };
  for_each_number_of_parts([&](const std::string& path, const FieldRules& rules, SceneSpec& scene, double& number) {
    if (!rules.is_checked) return;
    number = std::nan("");
    expect_refused(path, scene, "nan");
    if (std::isfinite(rules.least)) {
      number = -7;
      expect_refused(path, scene, "-7");
    }
    if (std::isfinite(rules.most)) {
      number = 7;
      expect_refused(path, scene, "7");
    }
  });
  EXPECT_GT(bounds, 80);
}

TEST(SpecFields, a_fingerprint_is_of_each_number_but_for_those_that_are_never_in_it) {
  int taken = 0;
  for_each_number_of_parts([&](const std::string& path, const FieldRules& rules, SceneSpec& scene, double& number) {
    const Fingerprint before = fingerprint(scene);
    number += 0.25;
    EXPECT_EQ(fingerprint(scene) != before, rules.hash != kNever) << path;
    if (rules.hash != kNever) ++taken;
  });
  EXPECT_GT(taken, 40);
}

// Stores of servers have fingerprints: neither the order of a list nor a default may change.
TEST(SpecFields, scenes_keep_their_fingerprints) {
  EXPECT_EQ(fingerprint(robot()), (Fingerprint{3359838645950014371u, 1398342242145537024u}));
  SceneSpec scene = scene_of_parts();  // with another number in each field
  double value = 0.125;
  for_each_part([&](const std::string&, const auto& part_of) {
    auto& part = part_of(scene);
    for_each_field<std::remove_reference_t<decltype(part)>>([&](const auto& field) {
      if (field.condition.member != nullptr) part.*field.condition.member = true;
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(part.*field.member)>, double>) {
        part.*field.member = value += 0.125;
      }
    });
  });
  EXPECT_EQ(fingerprint(scene), (Fingerprint{9769548781200917759u, 766611936391664464u}));
}

}  // namespace
}  // namespace axion::model::testing
