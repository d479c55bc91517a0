#include "engine/backend/own_worlds.hpp"

#include <numeric>
#include <utility>

#include "engine/backend/text.hpp"

namespace axion::backend {
namespace {

InputView rows_of(const std::vector<double>& values, std::size_t columns) {
  if (columns == 0) return {};
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat64, columns * sizeof(double), 0};
}

std::vector<std::int32_t> worlds_of(const Rows& rows) {
  std::vector<std::int32_t> worlds(rows.count());
  std::iota(worlds.begin(), worlds.end(), 0);
  return worlds;
}

}  // namespace

Result<std::unique_ptr<OwnWorlds>> OwnWorlds::make(Engine& engine, const EngineBatch& batch, int count) {
  BatchSpec spec = batch.spec();
  spec.world_count = count;
  spec.options = tight_options(spec.options);
  spec.started = true;
  auto made = engine.create_batch(spec);
  if (!made.ok()) {
    const Error& error = made.error();
    return Error{error.code, "", text("Beside the batch ", count, " worlds of float64 are stepped. ", error.message)};
  }
  std::unique_ptr<EngineBatch> own(dynamic_cast<EngineBatch*>(made.value().get()));
  if (own == nullptr) return invalid_argument("batch", "The engine is not the batch's.");
  static_cast<void>(made.value().release());  // it is `own` from now on
  return std::unique_ptr<OwnWorlds>(new OwnWorlds(engine, std::move(own), linearisation_sizes(batch.model().info())));
}

Status OwnWorlds::set(const Rows& rows, double time, const std::vector<double>& mocaps) {
  const std::vector<std::int32_t> worlds = worlds_of(rows);
  const std::vector<double> times(rows.count(), time);
  std::vector<double> poses;
  for (std::size_t i = 0; i < rows.count(); ++i) poses.insert(poses.end(), mocaps.begin(), mocaps.end());
  ResetRequest reset;
  reset.world_indices = worlds;
  reset.state.joint_position = rows_of(rows.position, sizes_.nq);
  reset.state.joint_velocity = rows_of(rows.velocity, sizes_.nv);
  reset.state.activation = rows_of(rows.activation, sizes_.na);
  reset.state.mocap_pose = rows_of(poses, sizes_.mocaps);
  reset.state.time = rows_of(times, 1);
  return batch_->reset(reset);
}

Status OwnWorlds::step(Rows& rows, bool senses, bool bodies) {
  const std::vector<std::int32_t> worlds = worlds_of(rows);
  rows.sensors.resize(senses ? rows.count() * sizes_.ny : 0);
  StepRequest request;
  request.batch = batch_.get();
  request.world_indices = worlds;
  request.control = rows_of(rows.control, sizes_.nu);
  const std::size_t nb = batch_->model().info().bodies.size();
  if (!rows.wrench.empty()) request.body_wrench = rows_of(rows.wrench, 6 * nb);
  std::vector<OutputView> outputs;
  const auto wants = [&](Field field, auto& values, std::size_t size) {
    const std::size_t bytes = size * sizeof(values[0]);
    if (bytes > 0) outputs.push_back({field, reinterpret_cast<std::byte*>(values.data()), bytes, bytes});
  };
  wants(Field::kJointPosition, rows.position, sizes_.nq), wants(Field::kJointVelocity, rows.velocity, sizes_.nv);
  wants(Field::kActivation, rows.activation, sizes_.na), wants(Field::kOutcome, rows.outcome, 1);
  if (senses) wants(Field::kSensorData, rows.sensors, sizes_.ny);
  rows.body_pose.resize(bodies ? rows.count() * 7 * nb : 0);
  rows.body_velocity.resize(bodies ? rows.count() * 6 * nb : 0);
  if (bodies) wants(Field::kBodyPose, rows.body_pose, 7 * nb), wants(Field::kBodyVelocity, rows.body_velocity, 6 * nb);
  request.outputs = outputs;
  if (const auto stepped = engine_.step({&request, 1}); !stepped.ok()) return stepped.error();
  auto sets = batch_->active_sets(worlds);
  if (!sets.ok()) return sets.error();
  rows.active_set = std::move(sets).value();
  return {};
}

}  // namespace axion::backend
