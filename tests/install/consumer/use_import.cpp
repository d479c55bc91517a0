#include <iostream>

#include "engine/import/mjcf.hpp"
#include "engine/model/compile.hpp"

int main() {
  const auto scene = axion::import::import_mjcf(
      "<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom type='sphere' size='.1'/></body></worldbody></mujoco>");
  const auto model = axion::model::compile(scene.value().scene);
  std::cout << model.value().arrays.bodies.size() << " body\n";
  return model.value().arrays.bodies.size() == 1 ? 0 : 1;
}
