// The view of a model's arrays, for whatever the numbers are.
#pragma once

#include <vector>

#include "engine/model/compile.hpp"

namespace axion::model {

// Shapes of the world that have sides, where it has two shapes or more.
template <typename Real>
int count_standing(const std::vector<ShapeData<Real>>& shapes) {
  int world = 0, standing = 0;
  for (const ShapeData<Real>& shape : shapes) {
    if (shape.body >= 0) continue;
    ++world;
    standing += shape.kind != ShapeKind::kPlane && shape.kind != ShapeKind::kHeightField ? 1 : 0;
  }
  return world > 1 ? standing : 0;
}

template <typename Real>
ModelView<Real> ModelArrays<Real>::view() const {
  ModelView<Real> m{};
  m.body_count = static_cast<int>(bodies.size()), m.joint_count = static_cast<int>(joints.size()) - spatial_count;
  m.axis_count = static_cast<int>(axes.size()), m.lock_count = lock_count;
  m.limit_count = static_cast<int>(limit_axis.size()), m.actuator_count = static_cast<int>(actuators.size());
  m.shape_count = static_cast<int>(shapes.size()), m.pair_count = lists_pairs ? static_cast<int>(pairs.size()) : -1;
  m.effort_count = static_cast<int>(efforts.size()), m.loop_count = loop_count;
  m.first_limit = m.axis_base() + m.axis_count, m.first_effort = m.first_limit + m.limit_count;
  m.first_contact = m.first_effort + m.effort_count;
  m.control_count = control_count, m.contact_capacity = contact_capacity, m.moment_capacity = moment_capacity;
  m.candidate_capacity = candidate_capacity, m.coupling_capacity = coupling_capacity;
  m.inverse_blocks = inverse_blocks;
  m.slack_tendon_count = slack_tendon_count;
  m.tendon_axis_count = tendon_axis_count, m.joint_axis_count = m.axis_count - tendon_axis_count;
  m.tendon_count = static_cast<int>(tendons.size()), m.joint_lock_count = joint_lock_count;
  m.tendon_term_count = static_cast<int>(tendon_terms.size()), m.closing_count = loop_count + m.tendon_count;
  m.tendons = tendons.data(), m.tendon_terms = tendon_terms.data();
  m.condensed_count = static_cast<int>(tendons.size() - node_tendons.size());
  m.condensed_pair_count = static_cast<int>(condensed_pairs.size() / 2);
  m.node_tendons = node_tendons.data(), m.condensed_start = condensed_start.data();
  m.condensed_tendons = condensed_tendons.data(), m.condensed_pairs = condensed_pairs.data();
  m.axis_term_start = axis_term_start.data(), m.axis_terms = axis_terms.data();
  m.spatial_count = spatial_count, m.side_count = static_cast<int>(tendon_sides.size());
  m.tendon_spans = tendon_spans.data(), m.tendon_sides = tendon_sides.data();
  m.body_side_start = body_side_start.data(), m.body_sides = body_sides.data();
  m.gravity = gravity;
  m.body_force_count = static_cast<int>(body_forces.size()), m.body_forces = body_forces.data();
  m.fluid_parts = fluid_parts.empty() ? nullptr : fluid_parts.data(), m.wind = wind;
  m.activation_count = static_cast<int>(activations.size()), m.activations = activations.data();
  for (const auto& activation : activations) m.early_activation_count += activation.is_early ? 1 : 0;
  m.actuator_curves = actuator_curves.data();
  m.adhesion_count = static_cast<int>(adhesions.size()), m.adhesions = adhesions.data();
  m.site_motors = site_motors.data(), m.site_uses = site_uses.empty() ? nullptr : site_uses.data();
  m.bodies = bodies.data(), m.child_joints = child_joints.data(), m.body_loops = body_loops.data();
  m.joints = joints.data();
  m.break_count = static_cast<int>(breaks.size()), m.breaks = breaks.data();
  m.axes = axes.data(), m.actuators = actuators.data(), m.lock_joint = lock_joint.data(),
  m.limit_axis = limit_axis.data();
  m.efforts = efforts.data();
  m.hull_vertices = hull_vertices.data();
  m.shapes = shapes.data(), m.pairs = pairs.data(), m.shape_contacts = shape_contacts.data();
  m.standing_count = count_standing(shapes);
  m.shape_moments = shape_moments.data(), m.pair_moments = pair_moments.data();
  m.surface_motions = surface_motions.empty() ? nullptr : surface_motions.data();
  m.neighbour_start = neighbour_start.data(), m.neighbours = neighbours.data();
  m.exclude_start = exclude_start.data(), m.excludes = excludes.data();
  m.soft_margin = soft_margin, m.softness_rule = softness_rule, m.shape_softness = shape_softness.data();
  m.pair_impedances = pair_impedances.data(), m.limit_impedance = limit_impedance.data();
  m.lock_softness = lock_softness.data(), m.lock_softness_count = static_cast<int>(lock_softness.size());
  m.sensors = {static_cast<int>(sensors.list.size()),
               sensors.size,
               sensors.sensed_size,
               sensors.list.data(),
               sensors.parts.data(),
               sensors.part_list.data(),
               sensors.loops.data()};
  m.mocap_count = static_cast<int>(mocaps.size()), m.mocaps = mocaps.data();
  m.mocap_use_count = static_cast<int>(mocap_uses.size()), m.mocap_uses = mocap_uses.data();
  m.sensor_part_count = static_cast<int>(sensors.parts.size());
  return m;
}

}  // namespace axion::model
