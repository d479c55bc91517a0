// Links that overlap where the robot stands do not collide with each other, and one warning names them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/import/urdf.hpp"

namespace axion::import::urdf_overlaps_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kInertial = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1'/></inertial>";

std::string link(const std::string& name, const std::string& geometry) {
  return "<link name='" + name + "'>" + kInertial + "<collision><geometry>" + geometry +
         "</geometry></collision></link>";
}
// Turns about z, `along` x from the parent.
std::string joint(const std::string& parent, const std::string& child, const std::string& along,
                  const std::string& content = "", const std::string& type = "continuous") {
  return "<joint name='" + child + "' type='" + type + "'><origin xyz='" + along + " 0 0'/><parent link='" + parent +
         "'/><child link='" + child + "'/><axis xyz='0 0 1'/>" + content + "</joint>";
}

ImportedScene import_of(const std::string& content, const UrdfOptions& urdf = {}, const ImportOptions& options = {}) {
  Result<ImportedScene> result = import_urdf("<robot name='r'>" + content + "</robot>", options, urdf);
  EXPECT_TRUE(result.ok()) << result.error().field << ": " << result.error().message;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

// Pairs of names, in the order of the exclusions.
std::vector<std::pair<std::string, std::string>> kept_apart(const ImportedScene& imported) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const model::ContactExcludeSpec& e : imported.scene.excludes) {
    names.emplace_back(imported.scene.bodies[static_cast<std::size_t>(e.body_a)].name,
                       imported.scene.bodies[static_cast<std::size_t>(e.body_b)].name);
  }
  return names;
}

std::vector<std::string> warnings_of_overlaps(const ImportedScene& imported) {
  std::vector<std::string> found;
  for (const std::string& warning : imported.warnings) {
    if (warning.find("overlap") != std::string::npos) found.push_back(warning);
  }
  return found;
}

UrdfOptions free_base() {
  UrdfOptions urdf;
  urdf.free_base = true;
  return urdf;
}

// Four links along x, 0.1 m apart; the ball of b reaches 1 cm into d's, and that of a 5 cm into c's.
const std::string kChain = link("a", "<sphere radius='.12'/>") + link("b", "<sphere radius='.09'/>") +
                           link("c", "<sphere radius='.13'/>") + link("d", "<sphere radius='.12'/>") +
                           joint("a", "b", ".1") + joint("b", "c", ".1") + joint("c", "d", ".1");

TEST(UrdfOverlaps, links_that_overlap_where_the_robot_stands_are_kept_apart_and_named_in_one_warning) {
  const ImportedScene imported = import_of(kChain, free_base());
  EXPECT_THAT(kept_apart(imported), ElementsAre(Pair("a", "c"), Pair("b", "d")));
  const std::vector<std::string> warnings = warnings_of_overlaps(imported);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("<robot name=\"r\"> (line 1) has links that overlap"));
  EXPECT_THAT(warnings[0], HasSubstr("with each other: a and c, b and d ("));
  UrdfOptions keep = free_base();
  keep.keep_overlaps = true;
  EXPECT_THAT(kept_apart(import_of(kChain, keep)), IsEmpty());
  EXPECT_THAT(warnings_of_overlaps(import_of(kChain, keep)), IsEmpty());
}

// Boxes that stand flush, but for rounding, collide; those that overlap by more than documents are rounded do not.
TEST(UrdfOverlaps, links_that_only_touch_go_on_colliding) {
  const auto robot_of = [](const std::string& along) {
    return link("a", "<box size='.1 .1 .1'/>") + link("b", "<box size='.01 .01 .01'/>") +
           link("c", "<box size='.1 .1 .1'/>") + joint("a", "b", along) + joint("b", "c", ".05");
  };
  EXPECT_THAT(kept_apart(import_of(robot_of(".05"), free_base())), IsEmpty());
  EXPECT_THAT(kept_apart(import_of(robot_of(".049999"), free_base())), IsEmpty());
  EXPECT_THAT(kept_apart(import_of(robot_of(".0499"), free_base())), ElementsAre(Pair("a", "c")));
}

// The names are those of the links, not of what they are fixed to: the rest of the rigid part goes on colliding.
TEST(UrdfOverlaps, of_links_that_are_fixed_together_only_those_that_overlap_are_kept_apart) {
  const ImportedScene imported =
      import_of(link("a", "<sphere radius='.04'/>") + link("plate", "<cylinder radius='.06' length='.02'/>") +
                    link("b", "<sphere radius='.01'/>") + link("c", "<capsule radius='.03' length='.1'/>") +
                    joint("a", "plate", ".1", "", "fixed") + joint("a", "b", ".1") + joint("b", "c", ".05"),
                free_base());
  EXPECT_THAT(kept_apart(imported), ElementsAre(Pair("plate", "c")));
}

TEST(UrdfOverlaps, hulls_of_meshes_and_links_that_the_world_holds_count_and_the_ground_does_not) {
  ImportOptions options;
  options.assets["m.obj"] = "v -1 -1 -1\nv 1 -1 -1\nv 0 1 -1\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
  const std::string mesh = "<mesh filename='m.obj' scale='.1 .1 .1'/>";
  UrdfOptions urdf;
  urdf.ground = true;
  const ImportedScene imported = import_of(link("a", mesh) + link("b", "<sphere radius='.01'/>") + link("c", mesh) +
                                               joint("a", "b", ".1") + joint("b", "c", ".05"),
                                           urdf, options);
  // a and b are neighbours, of which the world holds one.
  EXPECT_THAT(kept_apart(imported), ElementsAre(Pair("a", "b"), Pair("a", "c")));
  EXPECT_THAT(warnings_of_overlaps(imported), SizeIs(1));
}

// A finger that follows another starts where it follows it, and is looked at there.
TEST(UrdfOverlaps, what_counts_is_where_the_robot_starts) {
  const auto hand = [](const std::string& offset) {
    return link("palm", "<sphere radius='.01'/>") + link("left", "<sphere radius='.02'/>") +
           link("right", "<sphere radius='.02'/>") + joint("palm", "left", "0", "", "prismatic") +
           joint("palm", "right", "0", "<mimic joint='left' multiplier='-1' offset='" + offset + "'/>", "prismatic");
  };
  EXPECT_THAT(kept_apart(import_of(hand(".05"), free_base())), IsEmpty());
  EXPECT_THAT(kept_apart(import_of(hand(".03"), free_base())), ElementsAre(Pair("left", "right")));
}

TEST(UrdfOverlaps, are_nothing_where_links_do_not_collide_at_all) {
  UrdfOptions urdf = free_base();
  urdf.self_collision = false;
  EXPECT_THAT(kept_apart(import_of(kChain, urdf)), IsEmpty());
  EXPECT_THAT(
      kept_apart(import_of("<mujoco><option><flag contact='disable'/></option></mujoco>" + kChain, free_base())),
      IsEmpty());
}

// Four hundred links in one place, each jointed to the first: 79401 pairs, of which a scene holds 65536.
TEST(UrdfOverlaps, that_are_more_than_a_scene_holds_are_left_to_collide) {
  std::string text = link("0", "<sphere radius='.1'/>");
  for (int i = 1; i <= 399; ++i) text += link(std::to_string(i), "<sphere radius='.1'/>");
  for (int i = 1; i <= 399; ++i) text += joint("0", std::to_string(i), "0");
  const ImportedScene imported = import_of(text, free_base());
  EXPECT_THAT(imported.scene.excludes, SizeIs(65536));
  const std::vector<std::string> warnings = warnings_of_overlaps(imported);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("and 65280 more pairs"));
  EXPECT_LT(warnings[0].size(), 10000u);
}

}  // namespace
}  // namespace axion::import::urdf_overlaps_test
