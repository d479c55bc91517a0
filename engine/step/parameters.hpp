// The numbers that the outcome of a step goes by, each with its unit and what it does.
#pragma once

namespace axion::step {

// The overlaps that a step leaves (overlap.hpp).
struct OverlapOutcomeParameters {
  // Of contact_margin: what turning may add to an overlap in a step.
  static constexpr double kTurnedIn = 0.5;
  // Of the depth that is told of: an overlap that gains no more in a step does not grow.
  static constexpr double kGrowth = 0.1;
};

}  // namespace axion::step
