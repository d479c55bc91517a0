// What a compiled model answers: its view, and the poses that joint coordinates give.
#include <algorithm>

#include "engine/model/arrays_view.hpp"
#include "engine/model/loop_joints.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;
using Quat = math::Quat<double>;
using Mat = math::Mat3<double>;

struct Frame {
  Vec p;
  Quat q;
};

// Pose of a child from its joint's coordinates: the chain of slides and hinges of JointData.
Frame place_child(const CompiledModel& model, const JointData<double>& joint, const Frame& X_WP, const double* s) {
  const Quat q_M0 = X_WP.q * joint.q_PM0;
  Vec anchor = X_WP.p + math::rotate(X_WP.q, joint.p_PA);
  Quat q = q_M0;
  if (joint.is_ball) {
    // s turns the child's body frame; here it turns the principal frame.
    const Quat& q_BC = model.q_BC[joint.child];
    q = q_M0 * (math::conjugate(q_BC) * math::normalized(Quat{s[0], s[1], s[2], s[3]}) * q_BC);
  } else {
    const auto value = [&](int k) { return s[k] - model.arrays.axes[joint.axis_start + k].reference; };
    if (joint.slide_count > 0) {
      // slide directions from their duals and the locked directions: rows of the inverse basis
      Mat basis = Mat::identity();
      for (int k = 0; k < 3; ++k) {
        basis.row[k] = k < joint.slide_count ? joint.slide_dual[k] : joint.translation_lock[k - joint.slide_count];
      }
      const Mat directions = math::inverse(basis);
      for (int k = 0; k < joint.slide_count; ++k) anchor += math::rotate(q_M0, value(k) * directions.column(k));
    }
    for (int k = 0; k < joint.hinge_count; ++k) {
      if (k > 0) anchor += math::rotate(q, joint.offset[k - 1]);
      q = q * math::exp_rotation(value(joint.slide_count + k) * joint.hinge[k]);
    }
  }
  q = math::normalized(q);
  return {anchor - math::rotate(q, joint.p_CA), q};
}

}  // namespace

void forward_kinematics(const CompiledModel& model, const double* joint_position, std::vector<Vec>& x,
                        std::vector<Quat>& q) {
  const SceneSpec& scene = model.welded.scene;
  const auto unit = [](const double* q) { return math::normalized(Quat{q[0], q[1], q[2], q[3]}); };
  std::vector<const double*> coordinates(model.arrays.joints.size());
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    if (joint.kind == JointKind::kFree) {
      const int body = model.internal_body[joint.child];
      const double* p = joint_position;
      const Quat q_WB = unit(p + 3);
      x[body] = Vec{p[0], p[1], p[2]} + math::rotate(q_WB, model.p_BC[body]);
      q[body] = math::normalized(q_WB * model.q_BC[body]);
      joint_position += 7;
    } else {
      coordinates[model.joint_of_scene[j]] = joint_position;
      joint_position += position_count(joint, model.closes_loop[j]);
    }
  }
  for (std::size_t b = 0; b < model.arrays.bodies.size(); ++b) {  // parents come first
    const int j = model.arrays.bodies[b].joint;
    if (j < 0) continue;
    const JointData<double>& joint = model.arrays.joints[j];
    const Frame X_WP = joint.parent < 0 ? Frame{{0, 0, 0}, {}} : Frame{x[joint.parent], q[joint.parent]};
    const Frame X_WC = place_child(model, joint, X_WP, coordinates[j]);
    x[b] = X_WC.p, q[b] = X_WC.q;
  }
}

void place_bodies(CompiledModel& model) {
  const SceneSpec& scene = model.welded.scene;
  std::vector<double> joint_position;
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    if (position_count(joint, model.closes_loop[j]) == 0) continue;
    if (joint.kind == JointKind::kFree) {
      const PoseSpec& X = scene.bodies[joint.child].X_WB;
      const Quat q = math::normalized(Quat{X.rotation[0], X.rotation[1], X.rotation[2], X.rotation[3]});
      joint_position.insert(joint_position.end(), X.position.begin(), X.position.end());
      joint_position.insert(joint_position.end(), {q.w, q.x, q.y, q.z});
    } else if (joint.kind == JointKind::kBall) {
      joint_position.insert(joint_position.end(), {1, 0, 0, 0});
    } else {
      for (const AxisSpec& axis : joint.axes) joint_position.push_back(axis.initial_position);
    }
  }
  const auto& axes = model.arrays.axes;
  const bool at_reference =
      std::all_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.initial_position == axis.reference; });
  if (!at_reference) forward_kinematics(model, joint_position.data(), model.x, model.q);
}

template struct ModelArrays<float>;
template struct ModelArrays<double>;

}  // namespace axion::model
