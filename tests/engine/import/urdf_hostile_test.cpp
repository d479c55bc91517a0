// Malformed and hostile URDF documents: each is refused with the element, the attribute, the value and the line.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "engine/import/urdf.hpp"

namespace axion::import::urdf_hostile_test {
namespace {

struct Case {
  std::string content;  // of the robot, from line 2 on
  std::string field;
  std::string message_has;
};

std::string robot(const std::string& content) { return "<robot name='r'>\n" + content + "</robot>"; }

void expect_refused_text(const std::string& text, const std::string& field, const std::string& message_has) {
  const Result<ImportedScene> result = import_urdf(text);
  const std::string shown = text.substr(0, 400);
  ASSERT_FALSE(result.ok()) << "was accepted: " << shown;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << shown;
  EXPECT_EQ(result.error().field, field) << result.error().message << "\n" << shown;
  EXPECT_NE(result.error().message.find(message_has), std::string::npos) << result.error().message;
}
void expect_refused(const Case& c) { expect_refused_text(robot(c.content), c.field, c.message_has); }

const std::string kMass =
    "<inertial><mass value='2'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>";

std::string links(const std::string& content = kMass) {
  return "<link name='a'/>\n<link name='b'>" + content + "</link>\n";
}
std::string joint(const std::string& content, const std::string& type = "revolute", const std::string& name = "j",
                  const std::string& parent = "a", const std::string& child = "b") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent + "'/><child link='" + child + "'/>" +
         content + "</joint>\n";
}

TEST(HostileUrdf, text_that_is_no_robot) {
  for (const char* xml : {"", "   ", "robot", "<robot>", "<robot></link>", "<robot/><robot/>", "</robot>"}) {
    expect_refused_text(xml, "xml", "line ");
  }
  expect_refused_text("<mujoco/>", "mujoco", "<robot>");
  expect_refused_text("<robot/>", "robot", "has no <link>");
  expect_refused_text("<!DOCTYPE robot [<!ENTITY a 'aaaa'>]><robot/>", "xml", "entity");
  expect_refused_text(std::string("<robot>\0</robot>", 16), "xml", "NUL byte");
  EXPECT_TRUE(import_urdf(robot("<link name='a'/>") + std::string(2, '\0')).ok());  // as some programs end a file
  expect_refused({"<xacro:leg side='left'/>", "xacro:leg", "xacro"});
}

TEST(HostileUrdf, trees_that_are_none) {
  expect_refused({"<link/>", "link.name", "required"});
  expect_refused(
      {"<link name='a'/>\n<link name='a'/>", "link.name", "(line 3): name=\"a\" names a link a second time"});
  expect_refused({links() + joint("") + joint("", "fixed", "j"), "joint.name", "a second time"});
  expect_refused(
      {links() + joint("") + joint("", "fixed", "k"), "joint", "already that of <joint name=\"j\"> (line 4)"});
  expect_refused({links() + joint("", "fixed", "j", "a", "c"), "child.link", "is no link of the robot"});
  expect_refused(
      {links() + joint("", "fixed", "j", "c", "b"), "parent.link", "link=\"c\" of <joint name=\"j\"> (line 4)"});
  expect_refused({links() + joint("", "fixed", "j", "a", "a"), "joint", "closes a cycle"});
  expect_refused(
      {links() + joint("", "fixed", "j", "a", "b") + joint("", "fixed", "k", "b", "a"), "joint", "closes a cycle"});
  expect_refused({links() + "<link name='c'/>" + joint("", "fixed", "k", "b", "c") + joint("", "fixed", "j", "c", "b"),
                  "joint", "cycle"});
  expect_refused({links() + "<joint name='j' type='fixed'><child link='b'/></joint>", "joint", "has no <parent>"});
  expect_refused(
      {links() + "<joint name='j' type='fixed'><parent link='a'/><parent link='b'/></joint>", "parent", "second"});
  expect_refused({links() + "<joint name='j'><parent link='a'/><child link='b'/></joint>", "joint.type", "required"});
  expect_refused({links() + joint("", "screw"), "joint.type", "must be one of: revolute"});
  expect_refused({"<link name='" + std::string(300, 'x') + "'/>", "link.name", "300 bytes"});
}

TEST(HostileUrdf, numbers_that_are_none_or_not_finite) {
  for (const char* value : {"nan", "inf", "-inf", "1e999", "0x10", "1,2", "1.57.", "${pi}", ""}) {
    expect_refused({links() + joint(std::string("<limit lower='0' upper='") + value + "'/>"), "limit.upper", ""});
    expect_refused({links() + joint(std::string("<origin xyz='0 0 ") + value + "'/>"), "origin.xyz", ""});
    expect_refused(
        {links("<inertial><mass value='" + std::string(value) + "'/><inertia ixx='1' iyy='1' izz='1'/></inertial>") +
             joint(""),
         "mass.value", ""});
  }
  expect_refused({links() + joint("<origin rpy='1 2 3 4'/>"), "origin.rpy", "has 4 numbers"});
  expect_refused({links() + joint("<axis xyz='0 0 0'/>"), "axis.xyz", "neither zero nor huge"});
  expect_refused({links() + joint("<axis xyz='1e200 0 0'/>"), "axis.xyz", "huge"});
  expect_refused({links() + joint("<limit lower='.5' upper='.5'/>"), "limit.upper", "equal to lower"});
  expect_refused({links() + joint("<dynamics damping='-1'/>"), "dynamics.damping", "negative"});
  expect_refused({links() + joint("<origin xyz='1e300 0 0'/>"), "link", "<link name=\"b\"> (line 3)"});
  expect_refused({links() + joint("<mimic joint='nobody'/>"), "mimic.joint", "is no joint"});
}

TEST(HostileUrdf, masses_and_shapes_that_no_link_has) {
  const auto moving = [](const std::string& mass, const std::string& inertia) {
    return links("<inertial><mass value='" + mass + "'/><inertia " + inertia + "/></inertial>") + joint("");
  };
  expect_refused({moving("-1", "ixx='1' iyy='1' izz='1'"), "mass.value", "negative"});
  expect_refused({moving("1e300", "ixx='1' iyy='1' izz='1'"), "inertia", "above"});
  expect_refused({moving("1", "ixx='1' iyy='1'"), "inertia.izz", "required"});
  expect_refused({moving("1", "ixx='-1' iyy='-1' izz='-1'"), "inertia", "negative principal"});
  expect_refused({moving("1", "ixx='0' iyy='0' izz='0'"), "link", "<link name=\"b\"> (line 3)"});
  expect_refused({moving("0", "ixx='1' iyy='1' izz='1'"), "link", "has no mass"});
  const auto shape = [](const std::string& geometry) {
    return "<link name='a'><collision><geometry>" + geometry + "</geometry></collision></link>";
  };
  expect_refused({shape(""), "geometry", "has none of"});
  expect_refused({shape("<box size='1 1 1'/><sphere radius='1'/>"), "sphere", "second shape"});
  expect_refused({shape("<box size='1 0 1'/>"), "box.size", "above zero"});
  expect_refused({shape("<box/>"), "box.size", "required"});
  expect_refused({shape("<sphere radius='-1'/>"), "sphere.radius", "above zero"});
  expect_refused({shape("<cylinder radius='1'/>"), "cylinder.length", "required"});
  expect_refused({shape("<sphere radius='1e300'/>"), "sphere.radius", "at most 1e9"});
  expect_refused({shape("<box size='1 1 1e10'/>"), "box.size", "at most 1e9"});
  expect_refused({shape("<mesh filename='a.stl'/>"), "mesh.filename", "was not sent along"});
  expect_refused({shape("<mesh filename='a.blend'/>"), "mesh.filename", "STL, OBJ, DAE or MSH"});
  expect_refused({shape("<mesh filename='a.stl' scale='0 1 1'/>"), "mesh.scale", "zero"});
  expect_refused({"<link name='a'><collision/></link>", "collision", "has no <geometry>"});
}

TEST(HostileUrdf, meshes_that_are_none) {
  const std::string text =
      robot("<link name='a'><collision><geometry><mesh filename='m.obj'/></geometry></collision></link>");
  for (const char* content : {"", "v 0 0 0", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "v 0 0 nan\n", "f 1 2 3\n"}) {
    ImportOptions options;
    options.assets["m.obj"] = content;
    const Result<ImportedScene> result = import_urdf(text, options);
    ASSERT_FALSE(result.ok()) << content;
    EXPECT_EQ(result.error().field, "mesh.filename");
    EXPECT_NE(result.error().message.find("<mesh> (line 2)"), std::string::npos) << result.error().message;
  }
}

TEST(HostileUrdf, a_pose_of_the_base_that_is_none) {
  UrdfOptions urdf;
  urdf.X_WR.rotation = {0, 0, 0, 0};
  EXPECT_EQ(import_urdf(robot("<link name='a'/>"), {}, urdf).error().field, "base_pose");
  urdf.X_WR = {{0, 0, std::nan("")}, {1, 0, 0, 0}};
  EXPECT_EQ(import_urdf(robot("<link name='a'/>"), {}, urdf).error().field, "base_pose");
}

// Neither the stack nor time grows with the square of a chain, and what is too much is said at once.
TEST(HostileUrdf, long_chains_and_too_many_links) {
  const auto chain = [](int count) {
    std::string text = "<link name='l0'/>";
    for (int i = 1; i < count; ++i) {
      const std::string n = std::to_string(i);
      text += "\n<link name='l" + n + "'>" + kMass + "</link>" +
              joint("<origin xyz='0 0 .1'/>", "revolute", "j" + n, "l" + std::to_string(i - 1), "l" + n);
    }
    return text;
  };
  const auto start = std::chrono::steady_clock::now();
  const Result<ImportedScene> longest = import_urdf(robot(chain(kMaxBodies)));
  ASSERT_TRUE(longest.ok()) << longest.error().message;
  EXPECT_EQ(longest.value().scene.bodies.size(), static_cast<std::size_t>(kMaxBodies));
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "<link name='l" + std::to_string(i) + "'/>\n";
  expect_refused({many, "link", "<link name=\"l4096\"> (line 4098) is one link too many"});
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<a>";
  expect_refused({deep, "xml", "nested"});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20);
}

// Mutated documents are read or refused with a message; nothing else may happen.
TEST(HostileUrdf, mutated_documents) {
  const std::string seed = robot(
      "<mujoco><compiler balanceinertia='true'/></mujoco>" +
      links(
          kMass +
          "<collision name='c'><origin xyz='0 0 1' rpy='0 1 0'/><geometry><cylinder radius='.1' length='1'/>"
          "</geometry></collision><collision><geometry><mesh filename='m.obj' scale='1 2 3'/></geometry></collision>") +
      "<link name='c'>" + kMass + "<contact><lateral_friction value='.4'/></contact></link>" +
      joint("<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='3' velocity='2'/><dynamics damping='.1' "
            "friction='.2'/>") +
      joint("<origin xyz='0 0 1' rpy='.1 .2 .3'/>", "planar", "k", "b", "c"));
  ImportOptions options;
  options.assets["m.obj"] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
  ASSERT_TRUE(import_urdf(seed, options).ok());
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string alphabet = "<>/='\"abcxyz0123456789.-+e \n&";
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (std::size_t change = 0; change <= below(3); ++change) {
      const std::size_t at = below(text.size()), length = std::min(below(20), text.size() - at);
      switch (below(4)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(below(text.size()), text.substr(at, length));
          break;
        default:
          text[at] = static_cast<char>(below(256));
      }
    }
    options.allow_unsupported = round % 2 == 0;
    const Result<ImportedScene> result = import_urdf(text, options);
    read += result.ok() ? 1 : 0;
    if (!result.ok()) {
      EXPECT_FALSE(result.error().field.empty()) << text;
      EXPECT_GT(result.error().message.size(), 10u) << text;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 2900);
}

}  // namespace
}  // namespace axion::import::urdf_hostile_test
