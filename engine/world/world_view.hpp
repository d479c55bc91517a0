// WorldView: all arrays of a world, each with its owner.
//
//   w.x         state and parameters (model/world_state.hpp)
//   w.v_plus    what rooms hand on to those right of them within a step: the motion of the bodies
//               (model/step_motion.hpp), rows and laws (constraints/constraint_rows.hpp), the system of equations
//               (problem/step_system.hpp)
//   w.tree.node what a room keeps for itself, under the room's name
//
// Each room lists its own arrays in its own header, once. tests/architecture sees to it that a room names what is its
// own or what a room that it may include hands on, and nothing else.
#pragma once

#include "engine/collide/collide_scratch.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/contact_solver/sweep_scratch.hpp"
#include "engine/model/step_motion.hpp"
#include "engine/newton/newton_scratch.hpp"
#include "engine/problem/step_system.hpp"
#include "engine/readout/readout_scratch.hpp"
#include "engine/reference/reference_scratch.hpp"
#include "engine/step/step_scratch.hpp"
#include "engine/velocity_sync/velocity_sync_scratch.hpp"
#include "engine/world/world_scratch.hpp"

namespace axion::model {

template <typename Real>
struct WorldView : WorldState<Real>, StepMotion<Real>, constraints::ConstraintRows<Real>, solver::StepSystem<Real> {
  constraints::ConstraintScratch<Real> constraints;
  collide::CollideScratch<Real> collide;
  solver::TreeScratch<Real> tree;
  solver::SweepScratch<Real> sweeps;
  solver::ReferenceScratch<Real> reference;
  solver::NewtonScratch<Real> newton;
  step::StepScratch<Real> step;
  velocity_sync::VelocitySyncScratch<Real> velocity_sync;
  readout::ReadoutScratch<Real> readout;
  world::WorldScratch<Real> world;
};

// Calls f(name, struct of arrays) for each owner of arrays.
template <typename Real, typename F>
AXION_HD inline void for_each_owner(WorldView<Real>& w, F&& f) {
  f("state", static_cast<WorldState<Real>&>(w));
  f("motion", static_cast<StepMotion<Real>&>(w));
  f("rows", static_cast<constraints::ConstraintRows<Real>&>(w));
  f("system", static_cast<solver::StepSystem<Real>&>(w));
  f("constraints", w.constraints);
  f("collide", w.collide);
  f("tree", w.tree);
  f("sweeps", w.sweeps);
  f("reference", w.reference);
  f("newton", w.newton);
  f("step", w.step);
  f("velocity_sync", w.velocity_sync);
  f("readout", w.readout);
  f("world", w.world);
}

// Every array of a world: for_each_field of its owners, one after the other.
template <typename Real, typename F>
AXION_HD inline void for_each_field(const ModelView<Real>& m, WorldView<Real>& w, F&& f) {
  for_each_owner(w, [&](const char*, auto& arrays) { for_each_field(m, arrays, f); });
}

}  // namespace axion::model
