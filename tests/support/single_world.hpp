// One world of a scene with its arrays, stepped by a team of the test's choice: the engine without a backend.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/model/batch_view.hpp"
#include "engine/model/compile.hpp"
#include "engine/step/outcome.hpp"
#include "engine/team/serial_team.hpp"
#include "tests/support/compiled_step.hpp"

namespace axion::testing {

template <typename Real>
class SingleWorld {
 public:
  SingleWorld(const model::SceneSpec& scene, const model::SolverOptions& options, double dt)
      : compiled_(compile_or_throw(scene)),
        single_(model::to_float(compiled_.arrays)),
        options_(options),
        settings_(model::make_step_settings<Real>(options, dt)) {
    const model::ModelView<Real> m = model();
    ArraySlot* slot = model::slots(world_).data();
    for (const auto& array : model::declarations<model::WorldView, Real>()) {
      storage_.push_back(std::make_unique<unsigned char[]>(array.bytes(m) + array.element_bytes));
      slot++->place(storage_.back().get(), array.length(m));
    }
    model::suit_settings(m, settings_);
    for (int b = 0; b < m.body_count; ++b) {
      world_.x[b] = math::cast<Real>(compiled_.x[b]);
      world_.q[b] = math::normalized(math::cast<Real>(compiled_.q[b]));
      world_.v[b] = world_.omega[b] = world_.force[b] = world_.torque[b] = {};
      world_.mass_scale[b] = 1;
    }
    world_.friction_scale[0] = 1;
    world_.state_is_new[0] = 1;
    std::fill_n(world_.gain_scale.begin(), m.control_count, Real(1));
    for (int a = 0; a < m.axis_count; ++a) world_.axis_position[a] = m.axes[a].initial_position;
  }

  model::ModelView<Real> model() const {
    if constexpr (sizeof(Real) == sizeof(float)) {  // float itself, or one that counts its operations
      return std::bit_cast<model::ModelView<Real>>(model::batch_view(single_.view(), options_));
    } else {
      return model::batch_view(compiled_.arrays.view(), options_);
    }
  }
  const model::CompiledModel& compiled() const { return compiled_; }
  model::WorldView<Real>& world() { return world_; }
  const model::WorldView<Real>& world() const { return world_; }
  model::StepSettings<Real>& settings() { return settings_; }
  const model::StepRecord& record() const { return *world_.record; }
  bool converged() const { return (record().outcome & step::kConvergedBit) != 0; }

  template <typename Team = team::SerialTeam>
  void step(int count = 1) {
    for (int k = 0; k < count; ++k) step_once(compiled_team(Team{}), model(), world_, settings_);
  }

  // The world with v_at_pose and omega_at_pose of its poses, as a request leaves it. After a step.
  const model::WorldView<Real>& read() {
    synchronise_once(team::SerialTeam{}, model(), world_, settings_);
    return world_;
  }

  // Where the material point of a body is now that was at p_W in the initial poses; bodies as in the scene.
  math::Vec3<double> carried(int body, const math::Vec3<double>& p_W) const {
    const int b = compiled_.internal_body[body];
    return math::cast<double>(world_.x[b]) + math::rotate(rotation(body), p_W - compiled_.x[b]);
  }
  // How a body has turned since its initial pose.
  math::Quat<double> rotation(int body) const {
    const int b = compiled_.internal_body[body];
    return math::normalized(math::cast<double>(world_.q[b]) * math::conjugate(compiled_.q[b]));
  }

  // Linear momentum, N s, and angular momentum about the world's origin, N m s, of all bodies.
  struct Momentum {
    math::Vec3<double> linear{}, angular{};
  };
  Momentum momentum() const {
    Momentum sum;
    const model::ModelView<Real> m = model();
    for (int b = 0; b < m.body_count; ++b) {
      const auto q = math::normalized(math::cast<double>(world_.q[b]));
      const auto p = double(m.bodies[b].mass) * math::cast<double>(world_.v[b]);
      const auto w = math::rotate_inverse(q, math::cast<double>(world_.omega[b]));
      sum.linear += p;
      sum.angular += math::cross(math::cast<double>(world_.x[b]), p) +
                     math::rotate(q, math::scale(math::cast<double>(m.bodies[b].inertia), w));
    }
    return sum;
  }

  // ½uᵀM̃u − Σ m g·x, J.
  double energy() const {
    double e = 0;
    const model::ModelView<Real> m = model();
    for (int b = 0; b < m.body_count; ++b) {
      const auto w = math::cast<double>(math::rotate_inverse(world_.q[b], world_.omega[b]));
      const auto v = math::cast<double>(world_.v[b]), I = math::cast<double>(m.bodies[b].inertia);
      const double mass = m.bodies[b].mass;
      e += 0.5 * mass * math::dot(v, v) + 0.5 * math::dot(w, math::scale(I, w)) -
           mass * math::dot(math::cast<double>(m.gravity), math::cast<double>(world_.x[b]));
    }
    return e;
  }

 private:
  static model::CompiledModel compile_or_throw(const model::SceneSpec& scene) {
    auto result = model::compile(scene);
    if (!result.ok()) throw std::runtime_error(result.error().field + ": " + result.error().message);
    return std::move(result).value();
  }

  model::CompiledModel compiled_;
  model::ModelArrays<float> single_;
  model::SolverOptions options_;
  model::StepSettings<Real> settings_;
  std::vector<std::unique_ptr<unsigned char[]>> storage_;
  model::WorldView<Real> world_{};
};

}  // namespace axion::testing
