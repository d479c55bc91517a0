// A document, and one world that is stepped from it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"

namespace axion::import {

inline void expect_refused(const std::string& xml, const std::string& field, const std::string& part) {
  const Result<ImportedScene> result = import_mjcf(xml);
  ASSERT_FALSE(result.ok()) << xml << " was accepted";
  EXPECT_EQ(result.error().field, field) << result.error().message;
  EXPECT_THAT(result.error().message, ::testing::HasSubstr(part));
}

inline ImportedScene imported(const std::string& xml) {
  Result<ImportedScene> result = import_mjcf(xml);
  EXPECT_TRUE(result.ok()) << result.error().field << ": " << result.error().message << "\n" << xml;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

// One world in float64 from keyframe 0, or the initial state where there is none.
class World {
 public:
  World(const std::string& xml, double dt, const model::SolverOptions& options = {}) {
    Result<std::shared_ptr<const Model>> model = compile_model(imported(xml).scene);
    EXPECT_TRUE(model.ok()) << model.error().message;
    BatchSpec spec;
    spec.model = model.value(), spec.dt = dt;
    spec.options = options;
    spec.options.precision = model::Precision::kFloat64;
    EngineOptions device;
    device.device = "cpu", device.threads = 1;
    engine_ = std::move(create_engine(device)).value();
    batch_ = std::move(engine_->create_batch(spec)).value();
    ResetRequest start;
    start.keyframe = spec.model->info().keyframes.empty() ? -1 : 0;
    EXPECT_TRUE(batch_->reset(start).ok());
  }
  void step(int count, std::vector<double> control = {}) {
    StepRequest request;
    request.batch = batch_.get(), request.step_count = count;
    if (!control.empty()) request.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, 0, 0};
    ASSERT_TRUE(engine_->step({&request, 1}).ok());
  }
  // Steps with mocap bodies at `poses`, [mocap bodies * 7].
  void step_with_mocaps(int count, const std::vector<double>& poses) {
    StepRequest request;
    request.batch = batch_.get(), request.step_count = count;
    request.mocap_pose = {reinterpret_cast<const std::byte*>(poses.data()), DType::kFloat64, 0, 0};
    ASSERT_TRUE(engine_->step({&request, 1}).ok());
  }
  Status set_mocaps(const std::vector<double>& poses) {
    StateUpdate state;
    state.mocap_pose = {reinterpret_cast<const std::byte*>(poses.data()), DType::kFloat64, 0, 0};
    return batch_->set_state({}, state);
  }
  Batch& batch() { return *batch_; }
  void set_activation(std::vector<double> values) {
    StateUpdate state;
    state.activation = {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat64, 0, 0};
    ASSERT_TRUE(batch_->set_state({}, state).ok());
  }
  std::string snapshot() { return batch_->snapshots({}, {}).value().at(0); }
  void set_snapshot(std::string_view snapshot) {
    StateUpdate state;
    state.snapshots = {snapshot};
    ASSERT_TRUE(batch_->set_state({}, state).ok());
  }
  std::vector<double> get(Field field) const {
    std::size_t count = 1;
    for (const std::int64_t n : batch_->field_shape(field)) count *= static_cast<std::size_t>(n);
    std::vector<double> values(count);
    const OutputView out{field, reinterpret_cast<std::byte*>(values.data()), 0, 0};
    EXPECT_TRUE(batch_->get({}, {&out, 1}).ok());
    return values;
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batch> batch_;
};

}  // namespace axion::import
