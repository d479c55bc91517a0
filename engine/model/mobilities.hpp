// J M^-1 J^T of bodies, of axes and of rows over several of them in the reference configuration, M the joint-space
// inertia: what a unit of force or effort accelerates what it acts along by. For softness (compile_softness.cpp), whose
// laws are made of it.
//
// By recursion over the trees: articulated inertias P from the leaves to the roots, then mobilities W from the roots to
// the leaves. With motions S of a body's joint, its parent p and all in the frame of the world,
//
//   U = P S,  D = S^T U + armature,  P_p += P - U D^-1 U^T
//   K = U D^-1,  W = (1 - S K^T) W_p (1 - S K^T)^T + S D^-1 S^T,  (M^-1)_kk = (D^-1 + K^T W_p K)_kk
//
// Source: Featherstone, Rigid Body Dynamics Algorithms, chapter 7; Kreutz-Delgado et al. 1992 for W. Cost: linear in
// bodies, and so is each row. Joints that close loops are left out, as MuJoCo leaves out its equalities.
#pragma once

#include <array>
#include <vector>

#include "engine/math/vec3.hpp"
#include "engine/model/compile.hpp"

namespace axion::model {

class Mobilities {
 public:
  using Spatial = std::array<double, 6>;  // angular, then linear at the origin of the world
  using Spatial6 = std::array<Spatial, 6>;

  // A row of the Jacobian: weights of axes, and what it does to bodies by force, torque and force at the origin of the
  // world.
  struct Row {
    std::vector<double> axis;   // [axis of the model]
    std::vector<Spatial> body;  // [body of the model]
  };

  // The model must outlive it.
  explicit Mobilities(const CompiledModel& model);

  // 1/kg: what a unit of force at point p of a body moves that by, the mean of all directions.
  double of_point(int body, const math::Vec3<double>& p) const;
  // 1/(kg m^2): the same of a unit of torque on a body.
  double of_turn(int body) const;
  double of_axis(int axis) const { return axis_[static_cast<std::size_t>(axis)]; }

  // A row without weights.
  Row empty_row() const;
  double of_row(const Row& J) const;

 private:
  // One freedom of a body's joint: its motion, the armature along it, and its axis among the model's, -1 where it has
  // none.
  struct Freedom {
    Spatial motion;
    double armature;
    int axis;
  };

  void list_freedoms();
  // Of a body alone about the origin of the world.
  Spatial6 own_inertia(std::size_t b) const;
  math::Vec3<double> reference_centre(std::size_t b) const;
  void gather(std::size_t b);
  void spread(std::size_t b);

  const CompiledModel& model_;
  std::vector<std::vector<Freedom>> freedoms_;
  std::vector<std::array<double, 36>> weights_;  // D^-1
  std::vector<std::vector<Spatial>> gains_;      // columns of K
  std::vector<Spatial6> inertia_, mobility_;     // P, W
  std::vector<double> axis_;
};

}  // namespace axion::model
