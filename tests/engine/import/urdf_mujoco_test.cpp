// What import_urdf makes of a file, beside what MuJoCo itself makes of it.
#include <gtest/gtest.h>

#include <string>

#include "engine/import/urdf.hpp"
#include "tests/engine/import/mujoco_comparison.hpp"
#include "tests/support/published_model.hpp"

namespace axion::import::urdf_mujoco_test {
namespace {

// MuJoCo keeps every link where fusestatic is off, and suggests a step of its own.
constexpr const char* kExtension =
    "<mujoco><compiler fusestatic='false'/><option timestep='.003' gravity='1 2 -9'/></mujoco>";

void compare_urdf(const std::string& content, const std::string& extension = kExtension) {
  const std::string text = "<robot name='r'>" + extension + content + "</robot>";
  SCOPED_TRACE(text);
  Comparison(text, import_urdf(text)).run();
}

std::string inertial(const std::string& origin, const std::string& mass) {
  return "<inertial>" + origin + "<mass value='" + mass +
         "'/><inertia ixx='.02' iyy='.03' izz='.04' ixy='.001' ixz='-.002' iyz='.003'/></inertial>";
}

std::string link(const std::string& name, const std::string& content) {
  return "<link name='" + name + "'>" + content + "</link>";
}

std::string joint(const std::string& name, const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& content = "") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent + "'/><child link='" + child + "'/>" +
         content + "</joint>";
}

constexpr const char* kOrigin = "<origin xyz='.1 -.2 .3' rpy='.4 -1.1 2.3'/>";

TEST(UrdfBesideMujoco, every_type_of_joint) {
  const std::string heavy = inertial("<origin xyz='.01 .02 .03' rpy='.5 .6 .7'/>", "1.5");
  compare_urdf(
      link("base", heavy) + link("a", heavy) + link("b", heavy) + link("c", heavy) + link("d", heavy) +
      link("e", heavy) + link("f", heavy) +
      joint("j1", "revolute", "base", "a",
            std::string(kOrigin) + "<axis xyz='1 2 -3'/>"
                                   "<limit lower='-1' upper='.5' effort='3' velocity='2'/>"
                                   "<dynamics damping='.7' friction='.2'/>") +
      joint("j2", "continuous", "a", "b", std::string(kOrigin) + "<axis xyz='0 0 2'/><dynamics damping='.1'/>") +
      joint("j3", "prismatic", "b", "c",
            "<origin xyz='0 0 1'/><limit lower='0' upper='.3'/><dynamics friction='.4'/>") +
      joint("j4", "fixed", "c", "d", kOrigin) +
      joint("j5", "planar", "d", "e", std::string(kOrigin) + "<axis xyz='1 1 .2'/>") +
      joint("j6", "revolute", "base", "f", "<origin rpy='0 0 1'/><axis xyz='0 -1 0'/>"));
}

TEST(UrdfBesideMujoco, collision_geometry_and_the_mass_of_links_without_one) {
  const auto shape = [](const std::string& geometry, const std::string& origin = kOrigin) {
    return "<collision>" + origin + "<geometry>" + geometry + "</geometry></collision>";
  };
  const std::string all = shape("<box size='.1 .2 .3'/>") + shape("<sphere radius='.2'/>", "<origin xyz='1 0 0'/>") +
                          shape("<cylinder radius='.1' length='.5'/>");
  compare_urdf(link("base", "") + link("a", all) + link("b", inertial(kOrigin, "2") + all) +
               link("tool", shape("<box size='1 1 1'/>")) + joint("j1", "revolute", "base", "a", kOrigin) +
               joint("j2", "revolute", "a", "b", kOrigin) + joint("j3", "fixed", "b", "tool", kOrigin));
}

TEST(UrdfBesideMujoco, links_that_are_fixed_are_one_body) {
  const std::string heavy = inertial(kOrigin, "1");
  compare_urdf(link("base", heavy) + link("a", heavy) + link("b", heavy) + link("c", heavy) + link("d", "") +
               joint("j0", "fixed", "base", "a", kOrigin) + joint("j1", "revolute", "a", "b", kOrigin) +
               joint("j2", "fixed", "b", "c", kOrigin) + joint("j3", "fixed", "c", "d", kOrigin));
}

TEST(UrdfBesideMujoco, options_of_the_extension) {
  const std::string thin =
      "<inertial><mass value='.1'/><inertia ixx='1' iyy='1' izz='3' ixy='0' ixz='0' iyz='0'/></inertial>"
      "<collision><geometry><box size='.1 .2 .3'/></geometry></collision>";
  const std::string robot =
      link("base", "") + link("a", thin) + joint("j", "revolute", "base", "a", "<limit lower='-1' upper='1'/>");
  for (const char* compiler :
       {"balanceinertia='true'", "balanceinertia='true' boundmass='.5'", "inertiafromgeom='true'",
        "balanceinertia='true' settotalmass='7'", "balanceinertia='true' angle='degree'"}) {
    compare_urdf(robot, std::string("<mujoco><compiler fusestatic='false' ") + compiler +
                            "/><option timestep='.001'/></mujoco>");
  }
}

TEST(UrdfBesideMujoco, published_robots) {
  for (const char* name : {"cartpole.urdf", "quadruped.urdf"}) {
    std::string text = testing::published_model(name);
    if (text.empty()) GTEST_SKIP() << name << " is not in " << AXION_MODELS_DIR;
    text.insert(text.find('>', text.find("<robot")) + 1, kExtension);
    SCOPED_TRACE(name);
    Result<ImportedScene> imported = import_urdf(text);
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    ImportedScene scene = std::move(imported).value();
    scene.scene.excludes.clear();  // of what the world holds and its neighbours, which MuJoCo lets collide
    Comparison(text, std::move(scene)).run();
  }
}

}  // namespace
}  // namespace axion::import::urdf_mujoco_test
