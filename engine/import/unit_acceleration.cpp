// M⁻¹ J of an actuator in the reference configuration: joint coordinates one by one, M by what hangs on each, factored
// as LᵀDL along the tree (Featherstone 2008, table 6.3), and the armature of tendons as updates of rank one.
#include <cmath>
#include <utility>

#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/model/path_growths.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {
namespace {

using Vec = math::Vec3<double>;

// Entries of M's rows: as many as a chain of two thousand joints has, which takes a second.
constexpr std::size_t kMostEntries = 2'000'000;
constexpr double kLeastMobility = 1e-20;  // 1/kg or 1/(kg m^2): below it nothing moves

// A joint coordinate: how all that hangs on its body turns and moves with it, at the origin of the world.
struct Coordinate {
  int body;
  Vec omega, v;
  double armature;
  int above = -1;         // the coordinate that it hangs on
  std::size_t start = 0;  // of its row of M: the coordinates above it, the first of its tree first, and itself
  std::size_t depth = 1;
};

class JointInertia {
 public:
  explicit JointInertia(const model::SceneSpec& spec) : spec_(spec), hanging_(sum_hanging(spec)) {
    first_.assign(spec.joints.size(), 0);
    last_.assign(spec.bodies.size(), -1);
    for (std::size_t j = 0; j < spec.joints.size(); ++j) {
      first_[j] = static_cast<int>(all_.size());
      list(spec.joints[j]);
    }
    factor();
    for (const model::TendonSpec& tendon : spec.tendons) {
      if (tendon.armature > 0 && is_positive_) add_armature(along(tendon), tendon.armature);
    }
  }

  // |M⁻¹ J| of the actuator's joint or tendon.
  double acceleration(const model::ActuatorSpec& actuator) const {
    std::vector<double> x = along(actuator);
    return solve(x) ? std::sqrt(dot(x, x)) : 0;
  }

  // J M⁻¹ Jᵀ.
  double mobility(const model::ActuatorSpec& actuator) const {
    const std::vector<double> J = along(actuator);
    std::vector<double> x = J;
    return solve(x) ? dot(J, x) : 0;
  }

  double mean_of(int joint, int axis) const {
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
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  void list(const model::JointSpec& joint) {
    const model::Pose X = model::to_pose(spec_.bodies[static_cast<std::size_t>(joint.child)].X_WB);
    int last = joint.parent == model::kWorldBody ? -1 : last_[static_cast<std::size_t>(joint.parent)];
    const auto add = [&](const Vec& omega, const Vec& v, double armature) {
      Coordinate c{joint.child, omega, v, armature, last, entries_, 1};
      if (last >= 0) c.depth += all_[static_cast<std::size_t>(last)].depth;
      entries_ += c.depth;
      last = static_cast<int>(all_.size());
      all_.push_back(c);
    };
    const auto turn = [&](const Vec& n, const Vec& at, double armature) { add(n, math::cross(at, n), armature); };
    const Vec e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (joint.kind == model::JointKind::kFree) {
      for (const Vec& n : e) add({}, n, 0);
      for (const Vec& n : e) turn(n, X.position, 0);
    } else if (joint.kind == model::JointKind::kBall) {
      for (const Vec& n : e) turn(n, X * model::to_vec3(joint.anchor), joint.ball_armature);
    }
    for (const model::AxisSpec& axis : joint.axes) {
      const Vec n = math::rotate(X.rotation, model::to_vec3(axis.axis));
      if (axis.kind == model::AxisKind::kSlide) {
        add({}, n, axis.armature);
      } else {
        turn(n, X * model::to_vec3(axis.anchor), axis.armature);
      }
    }
    last_[static_cast<std::size_t>(joint.child)] = last;
  }

  // J of the actuator's joint or tendon, [coordinate].
  std::vector<double> along(const model::ActuatorSpec& actuator) const {
    if (actuator.tendon >= 0) return along(spec_.tendons[static_cast<std::size_t>(actuator.tendon)]);
    std::vector<double> J(all_.size(), 0.0);
    J[static_cast<std::size_t>(first_[static_cast<std::size_t>(actuator.joint)] + actuator.axis)] = 1;
    return J;
  }

  std::vector<double> along(const model::TendonSpec& tendon) const {
    std::vector<double> J(all_.size(), 0.0);
    for (const model::TendonTermSpec& term : tendon.terms) {
      J[static_cast<std::size_t>(first_[static_cast<std::size_t>(term.joint)] + term.axis)] += term.coefficient;
    }
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

  void factor() {
    if (entries_ > kMostEntries) return;
    rows_.assign(entries_, 0.0);
    for (const Coordinate& c : all_) fill_row(c);
    for (std::size_t k = all_.size(); k-- > 0;) {
      double* own = rows_.data() + all_[k].start;
      const std::size_t last = all_[k].depth - 1;
      if (!(own[last] > 0)) return;
      int above = all_[k].above;
      for (std::size_t p = last; p-- > 0; above = all_[static_cast<std::size_t>(above)].above) {
        double* other = rows_.data() + all_[static_cast<std::size_t>(above)].start;
        const double share = own[p] / own[last];
        for (std::size_t q = 0; q <= p; ++q) other[q] -= share * own[q];
        own[p] = share;
      }
    }
    is_positive_ = true;
  }

  // M + a J Jᵀ, whose inverse is M⁻¹ - a/(1 + a Jᵀ u) u uᵀ with u = M⁻¹ J.
  void add_armature(const std::vector<double>& J, double armature) {
    std::vector<double> u = J;
    solve(u);
    const double share = armature / (1 + armature * dot(J, u));
    updates_.push_back({std::move(u), share});
  }

  // x = M⁻¹ x; false where M is not positive, or is too large to be looked at.
  bool solve(std::vector<double>& x) const {
    if (!is_positive_) return false;
    const std::vector<double> given = x;
    for (std::size_t k = all_.size(); k-- > 0;) {
      const double* own = rows_.data() + all_[k].start;
      int above = all_[k].above;
      for (std::size_t p = all_[k].depth - 1; p-- > 0; above = all_[static_cast<std::size_t>(above)].above) {
        x[static_cast<std::size_t>(above)] -= own[p] * x[k];
      }
    }
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const double* own = rows_.data() + all_[k].start;
      int above = all_[k].above;
      x[k] /= own[all_[k].depth - 1];
      for (std::size_t p = all_[k].depth - 1; p-- > 0; above = all_[static_cast<std::size_t>(above)].above) {
        x[k] -= own[p] * x[static_cast<std::size_t>(above)];
      }
    }
    for (const Update& update : updates_) {
      const double by = update.share * dot(update.u, given);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= by * update.u[i];
    }
    return true;
  }

  // What a coordinate moves, as those above it and its own see it.
  void fill_row(const Coordinate& c) {
    const Hanging& hanging = hanging_[static_cast<std::size_t>(c.body)];
    const Vec momentum = hanging.mass * c.v + math::cross(c.omega, hanging.moment);
    const Vec angular = hanging.inertia * c.omega + math::cross(hanging.moment, c.v);
    const Coordinate* d = &c;
    for (std::size_t p = c.depth; p-- > 0; d = &all_[static_cast<std::size_t>(d->above)]) {
      rows_[c.start + p] = math::dot(d->v, momentum) + math::dot(d->omega, angular);
      if (p == 0) break;
    }
    rows_[c.start + c.depth - 1] += c.armature;
  }

  struct Update {
    std::vector<double> u;
    double share;
  };

  const model::SceneSpec& spec_;
  std::vector<Hanging> hanging_;  // [body]
  std::vector<Coordinate> all_;
  std::vector<int> first_;    // [joint] coordinate
  std::vector<int> last_;     // [body] the coordinate that it moves with, or -1
  std::size_t entries_ = 0;   // of all rows
  std::vector<double> rows_;  // of M, then of L and D
  std::vector<Update> updates_;
  bool is_positive_ = false;
};

}  // namespace

double mean_mobility(const model::SceneSpec& spec, int joint, int axis) {
  return JointInertia(spec).mean_of(joint, axis);
}

math::Vec3<double> turning_mobility(const model::SceneSpec& spec, int joint) {
  const model::JointSpec& of = spec.joints[static_cast<std::size_t>(joint)];
  const model::Pose X_WC = model::to_pose(spec.bodies[static_cast<std::size_t>(of.child)].X_WB);
  return JointInertia(spec).own_of(joint, of.kind == model::JointKind::kFree ? 3 : 0, X_WC.rotation);
}

math::Vec3<double> moving_mobility(const model::SceneSpec& spec, int joint) {
  return JointInertia(spec).own_of(joint, 0, {});
}

double unit_acceleration(const model::SceneSpec& spec, const model::ActuatorSpec& actuator) {
  return std::abs(actuator.gear) * JointInertia(spec).acceleration(actuator);
}

std::vector<double> moved_masses(const model::SceneSpec& spec, const std::vector<std::size_t>& actuators) {
  std::vector<double> masses(actuators.size(), 0.0);
  if (actuators.empty()) return masses;
  const JointInertia inertia(spec);
  for (std::size_t i = 0; i < actuators.size(); ++i) {
    const double mobility = inertia.mobility(spec.actuators[actuators[i]]);
    if (mobility > kLeastMobility) masses[i] = 1 / mobility;
  }
  return masses;
}

}  // namespace axion::import
