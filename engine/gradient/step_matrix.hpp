// The exact derivative of the step's residuals (step_laws.hpp) by its unknowns, velocities and impulses, at the
// solution, and solutions of its linear system.
//
//   K = [M̃  −J_Fᵀ]      J = J(q⁺)Θ for locks, J(q⁻) for the rest; rows and C of each law by its branch
//       [J    C   ]
//
// It differs from the Newton matrix (problem/linearise.hpp): impulses act along J(q⁻), so that nothing turns within the
// step, and there is no lent inertia, shift, or proximal term. Rows that depend on each other, as of four contacts that
// stick, need a proximal term to have factors; refinement against K itself takes it out again: what bodies do is
// unique, what these rows share out among them is not.
//
// In: an iterate, evaluated, on any number; its values count. Cost: that of the elimination.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/gradient/elimination.hpp"
#include "engine/gradient/step_laws.hpp"

namespace axion::gradient {

inline constexpr double kSmallProximal = 1e-9;  // of a row's scale
inline constexpr int kRefinements = 12;
// Shares of the terms that an equation is summed of, or of kNoTerm of their greatest size: the remainder at which
// refinement ends, and the greatest remainder of a solution that counts.
inline constexpr double kRefined = 1e-11, kMostLeft = 1e-6, kNoTerm = 1e-3;

class StepMatrix {
 public:
  using Column = math::Slopes;

  // False where it has no unique solution.
  bool build(const solver::Problem<Dual>& p) {
    order_unknowns(p);
    elimination_.start(group_);
    entries_.assign(place_.size(), {});
    add_dynamics(p);
    for (int j = 0; j < p.m.joint_count; ++j) add_locks(p, j);
    for (int i = 0; i < p.m.axis_count; ++i) add_axis(p, i);
    for (int t = p.m.tendon_axis_count; t < p.m.tendon_count; ++t) add_equality(p, p.m.tendons[t]);
    for (int i = 0; i < p.contact_count; ++i) add_contact(p, i);
    return elimination_.factorise();
  }

  // Right-hand sides, by unknown, become solutions of K y = b. False where refinement does not come to an end.
  bool solve(std::vector<Column>& b) const {
    std::vector<Column> y(b.size(), Column{}), left = b;
    double worst = 0, before = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < kRefinements; ++pass) {
      std::vector<Column> step(left.size());
      for (std::size_t i = 0; i < left.size(); ++i) step[place_[i]] = left[i];
      elimination_.solve(step);
      double most = 0;
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += step[place_[i]], most = std::max(most, greatest(y[i]));
      worst = 0;
      for (std::size_t r = 0; r < y.size(); ++r) {
        Column sum = b[r];
        double size = greatest(b[r]);
        for (const auto& [column, value] : entries_[r]) {
          const Column term = value * y[column];
          sum -= term;
          size = std::max({size, greatest(term), kNoTerm * std::abs(value) * most});
        }
        left[r] = sum;
        if (size > 0) worst = std::max(worst, greatest(sum) / size);
      }
      if (!(worst > kRefined) || !(worst < before / 2)) break;
      before = worst;
    }
    b = std::move(y);
    return worst <= kMostLeft;
  }

 private:
  using Problem = solver::Problem<Dual>;

  static double greatest(const Column& a) {
    double most = 0;
    for (int i = 0; i < math::kDualLanes; ++i) most = std::max(most, std::abs(a[i]));
    return most;
  }

  // Bodies with the rows of their joint, children before parents, a group each; then what couples more: joints that
  // close loops, equalities, tendons and contacts.
  void order_unknowns(const Problem& p) {
    place_.resize(unknown_count(p));
    group_.clear();
    int group = 0;
    const auto put = [&](std::size_t unknown) { place_[unknown] = group_.size(), group_.push_back(group); };
    for (int b = p.m.body_count - 1; b >= 0; --b, ++group) {
      for (int k = 0; k < 6; ++k) put(static_cast<std::size_t>(6 * b + k));
      if (p.m.bodies[b].joint < 0) continue;
      put_joint(p, p.m.joints[p.m.bodies[b].joint], put);
    }
    for (int j = p.m.joint_count - p.m.loop_count; j < p.m.joint_count; ++j) put_joint(p, p.m.joints[j], put);
    for (int row = p.m.joint_lock_count; row < p.m.lock_count; ++row) put(unknown_of(p, row));
    for (int i = p.m.joint_axis_count; i < p.m.axis_count; ++i) put_axis(p, i, put);
    for (int row = p.contact_base(); row < p.row_count(); ++row) put(unknown_of(p, row));
  }
  template <typename Put>
  void put_joint(const Problem& p, const model::JointData<Dual>& joint, Put&& put) {
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = 0; i < locks; ++i) put(unknown_of(p, joint.lock_start + i));
    for (int i = 0; i < joint.axis_count; ++i) put_axis(p, joint.axis_start + i, put);
  }
  template <typename Put>
  void put_axis(const Problem& p, int i, Put&& put) {
    put(unknown_of(p, p.axis_base() + i));
    solver::for_each_row_of_axis<Dual>(p.m, p.w.limit_side, i, [&](int row, const Dual&) { put(unknown_of(p, row)); });
  }

  void add(std::size_t row, std::size_t column, double value) {
    if (value == 0) return;
    entries_[row].push_back({column, value});
    elimination_.at(place_[row], place_[column]) += value;
  }
  // Of the factors alone.
  void add_proximal(const Problem& p, int row) {
    const std::size_t i = place_[unknown_of(p, row)];
    elimination_.at(i, i) += kSmallProximal * p.w.row_scale[row].value;
  }

  void add_dynamics(const Problem& p) {
    for (int b = 0; b < p.m.body_count; ++b) {
      const auto first = static_cast<std::size_t>(6 * b);
      const double mass = constraints::body_mass<Dual>(p.m, p.w, b).value;
      for (std::size_t k = 0; k < 3; ++k) add(first + k, first + k, mass);
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) {
          add(first + 3 + static_cast<std::size_t>(r), first + 3 + static_cast<std::size_t>(c),
              p.w.I_world[b](r, c).value);
        }
      }
    }
  }

  // The impulse of a row on bodies a and b: -J_Fᵀ.
  void add_impulse(const Problem& p, int row, const model::Row<Dual>& along, int a, int b, double sign = 1) {
    for (int k = 0; k < 3; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const std::size_t column = unknown_of(p, row), of_a = static_cast<std::size_t>(6 * a) + i;
      add(of_a, column, -sign * along.l[k].value), add(of_a + 3, column, -sign * along.k_a[k].value);
      if (b < 0) continue;
      const std::size_t of_b = static_cast<std::size_t>(6 * b) + i;
      add(of_b, column, sign * along.l[k].value), add(of_b + 3, column, -sign * along.k_b[k].value);
    }
  }

  // factor J of `along` into equation `row`; Θ where the row is one of q⁺.
  void add_velocity(const Problem& p, int row, const model::Row<Dual>& along, int a, int b, double factor,
                    bool at_end) {
    const auto turned = [&](const math::Vec3<Dual>& k, int body) {
      if (!at_end) return k;
      const math::Mat3<Dual> turn = constraints::rotate_step_derivative(
          p.s.gyroscopic_mode, p.w.q[body], p.m.bodies[body].inertia, p.w.omega_plus[body], p.s.dt);
      return math::transpose_times(turn, k);
    };
    const std::size_t equation = unknown_of(p, row);
    const auto put = [&](int body, double sign, const math::Vec3<Dual>& k) {
      const math::Vec3<Dual> by_turn = turned(k, body);
      for (int c = 0; c < 3; ++c) {
        const auto column = static_cast<std::size_t>(6 * body + c);
        add(equation, column, factor * sign * along.l[c].value), add(equation, column + 3, factor * by_turn[c].value);
      }
    };
    put(a, 1, along.k_a);
    if (b >= 0) put(b, -1, along.k_b);
  }

  void add_impulse_alone(const Problem& p, int row, double value) {
    add(unknown_of(p, row), unknown_of(p, row), value);
  }

  void add_locks(const Problem& p, int j) {
    const model::JointData<Dual>& joint = p.m.joints[j];
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int row = joint.lock_start; row < joint.lock_start + locks; ++row) {
      add_impulse(p, row, p.w.row_force[row], joint.child, joint.parent);
      add_velocity(p, row, p.w.row[row], joint.child, joint.parent, 1, !solver::has_start_rows(p));
      add_impulse_alone(p, row, p.w.lock_compliance[row].value);
      if (j >= p.m.joint_count - p.m.loop_count) add_proximal(p, row);
    }
  }

  void add_equality(const Problem& p, const model::TendonData<Dual>& equality) {
    const int row = equality.lock;
    const bool at_end = !solver::has_start_rows(p);
    constraints::for_each_term(equality, [&](int k) {
      const model::TendonTermData<Dual>& term = p.m.tendon_terms[k];
      add_impulse(p, row, p.w.tendon_force[k], term.a, term.b);
      add_velocity(p, row, at_end ? p.w.tendon_row[k] : p.w.tendon_force[k], term.a, term.b, 1, at_end);
    });
    add_impulse_alone(p, row, p.w.lock_compliance[row].value);
    add_proximal(p, row);
  }

  // Calls f(row between two bodies, a, b, sign) for what makes a row along axis i: that of a joint, or one for each
  // term of a tendon.
  template <typename F>
  void for_each_part(const Problem& p, int i, int row, F&& f) {
    if (i < p.m.joint_axis_count) {
      const model::JointData<Dual>& joint = p.m.joints[p.m.axes[i].joint];
      return f(p.w.row[row], joint.child, joint.parent, 1.0);
    }
    const double sign = solver::sign_along<Dual>(p.m, p.w.limit_side, i, row).value;
    constraints::for_each_term(constraints::tendon_of_axis<Dual>(p.m, i), [&](int k) {
      f(p.w.tendon_force[k], p.m.tendon_terms[k].a, p.m.tendon_terms[k].b, sign);
    });
  }
  void add_impulse_along(const Problem& p, int i, int row) {
    for_each_part(p, i, row, [&](const model::Row<Dual>& along, int a, int b, double sign) {
      add_impulse(p, row, along, a, b, sign);
    });
  }
  void add_velocity_along(const Problem& p, int i, int row) {
    for_each_part(p, i, row, [&](const model::Row<Dual>& along, int a, int b, double sign) {
      add_velocity(p, row, along, a, b, sign, false);
    });
  }

  // The laws along an axis.
  void add_axis(const Problem& p, int i) {
    const model::AxisData<Dual>& axis = p.m.axes[i];
    const int own = p.axis_base() + i;
    const bool acts = p.w.axis_beta[i] > 0;
    if (acts) add_impulse_along(p, i, own), add_velocity_along(p, i, own);
    add_impulse_alone(p, own, acts ? 1 / p.w.axis_beta[i].value : 1);
    if (axis.limit >= 0) {
      const int row = p.limit_base() + axis.limit;
      add_impulse_along(p, i, row);
      if (presses(p, row)) add_velocity_along(p, i, row);
      add_complementary(p, row, constraints::limit_law<Dual>(p.m, p.w, p.s, axis.limit).compliance.value);
    }
    for (int e = axis.effort_start; e < axis.effort_start + axis.effort_count; ++e) {
      const int row = p.effort_base() + e;
      add_impulse_along(p, i, row);
      if (!is_free(p, e)) {
        add_impulse_alone(p, row, 1);
        continue;
      }
      add_velocity_along(p, i, row);
      add_impulse_alone(p, row, p.w.effort_compliance[e].value);
      if (!(p.w.effort_compliance[e] > 0)) add_proximal(p, row);
    }
  }

  // What the impulse of a unilateral row is to the row itself.
  void add_complementary(const Problem& p, int row, double compliance) {
    add_impulse_alone(p, row, presses(p, row) ? compliance : 1);
    if (presses(p, row)) add_proximal(p, row);
  }

  void add_contact(const Problem& p, int i) {
    const model::Contact<Dual>& c = p.w.contacts[i];
    const int row = p.contact_base() + 3 * i;
    if (presses(p, row)) add_velocity(p, row, p.w.row[row], c.body_a, c.body_b, 1, false);
    add_complementary(
        p, row, constraints::normal_law<Dual>(p.m, p.w, p.s, i, p.w.row_scale[row], p.w.lambda[row]).compliance.value);
    for (int k = 0; k < 3; ++k) add_impulse(p, row + k, p.w.row[row + k], c.body_a, c.body_b);
    const Friction friction = friction_at(p, i);
    if (friction == Friction::kSlides) return add_sliding(p, i);
    for (int k = 1; k < 3; ++k) {
      if (friction == Friction::kNone) {
        add_impulse_alone(p, row + k, 1);
        continue;
      }
      add_velocity(p, row + k, p.w.row[row + k], c.body_a, c.body_b, 1, false);
      add_proximal(p, row + k);
    }
  }

  // By derivatives along the normal impulse, the impulses of friction and the velocities of slip.
  void add_sliding(const Problem& p, int i) {
    const model::Contact<Dual>& c = p.w.contacts[i];
    const int row = p.contact_base() + 3 * i;
    const auto alone = [](const Dual& a, int lane) {
      Dual moved(a.value);
      moved.slope.set(lane, 1);
      return moved;
    };
    const Dual r_t = p.w.row_scale[row + 1].value, normal = alone(p.w.lambda[row], 0);
    Cone cone{Dual(c.friction.value) * normal, {}, Dual(0)};
    Dual impulse[2];
    for (int k = 0; k < 2; ++k) {
      impulse[k] = alone(p.w.lambda[row + 1 + k], 1 + k);
      cone.star[k] = impulse[k] - alone(p.w.residual[row + 1 + k], 3 + k) / r_t;
    }
    cone.size = std::sqrt(cone.star[0] * cone.star[0] + cone.star[1] * cone.star[1]);
    for (int k = 0; k < 2; ++k) {
      const Dual law = r_t * (impulse[k] - cone.radius * cone.star[k] / cone.size);
      for (int n = 0; n < 3; ++n) add(unknown_of(p, row + 1 + k), unknown_of(p, row + n), law.slope[n]);
      for (int t = 0; t < 2; ++t) {
        add_velocity(p, row + 1 + k, p.w.row[row + 1 + t], c.body_a, c.body_b, law.slope[3 + t], false);
      }
    }
  }

  std::vector<std::size_t> place_;  // of each unknown in the order of elimination
  std::vector<int> group_;
  std::vector<std::vector<std::pair<std::size_t, double>>> entries_;  // of K, by equation
  Elimination elimination_;
};

}  // namespace axion::gradient
