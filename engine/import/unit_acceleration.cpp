// M⁻¹ J of an actuator in the reference configuration: joint coordinates one by one, M by what hangs on each.
#include <cmath>

#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/model/path_growths.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {
namespace {

using Vec = math::Vec3<double>;

// A joint coordinate: how all that hangs on its body turns and moves with it, at the origin of the world.
struct Coordinate {
  int body;
  Vec omega, v;
  double armature;
};

class Acceleration {
 public:
  explicit Acceleration(const model::SceneSpec& spec) : spec_(spec), hanging_(sum_hanging(spec)) {
    first_.assign(spec.joints.size(), 0);
    above_.assign(spec.bodies.size(), -1);
    for (std::size_t j = 0; j < spec.joints.size(); ++j) {
      first_[j] = static_cast<int>(all_.size());
      list(spec.joints[j]);
      above_[static_cast<std::size_t>(spec.joints[j].child)] = static_cast<int>(j);
    }
  }

  double of(const model::ActuatorSpec& actuator) const {
    if (all_.size() > static_cast<std::size_t>(kMostCoordinates)) return 0;
    std::vector<double> x = along(actuator);
    for (double& value : x) value *= actuator.gear;
    return solve(x) ? std::sqrt(sum_of_squares(x)) : 0;
  }

  double mean_of(int joint, int axis) const {
    if (all_.size() > static_cast<std::size_t>(kMostCoordinates)) return 0;
    const auto j = static_cast<std::size_t>(joint);
    const bool one = spec_.joints[j].kind == model::JointKind::kAxes;
    const int first = first_[j] + (one ? axis : 0);
    const int end = one ? first + 1 : first + (spec_.joints[j].kind == model::JointKind::kFree ? 6 : 3);
    double sum = 0;
    for (int i = first; i < end; ++i) {
      std::vector<double> x(all_.size(), 0.0);
      x[static_cast<std::size_t>(i)] = 1;
      if (!solve(x)) return 0;
      sum += x[static_cast<std::size_t>(i)];
    }
    return sum / (end - first);
  }

  // n^T M⁻¹ n of three coordinates of a joint from `start` on, n each axis of the frame E.
  Vec own_of(int joint, std::size_t start, const math::Quat<double>& E) const {
    Vec own{};
    if (all_.size() > static_cast<std::size_t>(kMostCoordinates)) return own;
    const std::size_t first = static_cast<std::size_t>(first_[static_cast<std::size_t>(joint)]) + start;
    for (int k = 0; k < 3; ++k) {
      Vec e{};
      e[k] = 1;
      const Vec n = math::rotate(E, e);
      std::vector<double> x(all_.size(), 0.0);
      for (int i = 0; i < 3; ++i) x[first + static_cast<std::size_t>(i)] = n[i];
      if (!solve(x)) return {};
      for (int i = 0; i < 3; ++i) own[k] += n[i] * x[first + static_cast<std::size_t>(i)];
    }
    return own;
  }

 private:
  static double sum_of_squares(const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    return sum;
  }

  void list(const model::JointSpec& joint) {
    const model::Pose X = model::to_pose(spec_.bodies[static_cast<std::size_t>(joint.child)].X_WB);
    const auto turn = [&](const Vec& n, const Vec& at, double armature) {
      all_.push_back({joint.child, n, math::cross(at, n), armature});
    };
    const Vec e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (joint.kind == model::JointKind::kFree) {
      for (const Vec& n : e) all_.push_back({joint.child, {}, n, 0});
      for (const Vec& n : e) turn(n, X.position, 0);
    } else if (joint.kind == model::JointKind::kBall) {
      for (const Vec& n : e) turn(n, X * model::to_vec3(joint.anchor), joint.ball_armature);
    }
    for (const model::AxisSpec& axis : joint.axes) {
      const Vec n = math::rotate(X.rotation, model::to_vec3(axis.axis));
      if (axis.kind == model::AxisKind::kSlide) {
        all_.push_back({joint.child, {}, n, axis.armature});
      } else {
        turn(n, X * model::to_vec3(axis.anchor), axis.armature);
      }
    }
  }

  // J of the actuator's joint or tendon, [coordinate].
  std::vector<double> along(const model::ActuatorSpec& actuator) const {
    std::vector<double> J(all_.size(), 0.0);
    const auto add = [&](int joint, int axis, double weight) {
      J[static_cast<std::size_t>(first_[static_cast<std::size_t>(joint)]) + static_cast<std::size_t>(axis)] += weight;
    };
    if (actuator.tendon < 0) {
      add(actuator.joint, actuator.axis, 1);
      return J;
    }
    const model::TendonSpec& tendon = spec_.tendons[static_cast<std::size_t>(actuator.tendon)];
    for (const model::TendonTermSpec& term : tendon.terms) add(term.joint, term.axis, term.coefficient);
    if (tendon.path.empty()) return J;
    const std::vector<model::Row<double>> growths = model::path_growths(spec_, tendon.path);
    std::vector<Vec> force(growths.size()), torque(growths.size());  // at the origin of the world, of all that hangs
    for (std::size_t b = 0; b < growths.size(); ++b) {
      force[b] = growths[b].l;
      torque[b] = growths[b].k_a + math::cross(model::to_vec3(spec_.bodies[b].X_WB.position), growths[b].l);
    }
    for (std::size_t j = spec_.joints.size(); j-- > 0;) {  // children come after their parents
      if (spec_.joints[j].parent == model::kWorldBody) continue;
      const auto child = static_cast<std::size_t>(spec_.joints[j].child);
      const auto parent = static_cast<std::size_t>(spec_.joints[j].parent);
      force[parent] += force[child], torque[parent] += torque[child];
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto b = static_cast<std::size_t>(all_[i].body);
      J[i] += math::dot(all_[i].v, force[b]) + math::dot(all_[i].omega, torque[b]);
    }
    return J;
  }

  // x = M⁻¹ x by Cholesky's M = L Lᵀ; false where M is not positive.
  bool solve(std::vector<double>& x) const {
    const std::size_t n = all_.size();
    std::vector<double> L(n * n, 0.0);
    for (std::size_t e = 0; e < n; ++e) fill_row(e, L);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = L[i * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= L[i * n + k] * L[j * n + k];
        if (i == j && !(sum > 0)) return false;
        L[i * n + j] = i == j ? std::sqrt(sum) : sum / L[j * n + j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
    return true;
  }

  // Of M, the row of coordinate e left of the diagonal: what it moves, as the coordinates above it and its own see it.
  void fill_row(std::size_t e, std::vector<double>& M) const {
    const Coordinate& c = all_[e];
    const Hanging& hanging = hanging_[static_cast<std::size_t>(c.body)];
    const Vec momentum = hanging.mass * c.v + math::cross(c.omega, hanging.moment);
    const Vec angular = hanging.inertia * c.omega + math::cross(hanging.moment, c.v);
    for (int body = c.body; body != model::kWorldBody;) {
      const int joint = above_[static_cast<std::size_t>(body)];
      if (joint < 0) break;
      const auto last = static_cast<std::size_t>(joint) + 1;
      const std::size_t end = last < first_.size() ? static_cast<std::size_t>(first_[last]) : all_.size();
      for (std::size_t d = static_cast<std::size_t>(first_[static_cast<std::size_t>(joint)]); d < end; ++d) {
        if (d <= e) M[e * all_.size() + d] = math::dot(all_[d].v, momentum) + math::dot(all_[d].omega, angular);
      }
      body = spec_.joints[static_cast<std::size_t>(joint)].parent;
    }
    M[e * all_.size() + e] += c.armature;
  }

  const model::SceneSpec& spec_;
  std::vector<Hanging> hanging_;  // [body]
  std::vector<Coordinate> all_;
  std::vector<int> first_;  // [joint] coordinate
  std::vector<int> above_;  // [body] joint
};

}  // namespace

double mean_mobility(const model::SceneSpec& spec, int joint, int axis) {
  return Acceleration(spec).mean_of(joint, axis);
}

math::Vec3<double> turning_mobility(const model::SceneSpec& spec, int joint) {
  const model::JointSpec& of = spec.joints[static_cast<std::size_t>(joint)];
  const model::Pose X_WC = model::to_pose(spec.bodies[static_cast<std::size_t>(of.child)].X_WB);
  return Acceleration(spec).own_of(joint, of.kind == model::JointKind::kFree ? 3 : 0, X_WC.rotation);
}

math::Vec3<double> moving_mobility(const model::SceneSpec& spec, int joint) {
  return Acceleration(spec).own_of(joint, 0, {});
}

double unit_acceleration(const model::SceneSpec& spec, const model::ActuatorSpec& actuator) {
  return Acceleration(spec).of(actuator);
}

}  // namespace axion::import
