// How a round of sweeps is made, as globalisation.hpp chooses it (engine/newton).
#pragma once

#include "engine/contact_solver/parameters.hpp"

namespace axion::solver {

template <typename Real>
struct SweepPlan {
  int count = 0;                                            // sweeps at most
  Real tolerance = Real(SweepParameters::kFirstTolerance);  // where they stop, as a share of each row's tolerance
  Real coarse = 0;        // the same after SweepParameters::kLongSweeps sweeps, where it is more
  Real momentum = 1;      // greatest coefficient of momentum
  bool averaged = false;  // whether impulses are set to their mean over a stretch of sweeps from time to time
  Real proximal = Real(ActiveSetParameters::kProximal);  // of steps on the active set
  bool reuse_factors =
      false;           // whether the factors of the last round in this step serve: poses have hardly moved since
  bool local = false;  // where there are many contacts: whether those that are settled are left out
};

}  // namespace axion::solver
