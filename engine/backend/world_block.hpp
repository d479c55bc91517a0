// WorldBlock: what the host does to the block of one world: start it, set its state, read it.
//
// The block is host memory: the batch's own on a CPU, a copy on its way from and to the device on a GPU. Input has been
// checked before (checks.hpp), so nothing here fails.
#pragma once

#include <vector>

#include "engine/backend/kinematics.hpp"
#include "engine/backend/world_model.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::backend {

template <typename Real>
class WorldBlock {
 public:
  // `block` is world_bytes(m).world bytes. The world has the model's numbers, or those of its own.
  WorldBlock(const EngineModel& model, std::byte* block) : WorldBlock(WorldModel<Real>(model), block) {}
  WorldBlock(WorldModel<Real> model, std::byte* block);
  WorldBlock(const WorldBlock&) = delete;
  WorldBlock& operator=(const WorldBlock&) = delete;

  // Parameters without overrides: scales of one, the model's initial poses.
  void set_default_parameters();
  // The initial state, or a keyframe; no warm start, impulses, control, outcome or time.
  void reset(int keyframe);
  // Row `row` of the views in `state`. Poses and velocities that are set forget the impulses of the last step, so that
  // what follows depends on the state alone.
  void set_state(const StateUpdate& state, int row);
  // The world goes on with other numbers: its bodies' frames of mass go over from `from` to `to`. Body frames stay
  // where they are and move as they did, also where centres of mass are others. Forgets the impulses of the last step.
  void change_model(const BodyFrames& from, const BodyFrames& to);
  // Row `row` of [n, nb, 7] to the initial poses.
  void set_initial_poses(const InputView& body_pose, int row);

  const model::WorldView<Real>& view() const { return w_; }
  // The world's model, with what stands on mocap bodies where these are.
  const WorldModel<Real>& model() const { return model_; }
  std::vector<ContactInfo> contacts() const;
  WorldStatistics statistics() const;
  // A field of `count` numbers; all bodies.
  std::vector<double> read_reals(Field field, int count) const;
  BodyStates bodies() const;

 private:
  void set_activation(int i, double value);
  void set_poses(const InputView& view, int row, Array<math::Vec3<Real>> x, Array<math::Quat<Real>> q);
  void set_joints(const double* position, const double* velocity, bool poses_change);
  // [mocap_count * 7]
  void set_mocaps(const std::vector<double>& poses);
  void measure_axes();
  void forget_impulses();

  const EngineModel& engine() const { return model_.engine(); }

  WorldModel<Real> model_;
  const model::ModelView<Real>& m_;  // of model_
  const model::UserLayout<Real> user_;
  model::WorldView<Real> w_;
};

extern template class WorldBlock<float>;
extern template class WorldBlock<double>;

}  // namespace axion::backend
