// Compiled once for each team, AXION_TEAM (CMakeLists.txt).
#include "tests/support/compiled_step.hpp"

#include "engine/team/serial_team.hpp"
#include "engine/world/run_row.hpp"

namespace axion::testing {

template <typename Real, typename Team>
void step_once(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
               const model::StepSettings<Real>& settings) {
  step::step_world(team, m, w, settings);
}

template <typename Real, typename Team>
void synchronise_once(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                      const model::StepSettings<Real>& settings) {
  velocity_sync::synchronise(team, m, w, settings);
}

template <typename Real, typename Team>
void run_steps_of(const Team& team, const step::StepJob<Real>& job, const model::WorldView<Real>& w, int row) {
  step::run_steps(team, job, w, row);
}

template <typename Real, typename Team>
void run_row_of(const Team& team, const step::StepJob<Real>& job, int row, std::byte* scratch) {
  world::run_row(team, job, row, scratch);
}

using CompiledTeam = team::AXION_TEAM;

template void step_once(const CompiledTeam&, const model::ModelView<float>&, const model::WorldView<float>&,
                        const model::StepSettings<float>&);
template void step_once(const CompiledTeam&, const model::ModelView<double>&, const model::WorldView<double>&,
                        const model::StepSettings<double>&);
template void synchronise_once(const CompiledTeam&, const model::ModelView<float>&, const model::WorldView<float>&,
                               const model::StepSettings<float>&);
template void synchronise_once(const CompiledTeam&, const model::ModelView<double>&, const model::WorldView<double>&,
                               const model::StepSettings<double>&);
template void run_steps_of(const CompiledTeam&, const step::StepJob<float>&, const model::WorldView<float>&, int);
template void run_steps_of(const CompiledTeam&, const step::StepJob<double>&, const model::WorldView<double>&, int);
template void run_row_of(const CompiledTeam&, const step::StepJob<float>&, int, std::byte*);
template void run_row_of(const CompiledTeam&, const step::StepJob<double>&, int, std::byte*);

}  // namespace axion::testing
