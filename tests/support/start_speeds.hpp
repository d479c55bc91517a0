// How fast bodies become from a start: in the first second without controls, beside the same second without contacts
// and equalities.
//
// From no start may a body be faster than it is without them by more than 3 (sqrt(2 g size) + depenetration_velocity):
// what falls by its own size is as fast as that, and overlap is worked off at the other. Size is the longest side of
// what a body collides with, along the axes of its frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace axion::testing {

struct StartSpeeds {
  std::string body;               // the one furthest above, or least below, what is allowed
  double speed = 0, allowed = 0;  // m/s, of that
  double converged = 1;           // share of the steps
  double joint_error = 0;         // m
  std::string refused;            // why there is no run
  bool held() const { return refused.empty() && speed <= allowed; }
};

// Joint coordinates of start `index`: those of the reset, and from 1 on coordinates drawn at random: within limits, or
// within a turn or 0.2 m of the reset; free bodies turned at random and put up to twice their size lower.
std::vector<double> draw_start(const ModelInfo& model, const std::vector<double>& reset, int index);

// Steps `scene` from start `index` for a second with the options, and again without contacts and equalities.
StartSpeeds measure_start(const model::SceneSpec& scene, const model::SolverOptions& options, double dt, int index);

}  // namespace axion::testing
