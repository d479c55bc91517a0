// For tests of sensors: a world whose sensors are read by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "tests/engine/backend/scenes.hpp"

namespace axion::testing {

using Numbers = std::vector<double>;
inline constexpr double kGravity = 9.81;

// A world of an MJCF document, its sensors by name.
class Sensing {
 public:
  explicit Sensing(const std::string& xml, double dt = 0.002, int worlds = 1,
                   model::Precision precision = model::Precision::kFloat64)
      : Sensing(take(import::import_mjcf(xml, {})).scene, dt, worlds, precision) {}
  Sensing(const model::SceneSpec& scene, double dt, int worlds = 1,
          model::Precision precision = model::Precision::kFloat64)
      : model_(compile_scene(scene)), engine_(cpu_engine()) {
    BatchSpec spec = batch_spec(model_, worlds, precision);
    spec.dt = dt;
    batch_ = take(engine_->create_batch(spec));
  }

  Numbers operator()(const std::string& name, int world = 0) const {
    const Numbers all = read(*batch_, Field::kSensorData, {world});
    for (const SensorInfo& sensor : model_->info().sensors) {
      if (sensor.name == name) return {all.begin() + sensor.start, all.begin() + sensor.start + sensor.size};
    }
    throw std::runtime_error("no sensor " + name);
  }
  double scalar(const std::string& name) const { return (*this)(name).at(0); }
  void run(int steps, const Numbers& control = {}) { step(*engine_, *batch_, steps, control); }
  Batch& batch() { return *batch_; }
  Engine& engine() { return *engine_; }
  const ModelInfo& info() const { return model_->info(); }
  void set(const Numbers& position, const Numbers& velocity) {
    StateUpdate state;
    state.joint_position = input(position, static_cast<int>(position.size()));
    state.joint_velocity = input(velocity, static_cast<int>(velocity.size()));
    check(batch_->set_state({}, state));
  }

 private:
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batch> batch_;
};

inline void expect_near(const Numbers& a, const Numbers& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << what << ", number " << i;
}

}  // namespace axion::testing
