// What import_urdf takes from a document, beyond what is compared with MuJoCo.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "engine/import/urdf.hpp"
#include "engine/model/merge_welds.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import::urdf_test {
namespace {

using model::JointKind;
using model::ShapeKind;

const std::string kMass = "<inertial><mass value='2'/><inertia ixx='.1' iyy='.1' izz='.1'/></inertial>";
const std::string kBox = "<collision><geometry><box size='.1 .2 .3'/></geometry></collision>";

std::string link(const std::string& name, const std::string& content) {
  return "<link name='" + name + "'>" + content + "</link>";
}
std::string joint(const std::string& name, const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& content = "") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent + "'/><child link='" + child + "'/>" +
         content + "</joint>";
}
std::string robot(const std::string& content) { return "<robot name='r'>" + content + "</robot>"; }

ImportedScene import_of(const std::string& content, const UrdfOptions& urdf = {}, const ImportOptions& options = {}) {
  Result<ImportedScene> result = import_urdf(robot(content), options, urdf);
  EXPECT_TRUE(result.ok()) << result.error().field << ": " << result.error().message;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

bool warns(const ImportedScene& imported, const std::string& text) {
  for (const std::string& warning : imported.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

const std::string kArm =
    link("base", kMass + kBox) + link("flange", kBox) + link("arm", kMass + kBox) + link("tool", kBox) +
    joint("mount", "fixed", "base", "flange") +
    joint("swing", "revolute", "flange", "arm", "<limit lower='-1' upper='1' effort='-12' velocity='3'/>") +
    joint("grip", "fixed", "arm", "tool");

TEST(Urdf, the_base_is_fixed_unless_it_is_to_be_free) {
  EXPECT_EQ(import_of(kArm).scene.joints[0].kind, JointKind::kFixed);
  UrdfOptions urdf;
  urdf.free_base = true;
  urdf.X_WR = {{1, 2, 3}, {0, 0, 0, 2}};
  const ImportedScene imported = import_of(kArm, urdf);
  EXPECT_EQ(imported.scene.joints[0].kind, JointKind::kFree);
  EXPECT_EQ(imported.scene.bodies[2].X_WB.position, (model::Vec3d{1, 2, 3}));
  EXPECT_NEAR(std::abs(imported.scene.bodies[2].X_WB.rotation[3]), 1, 1e-15);
}

TEST(Urdf, a_root_called_world_is_the_world) {
  UrdfOptions urdf;
  urdf.free_base = true;
  const ImportedScene imported = import_of(link("world", kBox) + link("ball", kMass) + link("post", kMass) +
                                               joint("loose", "floating", "world", "ball", "<origin xyz='0 0 2'/>") +
                                               joint("held", "fixed", "world", "post"),
                                           urdf);
  ASSERT_EQ(imported.scene.bodies.size(), 2u);
  EXPECT_EQ(imported.scene.shapes[0].body, model::kWorldBody);
  EXPECT_EQ(imported.scene.joints[0].kind, JointKind::kFree);
  EXPECT_EQ(imported.scene.bodies[0].X_WB.position, (model::Vec3d{0, 0, 2}));
  EXPECT_EQ(imported.scene.joints[1].kind, JointKind::kFixed);
  EXPECT_TRUE(warns(imported, "is the world"));
}

TEST(Urdf, neighbours_that_the_world_holds_are_kept_apart) {
  const ImportedScene imported = import_of(kArm);
  // base and flange, each with arm and tool
  ASSERT_EQ(imported.scene.excludes.size(), 4u);
  UrdfOptions urdf;
  urdf.keep_overlaps = true;  // all links are in one place
  EXPECT_TRUE(import_of("<mujoco><option><flag filterparent='disable'/></option></mujoco>" + kArm, urdf)
                  .scene.excludes.empty());
}

TEST(Urdf, motors_have_the_limit_of_effort_of_their_joint) {
  EXPECT_TRUE(import_of(kArm).scene.actuators.empty());
  UrdfOptions urdf;
  urdf.motors = true;
  const model::SceneSpec scene = import_of(kArm, urdf).scene;
  ASSERT_EQ(scene.actuators.size(), 1u);
  EXPECT_EQ(scene.actuators[0].name, "swing");
  EXPECT_EQ(scene.joints[static_cast<std::size_t>(scene.actuators[0].joint)].name, "swing");
  EXPECT_TRUE(scene.actuators[0].effort_limited);
  EXPECT_EQ(scene.actuators[0].effort_lower, -12);
  EXPECT_EQ(scene.actuators[0].effort_upper, 12);
}

TEST(Urdf, ground_and_self_collision_are_choices) {
  UrdfOptions urdf;
  urdf.ground = true;
  urdf.self_collision = false;
  const model::SceneSpec scene = import_of(kArm, urdf).scene;
  ASSERT_EQ(scene.shapes.size(), 5u);
  const model::ShapeSpec& ground = scene.shapes.back();
  EXPECT_EQ(ground.name, "ground");
  EXPECT_EQ(ground.kind, ShapeKind::kPlane);
  const auto may_touch = [](const model::ShapeSpec& a, const model::ShapeSpec& b) {
    return (a.contact_type & b.contact_affinity) != 0 || (b.contact_type & a.contact_affinity) != 0;
  };
  EXPECT_FALSE(may_touch(scene.shapes[0], scene.shapes[3]));
  EXPECT_TRUE(may_touch(scene.shapes[0], ground));
  const model::SceneSpec usual = import_of(kArm).scene;
  EXPECT_TRUE(may_touch(usual.shapes[0], usual.shapes[3]));
}

TEST(Urdf, ranges_that_are_none) {
  const auto axis = [](const std::string& type, const std::string& limit, bool expect_warning = true) {
    const ImportedScene imported = import_of(link("a", "") + link("b", kMass) + joint("j", type, "a", "b", limit));
    EXPECT_EQ(!imported.warnings.empty(), expect_warning) << type << limit;
    return imported.scene.joints.at(1).axes.at(0);
  };
  EXPECT_FALSE(axis("revolute", "").limited);
  EXPECT_FALSE(axis("revolute", "<limit effort='1'/>").limited);
  EXPECT_FALSE(axis("revolute", "<limit lower='1' upper='-1'/>").limited);
  EXPECT_FALSE(axis("continuous", "<limit lower='-1' upper='1'/>").limited);
  EXPECT_FALSE(axis("continuous", "<limit effort='1'/>", false).limited);
  EXPECT_FALSE(axis("prismatic", "<limit lower='-1e16' upper='1e16'/>", false).limited);
  EXPECT_TRUE(axis("prismatic", "<limit upper='1'/>", false).limited);  // lower is 0 where it is not given
}

TEST(Urdf, a_spherical_joint_and_a_capsule) {
  const model::SceneSpec scene =
      import_of(link("a", "") +
                link("b", kMass + "<collision><geometry><capsule radius='.1' length='.4'/></geometry></collision>") +
                joint("j", "spherical", "a", "b", "<dynamics damping='.5'/>"))
          .scene;
  EXPECT_EQ(scene.joints[1].kind, JointKind::kBall);
  EXPECT_EQ(scene.joints[1].ball_damping, .5);
  EXPECT_EQ(scene.shapes[0].kind, ShapeKind::kCapsule);
  EXPECT_EQ(scene.shapes[0].size, (model::Vec3d{.1, .2, 0}));
}

TEST(Urdf, bullets_contact_element_and_plane) {
  const model::SceneSpec scene =
      import_of(link("a",
                     "<contact><lateral_friction value='.3'/><restitution value='.5'/><stiffness value='3000'/>"
                     "<damping value='20'/></contact><collision><origin xyz='0 0 1'/><geometry><plane normal='0 1 0'/>"
                     "</geometry></collision>"))
          .scene;
  const model::ShapeSpec& plane = scene.shapes.at(0);
  EXPECT_EQ(plane.kind, ShapeKind::kPlane);
  EXPECT_EQ(plane.body, model::kWorldBody);
  EXPECT_EQ(plane.friction, .3);
  EXPECT_EQ(plane.restitution, .5);
  EXPECT_EQ(plane.contact_stiffness, 3000);
  EXPECT_EQ(plane.contact_damping, 20);
  EXPECT_NEAR(math::rotate(model::to_quat(plane.X_BS.rotation), math::Vec3<double>{0, 0, 1}).y, 1, 1e-12);
}

TEST(Urdf, a_link_without_mass_moves_with_what_it_is_fixed_to_only) {
  EXPECT_EQ(
      import_of(link("foot", "") + link("body", kMass) + joint("j", "fixed", "foot", "body")).scene.bodies[0].mass, 0);
  UrdfOptions urdf;
  urdf.free_base = true;
  const Result<model::WeldedScene> welded = model::merge_welds(
      import_of(link("foot", "") + link("body", kMass) + joint("j", "fixed", "foot", "body"), urdf).scene);
  ASSERT_TRUE(welded.ok());
  EXPECT_EQ(welded.value().scene.bodies.at(0).mass, 2);
  const Result<ImportedScene> moving =
      import_urdf(robot("\n" + link("a", "") + "\n" + link("b", "") + joint("j", "revolute", "a", "b")));
  ASSERT_FALSE(moving.ok());
  EXPECT_NE(moving.error().message.find("<link name=\"b\"> (line 3) moves and has no mass"), std::string::npos)
      << moving.error().message;
}

// A foot that only collides weighs by its shape, as in MuJoCo, unless links without <inertial> are to have no mass.
TEST(Urdf, massless_leaves_out_links_without_inertial) {
  const std::string leg = link("base", kMass) + link("leg", kMass) + link("foot", kBox) +
                          joint("knee", "continuous", "base", "leg") + joint("ankle", "fixed", "leg", "foot");
  UrdfOptions urdf;
  EXPECT_NEAR(import_of(leg, urdf).scene.bodies.at(2).mass, 6, 1e-12);
  urdf.massless = true;
  for (const std::string& extension :
       {std::string(), std::string("<mujoco><compiler inertiafromgeom='true'/></mujoco>")}) {
    const ImportedScene imported = import_of(extension + leg, urdf);
    EXPECT_EQ(imported.scene.bodies.at(2).mass, 0);
    EXPECT_EQ(imported.scene.shapes.size(), 1u);
    EXPECT_FALSE(warns(imported, "has no <inertial>"));
  }
  const Result<ImportedScene> moving = import_urdf(
      robot(link("base", kMass) + link("a", kBox) + joint("j", "continuous", "base", "a")), ImportOptions{}, urdf);
  ASSERT_FALSE(moving.ok());
  EXPECT_NE(moving.error().message.find("<link name=\"a\"> (line 1) moves and has no mass"), std::string::npos);
}

// A cube of side 1 from (0 0 0) to (1 1 1).
std::string cube_obj() {
  return "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
         "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
}

TEST(Urdf, a_mesh_is_its_hull_scaled_and_weighs_where_nothing_else_does) {
  ImportOptions options;
  options.assets["meshes/cube.obj"] = cube_obj();
  const std::string mesh =
      "<collision><origin xyz='0 0 5'/><geometry><mesh filename='package://robot/meshes/cube.obj' "
      "scale='.1 .2 -.3'/></geometry></collision>";
  const ImportedScene imported = import_of(link("a", "") + link("b", mesh) + link("c", kMass + mesh) +
                                               joint("j", "revolute", "a", "b") + joint("k", "revolute", "a", "c"),
                                           {}, options);
  ASSERT_EQ(imported.scene.meshes.size(), 1u);  // shared
  const model::BodySpec& b = imported.scene.bodies.at(1);
  EXPECT_NEAR(b.mass, 6, 1e-12);
  EXPECT_NEAR(b.p_BoBcm[0], .05, 1e-12);
  EXPECT_NEAR(b.p_BoBcm[2], 5 - .15, 1e-12);
  EXPECT_NEAR(b.I_Bcm[0], 6 * (.04 + .09) / 12, 1e-12);
  EXPECT_EQ(imported.scene.bodies.at(2).mass, 2);
  // The corner that is farthest from the origin, in the frame of the link.
  const model::ShapeSpec& shape = imported.scene.shapes.at(0);
  double farthest = 0;
  for (const model::Vec3d& v : imported.scene.meshes[0].vertices) {
    farthest =
        std::max(farthest, math::norm(model::to_pose(shape.X_BS) * model::to_vec3(v) - math::Vec3<double>{0, 0, 5}));
  }
  EXPECT_NEAR(farthest, std::sqrt(.01 + .04 + .09), 1e-12);
}

TEST(Urdf, meshes_are_found_by_every_form_of_their_name) {
  for (const char* filename : {"package://robot/meshes/cube.obj", "meshes/cube.obj", "./meshes/cube.obj",
                               "file:///opt/cube.obj", "model://robot/cube.obj", "cube.OBJ"}) {
    for (const char* asset : {"cube.obj", filename}) {
      ImportOptions options;
      options.assets[asset] = cube_obj();
      if (std::string(filename) == "cube.OBJ" && asset == std::string("cube.obj")) continue;
      const std::string text = robot(
          link("a", std::string("<collision><geometry><mesh filename='") + filename + "'/></geometry></collision>"));
      EXPECT_TRUE(import_urdf(text, options).ok()) << filename << " as " << asset;
    }
  }
}

TEST(Urdf, what_is_not_used_is_a_warning) {
  const ImportedScene imported =
      import_of(link("a", kMass + "<colision/>") + link("b", kMass) +
                joint("j", "revolute", "a", "b",
                      "<limit lower='-1' upper='1' effort='1' velocity='3'/><dynamics damping='1' stiffness='2'/>") +
                "<gazebo reference='b'><mu1>.3</mu1><material>Blue</material></gazebo><transmission name='t'/>"
                "<material name='m'><color rgba='1 0 0 1'/></material>");
  EXPECT_EQ(imported.warnings.size(), 4u);
  EXPECT_TRUE(warns(imported, "<colision> (line 1) is not an element"));
  EXPECT_TRUE(warns(imported, "velocity=\"3\" is for controllers"));
  EXPECT_TRUE(warns(imported, "stiffness=\"2\" is not an attribute"));
  EXPECT_TRUE(warns(imported, "<mu1> (line 1) is of Gazebo"));
}

TEST(Urdf, a_joint_that_follows_another_is_held_to_it_and_starts_there) {
  const std::string links = link("a", "") + link("b", kMass) + link("c", kMass) + link("d", kMass);
  const std::string hand =
      links + joint("two", "continuous", "a", "c", "<mimic joint='one' multiplier='-2' offset='.1'/>") +
      joint("one", "prismatic", "a", "b", "<limit lower='-1' upper='1' effort='1' velocity='1'/>") +
      joint("three", "continuous", "c", "d", "<mimic joint='two'/>");
  const model::SceneSpec scene = import_of(hand).scene;
  ASSERT_EQ(scene.equalities.size(), 2u);
  const model::EqualitySpec& two = scene.equalities[0];
  EXPECT_EQ(scene.joints[static_cast<std::size_t>(two.first.joint)].name, "two");
  EXPECT_EQ(scene.joints[static_cast<std::size_t>(two.second.joint)].name, "one");
  EXPECT_EQ(two.polynomial, (std::array<double, 5>{0.1, -2, 0, 0, 0}));
  for (const model::EqualitySpec& e : scene.equalities) {
    EXPECT_EQ(scene.joints[static_cast<std::size_t>(e.first.joint)].axes[0].initial_position, 0.1);
  }
  const auto field = [&](const std::string& more) {
    const Result<ImportedScene> result = import_urdf(robot(links + more));
    return result.ok() ? std::string() : result.error().field + ": " + result.error().message;
  };
  EXPECT_NE(field(joint("one", "continuous", "a", "b", "<mimic joint='one'/>")).find("is the joint itself"),
            std::string::npos);
  EXPECT_NE(field(joint("one", "continuous", "a", "b", "<mimic joint='two'/>") +
                  joint("two", "continuous", "a", "c", "<mimic joint='one'/>"))
                .find("follows, directly or not"),
            std::string::npos);
  EXPECT_NE(field(joint("one", "planar", "a", "b") + joint("two", "continuous", "a", "c", "<mimic joint='one'/>"))
                .find("only joints of one axis"),
            std::string::npos);
}

// Isaac Gym's density, Bullet's inertia of zero, and what urdfdom passes over.
TEST(Urdf, what_an_inertial_leaves_out_is_taken_from_the_collision_geometry) {
  const auto robot_with = [](const std::string& inertial, const std::string& shape = kBox) {
    return link("base", "") + link("part", "<inertial>" + inertial + "</inertial>" + shape) +
           joint("j", "continuous", "base", "part");
  };
  const ImportedScene dense = import_of(robot_with("<density value='500'/>"));
  EXPECT_TRUE(dense.warnings.empty()) << dense.warnings[0];
  EXPECT_NEAR(dense.scene.bodies.at(1).mass, 3, 1e-12);
  EXPECT_NEAR(dense.scene.bodies.at(1).I_Bcm[2], 3 * (.01 + .04) / 12, 1e-12);
  const std::string zero = "<inertia ixx='0' ixy='0' ixz='0' iyy='0' iyz='0' izz='0'/>";
  for (const std::string& inertia : {std::string(), zero}) {
    const ImportedScene partial = import_of(robot_with("<origin xyz='.1 0 0'/><mass value='2'/>" + inertia));
    EXPECT_TRUE(warns(partial, "<inertial> (line 1) has a mass and no inertia")) << inertia;
    EXPECT_NEAR(partial.scene.bodies.at(1).mass, 2, 1e-12);
    EXPECT_NEAR(partial.scene.bodies.at(1).p_BoBcm[0], .1, 1e-12);
    EXPECT_NEAR(partial.scene.bodies.at(1).I_Bcm[0], 2 * (.04 + .09) / 12, 1e-12);
    EXPECT_NEAR(partial.scene.bodies.at(1).I_Bcm[2], 2 * (.01 + .04) / 12, 1e-12);
  }
  // A point that is fixed to another link stays one.
  const ImportedScene point = import_of(link("base", "") + link("arm", kMass) +
                                        link("tip", "<inertial><mass value='1'/>" + zero + "</inertial>" + kBox) +
                                        joint("j", "continuous", "base", "arm") + joint("k", "fixed", "arm", "tip"));
  EXPECT_EQ(point.scene.bodies.at(2).I_Bcm, (std::array<double, 6>{}));
  for (const char* inertial : {"<density value='500'/>", "<mass value='2'/>"}) {
    const Result<ImportedScene> bare = import_urdf(robot(robot_with(inertial, "")));
    ASSERT_FALSE(bare.ok());
    EXPECT_NE(bare.error().message.find("which it must have"), std::string::npos) << bare.error().message;
  }
  EXPECT_FALSE(import_urdf(robot(robot_with("<density value='0'/>"))).ok());
  EXPECT_FALSE(import_urdf(robot(robot_with("<mass value='-1'/>"))).ok());
}

TEST(Urdf, of_two_inertials_or_axes_the_first_counts) {
  const std::string other = "<inertial><mass value='7'/><inertia ixx='.1' iyy='.1' izz='.1'/></inertial>";
  const ImportedScene imported =
      import_of(link("a", kMass) + link("b", kMass + other) +
                joint("j", "continuous", "a", "b", "<axis xyz='0 1 0'/><axis xyz='0 0 1'/>"));
  EXPECT_EQ(imported.scene.bodies.at(1).mass, 2);
  EXPECT_EQ(imported.scene.joints.at(1).axes.at(0).axis, (model::Vec3d{0, 1, 0}));
  EXPECT_TRUE(warns(imported, "is a second <inertial> of <link name=\"b\">"));
  EXPECT_TRUE(warns(imported, "is a second <axis> of <joint name=\"j\">"));
}

TEST(Urdf, a_sphere_without_radius_is_a_point_that_touches) {
  const std::string point = "<collision><geometry><sphere radius='0.0'/></geometry></collision>";
  const ImportedScene imported = import_of(link("a", kMass + point));
  EXPECT_EQ(imported.scene.shapes.at(0).size[0], 1e-4);
  EXPECT_TRUE(warns(imported, "is 0, a point"));
}

// As of links whose moments were rounded or estimated; about axes that are not the link's.
TEST(Urdf, moments_that_lack_something_are_raised_alike) {
  const std::string thin =
      "<inertial><origin rpy='0 0 .5'/><mass value='1'/><inertia ixx='1' iyy='2' izz='3.6'/></inertial>";
  const ImportedScene imported = import_of(link("a", "") + link("b", thin) + joint("j", "continuous", "a", "b"));
  EXPECT_TRUE(warns(imported, "<inertia> (line 1) has principal moments with A + B < C"));
  const math::Mat3<double> I = model::to_matrix(imported.scene.bodies.at(1).I_Bcm);
  const double c = std::cos(.5), s = std::sin(.5);
  EXPECT_NEAR(I(0, 0), 1.3 * c * c + 2.3 * s * s, 1e-12);
  EXPECT_NEAR(I(0, 1), -1.0 * c * s, 1e-12);
  EXPECT_NEAR(I(2, 2), 3.6, 1e-12);
  const ImportedScene held = import_of(link("a", thin));
  EXPECT_TRUE(held.warnings.empty());  // of what the world holds they do not matter
}

// Of drawings whose units or signs were wrong; negative moments count as 0 before they are raised.
TEST(Urdf, moments_that_lack_whatever_are_raised_until_they_make_the_greatest) {
  const auto raised = [](const std::string& inertia) {
    const ImportedScene imported =
        import_of(link("a", "") + link("b", "<inertial><mass value='1'/><inertia " + inertia + "/></inertial>") +
                  joint("j", "continuous", "a", "b"));
    EXPECT_TRUE(warns(imported, "A and B are raised to make C")) << inertia;
    return imported.scene.bodies.size() < 2 ? std::array<double, 6>{} : imported.scene.bodies[1].I_Bcm;
  };
  const auto expect_near = [](const std::array<double, 6>& I, const std::array<double, 6>& expected) {
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(I[k], expected[k], 1e-14) << k;
  };
  expect_near(raised("ixx='.001' iyy='.001' izz='.008'"), {.004, .004, .008, 0, 0, 0});
  expect_near(raised("ixx='1' iyy='0' izz='0'"), {1, .5, .5, 0, 0, 0});
  expect_near(raised("ixx='-1' iyy='2' izz='4'"), {1, 3, 4, 0, 0, 0});
  expect_near(raised("ixx='-1' iyy='3' izz='3'"), {.003, 3, 3, 0, 0, 0});
  // Principal moments -4, 1 and 6, of which the first is about (1 -1 0): 2.5, 3.5 and 6.
  expect_near(raised("ixx='1' iyy='1' izz='1' ixy='5'"), {4.25, 4.25, 3.5, 1.75, 0, 0});
}

// A slide, a slide and a hinge with links without mass between them, as mobile bases have them.
TEST(Urdf, links_without_mass_between_joints_take_a_part_of_what_they_carry) {
  const std::string base = link("track", "") + link("x", "") + link("y", "") + link("cart", kMass + kBox);
  const ImportedScene chain =
      import_of(base + joint("jx", "prismatic", "track", "x", "<axis xyz='1 0 0'/>") +
                joint("jy", "prismatic", "x", "y", "<axis xyz='0 1 0'/>") +
                joint("jr", "continuous", "y", "cart", "<origin xyz='.1 .2 .3' rpy='0 0 1'/><axis xyz='0 0 1'/>"));
  EXPECT_TRUE(warns(chain, "moves and has no mass: it takes 1e-4"));
  ASSERT_EQ(chain.scene.bodies.size(), 4u);
  EXPECT_NEAR(chain.scene.bodies[1].mass, 2e-4 * (1 - 1e-4), 1e-15);
  EXPECT_NEAR(chain.scene.bodies[2].mass, 2e-4, 1e-15);
  EXPECT_NEAR(chain.scene.bodies[1].mass + chain.scene.bodies[2].mass + chain.scene.bodies[3].mass, 2, 1e-15);
  // At the cart's place, and together its inertia.
  for (const std::size_t b : {std::size_t{1}, std::size_t{2}}) {
    EXPECT_NEAR(chain.scene.bodies[b].p_BoBcm[0], 0.1, 1e-15);
    EXPECT_NEAR(chain.scene.bodies[b].p_BoBcm[2], 0.3, 1e-15);
  }
  double moment = 0;
  for (const model::BodySpec& body : chain.scene.bodies) moment += body.I_Bcm[2];
  EXPECT_NEAR(moment, 0.1, 1e-15);
  // What is fixed to a link counts as it; what carries nothing heavy is refused.
  const ImportedScene fixed = import_of(link("base", kMass) + link("thumb", "") + link("nail", "") +
                                        link("tip", kMass) + joint("a", "revolute", "base", "thumb") +
                                        joint("b", "fixed", "thumb", "nail") + joint("c", "revolute", "nail", "tip"));
  EXPECT_NEAR(fixed.scene.bodies[1].mass, 2e-4, 1e-18);
  EXPECT_EQ(fixed.scene.bodies[2].mass, 0);
  const Result<ImportedScene> nothing =
      import_urdf(robot(link("base", kMass) + link("a", "") + link("b", "") + joint("j", "revolute", "base", "a") +
                        joint("k", "revolute", "a", "b")));
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("nor has what it carries"), std::string::npos) << nothing.error().message;
}

}  // namespace
}  // namespace axion::import::urdf_test
