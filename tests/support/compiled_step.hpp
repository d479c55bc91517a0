// The step by the teams of engine/team/serial_team.hpp, in float and double, compiled once for all tests and programs
// that step worlds without a backend (compiled_step.cpp; link axion_compiled_step).
//
// Instantiated in each of them, the step was most of what a build compiled. Who steps by another team or in other
// numbers specialises step_once for it.
#pragma once

#include <concepts>
#include <cstddef>

#include "engine/model/step_settings.hpp"
#include "engine/team/serial_team.hpp"
#include "engine/world/world_view.hpp"

namespace axion::step {
template <typename Real>
struct StepJob;
}

namespace axion::testing {

// The team as which the step was compiled: one for all orders of loops.
template <typename Team>
auto compiled_team(const Team& team) {
  if constexpr (std::derived_from<Team, team::OrderedTeam>) {
    return team::OrderedTeam(team);
  } else {
    return team;
  }
}

// step::step_world
template <typename Real, typename Team>
void step_once(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
               const model::StepSettings<Real>& settings);

// velocity_sync::synchronise
template <typename Real, typename Team>
void synchronise_once(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                      const model::StepSettings<Real>& settings);

// step::run_steps
template <typename Real, typename Team>
void run_steps_of(const Team& team, const step::StepJob<Real>& job, const model::WorldView<Real>& w, int row);

// world::run_row
template <typename Real, typename Team>
void run_row_of(const Team& team, const step::StepJob<Real>& job, int row, std::byte* scratch);

}  // namespace axion::testing
