#include "engine/model/compile.hpp"

#include "engine/base/stop.hpp"
#include "engine/model/compile_actuators.hpp"
#include "engine/model/compile_contacts.hpp"
#include "engine/model/compile_hulls.hpp"
#include "engine/model/compile_mocaps.hpp"
#include "engine/model/compile_sensors.hpp"
#include "engine/model/compile_site_motors.hpp"
#include "engine/model/compile_softness.hpp"
#include "engine/model/compile_tendons.hpp"
#include "engine/model/condense_tendons.hpp"
#include "engine/model/fluid_parts.hpp"
#include "engine/model/lent_inertia.hpp"
#include "engine/model/loop_joints.hpp"
#include "engine/model/mobilities.hpp"
#include "engine/model/principal_frame.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;
using Quat = math::Quat<double>;
using Mat = math::Mat3<double>;

Vec to_vec(const Vec3d& a) { return {a[0], a[1], a[2]}; }
Quat to_unit_quat(const Quatd& a) { return math::normalized(Quat{a[0], a[1], a[2], a[3]}); }

class Compiler {
 public:
  // `like` is the model that this one has the rows of, or null.
  Compiler(WeldedScene welded, CompiledHulls hulls, const CompiledModel* like) : like_(like) {
    model_.welded = std::move(welded), model_.hulls = std::move(hulls);
    model_.warnings = std::move(model_.hulls.warnings), arrays().hull_vertices = std::move(model_.hulls.vertices);
    model_.closes_loop = model_.welded.closes_loop;
    if (like != nullptr) reserve_as(like->arrays);
  }

  CompiledModel run() {
    sort_bodies();
    add_bodies();
    add_joints();
    model_.axis_of_tendon = add_tendons(model_, friction_loss_);
    add_actuators(model_, [&](const ActuatorSpec& spec) { return axis_of(spec); });
    add_efforts();
    condense_tendons(arrays());
    add_shapes();
    add_contacts(model_);
    add_body_forces();
    arrays().gravity = to_vec(scene().gravity);
    place_bodies(model_);
    return std::move(model_);
  }

 private:
  const SceneSpec& scene() const { return model_.welded.scene; }
  ModelArrays<double>& arrays() { return model_.arrays; }
  int internal(int external) const { return external == kWorldBody ? -1 : model_.internal_body[external]; }

  // No array grows piece by piece where it is known how long it gets: worlds by the thousand are compiled like this.
  void reserve_as(const ModelArrays<double>& like) {
    ModelArrays<double>& a = arrays();
    const auto as = [](auto& array, const auto& other) { array.reserve(other.size()); };
    as(a.bodies, like.bodies), as(a.joints, like.joints), as(a.axes, like.axes), as(a.actuators, like.actuators);
    as(a.efforts, like.efforts), as(a.lock_joint, like.lock_joint), as(a.limit_axis, like.limit_axis);
    as(a.shapes, like.shapes), as(a.shape_contacts, like.shape_contacts), as(a.shape_moments, like.shape_moments);
    as(a.pairs, like.pairs), as(a.pair_moments, like.pair_moments), as(a.pair_impedances, like.pair_impedances);
    as(a.shape_softness, like.shape_softness), as(a.limit_impedance, like.limit_impedance);
    as(a.child_joints, like.child_joints), as(a.neighbours, like.neighbours), as(a.excludes, like.excludes);
    as(a.surface_motions, like.surface_motions);
    friction_loss_.reserve(like.axes.size());
    for (auto* frames : {&model_.x, &model_.p_BC}) frames->reserve(like.bodies.size());
    for (auto* rotations : {&model_.q, &model_.q_BC}) rotations->reserve(like.bodies.size());
    model_.external_body.reserve(like.bodies.size());
  }

  // Depth first along the joints, so that eliminating bodies from last to first follows the tree from its leaves.
  void sort_bodies() {
    const int count = static_cast<int>(scene().bodies.size());
    std::vector<std::vector<int>> children(count);
    std::vector<char> has_parent(count, 0);
    for (std::size_t j = 0; j < scene().joints.size(); ++j) {
      const JointSpec& joint = scene().joints[j];
      if (model_.closes_loop[j] || joint.kind == JointKind::kFree || joint.parent == kWorldBody) continue;
      children[joint.parent].push_back(joint.child);
      has_parent[joint.child] = 1;
    }
    std::vector<int> stack;
    for (int root = count - 1; root >= 0; --root) {
      if (!has_parent[root]) stack.push_back(root);
    }
    model_.internal_body.assign(count, -1);
    while (!stack.empty()) {
      const int body = stack.back();
      stack.pop_back();
      model_.internal_body[body] = static_cast<int>(model_.external_body.size());
      model_.external_body.push_back(body);
      stack.insert(stack.end(), children[body].rbegin(), children[body].rend());
    }
  }

  void add_bodies() {
    for (int external : model_.external_body) {
      const BodySpec& spec = scene().bodies[external];
      BodyData<double> body{};
      body.mass = spec.mass;
      const Frame X_BC = principal_frame(spec, body.inertia);
      body.joint = body.parent = -1;
      body.p_origin = math::rotate_inverse(X_BC.q, -1.0 * X_BC.p);
      arrays().bodies.push_back(body);
      model_.p_BC.push_back(X_BC.p);
      model_.q_BC.push_back(X_BC.q);
      const Frame X_WC = compose({to_vec(spec.X_WB.position), to_unit_quat(spec.X_WB.rotation)}, X_BC);
      model_.x.push_back(X_WC.p);
      model_.q.push_back(math::normalized(X_WC.q));
    }
  }

  // Gravity compensation, the drag of free joints and of a fluid, where there is any.
  void add_body_forces() {
    std::vector<BodyForceData<double>> forces(arrays().bodies.size());
    bool any = false;
    for (std::size_t b = 0; b < forces.size(); ++b) {
      const Lift& lift = model_.welded.lifts[model_.external_body[b]];
      if (lift.mass == 0 && lift.moment == Vec3d{}) continue;
      forces[b].lift_mass = lift.mass, any = true;
      forces[b].lift_moment = math::rotate_inverse(model_.q_BC[b], to_vec(lift.moment) - lift.mass * model_.p_BC[b]);
    }
    for (const JointSpec& joint : scene().joints) {
      if (joint.free_damping == 0 && joint.free_stiffness == 0) continue;
      const int b = internal(joint.child);
      forces[b].drag = joint.free_damping, forces[b].stiffness = joint.free_stiffness, any = true;
      forces[b].p_drag = arrays().bodies[b].p_origin;
      forces[b].p_rest = to_vec(scene().bodies[joint.child].X_WB.position), forces[b].q_rest = model_.q[b];
    }
    add_fluid_parts(forces, any);
    any = add_site_motors(model_, forces) || any;
    if (any) arrays().body_forces = std::move(forces);
  }

  // Of each body those of the parts that are welded to it, in their order.
  void add_fluid_parts(std::vector<BodyForceData<double>>& forces, bool& any) {
    std::vector<std::vector<FluidPartData<double>>> parts(forces.size());
    for (const FluidPart& part : model_.welded.fluid_parts) {
      const int b = internal(part.body);
      const Frame X_BC{model_.p_BC[b], model_.q_BC[b]};
      parts[b].push_back(part.is_ellipsoid ? fluid_ellipsoid(scene().medium, part.ellipsoid, X_BC)
                                           : fluid_box(scene().medium, part.mass, X_BC));
      forces[b].has_fluid_ellipsoids = forces[b].has_fluid_ellipsoids || part.is_ellipsoid;
    }
    for (std::size_t b = 0; b < forces.size(); ++b) {
      forces[b].fluid_part_start = static_cast<int>(arrays().fluid_parts.size());
      forces[b].fluid_part_count = static_cast<int>(parts[b].size());
      arrays().fluid_parts.insert(arrays().fluid_parts.end(), parts[b].begin(), parts[b].end());
      any = any || !parts[b].empty();
    }
    arrays().wind = to_vec(scene().medium.wind);
  }

  // Rows in the order of the children, so that a node of the factorisation finds its rows together.
  void add_joints() {
    model_.joint_of_scene.assign(scene().joints.size(), -1);
    std::vector<int> scene_joint_of_body(scene().bodies.size(), -1);
    for (std::size_t j = 0; j < scene().joints.size(); ++j) {
      if (scene().joints[j].kind == JointKind::kFree || model_.closes_loop[j]) continue;
      scene_joint_of_body[scene().joints[j].child] = static_cast<int>(j);
    }
    for (int external : model_.external_body) {
      if (scene_joint_of_body[external] >= 0) add_joint(scene_joint_of_body[external]);
    }
    const std::size_t tree_joint_count = arrays().joints.size();
    for (std::size_t j = 0; j < scene().joints.size(); ++j) {
      if (model_.closes_loop[j]) add_joint(static_cast<int>(j));
    }
    arrays().loop_count = static_cast<int>(arrays().joints.size() - tree_joint_count);
    add_break_limits();
    list_joints_of_bodies(tree_joint_count);
    find_trees();
    lend_inertia(arrays().bodies, arrays().joints, arrays().axes);
  }

  void add_break_limits() {
    const auto inverse = [](double limit) { return limit > 0 ? 1 / limit : 0.0; };
    for (std::size_t j = 0; j < scene().joints.size(); ++j) {
      const JointSpec& joint = scene().joints[j];
      if (!may_break(joint)) continue;
      arrays().breaks.push_back({model_.joint_of_scene[j], inverse(joint.break_force), inverse(joint.break_torque)});
    }
  }

  void list_joints_of_bodies(std::size_t tree_joint_count) {
    const auto& joints = arrays().joints;
    auto& bodies = arrays().bodies;
    std::vector<std::vector<int>> children(bodies.size()), loops(bodies.size());
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const int index = static_cast<int>(j);
      const bool loop = j >= tree_joint_count;
      if (loop) loops[joints[j].child].push_back(index);
      if (joints[j].parent >= 0) (loop ? loops : children)[joints[j].parent].push_back(loop ? ~index : index);
    }
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      bodies[b].child_joint_start = static_cast<int>(arrays().child_joints.size());
      bodies[b].child_joint_count = static_cast<int>(children[b].size());
      arrays().child_joints.insert(arrays().child_joints.end(), children[b].begin(), children[b].end());
      bodies[b].loop_start = static_cast<int>(arrays().body_loops.size());
      bodies[b].loop_count = static_cast<int>(loops[b].size());
      arrays().body_loops.insert(arrays().body_loops.end(), loops[b].begin(), loops[b].end());
    }
  }

  // Bodies of a tree follow each other, its root first.
  void find_trees() {
    auto& bodies = arrays().bodies;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      bodies[b].tree_start = bodies[b].parent < 0 ? static_cast<int>(b) : bodies[bodies[b].parent].tree_start;
      bodies[b].tree_size = 0;
      ++bodies[bodies[b].tree_start].tree_size;
    }
    for (BodyData<double>& body : bodies) {
      const BodyData<double>& root = bodies[body.tree_start];
      body.tree_size = root.tree_size;
      if (&body == &root) {
        body.inverse_start = arrays().inverse_blocks;
        arrays().inverse_blocks += body.tree_size * body.tree_size;
      }
      body.inverse_start = root.inverse_start;
    }
    if (arrays().inverse_blocks > kMaxInverseBlocks) arrays().inverse_blocks = 0;
  }

  void add_joint(int scene_joint) {
    const JointSpec& spec = scene().joints[scene_joint];
    const int index = static_cast<int>(arrays().joints.size());
    model_.joint_of_scene[scene_joint] = index;
    JointData<double> joint{};
    joint.parent = internal(spec.parent), joint.child = internal(spec.child);
    joint.is_ball = spec.kind == JointKind::kBall;
    joint.lock_stiffness = spec.lock_stiffness, joint.lock_damping = spec.lock_damping;
    if (!model_.closes_loop[scene_joint]) {
      arrays().bodies[joint.child].joint = index;
      arrays().bodies[joint.child].parent = joint.parent;
    }

    const Frame X_WC{model_.x[joint.child], model_.q[joint.child]};
    const Frame X_WP = joint.parent < 0 ? Frame{{0, 0, 0}, {}} : Frame{model_.x[joint.parent], model_.q[joint.parent]};
    joint.q_PM0 = math::normalized(math::conjugate(X_WP.q) * X_WC.q);
    const auto to_child = [&](const Vec3d& p) {
      return math::rotate_inverse(model_.q_BC[joint.child], to_vec(p) - model_.p_BC[joint.child]);
    };
    Vec first_anchor{}, last_anchor{};  // slides alone are anchored at the child's centre of mass
    if (spec.axes.empty()) {            // a ball, or a fixed joint
      first_anchor = last_anchor = to_child(spec.anchor);
      const Vec no_slides[3] = {};
      set_slides(joint, no_slides);
    } else {
      add_chain(spec, joint, to_child, first_anchor, last_anchor);
    }
    joint.p_CA = last_anchor;
    joint.p_PA = math::rotate_inverse(X_WP.q, X_WC.p + math::rotate(X_WC.q, first_anchor) - X_WP.p);
    if (spec.holds_pose) hold_pose(spec, joint);
    add_locks(joint);
    add_axes(spec, joint, index);
    arrays().joints.push_back(joint);
  }

  // Of a loop joint: the anchor and the rotation of the child are to be where X_PC has them in the parent.
  void hold_pose(const JointSpec& spec, JointData<double>& joint) {
    const Frame X_PC{to_vec(spec.X_PC.position), to_unit_quat(spec.X_PC.rotation)};
    const Frame X_BC =
        joint.parent < 0 ? Frame{{0, 0, 0}, {}} : Frame{model_.p_BC[joint.parent], model_.q_BC[joint.parent]};
    const Vec anchor = X_PC.p + math::rotate(X_PC.q, to_vec(spec.anchor));
    joint.p_PA = math::rotate_inverse(X_BC.q, anchor - X_BC.p);
    joint.q_PM0 = math::normalized(math::conjugate(X_BC.q) * X_PC.q * model_.q_BC[joint.child]);
  }

  template <typename ToChild>
  void add_chain(const JointSpec& spec, JointData<double>& joint, const ToChild& to_child, Vec& first, Vec& last) {
    Vec slides[3] = {};
    for (const AxisSpec& axis : spec.axes) {
      const Vec direction = math::normalized(math::rotate_inverse(model_.q_BC[joint.child], to_vec(axis.axis)));
      if (axis.kind == AxisKind::kSlide) {
        slides[joint.slide_count++] = direction;
        continue;
      }
      const Vec anchor = to_child(axis.anchor);
      if (joint.hinge_count == 0) {
        first = anchor;
      } else {
        joint.offset[joint.hinge_count - 1] = anchor - last;
      }
      last = anchor;
      joint.hinge[joint.hinge_count++] = direction;
    }
    set_slides(joint, slides);
    if (joint.hinge_count == 1) math::tangent_basis(joint.hinge[0], joint.perpendicular[0], joint.perpendicular[1]);
    if (joint.hinge_count >= 2) {
      joint.axis_dot = math::dot(joint.hinge[0], joint.hinge[1]);
      joint.axis_cross_inverse = 1.0 / math::norm(math::cross(joint.hinge[0], joint.hinge[1]));
    }
  }

  // Locked directions complete the slides to a basis; duals read a slide's coordinate from a displacement.
  static void set_slides(JointData<double>& joint, const Vec (&s)[3]) {
    Vec* lock = joint.translation_lock;
    if (joint.slide_count == 1) {
      joint.slide_dual[0] = s[0];
      math::tangent_basis(s[0], lock[0], lock[1]);
    } else if (joint.slide_count == 2) {
      lock[0] = math::normalized(math::cross(s[0], s[1]));
      const Mat inv = math::inverse(math::transpose(Mat{{s[0], s[1], lock[0]}}));
      joint.slide_dual[0] = inv.row[0], joint.slide_dual[1] = inv.row[1];
    } else if (joint.slide_count == 3) {
      const Mat inv = math::inverse(math::transpose(Mat{{s[0], s[1], s[2]}}));
      for (int k = 0; k < 3; ++k) joint.slide_dual[k] = inv.row[k];
    } else {
      for (int k = 0; k < 3; ++k) lock[k] = Mat::identity().row[k];
    }
  }

  void add_locks(JointData<double>& joint) {
    joint.lock_start = arrays().lock_count;
    joint.translation_lock_count = 3 - joint.slide_count;
    joint.rotation_lock_count = joint.is_ball ? 0 : 3 - joint.hinge_count;
    arrays().lock_count += joint.translation_lock_count + joint.rotation_lock_count;
    arrays().lock_joint.resize(arrays().lock_count, static_cast<int>(arrays().joints.size()));
  }

  void add_axes(const JointSpec& spec, JointData<double>& joint, int index) {
    joint.axis_start = static_cast<int>(arrays().axes.size());
    if (joint.is_ball) {
      joint.has_cone = spec.ball_limited;
      if (spec.ball_damping > 0 || spec.ball_armature > 0 || spec.ball_stiffness > 0 || spec.ball_limited) {
        for (int k = 0; k < 3; ++k) {
          AxisData<double> axis{};
          axis.joint = index, axis.limit = -1, axis.stiffness = spec.ball_stiffness;
          if (k == 0 && spec.ball_limited) {  // the angle is at least 0, and never nearer to the lower bound
            axis.limit = static_cast<int>(arrays().limit_axis.size());
            axis.upper = spec.ball_upper, axis.lower = -spec.ball_upper - 100;
            arrays().limit_axis.push_back(static_cast<int>(arrays().axes.size()));
          }
          axis.damping = spec.ball_damping, axis.armature = spec.ball_armature;
          arrays().axes.push_back(axis);
          friction_loss_.push_back(0);
        }
      }
    }
    for (const AxisSpec& a : spec.axes) {
      AxisData<double> axis{};
      axis.joint = index, axis.limit = -1;
      for_each_axis_number([](double& to, double from) { to = from; }, axis, a);
      bound_motors(a.motors, axis);
      if (a.limited) {
        axis.limit = static_cast<int>(arrays().limit_axis.size());
        arrays().limit_axis.push_back(static_cast<int>(arrays().axes.size()));
      }
      arrays().axes.push_back(axis);
      friction_loss_.push_back(a.friction_loss);
    }
    joint.axis_count = static_cast<int>(arrays().axes.size()) - joint.axis_start;
  }

  // Axis of an actuator, -1 at a site.
  int axis_of(const ActuatorSpec& spec) const {
    if (spec.on_site) return -1;
    if (spec.tendon >= 0) return model_.axis_of_tendon[spec.tendon];
    return model_.arrays.joints[model_.joint_of_scene[spec.joint]].axis_start + spec.axis;
  }

  bool has_friction_row(std::size_t i) const {
    if (like_ == nullptr) return friction_loss_[i] > 0 || model_.arrays.axes[i].static_friction > 0;
    const AxisData<double>& axis = like_->arrays.axes[i];
    return axis.effort_count > 0 && like_->arrays.efforts[axis.effort_start].actuator < 0;
  }

  // Bounded rows of each axis: its dry friction, then its drives with effort limits.
  void add_efforts() {
    for (std::size_t i = 0; i < arrays().axes.size(); ++i) {
      AxisData<double>& axis = arrays().axes[i];
      axis.effort_start = static_cast<int>(arrays().efforts.size());
      if (has_friction_row(i)) arrays().efforts.push_back({static_cast<int>(i), -1, friction_loss_[i]});
      for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
        const ActuatorData<double>& actuator = arrays().actuators[k];
        if (!actuator.effort_limited || actuator.kind == ActuatorKind::kMotor) continue;
        arrays().efforts.push_back({static_cast<int>(i), k, 0.0});
      }
      axis.effort_count = static_cast<int>(arrays().efforts.size()) - axis.effort_start;
    }
  }

  void add_shapes() {
    for (const ShapeSpec& spec : scene().shapes) {
      ShapeData<double> shape{};
      shape.kind = spec.kind, shape.body = internal(spec.body);
      shape.size = to_vec(spec.size);
      Frame X_CS{to_vec(spec.X_BS.position), to_unit_quat(spec.X_BS.rotation)};
      if (shape.body >= 0) {
        const Quat& q_BC = model_.q_BC[shape.body];
        X_CS.p = math::rotate_inverse(q_BC, X_CS.p - model_.p_BC[shape.body]);
        X_CS.q = math::normalized(math::conjugate(q_BC) * X_CS.q);
      }
      shape.p_CS = X_CS.p, shape.q_CS = X_CS.q;
      complete_shape(model_.hulls, spec, shape);
      arrays().shapes.push_back(shape);
    }
  }

  CompiledModel model_;
  const CompiledModel* like_;
  std::vector<double> friction_loss_;  // [axis]
};

}  // namespace

Result<CompiledModel> compile(const SceneSpec& scene) {
  Result<WeldedScene> welded = merge_welds(scene);
  if (!welded.ok()) return welded.error();
  Result<CompiledHulls> hulls = compile_hulls(welded.value().scene.meshes);
  if (!hulls.ok()) return hulls.error();
  add_height_fields(welded.value().scene.height_fields, hulls.value());
  stop_if_asked();
  CompiledModel model = Compiler(std::move(welded).value(), std::move(hulls).value(), nullptr).run();
  add_sensors(scene, model);
  add_adhesions(scene, model);
  add_mocaps(model);
  add_softness(scene, Mobilities(model), model);
  return model;
}

CompiledModel recompile(const CompiledModel& model, const SceneSpec& source, WeldedScene welded,
                        const Mobilities* mobilities) {
  CompiledModel varied = Compiler(std::move(welded), model.hulls, &model).run();
  add_sensors(source, varied);
  add_adhesions(source, varied);
  add_mocaps(varied);
  add_softness(source, mobilities != nullptr ? *mobilities : Mobilities(varied), varied);
  return varied;
}

}  // namespace axion::model
