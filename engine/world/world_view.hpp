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

template <typename Real, typename Form>
struct WorldView : WorldState<Real, Form>,
                   StepMotion<Real, Form>,
                   constraints::ConstraintRows<Real, Form>,
                   solver::StepSystem<Real, Form> {
  constraints::ConstraintScratch<Real, Form> constraints;
  collide::CollideScratch<Real, Form> collide;
  solver::TreeScratch<Real, Form> tree;
  solver::SweepScratch<Real, Form> sweeps;
  solver::ReferenceScratch<Real, Form> reference;
  solver::NewtonScratch<Real, Form> newton;
  step::StepScratch<Real, Form> step;
  velocity_sync::VelocitySyncScratch<Real, Form> velocity_sync;
  readout::ReadoutScratch<Real, Form> readout;
  world::WorldScratch<Real, Form> world;
};

inline constexpr int kWorldSlots = sizeof(WorldView<float>) / sizeof(ArraySlot);
static_assert(sizeof(WorldView<float>) == sizeof(WorldView<double>));

// Calls f(name, declarations) for each owner of arrays, in the order of their declarations.
template <typename Real, typename F>
void for_each_owner(F&& f) {
  f("state", declarations<WorldState, Real>());
  f("motion", declarations<StepMotion, Real>());
  f("rows", declarations<constraints::ConstraintRows, Real>());
  f("system", declarations<solver::StepSystem, Real>());
  f("constraints", declarations<constraints::ConstraintScratch, Real>());
  f("collide", declarations<collide::CollideScratch, Real>());
  f("tree", declarations<solver::TreeScratch, Real>());
  f("sweeps", declarations<solver::SweepScratch, Real>());
  f("reference", declarations<solver::ReferenceScratch, Real>());
  f("newton", declarations<solver::NewtonScratch, Real>());
  f("step", declarations<step::StepScratch, Real>());
  f("velocity_sync", declarations<velocity_sync::VelocitySyncScratch, Real>());
  f("readout", declarations<readout::ReadoutScratch, Real>());
  f("world", declarations<world::WorldScratch, Real>());
}

}  // namespace axion::model
