// The change v − u that leads to the instant of the poses, along joint trees whose locks are rigid: in coordinates of
// the joints.
//
// The change of a body is that of its parent, carried rigidly, with c, which takes back the part of u that breaks J(q⁺)
// u = 0, and with rates σ of its axes, δ = X δ_P + c + S σ. From the leaves to the roots each body gives its parent its
// inertia and bias:
//
//   I_P += Xᵀ (I − U D⁻¹ W) X,   p_P += Xᵀ (p' − U D⁻¹ (Sᵀ p' + push))
//   U = I S,  W = Sᵀ I,  D = W S + gain,  p' = p − I c
//
// gain and push are the laws of its axes; I holds, beside its mass, the rows of contacts with the world (not symmetric
// where one slides). It is the system of synchronise_whole.hpp without its locks, which are most of its rows: a sixth
// of the work, and exact in J(q⁺) v = 0. For trees that touch the world alone, or each other by few contacts
// (synchronise_links.hpp). In: a step that was accepted. Out: v_plus, omega_plus. Cost: linear in bodies. Source:
// Featherstone 2008, Rigid Body Dynamics Algorithms, chapter 7.
#pragma once

#include "engine/velocity_sync/synchronise_links.hpp"

namespace axion::velocity_sync {

// Whether nothing acts along tendons that have but limits, bounded efforts and motors.
template <typename Real, typename Team>
AXION_HD_RARE bool tendons_are_idle(const Team& team, const solver::Problem<Real>& p) {
  return !(team.template max<Real>(p.m.slack_tendon_count, [&](int t) {
    const model::AxisData<Real>& axis = p.m.axes[p.m.tendons[t].axis];
    const bool pulls = axis.limit >= 0 && p.w.lambda_joint[p.limit_base() + axis.limit] > 0;
    return pulls || axis.actuator_count > 0 || axis.effort_count > 0 ? Real(1) : Real(0);
  }) > 0);
}

// Whether the world is such: joints on trees, whose locks are rigid and complete.
template <typename Real, typename Team>
AXION_HD_CALL bool are_trees(const Team& team, const solver::Problem<Real>& p) {
  if (p.m.joint_count == 0 || p.m.closing_count > p.m.slack_tendon_count) return false;
  if (p.m.slack_tendon_count > 0 && !tendons_are_idle(team, p)) return false;
  return !(team.template max<Real>(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    const int rows = joint.translation_lock_count + joint.rotation_lock_count + constraints::joint_freedoms(joint);
    return rows == 6 && !constraints::gives_way<Real>(p.m, p.w, joint) ? Real(0) : Real(1);
  }) > 0);
}

// gain and push of axis i, the k-th of its body, at rate `rate`: what acts along it, with its limit and efforts, is
// push - gain sigma.
template <typename Real>
AXION_HD inline void set_law(const solver::Problem<Real>& p, const TreeBody<Real>& body, int i, int k, Real rate) {
  const model::AxisData<Real>& axis = p.m.axes[i];
  const OwedAxis<Real> owed = owed_axis(p, i, rate);
  Real gain = 0, push = owed.impulse;
  if (owed.beta > 0) gain = owed.beta, push += owed.alpha - owed.beta * rate;
  if (axis.limit >= 0 && p.w.lambda_joint[p.limit_base() + axis.limit] > 0) {  // keeps its rate
    gain += Real(1) / (solver::joint_proximal<Real>() * p.w.row_scale[p.limit_base() + axis.limit]);
  }
  for (int e = axis.effort_start; e < axis.effort_start + axis.effort_count; ++e) {
    const OwedEffort<Real> effort = owed_effort(p, i, e, rate);
    push += effort.impulse;
    if (!(effort.compliance > 0)) continue;
    gain += Real(1) / effort.compliance;
    push -= (effort.residual + rate) / effort.compliance;
  }
  body.gain()[k] = gain, body.push()[k] = push;
}

// S, c, gain and push of joint j at the end pose.
template <typename Real>
AXION_HD_CALL void set_joint(const solver::Problem<Real>& p, int j) {
  using math::Vec3;
  const auto& w = p.w;
  const model::JointData<Real>& joint = p.m.joints[j];
  const int child = joint.child, parent = joint.parent, hinges = constraints::turn_count(joint),
            first = joint.axis_start + joint.slide_count;
  const TreeBody<Real> body = tree_body(p, child);
  const math::Quat<Real> q_M0 = (parent < 0 ? math::Quat<Real>{} : w.q[parent]) * joint.q_PM0;
  constraints::Chain<Real> chain;
  constraints::turning_axes(p.m, w, joint, q_M0, chain);
  if (joint.is_ball && joint.has_cone) {
    if (p.m.axes[first].armature > 0) {  // as the step had them, along which armature pushed
      for (int k = 0; k < hinges; ++k) chain.a[k] = w.row_start[p.m.axis_base() + first + k].k_a;
    } else {
      Real turn[3];
      constraints::turn_ball(true, q_M0, w.q[child], chain.a, turn);
    }
    for (int k = 0; k < hinges; ++k) chain.dual[k] = chain.a[k];
  }
  const bool planar = hinges == 3 && std::abs(math::dot(chain.a[0], math::cross(chain.a[1], chain.a[2]))) <
                                         Real(constraints::AxisParameters::kLeastDeterminant);
  body.is_lost() = planar ? Real(1) : Real(0);  // as constraints::chain_duals has it
  Vec3<Real> linear = w.v[child],
             angular = w.omega[child];  // of the child as its parent sees it, less what its axes do
  if (parent >= 0) {
    linear -= w.v[parent] + math::cross(w.omega[parent], w.x[child] - w.x[parent]);
    angular -= w.omega[parent];
  }
  const Vec3<Real> turning = angular;
  constraints::for_each_swing(w, joint, chain, [&](int k, const Vec3<Real>& swing) {
    const Real rate = math::dot(chain.dual[k], turning);
    store_pair(body.axis(joint.slide_count + k), swing, chain.a[k]);
    linear -= rate * swing, angular -= rate * chain.a[k];
    if (joint.axis_count > 0) {
      set_law(p, body, first + k, joint.slide_count + k, rate);
    } else {
      body.gain()[k] = body.push()[k] = 0;
    }
  });
  const Vec3<Real> sliding = linear;
  for (int k = 0; k < joint.slide_count; ++k) {
    const Real rate = math::dot(math::rotate(q_M0, joint.slide_dual[k]), sliding);
    const Vec3<Real> along = math::rotate(q_M0, constraints::slide_direction(joint, k));
    store_pair(body.axis(k), along, Vec3<Real>{});
    linear -= rate * along;
    set_law(p, body, joint.axis_start + k, k, rate);
  }
  store_pair(body.change(), -linear, -angular);
  if (parent < 0) return;
  const Vec3<Real> d = w.x[child] - w.x[parent];
  store_pair(body.carry(0), Vec3<Real>{}, Vec3<Real>{0, d.z, -d.y});
  store_pair(body.carry(1), Vec3<Real>{}, Vec3<Real>{-d.z, 0, d.x});
  store_pair(body.carry(2), Vec3<Real>{}, Vec3<Real>{d.y, -d.x, 0});
}

// I and p of body b alone.
template <typename Team, typename Real>
AXION_HD_CALL void set_body(const solver::Problem<Real>& p, int b) {
  const auto& w = p.w;
  const TreeBody<Real> body = tree_body(p, b);
  const Real mass = constraints::body_mass(p.m, w, b), h = w.body_force_debt[b] * p.s.dt;
  const math::Mat3<Real> I = math::rotate_diagonal(math::to_matrix(w.q[b]), constraints::body_inertia(p.m, w, b));
  for (int k = 0; k < 6 * TreeBody<Real>::kWidth; ++k) body.at[k] = 0;
  body.slides() = 0;
  for (int r = 0; r < 3; ++r) {
    body.row(r)[r] = mass;
    for (int c = 0; c < 3; ++c) body.row(3 + r)[3 + c] = I(r, c);
  }
  solver::Impulse<Real> sum;
  add_owed_contacts(p, b, sum);
  for (int k = w.contact_start[b]; k < w.contact_start[b + 1]; ++k) {
    const int i = w.contact_list[k], row = p.contact_base() + 3 * i;
    const Touch touch = noted_touch(p, i);
    const bool acts = i < p.contact_count ? touch != Touch::kNone : moment_holds(p, i);
    if (!acts || links_bodies(p, i)) continue;
    if (i < p.contact_count && touch == Touch::kSlides) body.slides() = 1;
    Real G[9];
    held_gains(p, i, touch, G);
    const bool on_a = w.contacts[i].body_a == b;
    solver::add_product<Team, 3>(w.row + row, G, on_a, on_a, body.at, TreeBody<Real>::kWidth);
  }
  add_owed_forces(p, b, h, sum);
  if (p.m.fluid_parts != nullptr) {
    const auto fluid = constraints::fluid_impulse_on(p.m, w, b, h, w.v[b] + h * p.m.gravity, w.omega[b]);
    sum.linear += fluid.linear, sum.angular += fluid.angular;
  }
  store_pair(body.row(6), sum.linear + h * (mass * p.m.gravity + w.force_before[b]),
             sum.angular + h * w.torque_before[b]);
}

// D⁻¹ times what is along n axes of a body, by elimination without exchanges: gains and inertias are positive.
template <typename Team, int n, typename Real>
AXION_HD AXION_INLINED inline void divide_axes(const TreeBody<Real>& body) {
  constexpr int parts = row_parts<Team, Real>();
  Real D[n][n], push[n];
  lanes::for_constants<n>([&](auto r) AXION_INLINED {
    push[r] = body.push()[r] + dot_six(body.axis(r), body.row(6));
    lanes::for_constants<n>([&](auto c) AXION_INLINED { D[r][c] = dot_six(body.along(r), body.axis(c)); });
    D[r][r] += body.gain()[r];
    for (int part = 0; part < parts; ++part)
      store_part<Team>(body.turned(r), part, load_part<Team>(body.axis(r), part));
  });
  lanes::for_constants<n>([&](auto k) AXION_INLINED {
    constexpr int pivot = k;
    const Real inverse = Real(1) / D[k][k];
    for (int c = k + 1; c < n; ++c) D[k][c] *= inverse;
    push[k] *= inverse;
    for (int part = 0; part < parts; ++part) {
      store_part<Team>(body.along(k), part, inverse * load_part<Team>(body.along(k), part));
      store_part<Team>(body.turned(k), part, inverse * load_part<Team>(body.turned(k), part));
    }
    lanes::for_constants<n>([&](auto r) AXION_INLINED {
      if constexpr (decltype(r)::value != pivot) {
        const Real factor = D[r][k];
        for (int c = pivot + 1; c < n; ++c) D[r][c] -= factor * D[pivot][c];
        push[r] -= factor * push[pivot];
        for (int part = 0; part < parts; ++part) {
          store_part<Team>(body.along(r), part,
                           load_part<Team>(body.along(r), part) - factor * load_part<Team>(body.along(pivot), part));
          store_part<Team>(body.turned(r), part,
                           load_part<Team>(body.turned(r), part) - factor * load_part<Team>(body.turned(pivot), part));
        }
      }
    });
  });
  for (int k = 0; k < n; ++k) body.push()[k] = push[k];
}

// W, U and p' of a body with n axes.
template <int n, typename Real, typename Team>
AXION_HD AXION_INLINED inline void meet_axes(const Team& team, const TreeBody<Real>& body) {
  constexpr int parts = row_parts<Team, Real>();
  const bool symmetric = body.slides() == Real(0);
  team.for_each(parts, [&](int part) AXION_INLINED {
    lanes::for_constants<n + 1>([&](auto k) AXION_INLINED {
      constexpr int column = decltype(k)::value;
      const Real* factors = column < n ? body.axis(column) : body.change();
      auto sum = factors[0] * load_part<Team>(body.row(0), part);
      lanes::for_constants<5>(
          [&](auto r) AXION_INLINED { sum = sum + factors[r + 1] * load_part<Team>(body.row(r + 1), part); });
      if constexpr (column < n) {
        store_part<Team>(body.along(k), part, sum);
        if (symmetric) store_part<Team>(body.against(k), part, sum);
      } else {
        if (symmetric) store_part<Team>(body.row(6), part, load_part<Team>(body.row(6), part) - sum);
      }
    });
  });
  if (symmetric) return;
  team.for_each(solver::kPanelWidth, [&](int r) {
    for (int k = 0; k < n; ++k) body.against(k)[r] = r < 6 ? dot_six(body.row(r), body.axis(k)) : Real(0);
    if (r < 6) body.row(6)[r] -= dot_six(body.row(r), body.change());
  });
}

// Gives the parent of a body with n axes, d away, what the body is to an impulse.
template <int n, typename Real, typename Team>
AXION_HD AXION_INLINED inline void pass_on(const Team& team, const TreeBody<Real>& body, const TreeBody<Real>& to,
                                           const math::Vec3<Real>& d) {
  constexpr int parts = row_parts<Team, Real>();
  team.for_each(parts, [&](int part) AXION_INLINED {
    lanes::for_constants<7>([&](auto r) AXION_INLINED {
      auto row = load_part<Team>(body.row(r), part);
      lanes::for_constants<n>([&](auto k) AXION_INLINED {
        row = r < 6 ? row - body.against(k)[r] * load_part<Team>(body.along(k), part)
                    : row - body.push()[k] * load_part<Team>(body.against(k), part);
      });
      store_part<Team>(body.row(r), part, row);
    });
  });
  team.for_each(parts, [&](int part) AXION_INLINED {
    lanes::Pack<Real, row_lanes<Team, Real>()> row[7];  // carried to the parent
    lanes::for_constants<7>([&](auto r) AXION_INLINED {
      row[r] = load_part<Team>(body.row(r), part);
      lanes::for_constants<3>(
          [&](auto k) AXION_INLINED { row[r] = row[r] + body.row(r)[k] * load_part<Team>(body.carry(k), part); });
    });
    lanes::for_constants<7>([&](auto r) AXION_INLINED {
      auto sum = load_part<Team>(to.row(r), part) + row[r];
      constexpr int number = decltype(r)::value;
      if constexpr (number >= 3 && number < 6) {
        constexpr int i = (r - 2) % 3, k = (r - 1) % 3;  // those after r - 3
        sum = sum + (d[i] * row[k] - d[k] * row[i]);
      }
      store_part<Team>(to.row(r), part, sum);
    });
  });
  team.for_each(1, [&](int) {
    if (body.slides() > 0) to.slides() = 1;
  });
}

// Gives the parent of body b, if any, what b is to an impulse; leaves in `along` what its axes make of their parent's
// change.
template <typename Real, typename Team>
AXION_HD_CALL void pass_to_parent(const Team& team, const solver::Problem<Real>& p, int b) {
  const int axes = constraints::joint_freedoms(p.m.joints[p.m.bodies[b].joint]), parent = p.m.bodies[b].parent;
  const TreeBody<Real> body = tree_body(p, b);
  const auto pass = [&](auto n) {
    meet_axes<n>(team, body);
    if constexpr (decltype(n)::value > 0) team.for_each(1, [&](int) AXION_INLINED { divide_axes<Team, n>(body); });
    if (parent >= 0) pass_on<n>(team, body, tree_body(p, parent), p.w.x[b] - p.w.x[parent]);
  };
  if (axes == 1) return pass(std::integral_constant<int, 1>{});
  if (axes == 2) return pass(std::integral_constant<int, 2>{});
  if (axes == 3) return pass(std::integral_constant<int, 3>{});
  pass(std::integral_constant<int, 0>{});
}

// The change of a root without a joint.
template <typename Real, typename Team>
AXION_HD_CALL void solve_root(const Team& team, const solver::Problem<Real>& p, int b) {
  const TreeBody<Real> body = tree_body(p, b);
  for (int k = 0; k < 5; ++k) {
    const Real inverse = Real(1) / body.row(k)[k];
    team.for_each(5 - k, [&](int i) {
      const int r = k + 1 + i;
      const Real factor = body.row(r)[k] * inverse;
      for (int c = k + 1; c < 6; ++c) body.row(r)[c] -= factor * body.row(k)[c];
      body.row(6)[r] -= factor * body.row(6)[k];
      body.row(r)[k] = factor;  // for further right-hand sides
    });
  }
  team.for_each(1, [&](int) {
    Real* change = body.change();
    for (int k = 5; k >= 0; --k) {
      Real left = body.row(6)[k];
      for (int c = k + 1; c < 6; ++c) left -= body.row(k)[c] * change[c];
      change[k] = left / body.row(k)[k];
    }
  });
}

// The change of body b from that of its parent.
template <typename Real>
AXION_HD inline void change_body(const solver::Problem<Real>& p, int b) {
  const auto& w = p.w;
  const TreeBody<Real> body = tree_body(p, b);
  Real* change = body.change();
  if (p.m.bodies[b].joint < 0) return;
  const int n = constraints::joint_freedoms(p.m.joints[p.m.bodies[b].joint]), parent = p.m.bodies[b].parent;
  Real before[solver::kPanelWidth] = {};
  if (parent >= 0) {
    const Real* of = tree_body(p, parent).change();
    const math::Vec3<Real> turn{of[3], of[4], of[5]};
    store_pair(before, math::Vec3<Real>{of[0], of[1], of[2]} + math::cross(turn, w.x[b] - w.x[parent]), turn);
  }
  for (int c = 0; c < 6; ++c) change[c] += before[c];
  for (int k = 0; k < n; ++k) {
    const Real rate = body.push()[k] - dot_six(body.along(k), before);
    for (int c = 0; c < 6; ++c) change[c] += rate * body.axis(k)[c];
  }
}

// v_plus, omega_plus at the instant of the poses; `links` are no more than kMostLinks. False where coordinates do not
// serve: hinges of a joint have lost a freedom.
template <typename Real, typename Team>
AXION_HD_CALL bool synchronise_trees(const Team& team, const solver::Problem<Real>& p, const TreeLinks& links) {
  team.for_each(p.m.body_count, [&](int b) {
    set_body<Team>(p, b);
    if (p.m.bodies[b].joint >= 0) set_joint(p, p.m.bodies[b].joint);
  });
  if (team.template max<Real>(p.m.joint_count, [&](int j) { return tree_body(p, p.m.joints[j].child).is_lost(); }) > 0)
    return false;
  for (int b = p.m.body_count - 1; b >= 0; --b) {  // parents come first
    p.m.bodies[b].joint >= 0 ? pass_to_parent(team, p, b) : solve_root(team, p, b);
  }
  team.for_each(1, [&](int) {
    for (int b = 0; b < p.m.body_count; ++b) change_body(p, b);
  });
  if (links.count > 0) hold_links(team, p, links);
  team.for_each(p.m.body_count, [&](int b) {
    const Real* change = tree_body(p, b).change();
    p.w.v_plus[b] = p.w.v[b] + math::Vec3<Real>{change[0], change[1], change[2]};
    p.w.omega_plus[b] = p.w.omega[b] + math::Vec3<Real>{change[3], change[4], change[5]};
  });
  return true;
}

}  // namespace axion::velocity_sync
