#include "tests/engine/import/mujoco_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/import/mjcf.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/loop_joints.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {
namespace {

using model::AxisSpec;
using model::BodySpec;
using model::JointKind;
using model::JointSpec;
using model::kWorldBody;
using Mat3 = math::Mat3<double>;
using Quat = math::Quat<double>;
using Vec3 = math::Vec3<double>;

constexpr double kTolerance = 1e-6;

Vec3 vec(const mjtNum* v) { return {v[0], v[1], v[2]}; }
Mat3 mat(const mjtNum* m) { return {{vec(m), vec(m + 3), vec(m + 6)}}; }

void expect_close(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, kTolerance * std::max(1.0, std::abs(theirs))) << what;
}
void expect_close(const Vec3& ours, const Vec3& theirs, const std::string& what) {
  for (int i = 0; i < 3; ++i) expect_close(ours[i], theirs[i], what + " component " + std::to_string(i));
}
void expect_close(const Mat3& ours, const Mat3& theirs, const std::string& what) {
  for (int i = 0; i < 3; ++i) expect_close(ours.row[i], theirs.row[i], what + " row " + std::to_string(i));
}
void expect_same_rotation(const Quat& a, const Quat& b, const std::string& what) {
  expect_close(math::to_matrix(a), math::to_matrix(b), what);
}

bool is_scene_shape(const mjModel& m, int g) {
  const int type = m.geom_type[g];
  if (type == mjGEOM_PLANE || type == mjGEOM_SPHERE || type == mjGEOM_CAPSULE || type == mjGEOM_BOX) return true;
  return type != mjGEOM_HFIELD && (m.geom_contype[g] != 0 || m.geom_conaffinity[g] != 0);
}

// Of the sizes of a kind.
int number_count(model::ShapeKind kind) {
  static constexpr int kCounts[] = {0, 1, 2, 3, 2, 3, 0};
  return kCounts[static_cast<int>(kind)];
}

}  // namespace

Comparison::Comparison(const std::string& xml) : Comparison(xml, import_mjcf(xml)) {}

Comparison::Comparison(const std::string& xml, Result<ImportedScene> imported) : m_(testing::load_mujoco(xml)) {
  EXPECT_TRUE(imported.ok()) << imported.error().field << ": " << imported.error().message;
  if (!imported.ok()) return;
  scene_ = std::move(imported).value().scene;
  Result<model::WeldedScene> welded = model::merge_welds(scene_);
  EXPECT_TRUE(welded.ok()) << welded.error().message;
  if (!welded.ok()) return;
  welded_ = std::move(welded).value();
  closes_loop_ = model::find_loop_joints(scene_);
  d_.reset(mj_makeData(m_.get()));
  mj_forward(m_.get(), d_.get());
  loaded_ = true;
}

void Comparison::run() {
  ASSERT_TRUE(loaded_);
  ASSERT_EQ(static_cast<int>(scene_.bodies.size()) + 1, m_->nbody);
  compare_options();
  compare_bodies();
  compare_joints();
  compare_equalities();
  compare_shapes();
  compare_softness();
  compare_actuators();
  compare_keyframes();
}

void Comparison::compare_options() {
  expect_close(scene_.timestep, m_->opt.timestep, "timestep");
  const bool gravity = (m_->opt.disableflags & mjDSBL_GRAVITY) == 0;
  expect_close(model::to_vec3(scene_.gravity), gravity ? vec(m_->opt.gravity) : Vec3{}, "gravity");
  EXPECT_EQ(scene_.filter_parent_child, (m_->opt.disableflags & mjDSBL_FILTERPARENT) == 0);
}

// Bodies are in MuJoCo's order, after the world; MuJoCo keeps welded bodies apart and knows the root of each.
void Comparison::compare_bodies() {
  for (int b = 1; b < m_->nbody; ++b) {
    const BodySpec& body = scene_.bodies[b - 1];
    const char* name = mj_id2name(m_.get(), mjOBJ_BODY, b);
    if (name != nullptr && *name != '\0') {
      EXPECT_EQ(body.name, name);
    }
    expect_close(model::to_vec3(body.X_WB.position), vec(d_->xpos + 3 * b), body.name + " position");
    const mjtNum* q = d_->xquat + 4 * b;
    expect_same_rotation(model::to_quat(body.X_WB.rotation), {q[0], q[1], q[2], q[3]}, body.name + " rotation");
    const int root = m_->body_weldid[b];
    if (root == 0) {
      EXPECT_EQ(welded_.body_map[b - 1], kWorldBody) << body.name;
    } else {
      EXPECT_EQ(welded_.body_map[b - 1], welded_.body_map[root - 1]) << body.name;
      if (root == b) compare_merged(welded_.body_map[b - 1], b);
    }
  }
}

// Adds up MuJoCo's bodies of one weld in the world frame, then looks at the sum from the root's frame.
void Comparison::compare_merged(int merged, int root) {
  const BodySpec& body = welded_.scene.bodies[merged];
  std::vector<model::MassProperties> parts;
  for (int b = 1; b < m_->nbody; ++b) {
    if (m_->body_weldid[b] != root) continue;
    const Mat3 R = mat(d_->ximat + 9 * b);
    parts.push_back(
        {m_->body_mass[b], vec(d_->xipos + 3 * b), math::rotate_diagonal(R, vec(m_->body_inertia + 3 * b))});
  }
  const model::MassProperties sum = model::combine(parts);
  const Mat3 R_WB = mat(d_->xmat + 9 * root);
  expect_close(body.mass, sum.mass, body.name + " mass");
  expect_close(model::to_vec3(body.p_BoBcm), math::transpose_times(R_WB, sum.p_cm - vec(d_->xpos + 3 * root)),
               body.name + " centre of mass");
  expect_close(model::to_matrix(body.I_Bcm), math::transpose(R_WB) * sum.I_cm * R_WB, body.name + " inertia");
}

void Comparison::compare_axis(const AxisSpec& axis, const BodySpec& child, int j) {
  const model::Pose X_WB = model::to_pose(child.X_WB);
  const int dof = m_->jnt_dofadr[j], q = m_->jnt_qposadr[j];
  EXPECT_EQ(axis.kind == model::AxisKind::kSlide, m_->jnt_type[j] == mjJNT_SLIDE) << axis.name;
  expect_close(math::rotate(X_WB.rotation, model::to_vec3(axis.axis)), vec(d_->xaxis + 3 * j), axis.name + " axis");
  expect_close(X_WB * model::to_vec3(axis.anchor), vec(d_->xanchor + 3 * j), axis.name + " anchor");
  EXPECT_EQ(axis.limited, m_->jnt_limited[j] != 0) << axis.name;
  if (axis.limited) {
    expect_close(axis.lower, m_->jnt_range[2 * j], axis.name + " lower limit");
    expect_close(axis.upper, m_->jnt_range[2 * j + 1], axis.name + " upper limit");
  }
  expect_close(axis.reference, m_->qpos0[q], axis.name + " reference");
  expect_close(axis.initial_position, m_->qpos0[q], axis.name + " initial position");
  expect_close(axis.spring_reference, m_->qpos_spring[q], axis.name + " spring reference");
  expect_close(axis.stiffness, m_->jnt_stiffness[j], axis.name + " stiffness");
  expect_close(axis.damping, m_->dof_damping[dof], axis.name + " damping");
  expect_close(axis.armature, m_->dof_armature[dof], axis.name + " armature");
  expect_close(axis.friction_loss, m_->dof_frictionloss[dof], axis.name + " dry friction");
}

// The anchors that MuJoCo finds in both bodies are one point of the reference configuration: ours.
void Comparison::compare_equalities() {
  int e = 0;
  for (std::size_t i = 0; i < scene_.joints.size(); ++i) {
    if (!closes_loop_[i]) continue;
    const JointSpec& joint = scene_.joints[i];
    ASSERT_LT(e, m_->neq);
    const bool is_weld = m_->eq_type[e] == mjEQ_WELD;
    EXPECT_EQ(joint.kind, is_weld ? JointKind::kFixed : JointKind::kBall) << joint.name;
    const int ids[2] = {m_->eq_obj1id[e], m_->eq_obj2id[e]};
    EXPECT_EQ(std::minmax(joint.parent + 1, joint.child + 1), std::minmax(ids[0], ids[1])) << joint.name;
    const mjtNum* data = m_->eq_data + mjNEQDATA * e;
    const Vec3 ours = model::to_pose(scene_.bodies[joint.child].X_WB) * model::to_vec3(joint.anchor);
    const auto theirs = [&](int body, const mjtNum* p) {
      return vec(d_->xpos + 3 * body) + mat(d_->xmat + 9 * body) * vec(p);
    };
    expect_close(ours, theirs(ids[is_weld ? 1 : 0], data), joint.name + " anchor");
    if (!is_weld) expect_close(ours, theirs(ids[1], data + 3), joint.name + " anchor in the other body");
    ++e;
  }
  EXPECT_EQ(e, m_->neq);
}

void Comparison::compare_joints() {
  int j = 0;
  for (std::size_t i = 0; i < welded_.scene.joints.size(); ++i) {
    const JointSpec& joint = welded_.scene.joints[i];
    if (welded_.closes_loop[i]) continue;
    const BodySpec& child = welded_.scene.bodies[joint.child];
    if (joint.kind == JointKind::kAxes) {
      for (const AxisSpec& axis : joint.axes) {
        ASSERT_LT(j, m_->njnt);
        compare_axis(axis, child, j++);
      }
      continue;
    }
    ASSERT_LT(j, m_->njnt);
    EXPECT_EQ(joint.kind == JointKind::kFree, m_->jnt_type[j] == mjJNT_FREE) << joint.name;
    EXPECT_EQ(joint.kind == JointKind::kBall, m_->jnt_type[j] == mjJNT_BALL) << joint.name;
    if (joint.kind == JointKind::kBall) {
      expect_close(model::to_pose(child.X_WB) * model::to_vec3(joint.anchor), vec(d_->xanchor + 3 * j), joint.name);
      expect_close(joint.ball_damping, m_->dof_damping[m_->jnt_dofadr[j]], joint.name + " damping");
      expect_close(joint.ball_armature, m_->dof_armature[m_->jnt_dofadr[j]], joint.name + " armature");
    }
    ++j;
  }
  EXPECT_EQ(j, m_->njnt);
}

void Comparison::compare_shapes() {
  std::size_t s = 0;
  int dimension = 0;  // that any geom asks for
  for (int g = 0; g < m_->ngeom; ++g) {
    if (is_scene_shape(*m_, g)) dimension = std::max(dimension, m_->geom_condim[g]);
  }
  for (int g = 0; g < m_->ngeom; ++g) {
    if (!is_scene_shape(*m_, g)) continue;
    ASSERT_LT(s, welded_.scene.shapes.size());
    const model::ShapeSpec& shape = welded_.scene.shapes[s++];
    model::Pose X_WS = model::to_pose(shape.X_BS);
    if (shape.body != kWorldBody) X_WS = model::to_pose(welded_.scene.bodies[shape.body].X_WB) * X_WS;
    expect_close(X_WS.position, vec(d_->geom_xpos + 3 * g), shape.name + " position");
    expect_close(math::to_matrix(X_WS.rotation), mat(d_->geom_xmat + 9 * g), shape.name + " rotation");
    for (int i = 0; i < number_count(shape.kind); ++i)
      expect_close(shape.size[i], m_->geom_size[3 * g + i], shape.name + " size");
    expect_close(shape.friction, m_->geom_friction[3 * g], shape.name + " friction");
    if (dimension >= 4) {
      expect_close(shape.torsional_friction, m_->geom_friction[3 * g + 1], shape.name + " torsional friction");
    }
    if (dimension == 6) {
      expect_close(shape.rolling_friction, m_->geom_friction[3 * g + 2], shape.name + " rolling friction");
    }
    EXPECT_EQ(shape.contact_dimension, m_->geom_condim[g] == 1 ? 1 : 3) << shape.name;
    EXPECT_EQ(shape.contact_priority, m_->geom_priority[g]) << shape.name;
    EXPECT_EQ(static_cast<int>(shape.contact_type), m_->geom_contype[g]) << shape.name;
    EXPECT_EQ(static_cast<int>(shape.contact_affinity), m_->geom_conaffinity[g]) << shape.name;
  }
  EXPECT_EQ(s, welded_.scene.shapes.size());
  // A body with itself is left out here, and every exclusion of the files is between bodies of joints of their own.
  EXPECT_EQ(static_cast<int>(scene_.excludes.size()), m_->nexclude);
}

// What a unit of force accelerates, too: of geoms that of their bodies' centres, of limits that along their joints.
void Comparison::compare_softness() {
  const Result<model::CompiledModel> compiled = model::compile(scene_);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const model::ModelArrays<double>& arrays = compiled.value().arrays;
  const auto compare_numbers = [](const auto& ours, const mjtNum* theirs, const std::string& what) {
    for (std::size_t i = 0; i < ours.size(); ++i) expect_close(ours[i], theirs[i], what);
  };
  const auto expect_same_mobility = [](double ours, double theirs, const std::string& what) {
    EXPECT_NEAR(ours, theirs, 1e-5 * std::abs(theirs)) << what << " mobility";
  };
  expect_close(scene_.softness_rule.impedance_ratio, m_->opt.impratio, "impratio");
  EXPECT_EQ(scene_.softness_rule.pyramidal, m_->opt.cone == mjCONE_PYRAMIDAL);
  std::size_t s = 0;
  for (int g = 0; g < m_->ngeom; ++g) {
    if (!is_scene_shape(*m_, g)) continue;
    const model::ShapeSpec& shape = welded_.scene.shapes[s];
    compare_numbers(shape.softness.solref, m_->geom_solref + mjNREF * g, shape.name + " solref");
    compare_numbers(shape.softness.solimp, m_->geom_solimp + mjNIMP * g, shape.name + " solimp");
    expect_close(shape.softness_mix, m_->geom_solmix[g], shape.name + " solmix");
    expect_close(shape.softness.margin, m_->geom_margin[g], shape.name + " margin");
    EXPECT_EQ(shape.cone_dimension, m_->geom_condim[g]) << shape.name;
    // Of a body without mass MuJoCo takes the position in its parent for that of the centre in the body.
    const int body = m_->geom_bodyid[g];
    const double ours = arrays.shape_softness[s++].mobility;
    if (m_->body_mass[body] > 0) expect_same_mobility(ours, m_->body_invweight0[2 * body], shape.name);
  }
  int j = 0;
  for (std::size_t i = 0; i < welded_.scene.joints.size(); ++i) {
    const JointSpec& joint = welded_.scene.joints[i];
    if (welded_.closes_loop[i]) continue;
    if (joint.kind != JointKind::kAxes) ++j;
    for (std::size_t k = 0; k < joint.axes.size(); ++k, ++j) {
      const AxisSpec& axis = joint.axes[k];
      const int first = arrays.joints[compiled.value().joint_of_scene[i]].axis_start, dof = m_->jnt_dofadr[j];
      const model::AxisData<double>& row = arrays.axes[first + static_cast<int>(k)];
      if (axis.friction_loss > 0) {
        compare_numbers(axis.friction_softness.solref, m_->dof_solref + mjNREF * dof, axis.name + " solreffriction");
        compare_numbers(axis.friction_softness.solimp, m_->dof_solimp + mjNIMP * dof, axis.name + " solimpfriction");
        expect_same_mobility(arrays.efforts[row.effort_start].softness.mobility, m_->dof_invweight0[dof], axis.name);
      }
      if (!axis.limited) continue;
      compare_numbers(axis.limit_softness.solref, m_->jnt_solref + mjNREF * j, axis.name + " solreflimit");
      compare_numbers(axis.limit_softness.solimp, m_->jnt_solimp + mjNIMP * j, axis.name + " solimplimit");
      expect_close(axis.limit_softness.margin, m_->jnt_margin[j], axis.name + " margin");
      expect_same_mobility(arrays.limit_impedance[row.limit].mobility, m_->dof_invweight0[dof], axis.name);
    }
  }
  for (std::size_t t = 0; t < welded_.scene.tendons.size(); ++t) {
    const model::TendonSpec& tendon = welded_.scene.tendons[t];
    const int id = mj_name2id(m_.get(), mjOBJ_TENDON, tendon.name.c_str()), at = compiled.value().axis_of_tendon[t];
    if (id < 0 || at < 0) continue;
    compare_numbers(tendon.limit_softness.solref, m_->tendon_solref_lim + mjNREF * id, tendon.name + " solreflimit");
    compare_numbers(tendon.limit_softness.solimp, m_->tendon_solimp_lim + mjNIMP * id, tendon.name + " solimplimit");
    expect_close(tendon.limit_softness.margin, m_->tendon_margin[id], tendon.name + " margin");
    compare_numbers(tendon.friction_softness.solref, m_->tendon_solref_fri + mjNREF * id,
                    tendon.name + " solreffriction");
    compare_numbers(tendon.friction_softness.solimp, m_->tendon_solimp_fri + mjNIMP * id,
                    tendon.name + " solimpfriction");
    const model::AxisData<double>& row = arrays.axes[at];
    if (tendon.friction_loss > 0) {
      expect_same_mobility(arrays.efforts[row.effort_start].softness.mobility, m_->tendon_invweight0[id], tendon.name);
    }
    if (tendon.limited) {
      expect_same_mobility(arrays.limit_impedance[row.limit].mobility, m_->tendon_invweight0[id], tendon.name);
    }
  }
}

void Comparison::compare_actuators() {
  ASSERT_EQ(static_cast<int>(scene_.actuators.size()), m_->nu);
  for (int a = 0; a < m_->nu; ++a) {
    const model::ActuatorSpec& actuator = scene_.actuators[a];
    const JointSpec& joint = scene_.joints[actuator.joint];
    const char* target = mj_id2name(m_.get(), mjOBJ_JOINT, m_->actuator_trnid[2 * a]);
    EXPECT_EQ(joint.axes[actuator.axis].name, target) << actuator.name;
    const mjtNum gear = m_->actuator_gear[6 * a], gain = m_->actuator_gainprm[mjNGAIN * a];
    const mjtNum* bias = m_->actuator_biasprm + mjNBIAS * a;
    if (actuator.kind == model::ActuatorKind::kMotor) {
      expect_close(actuator.gear, gear * gain, actuator.name + " gear");
    } else {
      expect_close(actuator.gear, gear, actuator.name + " gear");
      expect_close(actuator.kp, -bias[1], actuator.name + " kp");
      expect_close(actuator.kd, -bias[2], actuator.name + " kd");
    }
    EXPECT_EQ(actuator.effort_limited, m_->actuator_forcelimited[a] != 0) << actuator.name;
    if (actuator.effort_limited) {
      const double of_motor = actuator.kind == model::ActuatorKind::kMotor ? gain : 1;  // its gain is in its gear
      expect_close(of_motor * actuator.effort_lower, m_->actuator_forcerange[2 * a], actuator.name + " force");
      expect_close(of_motor * actuator.effort_upper, m_->actuator_forcerange[2 * a + 1], actuator.name + " force");
    }
    EXPECT_EQ(actuator.control_limited, m_->actuator_ctrllimited[a] != 0) << actuator.name;
    if (!actuator.control_limited) continue;
    expect_close(actuator.control_lower, m_->actuator_ctrlrange[2 * a], actuator.name + " control");
    expect_close(actuator.control_upper, m_->actuator_ctrlrange[2 * a + 1], actuator.name + " control");
  }
}

void Comparison::compare_keyframes() {
  ASSERT_EQ(static_cast<int>(scene_.keyframes.size()), m_->nkey);
  for (int k = 0; k < m_->nkey; ++k) {
    const model::KeyframeSpec& key = welded_.scene.keyframes[k];
    ASSERT_EQ(static_cast<int>(key.joint_position.size()), m_->nq);
    for (int i = 0; i < m_->nq; ++i) {
      // MuJoCo normalises the quaternions of a keyframe, a scene when it is compiled.
      EXPECT_NEAR(key.joint_position[i], m_->key_qpos[k * m_->nq + i], 1e-4) << key.name << " " << i;
    }
    if (key.joint_velocity.empty()) continue;
    mju_copy(d_->qpos, m_->key_qpos + k * m_->nq, m_->nq);
    mju_copy(d_->qvel, m_->key_qvel + k * m_->nv, m_->nv);
    mj_forward(m_.get(), d_.get());
    int v = 0;
    for (const JointSpec& joint : welded_.scene.joints) {
      if (joint.kind == JointKind::kFree) {
        const std::string what = key.name + " " + joint.name + " velocity";
        Vec3 spin, velocity = velocity_of_weld(joint.child, spin);
        expect_close(Vec3{key.joint_velocity[v], key.joint_velocity[v + 1], key.joint_velocity[v + 2]}, velocity, what);
        expect_close(Vec3{key.joint_velocity[v + 3], key.joint_velocity[v + 4], key.joint_velocity[v + 5]}, spin, what);
      }
      v += joint.kind == JointKind::kFree ? 6
                                          : (joint.kind == JointKind::kBall ? 3 : static_cast<int>(joint.axes.size()));
    }
  }
}

// Momentum over mass of all of MuJoCo's bodies that became the merged one, and how fast they turn.
Vec3 Comparison::velocity_of_weld(int merged, Vec3& spin) {
  Vec3 momentum;
  double mass = 0;
  for (int b = 1; b < m_->nbody; ++b) {
    if (welded_.body_map[b - 1] != merged) continue;
    mjtNum spin_and_velocity[6];
    mj_objectVelocity(m_.get(), d_.get(), mjOBJ_BODY, b, spin_and_velocity, 0);
    spin = vec(spin_and_velocity);
    momentum += m_->body_mass[b] * vec(spin_and_velocity + 3);
    mass += m_->body_mass[b];
  }
  return (1 / mass) * momentum;
}

void compare(const std::string& xml) {
  SCOPED_TRACE(xml);
  Comparison(xml).run();
}

}  // namespace axion::import
