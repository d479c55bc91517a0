#include "tests/engine/team/host_step.hpp"

namespace axion::testing {

template <typename Real>
void run_steps_by_block(const HostTeam& team, const step::StepJob<Real>& job, const model::WorldView<Real>& w,
                        int row) {
  step::run_steps(team, job, w, row);
}

template void run_steps_by_block(const HostTeam&, const step::StepJob<float>&, const model::WorldView<float>&, int);
template void run_steps_by_block(const HostTeam&, const step::StepJob<double>&, const model::WorldView<double>&, int);

}  // namespace axion::testing
