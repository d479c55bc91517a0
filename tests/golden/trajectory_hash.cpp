// The bits of each test scene after some steps by each of the engine's steps that this machine runs: for the baseline
// of its instructions, which a build for tests compiles without optimisation, and for wider ones. Prints a hash of each
// scene, precision and preset; ends with 1 where they differ, with kSkipped where there is one step alone.
#include <cinttypes>
#include <cstdio>

#include "engine/backend/cpu/run_row.hpp"
#include "engine/backend/engine_model.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/step/run_steps.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/support/scenes.hpp"

namespace axion::testing {

constexpr int kSkipped = 77;  // CMakeLists.txt

namespace {

constexpr int kSteps = 100;

// FNV-1a, 64 bits.
std::uint64_t hash(const std::vector<std::byte>& bytes) {
  std::uint64_t h = 14695981039346656037u;
  for (const std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
  return h;
}

template <typename Real>
std::uint64_t hash_after_steps(const backend::EngineModel& model, model::Preset preset,
                               const backend::RowRunner& runner) {
  step::StepJob<Real> job{};
  job.m = model.arrays<Real>().view();
  job.user = model.user<Real>().view();
  job.settings = model::make_step_settings<Real>(model::make_options(preset), 0.005);
  const world::WorldBytes bytes = world::world_bytes(job.m);
  std::vector<std::byte> world(bytes.world), scratch(bytes.scratch), state;
  backend::WorldBlock<Real> block(model, world.data());
  block.set_default_parameters();
  block.reset(-1);
  for (int b = 0; b < job.m.body_count; ++b) block.view().omega[b] = {Real(0.3), Real(-0.2), Real(0.1)};
  StepStatistics statistics;
  job.worlds = world.data(), job.world_count = 1, job.step_count = kSteps, job.statistics = &statistics;
  if constexpr (sizeof(Real) == sizeof(float)) {
    runner.run_narrow(job, 0, scratch.data());
  } else {
    runner.run_wide(job, 0, scratch.data());
  }
  const auto* x = static_cast<const std::byte*>(block.view().x.first());
  const auto* q = static_cast<const std::byte*>(block.view().q.first());
  state.insert(state.end(), x, x + job.m.body_count * sizeof(math::Vec3<Real>));
  state.insert(state.end(), q, q + job.m.body_count * sizeof(math::Quat<Real>));
  return hash(state);
}

// Returns how many of the engine's steps give other bits.
template <typename Real>
int compare(const model::SceneSpec& scene, model::Preset preset, const char* name) {
  const auto model = compile_scene(scene);
  const auto& engine_model = dynamic_cast<const backend::EngineModel&>(*model);
  const std::vector<backend::RowRunner> runners = backend::usable_row_runners();
  const std::uint64_t plain = hash_after_steps<Real>(engine_model, preset, runners.front());
  std::printf("%s float%zu %s %016" PRIx64 "\n", scene.name.c_str(), 8 * sizeof(Real), name, plain);
  int others = 0;
  for (std::size_t k = 1; k < runners.size(); ++k) {
    const std::uint64_t found = hash_after_steps<Real>(engine_model, preset, runners[k]);
    if (found == plain) continue;
    ++others;
    std::printf("  %s gives %016" PRIx64 "\n", runners[k].instruction_set, found);
  }
  return others;
}

model::SceneSpec named(const char* name, model::SceneSpec scene) {
  scene.name = name;
  return scene;
}

// All shapes with torsional and rolling friction.
model::SceneSpec with_moments(model::SceneSpec scene) {
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.cone_dimension = 6, shape.torsional_friction = 0.01, shape.rolling_friction = 0.003;
  }
  return scene;
}

int compare_all() {
  int others = 0;
  for (const model::SceneSpec& scene : {box_and_sphere(), all_joints(), quadruped(), named("heap", heap(27, 0.5)),
                                        named("rolling", with_moments(heap(12, 0.5)))}) {
    for (const bool seed : {false, true}) {
      const model::Preset preset = seed ? model::Preset::kAxionSeed : model::Preset::kDefault;
      others += compare<float>(scene, preset, seed ? "seed" : "default");
      others += compare<double>(scene, preset, seed ? "seed" : "default");
    }
  }
  return others;
}

}  // namespace
}  // namespace axion::testing

int main() {
  if (axion::backend::usable_row_runners().size() < 2) {
    std::puts("this machine runs one of the engine's steps alone");
    return axion::testing::kSkipped;
  }
  return axion::testing::compare_all() == 0 ? 0 : 1;
}
