// step::run_steps by a block of host threads, compiled once for the tests of this folder.
#pragma once

#include "engine/step/run_steps.hpp"
#include "tests/engine/team/host_block.hpp"

namespace axion::testing {

template <typename Real>
void run_steps_by_block(const HostTeam& team, const step::StepJob<Real>& job, const model::WorldView<Real>& w, int row);

}  // namespace axion::testing
