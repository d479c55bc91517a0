// WorldModel: the model as one world has it, with the numbers of its own where there are any.
//
// Views of its arrays, and the compiled model behind them, which is compiled anew where a world has numbers of its own
// and a call asks: only placing bodies by joint coordinates or from body frames does.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/backend/engine_model.hpp"
#include "engine/model/vary.hpp"
#include "engine/team/serial_team.hpp"
#include "engine/world/mocap_tables.hpp"

namespace axion::backend {

// Where a compiled model has its bodies, by its own indices: frames of their masses in their own, and first poses.
struct BodyFrames {
  explicit BodyFrames(const model::CompiledModel& compiled)
      : p_BC(compiled.p_BC), q_BC(compiled.q_BC), x(compiled.x), q(compiled.q) {}

  std::vector<math::Vec3<double>> p_BC;
  std::vector<math::Quat<double>> q_BC;
  std::vector<math::Vec3<double>> x;
  std::vector<math::Quat<double>> q;
};

template <typename Real>
class WorldModel {
 public:
  // A world without numbers of its own.
  explicit WorldModel(const EngineModel& engine)
      : engine_(&engine), m(engine.arrays<Real>().view()), user(engine.user<Real>().view()) {}
  // A world with the tables that the views are of, and the row of numbers behind them, which has been varied before.
  WorldModel(const EngineModel& engine, const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
             const model::ModelVariants* variants, const std::vector<double>* row)
      : engine_(&engine), variants_(variants), row_(row), m(m), user(user) {}

  const EngineModel& engine() const { return *engine_; }
  const model::CompiledModel& compiled() const {
    if (row_ == nullptr || row_->empty()) return engine_->compiled();
    if (varied_ == nullptr) {
      varied_ = std::make_shared<const model::CompiledModel>(std::move(variants_->vary(*row_)).value());
    }
    return *varied_;
  }

  // What compiled() would make, made before.
  void know(std::shared_ptr<const model::CompiledModel> varied) { varied_ = std::move(varied); }

  // Has what stands on mocap bodies where these are in `w`. Asked again, the tables follow.
  void stand_on_mocaps(const model::WorldView<Real>& w) {
    if (m.mocap_count == 0) return;
    if (mocaps_ == nullptr) {
      mocaps_ = std::make_shared<MocapCopies>();
      mocaps_->from = m;
      const int joints = m.joint_count + m.spatial_count;  // with those of paths through space
      mocaps_->joints.resize(static_cast<std::size_t>(joints));
      mocaps_->shapes.resize(static_cast<std::size_t>(m.shape_count));
      mocaps_->sensors.resize(static_cast<std::size_t>(m.sensors.count));
      mocaps_->parts.resize(static_cast<std::size_t>(m.sensor_part_count));
    }
    model::WorldView<Real> view = w;
    view.world.mocap_joints = mocaps_->joints.data(), view.world.mocap_shapes = mocaps_->shapes.data();
    view.world.mocap_sensors = mocaps_->sensors.data(), view.world.mocap_sensor_parts = mocaps_->parts.data();
    m = mocaps_->from;
    world::stand_on_mocaps(team::SerialTeam{}, m, view);
  }

 private:
  struct MocapCopies {
    model::ModelView<Real> from;
    std::vector<model::JointData<Real>> joints;
    std::vector<model::ShapeData<Real>> shapes;
    std::vector<model::SensorData<Real>> sensors;
    std::vector<model::SensorPart<Real>> parts;
  };

  std::shared_ptr<MocapCopies> mocaps_;  // null until a call asks
  const EngineModel* engine_;
  const model::ModelVariants* variants_ = nullptr;
  const std::vector<double>* row_ = nullptr;
  mutable std::shared_ptr<const model::CompiledModel> varied_;

 public:
  model::ModelView<Real> m;
  model::UserLayout<Real> user;
};

}  // namespace axion::backend
