// run_steps: k steps of one world, with its inputs, its records and its statistics; the same on every backend.
//
// A StepJob is one request as plain data: the model, the arrays of the batch and where inputs come from and outputs go.
// Row i of a job is the i-th world that the request asks for. Called by a backend with a team for each row; rows touch
// nothing of each other, so they run in any order and at once. Cannot fail: a world that becomes non-finite freezes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/client_array.hpp"
#include "engine/model/own_tables.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/model/step_statistics.hpp"
#include "engine/readout/joint_impulses.hpp"
#include "engine/readout/sense.hpp"
#include "engine/readout/write_field.hpp"
#include "engine/step/step_world.hpp"
#include "engine/velocity_sync/synchronise.hpp"

namespace axion::world {
struct WorldLayout;
}

namespace axion::step {

// Value (i, t, j) is at data + i world_stride + t step_stride + j elements; data null: absent.
struct JobInput {
  const std::byte* data = nullptr;
  bool is_float64 = false;
  std::size_t world_stride = 0, step_stride = 0;  // bytes
};

// Record r of row i goes to data + i world_stride + r record_stride.
struct JobOutput {
  Field field = Field::kBodyPose;
  std::byte* data = nullptr;
  std::size_t world_stride = 0, record_stride = 0;  // bytes
};

inline constexpr int kMaxJobOutputs = 2 * kFieldCount;

template <typename Real>
struct StepJob {
  model::ModelView<Real> m;
  model::UserLayout<Real> user;
  model::StepSettings<Real> settings;
  model::OwnTables own;                         // numbers that worlds have in place of the model's
  std::byte* worlds = nullptr;                  // world blocks of the batch (world/world_layout.hpp)
  std::size_t world_stride = 0;                 // bytes
  const world::WorldLayout* layout = nullptr;   // of their arrays; null: it is worked out for each row
  const std::int32_t* world_indices = nullptr;  // [world_count], or null: all in order
  int world_count = 0;
  int step_count = 1;
  int record_every = 0;  // 0: one record after the last step
  JobInput control;      // [nu]
  JobInput wrench;       // [nb, 6], user's order of bodies; held
  JobInput mocap;        // [mocap_count, 7]; held
  JobOutput outputs[kMaxJobOutputs];
  int output_count = 0;
  StepStatistics* statistics = nullptr;  // [world_count]
  std::int64_t* step_index = nullptr;    // [world_count] after the last step
};

template <typename Real>
AXION_HD inline Real load(const JobInput& input, const std::byte* row, int i) {
  return input.is_float64 ? static_cast<Real>(load_element<double>(row, i))
                          : static_cast<Real>(load_element<float>(row, i));
}

template <typename Real, typename Team>
AXION_HD inline void load_control(const Team& team, const StepJob<Real>& job, const model::WorldView<Real>& w, int row,
                                  int step) {
  const std::byte* data = job.control.data + row * job.control.world_stride + step * job.control.step_stride;
  team.for_each(job.m.control_count, [&](int i) { w.control[i] = load<Real>(job.control, data, i); });
}

template <typename Real, typename Team>
AXION_HD inline void load_wrench(const Team& team, const StepJob<Real>& job, const model::WorldView<Real>& w, int row) {
  const std::byte* data = job.wrench.data == nullptr ? nullptr : job.wrench.data + row * job.wrench.world_stride;
  team.for_each(job.m.body_count, [&](int b) {
    w.force[b] = w.torque[b] = math::Vec3<Real>{};
    if (data == nullptr) return;
    const int start = 6 * job.user.external_body[b];
    for (int k = 0; k < 3; ++k) {
      w.force[b][k] = load<Real>(job.wrench, data, start + k);
      w.torque[b][k] = load<Real>(job.wrench, data, start + 3 + k);
    }
  });
}

template <typename Real, typename Team>
AXION_HD inline void write_records(const Team& team, const StepJob<Real>& job, const model::WorldView<Real>& w, int row,
                                   int record) {
  for (int k = 0; k < job.output_count; ++k) {
    const JobOutput& output = job.outputs[k];
    readout::write_field(team, job.m, job.user, w, output.field,
                         output.data + row * output.world_stride + record * output.record_stride);
  }
}

// Whether a record holds velocities, which are then made for it.
template <typename Real>
AXION_HD inline bool outputs_velocities(const StepJob<Real>& job) {
  for (int k = 0; k < job.output_count; ++k) {
    const Field field = job.outputs[k].field;
    if (field == Field::kBodyVelocity || field == Field::kJointVelocity) return true;
    if (field == Field::kSensorData || field == Field::kActuatorForce) return true;
  }
  return false;
}

// Steps one world; `w` is its view, with scratch of the team's own.
template <typename Real, team::Team Team>
AXION_HD inline void run_steps(const Team& team, const StepJob<Real>& job, const model::WorldView<Real>& w, int row) {
  StepStatistics* statistics = job.statistics + row;
  bool frozen = (*w.outcome & kNonFinite) != 0;
  team.for_each(1, [&](int) {
    *statistics = StepStatistics{};
    if (!frozen) *w.outcome = 0;
  });
  load_wrench(team, job, w, row);
  for (int step = 0; step < job.step_count; ++step) {
    const bool last = step + 1 == job.step_count;
    const bool records = job.record_every > 0 ? (step + 1) % job.record_every == 0 : last;
    if (!frozen) {
      if (job.control.data != nullptr) load_control(team, job, w, row, step);
      const std::uint32_t before = *w.outcome;
      const bool senses = job.m.sensors.sensed_size > 0 && (records || last);
      if (senses) readout::begin_sensing(team, job.m, w);
      step_world(team, job.m, w, job.settings);
      const std::uint32_t bits = w.record->outcome;
      frozen = (bits & kNonFinite) != 0;
      team.for_each(1, [&](int) {
        const std::uint32_t converged = step == 0 ? bits : (before & bits);
        *w.outcome = ((before | bits) & ~std::uint32_t(kConverged)) | (converged & kConverged);
        statistics->count(*w.record, static_cast<double>(constraints::greatest_easing(job.m, w)));
      });
      if (!frozen && job.m.break_count > 0) readout::note_break_ratios(team, job.m, w);
      if (!frozen && (records || last)) readout::keep_joint_impulses(team, job.m, w);
      if (!frozen && senses) readout::end_sensing(team, job.m, w, job.settings);
      if (!frozen && (last || (records && outputs_velocities(job))))
        velocity_sync::synchronise(team, job.m, w, job.settings);
    }
    if (records) write_records(team, job, w, row, job.record_every > 0 ? step / job.record_every : 0);
  }
  team.for_each(1, [&](int) {
    if (job.step_index != nullptr) job.step_index[row] = *w.step_index;
  });
}

}  // namespace axion::step
