// Prints what each linear solver takes on scenes that tell them apart: the figures of
// docs/experiments/0005-linear-solvers.md. Not a test.
//
// Usage: solver_figures [steps]. One world, one thread; the first half of the steps warms up and lets things settle.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "engine/import/mjcf.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/support/published_model.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

using model::LinearSolver;

const char* const kNames[] = {"AUTOMATIC", "PCR_JACOBI", "TREE_DIRECT", "", "PCR_TREE", "TREE_KRYLOV", "DENSE_DIRECT"};

model::SceneSpec humanoid() {
  auto imported = import::import_mjcf(testing::published_model("humanoid.xml"));
  if (!imported.ok()) {
    std::fprintf(stderr, "humanoid.xml: %s\n", imported.error().message.c_str());
    std::exit(1);
  }
  return imported.value().scene;
}

template <typename Real>
void measure(const char* name, const model::SceneSpec& scene, LinearSolver solver, bool symmetric, int steps,
             int linear_iterations = 64) {
  model::SolverOptions options = model::make_options(symmetric ? model::Preset::kAxionSeed : model::Preset::kDefault);
  options.linear_solver = solver;
  options.max_linear_iterations = linear_iterations;
  testing::SingleWorld<Real> world(scene, options, 0.005);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(-0.1, 0.1);
  int converged = 0;
  double newton = 0, linear = 0, seconds = 0, contacts = 0;
  for (int k = 0; k < 2 * steps; ++k) {
    for (int i = 0; i < world.model().control_count; ++i) world.world().control[i] = static_cast<Real>(u(random));
    const std::clock_t start = std::clock();  // of this process, whatever else the machine does
    world.step();
    if (k < steps) continue;
    seconds += double(std::clock() - start) / CLOCKS_PER_SEC;
    converged += world.converged();
    newton += world.record().newton_iterations, linear += world.record().linear_iterations;
    contacts += world.record().contact_count;
  }
  std::printf(
      "%-16s %-7s %-6s %-12s contacts %6.1f  converged %5.1f %%  Newton %5.2f  linear/Newton %6.1f  "
      "ms/step %8.3f  ms/Newton %7.3f\n",
      name, sizeof(Real) == 4 ? "float32" : "float64", symmetric ? "seed" : "default", kNames[int(solver)],
      contacts / steps, 100.0 * converged / steps, newton / steps, newton > 0 ? linear / newton : 0.0,
      1e3 * seconds / steps, newton > 0 ? 1e3 * seconds / newton : 0.0);
  std::fflush(stdout);
}

template <typename Real>
void measure_all(int steps) {
  const LinearSolver pcr[] = {LinearSolver::kPcrJacobi, LinearSolver::kPcrTree, LinearSolver::kTreeDirect};
  for (const LinearSolver s : pcr) measure<Real>("ten boxes", testing::box_stack(10, 1), s, true, steps);
  for (const LinearSolver s : pcr) measure<Real>("chain 1000:1", testing::pendulum_chain(10, 1000), s, true, steps);
  for (const LinearSolver s : pcr) measure<Real>("humanoid", humanoid(), s, true, steps);
  const LinearSolver tree[] = {LinearSolver::kTreeDirect, LinearSolver::kTreeKrylov};
  for (const int count : {5, 10, 20, 40}) {
    const std::string name = std::to_string(count) + " boxes";
    for (const LinearSolver s : tree) measure<Real>(name.c_str(), testing::box_stack(count, 1), s, false, steps);
  }
  for (const LinearSolver s : tree) measure<Real>("humanoid", humanoid(), s, false, steps);
  for (const LinearSolver s : tree) measure<Real>("ring of 12", testing::ring_of_bars(12, true), s, false, steps);
  for (const LinearSolver s : tree) measure<Real>("27 spheres", testing::sphere_pile(3, 3, 0.11), s, false, steps);
  for (const LinearSolver s : tree) measure<Real>("100 spheres", testing::sphere_pile(5, 4, 0.11), s, false, steps / 2);
}

}  // namespace
}  // namespace axion

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  axion::measure_all<double>(steps);
  axion::measure_all<float>(steps);
}
