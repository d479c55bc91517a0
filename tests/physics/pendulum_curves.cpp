// Prints how the equal double pendulum does under each preset and joint mode, for plot_order.py: lines of CSV,
//   error,<mode>,<h>,<distance of the second centre from its reference at 0.5 s, m>
//   energy,<mode>,<time>,<mean>,<least>,<greatest>   of a hundred steps of 10 ms, as shares of the pendulum's depth
// in float64, solved to rounding.
#include <cstdio>

#include "tests/physics/pendulums.hpp"

namespace axion {
namespace {

struct Mode {
  const char* name;
  model::SolverOptions options;
};

model::SolverOptions velocity_options() {
  model::SolverOptions options = model::make_options(model::Preset::kVelocity);
  options.tolerance = testing::exact_options().tolerance;
  return options;
}

void print_errors(const Mode& mode) {
  for (const double h : {0.05, 0.025, 0.0125, 0.01, 0.005, 0.0025, 0.00125, 0.000625}) {
    const math::Vec3<double> p =
        testing::centre_at<double>(testing::kEqualPendulum.scene(), mode.options, h, testing::kEqualPendulumTime);
    std::printf("error,%s,%g,%.6g\n", mode.name, h,
                testing::distance(p, testing::kEqualPendulumX, testing::kEqualPendulumZ));
  }
}

void print_energy(const Mode& mode) {
  testing::SingleWorld<double> world(testing::kEqualPendulum.scene(), mode.options, 0.01);
  for (int window = 0; window < 100; ++window) {
    double sum = 0, least = 1e9, greatest = -1e9;
    for (int k = 0; k < 100; ++k) {
      const double e = testing::step_and_energy(world) / testing::kEqualPendulum.depth();
      sum += e / 100, least = std::min(least, e), greatest = std::max(greatest, e);
    }
    std::printf("energy,%s,%g,%.6g,%.6g,%.6g\n", mode.name, window + 0.5, sum, least, greatest);
  }
}

}  // namespace
}  // namespace axion

int main() {
  using axion::model::JointMode;
  const axion::Mode modes[] = {{"DEFAULT", axion::testing::exact_options()},
                               {"CURRENT", axion::testing::exact_options(JointMode::kCurrent)},
                               {"LINEARISED", axion::testing::exact_options(JointMode::kLinearised)},
                               {"VELOCITY", axion::velocity_options()}};
  for (const axion::Mode& mode : modes) axion::print_errors(mode);
  for (const axion::Mode& mode : modes) axion::print_energy(mode);
}
