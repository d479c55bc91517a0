// The joints of a body, in the one order in which every sum over them is made.
#pragma once

#include "engine/model/model_data.hpp"

namespace axion::model {

// Calls f(joint, whether b is its child) with the joints of body b in its joint tree: its own, then those whose parent
// it is.
template <typename Real, typename F>
AXION_HD inline void for_each_tree_joint(const ModelView<Real>& m, int b, F&& f) {
  const BodyData<Real>& body = m.bodies[b];
  if (body.joint >= 0) f(body.joint, true);
  for (int k = 0; k < body.child_joint_count; ++k) f(m.child_joints[body.child_joint_start + k], false);
}

// The same with the joints of body b that close loops.
template <typename Real, typename F>
AXION_HD inline void for_each_loop_joint(const ModelView<Real>& m, int b, F&& f) {
  const BodyData<Real>& body = m.bodies[b];
  for (int k = body.loop_start; k < body.loop_start + body.loop_count; ++k) {
    const int loop = m.body_loops[k];
    f(loop >= 0 ? loop : ~loop, loop >= 0);
  }
}

// The same with all of them, loops last.
template <typename Real, typename F>
AXION_HD inline void for_each_joint(const ModelView<Real>& m, int b, F&& f) {
  for_each_tree_joint(m, b, f);
  for_each_loop_joint(m, b, f);
}

}  // namespace axion::model
