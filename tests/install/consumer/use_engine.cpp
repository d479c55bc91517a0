#include <iostream>

#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"

int main() {
  const auto scene = axion::import::import_mjcf(
      "<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom type='sphere' size='.1'/></body></worldbody></mujoco>");
  if (!scene.ok()) return 1;
  const auto model = axion::compile_model(scene.value().scene);
  const auto engine = axion::create_engine({.device = "cpu"});
  if (!model.ok() || !engine.ok()) return 1;
  axion::BatchSpec spec;
  spec.model = model.value();
  const auto batch = engine.value()->create_batch(spec);
  if (!batch.ok()) return 1;
  axion::StepRequest request;
  request.batch = batch.value().get();
  request.step_count = 10;
  const auto steps = engine.value()->step({&request, 1});
  std::cout << (steps.ok() ? steps.value().world_steps : 0) << " steps\n";
  return steps.ok() && steps.value().world_steps == 10 ? 0 : 1;
}
