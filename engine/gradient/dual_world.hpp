// The model and one world on dual numbers: eight directions of change at a time.
//
// The world is the one that a step begins with after a reset: all that a step leaves to the next is zero. In: the
// model's arrays with the numbers of the world, and its state. Cost: that of the arrays.
#pragma once

#include "engine/math/dual.hpp"

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/arrays_view.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/model/convert.hpp"
#include "engine/model/user_layout.hpp"
#include "engine/team/serial_team.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::gradient {

using math::Dual;

// One number at a time, as a dual number is a vector already.
class DualTeam : public team::SerialTeam {
 public:
  static constexpr int kVectorBytes = 0;
};

class DualWorld {
 public:
  DualWorld(const model::ModelArrays<double>& arrays, const model::UserLayout<double>& user,
            const model::SolverOptions& options, double dt)
      : arrays_(model::to_precision<Dual>(arrays)),
        m(model::batch_view(arrays_.view(), options)),
        settings(model::make_step_settings<Dual>(options, dt)),
        user_(user) {
    model::suit_settings(m, settings);
    for (int b = 0; b < m.body_count; ++b) {
      p_BC_.push_back(math::cast<Dual>(user.p_BC[b])), q_BC_.push_back(math::cast<Dual>(user.q_BC[b]));
    }
    const world::WorldBytes bytes = world::world_bytes(m);
    world_bytes_ = bytes.world;
    const std::size_t size = bytes.world + bytes.scratch + world::kBlockAlignment;
    memory_.resize(size);
    void* at = memory_.data();
    std::size_t room = size;
    block_ = static_cast<std::byte*>(std::align(world::kBlockAlignment, bytes.world + bytes.scratch, at, room));
    w = world::bind_world(m, block_, block_ + bytes.world);
  }
  DualWorld(const DualWorld&) = delete;
  DualWorld& operator=(const DualWorld&) = delete;

  // The state and the parameters of a world that was reset, and the controls that it was then stepped with, which the
  // state after the step holds; `wrench` is the step's body_wrench, or empty.
  void load(const model::WorldState<double>& from, const model::WorldState<double>& after,
            std::span<const double> wrench = {}) {
    std::memset(block_, 0, world_bytes_);
    const auto take = [](const auto& to, const auto& values, int count) {
      for (int i = 0; i < count; ++i) to[i] = values[i];
    };
    for (int b = 0; b < m.body_count; ++b) {
      w.x[b] = math::cast<Dual>(from.x[b]), w.q[b] = math::cast<Dual>(from.q[b]);
      w.v[b] = math::cast<Dual>(from.v[b]), w.omega[b] = math::cast<Dual>(from.omega[b]);
      w.force[b] = w.torque[b] = {};
      for (int k = 0; k < 3 && !wrench.empty(); ++k) {
        const auto at = static_cast<std::size_t>(6 * user_.external_body[b] + k);
        w.force[b][k] = wrench[at], w.torque[b][k] = wrench[at + 3];
      }
    }
    take(w.axis_position, from.axis_position, m.axis_count);
    take(w.control, after.control, m.control_count);
    take(w.control + m.control_count, from.control + m.control_count, m.activation_count);
    take(w.mass_scale, from.mass_scale, m.body_count), take(w.friction_scale, from.friction_scale, 1);
    take(w.gain_scale, from.gain_scale, m.control_count);
    for (int i = 0; i < m.mocap_count; ++i) {
      w.mocap_x[i] = math::cast<Dual>(from.mocap_x[i]), w.mocap_q[i] = math::cast<Dual>(from.mocap_q[i]);
    }
    *w.time = *from.time;
    *w.state_is_new = 1;
  }

  model::ModelArrays<Dual>& arrays() { return arrays_; }
  model::UserLayout<Dual> user() const {
    return {user_.joint_count, user_.position_count, user_.velocity_count, user_.external_body,
            p_BC_.data(),      q_BC_.data(),         user_.joints};
  }

 private:
  model::ModelArrays<Dual> arrays_;

 public:
  model::ModelView<Dual> m;
  model::StepSettings<Dual> settings;
  model::WorldView<Dual> w;

 private:
  model::UserLayout<double> user_;
  std::vector<math::Vec3<Dual>> p_BC_;
  std::vector<math::Quat<Dual>> q_BC_;
  std::vector<std::byte> memory_;
  std::byte* block_ = nullptr;
  std::size_t world_bytes_ = 0;
};

}  // namespace axion::gradient
