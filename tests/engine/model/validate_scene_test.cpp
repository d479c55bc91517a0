#include "engine/model/validate_scene.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/model/scene_builder.hpp"

namespace axion::model::validate_scene_test {
namespace {

using testing::axis;
using testing::robot;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// One fault put into a valid scene, the path that must be named and a piece of the message (the value).
struct Fault {
  const char* field;
  const char* value;
  std::function<void(SceneSpec&)> inject;
};

void expect_refused(const Fault& fault) {
  SceneSpec scene = robot();
  fault.inject(scene);
  const Status status = validate_scene(scene);
  ASSERT_FALSE(status.ok()) << fault.field << " was accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().field, fault.field) << status.error().message;
  EXPECT_NE(status.error().message.find(fault.value), std::string::npos) << status.error().message;
}

TEST(ValidateScene, a_valid_scene_is_accepted) {
  const Status status = validate_scene(robot());
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(validate_scene(SceneSpec{}).ok());
}

TEST(ValidateScene, paths_of_tendons_are_checked_by_name) {
  const auto with = [](auto change) {
    return [=](SceneSpec& s) {
      TendonSpec t;
      t.name = "t", t.path.resize(6);
      for (int i : {0, 1, 5}) t.path[i].frame.body = 0;
      t.path[2].kind = TendonPointKind::kSphere, t.path[2].radius = 0.1;
      t.path[4].kind = TendonPointKind::kPulley;
      t.path.push_back(t.path[0]), t.path.back().frame.body = kWorldBody;
      s.tendons = {t};
      change(s.tendons[0]);
    };
  };
  SceneSpec good = robot();
  with([](TendonSpec&) {})(good);
  EXPECT_TRUE(validate_scene(good).ok()) << validate_scene(good).error().message;
  const Fault faults[] = {
      {"tendons[0].path", "together", with([](TendonSpec& t) {
         t.terms = {{1, 0, 1}};
       })},
      {"tendons[0].path", "258", with([](TendonSpec& t) { t.path.resize(258); })},
      {"tendons[0].path", "move", with([](TendonSpec& t) {
         for (TendonPointSpec& point : t.path) point.frame.body = kWorldBody;
       })},
      {"tendons[0].path[0].frame.body", "99", with([](TendonSpec& t) { t.path[0].frame.body = 99; })},
      {"tendons[0].path[1].frame.X_BF.position[1]", "nan",
       with([](TendonSpec& t) { t.path[1].frame.X_BF.position[1] = kNan; })},
      {"tendons[0].path[2].radius", "0", with([](TendonSpec& t) { t.path[2].radius = 0; })},
      {"tendons[0].path[2].side.body", "-7",
       with([](TendonSpec& t) { t.path[2].has_side = true, t.path[2].side.body = -7; })},
      {"tendons[0].path[2]", "between", with([](TendonSpec& t) { t.path.erase(t.path.begin() + 3); })},
      {"tendons[0].path[4].divisor", "-1", with([](TendonSpec& t) { t.path[4].divisor = -1; })},
      {"tendons[0].path[4]", "follows", with([](TendonSpec& t) { t.path.resize(5); })},
      {"tendons[0].path[5]", "without", with([](TendonSpec& t) { t.path.resize(6); })},
      {"tendons[0].spring_slack", "-2", with([](TendonSpec& t) { t.spring_slack = -2; })},
  };
  for (const Fault& fault : faults) expect_refused(fault);
  expect_refused({"sensors[0].tendon", "1", [&](SceneSpec& s) {
                    with([](TendonSpec&) {})(s);
                    SensorSpec sensor;
                    sensor.name = "length", sensor.kind = SensorKind::kTendonPosition, sensor.tendon = 1;
                    s.sensors = {sensor};
                  }});
}

TEST(ValidateScene, tendons_and_equalities_are_checked_by_name) {
  const auto with = [](auto change) {
    return [=](SceneSpec& s) {
      s.tendons = {{"t", {{1, 0, 0.5}, {3, 0, -2}}, {}}};
      EqualitySpec e;
      e.name = "e", e.first.joint = 1, e.has_second = true, e.second.tendon = 0, e.polynomial = {0.1, 1, 0, 0, 0};
      s.equalities = {e};
      change(s);
    };
  };
  SceneSpec good = robot();
  with([](SceneSpec&) {})(good);
  ASSERT_TRUE(validate_scene(good).ok()) << validate_scene(good).error().message;
  const Fault faults[] = {
      {"tendons[0].name", "empty", with([](SceneSpec& s) { s.tendons[0].name = ""; })},
      {"tendons[0].terms", "empty", with([](SceneSpec& s) { s.tendons[0].terms.clear(); })},
      {"tendons[0].terms", "257", with([](SceneSpec& s) { s.tendons[0].terms.resize(257); })},
      {"tendons", "20480", with([](SceneSpec& s) {
         s.joints[1].axes.clear();
         s.tendons.clear(), s.equalities.clear();
         s.joints.resize(1), s.bodies.resize(1), s.shapes.resize(1), s.excludes.clear(), s.actuators.clear();
         s.keyframes.clear();
         for (int i = 1; i <= 20; ++i) {
           s.bodies.push_back(s.bodies[0]), s.bodies.back().name = "b" + std::to_string(i);
           s.joints.push_back({}), s.joints.back().name = "j" + std::to_string(i);
           s.joints.back().kind = JointKind::kAxes, s.joints.back().child = i;
           s.joints.back().axes = {axis("a" + std::to_string(i), AxisKind::kHinge, {0, 0, 1})};
         }
         for (int t = 0; t < 1024; ++t) {
           s.tendons.push_back({"t" + std::to_string(t), {}, {}});
           for (int i = 1; i <= 20; ++i) s.tendons.back().terms.push_back({i, 0, 1});
         }
       })},
      {"tendons[0].terms[1].joint", "9", with([](SceneSpec& s) { s.tendons[0].terms[1].joint = 9; })},
      {"tendons[0].terms[1].joint", "0", with([](SceneSpec& s) { s.tendons[0].terms[1].joint = 0; })},
      {"tendons[0].terms[1].axis", "1", with([](SceneSpec& s) { s.tendons[0].terms[1].axis = 1; })},
      {"tendons[0].terms[1].axis", "already", with([](SceneSpec& s) { s.tendons[0].terms[1].joint = 1; })},
      {"tendons[0].terms[0].coefficient", "0", with([](SceneSpec& s) { s.tendons[0].terms[0].coefficient = 0; })},
      {"tendons[0].terms[0].coefficient", "nan", with([](SceneSpec& s) { s.tendons[0].terms[0].coefficient = kNan; })},
      {"tendons[0].stiffness", "-1", with([](SceneSpec& s) { s.tendons[0].stiffness = -1; })},
      {"tendons[0].lower", "below", with([](SceneSpec& s) { s.tendons[0].limited = true; })},
      {"equalities[0].first.joint", "0", with([](SceneSpec& s) { s.equalities[0].first.joint = 0; })},
      {"equalities[0].second.tendon", "1", with([](SceneSpec& s) { s.equalities[0].second.tendon = 1; })},
      {"equalities[0].polynomial[1]", "inf", with([](SceneSpec& s) { s.equalities[0].polynomial[1] = kInf; })},
      {"equalities[0].polynomial", "zeros", with([](SceneSpec& s) { s.equalities[0].has_second = false; })},
      {"equalities[0].second", "another", with([](SceneSpec& s) { s.equalities[0].second = s.equalities[0].first; })},
      {"equalities[0].damping", "0", with([](SceneSpec& s) { s.equalities[0].damping = 1; })},
      {"actuators[0].tendon", "1", with([](SceneSpec& s) { s.actuators[0].tendon = 1; })},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, numbers_that_are_not_finite_or_out_of_range_are_named) {
  const Fault faults[] = {
      {"gravity[1]", "nan", [](SceneSpec& s) { s.gravity[1] = kNan; }},
      {"timestep", "0", [](SceneSpec& s) { s.timestep = 0; }},
      {"timestep", "-0.1", [](SceneSpec& s) { s.timestep = -0.1; }},
      {"bodies[3].mass", "-1", [](SceneSpec& s) { s.bodies[3].mass = -1; }},
      {"bodies[3].mass", "0", [](SceneSpec& s) { s.bodies[3].mass = 0; }},
      {"bodies[0].mass", "inf", [](SceneSpec& s) { s.bodies[0].mass = kInf; }},
      {"bodies[0].mass", "1e+300", [](SceneSpec& s) { s.bodies[0].mass = 1e300; }},
      {"bodies[1].X_WB.position[2]", "nan", [](SceneSpec& s) { s.bodies[1].X_WB.position[2] = kNan; }},
      {"bodies[1].X_WB.rotation", "0",
       [](SceneSpec& s) {
         s.bodies[1].X_WB.rotation = {0, 0, 0, 0};
       }},
      {"bodies[1].p_BoBcm[0]", "inf", [](SceneSpec& s) { s.bodies[1].p_BoBcm[0] = kInf; }},
      {"bodies[3].I_Bcm", "-1", [](SceneSpec& s) { s.bodies[3].I_Bcm[0] = -1; }},
      {"bodies[3].I_Bcm", "(0 0 0 0 0 0)", [](SceneSpec& s) { s.bodies[3].I_Bcm = {}; }},
      {"bodies[3].I_Bcm", "(1 1 2.1 0 0 0)", [](SceneSpec& s) { s.bodies[3].I_Bcm = {1, 1, 2.1, 0, 0, 0}; }},
      {"bodies[3].I_Bcm", "(1 1 1 2 0 0)", [](SceneSpec& s) { s.bodies[3].I_Bcm = {1, 1, 1, 2, 0, 0}; }},
      {"shapes[0].size[0]", "0", [](SceneSpec& s) { s.shapes[0].size[0] = 0; }},
      {"shapes[0].friction", "-0.5", [](SceneSpec& s) { s.shapes[0].friction = -0.5; }},
      {"shapes[0].contact_dimension", "4", [](SceneSpec& s) { s.shapes[0].contact_dimension = 4; }},
      {"shapes[1].X_BS.rotation[3]", "nan", [](SceneSpec& s) { s.shapes[1].X_BS.rotation[3] = kNan; }},
      {"joints[1].axes[0].axis", "0",
       [](SceneSpec& s) {
         s.joints[1].axes[0].axis = {0, 0, 0};
       }},
      {"joints[1].axes[0].armature", "-1", [](SceneSpec& s) { s.joints[1].axes[0].armature = -1; }},
      {"joints[1].axes[0].damping", "-1", [](SceneSpec& s) { s.joints[1].axes[0].damping = -1; }},
      {"joints[1].axes[0].stiffness", "-1", [](SceneSpec& s) { s.joints[1].axes[0].stiffness = -1; }},
      {"joints[1].axes[0].reference", "nan", [](SceneSpec& s) { s.joints[1].axes[0].reference = kNan; }},
      {"joints[1].axes[0].lower", "2 and 1",
       [](SceneSpec& s) {
         s.joints[1].axes[0].limited = true;
         s.joints[1].axes[0].lower = 2;
         s.joints[1].axes[0].upper = 1;
       }},
      {"joints[0].ball_damping", "-2", [](SceneSpec& s) { s.joints[0].ball_damping = -2; }},
      {"actuators[0].kp", "-1", [](SceneSpec& s) { s.actuators[0].kp = -1; }},
      {"actuators[0].kd", "-1", [](SceneSpec& s) { s.actuators[0].kd = -1; }},
      {"actuators[0].gear", "nan", [](SceneSpec& s) { s.actuators[0].gear = kNan; }},
      {"actuators[0].control_lower", "0 and 0", [](SceneSpec& s) { s.actuators[0].control_limited = true; }},
      {"keyframes[0].time", "inf", [](SceneSpec& s) { s.keyframes[0].time = kInf; }},
      {"keyframes[0].joint_position", "it has 9", [](SceneSpec& s) { s.keyframes[0].joint_position.pop_back(); }},
      {"keyframes[0].joint_position", "nan", [](SceneSpec& s) { s.keyframes[0].joint_position[2] = kNan; }},
      {"keyframes[0].joint_position", "zero quaternion", [](SceneSpec& s) { s.keyframes[0].joint_position[3] = 0; }},
      {"keyframes[0].joint_velocity", "it has 1", [](SceneSpec& s) { s.keyframes[0].joint_velocity = {0}; }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, indices_out_of_range_are_named) {
  const Fault faults[] = {
      {"joints[1].parent", "6", [](SceneSpec& s) { s.joints[1].parent = 6; }},
      {"joints[1].parent", "-2", [](SceneSpec& s) { s.joints[1].parent = -2; }},
      {"joints[1].child", "-1", [](SceneSpec& s) { s.joints[1].child = -1; }},
      {"shapes[2].body", "99", [](SceneSpec& s) { s.shapes[2].body = 99; }},
      {"actuators[0].joint", "6", [](SceneSpec& s) { s.actuators[0].joint = 6; }},
      {"actuators[0].joint", "0", [](SceneSpec& s) { s.actuators[0].joint = 0; }},
      {"actuators[0].axis", "1", [](SceneSpec& s) { s.actuators[0].axis = 1; }},
      {"excludes[0].body_a", "-2", [](SceneSpec& s) { s.excludes[0].body_a = -2; }},
      {"excludes[0].body_b", "both are 0", [](SceneSpec& s) { s.excludes[0].body_b = 0; }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, names_must_be_unique_and_not_empty) {
  const Fault faults[] = {
      {"bodies[1].name", "torso", [](SceneSpec& s) { s.bodies[1].name = "torso"; }},
      {"bodies[1].name", "empty", [](SceneSpec& s) { s.bodies[1].name.clear(); }},
      {"bodies[1].name", "300", [](SceneSpec& s) { s.bodies[1].name.assign(300, 'x'); }},
      {"joints[1].name", "root", [](SceneSpec& s) { s.joints[1].name = "root"; }},
      {"joints[3].axes[0].name", "shoulder", [](SceneSpec& s) { s.joints[3].axes[0].name = "shoulder"; }},
      {"shapes[1].name", "torso", [](SceneSpec& s) { s.shapes[1].name = "torso"; }},
      {"actuators[1].name", "grip", [](SceneSpec& s) { s.actuators.push_back(s.actuators[0]); }},
      {"keyframes[1].name", "home", [](SceneSpec& s) { s.keyframes.push_back(s.keyframes[0]); }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, names_must_be_printable_utf8) {
  for (const char* wrong : {"caf\xE9", "\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80", "cut \xE2\x82", "\x1B[2J",
                            "a\nb", "\x7F", "\xC2\x85"}) {
    const Fault faults[] = {
        {"name", "must be UTF-8 without control characters", [&](SceneSpec& s) { s.name = wrong; }},
        {"bodies[1].name", "must be UTF-8 without control characters", [&](SceneSpec& s) { s.bodies[1].name = wrong; }},
        {"keyframes[0].name", "must be UTF-8 without", [&](SceneSpec& s) { s.keyframes[0].name = wrong; }},
    };
    for (const Fault& fault : faults) expect_refused(fault);
  }
  SceneSpec scene = robot();
  scene.bodies[1].name = "J\xC3\xB6rg \xE6\xA9\x9F\xE5\x99\xA8 \xF0\x9F\xA4\x96";
  EXPECT_TRUE(validate_scene(scene).ok());
  expect_refused({"name", "300", [](SceneSpec& s) { s.name.assign(300, 'x'); }});
}

TEST(ValidateScene, bodies_that_no_joint_can_join_are_refused) {
  const Fault faults[] = {
      {"joints[6].child", "joints[1] already, and a free joint must be the first of its body; it is body 1",
       [](SceneSpec& s) { s.joints.push_back(testing::joint("late", JointKind::kFree, kWorldBody, 1)); }},
      {"joints[6].child", "joints[0] already",
       [](SceneSpec& s) { s.joints.push_back(testing::joint("again", JointKind::kFree, kWorldBody, 0)); }},
      {"joints[1].parent", "both are 1", [](SceneSpec& s) { s.joints[1].parent = 1; }},
      {"joints[0].parent", "1", [](SceneSpec& s) { s.joints[0].parent = 1; }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, nothing_may_act_along_a_loop_joint) {
  const auto four_bar = [](const std::function<void(SceneSpec&)>& change) {
    return [change](SceneSpec& s) {
      s = testing::four_bar();
      change(s);
    };
  };
  const auto loop_ball = [&](const std::function<void(JointSpec&)>& change) {
    return four_bar([change](SceneSpec& s) {
      s.joints[3].kind = JointKind::kBall;
      s.joints[3].axes.clear();
      change(s.joints[3]);
    });
  };
  const auto loop_axis = [&](const std::function<void(AxisSpec&)>& change) {
    return four_bar([change](SceneSpec& s) { change(s.joints[3].axes[0]); });
  };
  const char* why = "nothing may act along a loop joint";
  const Fault faults[] = {
      {"joints[3].axes[0].armature", why, loop_axis([](AxisSpec& a) { a.armature = 0.1; })},
      {"joints[3].axes[0].damping", "it is 0.1", loop_axis([](AxisSpec& a) { a.damping = 0.1; })},
      {"joints[3].axes[0].stiffness", why, loop_axis([](AxisSpec& a) { a.stiffness = 0.1; })},
      {"joints[3].axes[0].friction_loss", why, loop_axis([](AxisSpec& a) { a.friction_loss = 0.1; })},
      {"joints[3].axes[0].limited", why, loop_axis([](AxisSpec& a) { a.limited = true, a.upper = 1; })},
      {"joints[3].ball_damping", why, loop_ball([](JointSpec& j) { j.ball_damping = 0.1; })},
      {"joints[3].ball_armature", why, loop_ball([](JointSpec& j) { j.ball_armature = 0.1; })},
      {"actuators[0].joint", why, four_bar([](SceneSpec& s) {
         ActuatorSpec motor;
         motor.name = "motor";
         motor.joint = 3;
         s.actuators = {motor};
       })},
  };
  for (const Fault& fault : faults) expect_refused(fault);
  EXPECT_TRUE(validate_scene(testing::four_bar()).ok()) << validate_scene(testing::four_bar()).error().message;
}

TEST(ValidateScene, a_loop_joint_must_hold_two_bodies_that_move_apart) {
  const Fault faults[] = {
      {"joints[6].child", "bodies 2 and 1",  // the hand is welded to the arm
       [](SceneSpec& s) { s.joints.push_back(testing::joint("twice", JointKind::kBall, 2, 1)); }},
      {"joints[6].child", "bodies -1 and 4",  // the post is welded to the world
       [](SceneSpec& s) { s.joints.push_back(testing::joint("twice", JointKind::kFixed, kWorldBody, 4)); }},
      {"joints[6].child", "is welded to the world",
       [](SceneSpec& s) {
         s.joints.push_back(testing::joint("chain", JointKind::kAxes, 5, 4));
         s.joints[6].axes = {axis("rail", AxisKind::kSlide, {1, 0, 0}), axis("turn", AxisKind::kHinge, {0, 1, 0})};
       }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, springs_friction_and_bounds_out_of_range_are_named) {
  const Fault faults[] = {
      {"shapes[0].restitution", "2", [](SceneSpec& s) { s.shapes[0].restitution = 2; }},
      {"shapes[0].restitution", "-0.5", [](SceneSpec& s) { s.shapes[0].restitution = -0.5; }},
      {"shapes[0].restitution", "nan", [](SceneSpec& s) { s.shapes[0].restitution = kNan; }},
      {"shapes[0].softness.solref", "two numbers above 0",
       [](SceneSpec& s) {
         s.shapes[0].softness.solref = {1, -1};
       }},
      {"shapes[0].softness.solimp[2]", "nan", [](SceneSpec& s) { s.shapes[0].softness.solimp[2] = kNan; }},
      {"shapes[0].softness.margin", "-1", [](SceneSpec& s) { s.shapes[0].softness.margin = -1; }},
      {"shapes[0].softness_mix", "-1", [](SceneSpec& s) { s.shapes[0].softness_mix = -1; }},
      {"shapes[0].cone_dimension", "5", [](SceneSpec& s) { s.shapes[0].cone_dimension = 5; }},
      {"shapes[0].torsional_friction", "-1", [](SceneSpec& s) { s.shapes[0].torsional_friction = -1; }},
      {"shapes[0].torsional_friction", "nan", [](SceneSpec& s) { s.shapes[0].torsional_friction = kNan; }},
      {"shapes[0].rolling_friction", "inf", [](SceneSpec& s) { s.shapes[0].rolling_friction = kInf; }},
      {"shapes[0].surface_velocity[1]", "nan", [](SceneSpec& s) { s.shapes[0].surface_velocity[1] = kNan; }},
      {"shapes[0].surface_velocity[0]", "1e+10", [](SceneSpec& s) { s.shapes[0].surface_velocity[0] = 1e10; }},
      {"shapes[0].surface_angular_velocity[2]", "-inf",
       [](SceneSpec& s) { s.shapes[0].surface_angular_velocity[2] = -kInf; }},
      {"joints[1].axes[0].limit_softness.solref[0]", "inf",
       [](SceneSpec& s) { s.joints[1].axes[0].limit_softness.solref[0] = kInf; }},
      {"softness_rule.impedance_ratio", "0", [](SceneSpec& s) { s.softness_rule.impedance_ratio = 0; }},
      {"shapes[0].contact_stiffness", "-1", [](SceneSpec& s) { s.shapes[0].contact_stiffness = -1; }},
      {"shapes[0].contact_damping", "-1", [](SceneSpec& s) { s.shapes[0].contact_damping = -1; }},
      {"shapes[0].contact_damping", "contact_stiffness is above 0",
       [](SceneSpec& s) { s.shapes[0].contact_damping = 3; }},
      {"joints[1].axes[0].friction_loss", "-1", [](SceneSpec& s) { s.joints[1].axes[0].friction_loss = -1; }},
      {"joints[1].axes[0].friction_loss", "inf", [](SceneSpec& s) { s.joints[1].axes[0].friction_loss = kInf; }},
      {"joints[1].lock_stiffness", "-1", [](SceneSpec& s) { s.joints[1].lock_stiffness = -1; }},
      {"joints[1].lock_damping", "-1", [](SceneSpec& s) { s.joints[1].lock_damping = -1; }},
      {"joints[1].lock_damping", "lock_stiffness is above 0", [](SceneSpec& s) { s.joints[1].lock_damping = 3; }},
      {"joints[0].lock_stiffness", "a free joint locks nothing", [](SceneSpec& s) { s.joints[0].lock_stiffness = 5; }},
      {"actuators[0].effort_lower", "0 and 0", [](SceneSpec& s) { s.actuators[0].effort_limited = true; }},
      {"actuators[0].effort_lower", "2 and 1",
       [](SceneSpec& s) {
         s.actuators[0].effort_limited = true;
         s.actuators[0].effort_lower = 2, s.actuators[0].effort_upper = 1;
       }},
      {"actuators[0].effort_upper", "inf", [](SceneSpec& s) { s.actuators[0].effort_upper = kInf; }},
  };
  for (const Fault& fault : faults) expect_refused(fault);

  SceneSpec bounds = robot();
  bounds.shapes[0].restitution = 1;
  bounds.shapes[0].contact_stiffness = 1e4, bounds.shapes[0].contact_damping = 10;
  bounds.joints[1].lock_stiffness = 1e5, bounds.joints[1].lock_damping = 100;
  bounds.joints[1].axes[0].friction_loss = 0.3;
  bounds.actuators[0].effort_limited = true, bounds.actuators[0].effort_lower = -1;
  EXPECT_TRUE(validate_scene(bounds).ok()) << validate_scene(bounds).error().message;
}

TEST(ValidateScene, joints_that_close_loops_have_no_place_in_keyframes) {
  SceneSpec scene = testing::four_bar();
  scene.keyframes = {{"folded", 0, {0.1, 0.2, 0.3}, {1, 2, 3}}};
  EXPECT_TRUE(validate_scene(scene).ok()) << validate_scene(scene).error().message;
  scene.keyframes[0].joint_position.push_back(0.4);
  EXPECT_EQ(validate_scene(scene).error().field, "keyframes[0].joint_position");
}

TEST(ValidateScene, a_compound_joint_is_a_chain_of_independent_slides_then_hinges) {
  const Fault faults[] = {
      {"joints[1].axes[1].kind", "slide after a hinge",
       [](SceneSpec& s) {
         s.joints[1].axes.push_back(axis("late", AxisKind::kSlide, {1, 0, 0}));
       }},
      {"joints[1].axes", "0",
       [](SceneSpec& s) {
         s.joints[1].axes.push_back(axis("same", AxisKind::kHinge, {0, -2, 0}));
       }},
      {"joints[3].axes", "it has 4", [](SceneSpec& s) { s.joints[3].axes.resize(4); }},
      {"joints[3].axes", "dependent slides",
       [](SceneSpec& s) {
         s.joints[3].axes.push_back(axis("along", AxisKind::kSlide, {0, 0, 3}));
       }},
      {"joints[3].axes", "kind fixed", [](SceneSpec& s) { s.joints[3].axes.clear(); }},
      {"joints[2].axes", "it has 1",
       [](SceneSpec& s) {
         s.joints[2].axes = {axis("stray", AxisKind::kHinge, {0, 0, 1})};
       }},
  };
  for (const Fault& fault : faults) expect_refused(fault);

  SceneSpec planar = robot();
  planar.joints[1].axes = {axis("x", AxisKind::kSlide, {1, 0, 0}), axis("z", AxisKind::kSlide, {0, 0, 1}),
                           axis("turn", AxisKind::kHinge, {0, 1, 0})};
  planar.keyframes.clear();
  EXPECT_TRUE(validate_scene(planar).ok());
}

TEST(ValidateScene, a_plane_must_not_move) {
  expect_refused({"shapes[3].body", "0", [](SceneSpec& s) { s.shapes[3].body = 0; }});
}

TEST(ValidateScene, a_massless_body_may_be_welded_to_one_that_has_mass) {
  SceneSpec scene = robot();
  scene.bodies[2].mass = 0;
  scene.bodies[2].I_Bcm = {};
  EXPECT_TRUE(validate_scene(scene).ok());
  scene.bodies[1].mass = 0;
  EXPECT_EQ(validate_scene(scene).error().field, "bodies[1].mass");
}

TEST(ValidateScene, counts_past_a_limit_are_refused) {
  const Fault faults[] = {
      {"bodies", "4097", [](SceneSpec& s) { s.bodies.resize(kMaxSceneBodies + 1); }},
      {"joints", "4097", [](SceneSpec& s) { s.joints.resize(kMaxSceneJoints + 1); }},
      {"shapes", "16385", [](SceneSpec& s) { s.shapes.resize(kMaxSceneShapes + 1); }},
      {"actuators", "16385", [](SceneSpec& s) { s.actuators.resize(kMaxSceneActuators + 1); }},
      {"excludes", "65537", [](SceneSpec& s) { s.excludes.resize(kMaxSceneExcludes + 1); }},
      {"keyframes", "1025", [](SceneSpec& s) { s.keyframes.resize(kMaxSceneKeyframes + 1); }},
  };
  for (const Fault& fault : faults) expect_refused(fault);
}

TEST(ValidateScene, a_long_chain_needs_no_stack) {
  SceneSpec scene;
  for (int b = 0; b < kMaxSceneBodies; ++b) {
    scene.bodies.push_back(testing::body("link" + std::to_string(b), {0, 0, 0}));
    scene.joints.push_back(testing::joint("weld" + std::to_string(b), JointKind::kFixed, b - 1, b));
  }
  EXPECT_TRUE(validate_scene(scene).ok());
}

}  // namespace
}  // namespace axion::model::validate_scene_test
