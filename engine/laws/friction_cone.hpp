// The law of a contact: its normal row a limit (limit.hpp), friction within the disc of radius μ λ_n.
//
//   alone    λ_n⁺ = max(0, λ_n − v_n / (G_nn + p)), then friction by solve_disc_alone
//   active   sticks: λ_n > 0 and |λ_t| below its share of the cone, or friction that opposes no slip: three unknowns
//            slides: two, the normal impulse with friction along its direction, and friction across it
//            without friction: one
//   Newton   a 3×3 block E₃ J Δu + C₃ Δλ = −r₃, solved for Δλ where the solver is direct
//
// In: μ, scales of the rows; v_n with its bias and compliance, as residual.hpp has it. Number is a real, or a pack with
// a contact in each lane. Cost: some sixty operations. Source: Jean 1999; Acary and Brogliato 2008, section 13.3.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/laws/friction_disc.hpp"
#include "engine/laws/limit.hpp"

namespace axion::laws {

inline constexpr double kContactProximal = 1e-4;  // of (J M⁻¹ Jᵀ)_ii
template <typename Real>
AXION_HD constexpr Real least_proximal() {
  return std::numeric_limits<Real>::digits > 30 ? Real(1e-11) : Real(5e-8);
}

// The proximal term of a contact under a load r_n λ_n, as a share of its rows' scales. An iteration moves a row's
// impulse by its residual over the sum of this term and the mobility of its bodies, and bodies that carry many times
// their weight are that much less mobile: of ten boxes, each twice as heavy as the one below, a thousandfold load on
// the lowest contact makes 1e-4 a hundred times the mobility, so that a step takes 1.5 % of the residual. With
// load_proximal the term takes no more of a row than that share of g h, whatever the load. Below least_proximal the
// motions of bodies that no contact holds are lost beside motions that contacts hold.
template <typename Real>
AXION_HD inline Real contact_proximal(const StepRules<Real>& rules, Real load) {
  const Real usual = rules.proximal_scale * Real(kContactProximal);
  const Real share = rules.load_proximal * Real(math::kGravity) * rules.s.dt;
  if (!(rules.load_proximal > Real(0)) || !(usual * load > share)) return usual;
  return greater(share / load, least_proximal<Real>());
}

// Share of a step from l to l + d with which friction meets the cone |l_t| = μ l_n, from a point within; above one:
// none.
template <typename Real>
AXION_HD inline Real share_to_cone(const Real* l, const Real* d, Real mu) {
  const Real a = d[1] * d[1] + d[2] * d[2] - mu * mu * d[0] * d[0];
  const Real b = l[1] * d[1] + l[2] * d[2] - mu * mu * l[0] * d[0];
  const Real rest = l[1] * l[1] + l[2] * l[2] - mu * mu * l[0] * l[0], c = rest < Real(0) ? rest : Real(0);
  const Real square = b * b - a * c;
  if (b > Real(0)) return square >= Real(0) ? -c / (b + std::sqrt(square)) : Real(2);
  return a > Real(0) ? (std::sqrt(square) - b) / a : Real(2);
}

template <typename Number>
struct FrictionCone {
  static constexpr int kRows = 3;
  static constexpr bool kFollows = false, kWaits = false;
  static constexpr int kUnknowns = kNormalAlone | kSticks | kSlides;

  Number mu, scale_n, scale_t;

  AXION_HD bool idle(Number v_n, const Triple<Number>& last) const {
    return v_n >= Number(0) && last.n == Number(0) && last.x == Number(0) && last.y == Number(0);
  }
  AXION_HD AXION_INLINED Triple<Number> solve_alone(const SweptBlock<Number>& block, const Triple<Number>& v,
                                                    const Triple<Number>& last) const {
    const Number zero{}, n = greater<Number>(last.n - v.n * block.inverse[0], zero);
    return solve_disc_alone<Number>(block, n, mu * n, v, last);
  }
  template <typename Real>
  AXION_HD AXION_INLINED auto exceeds(const Triple<Number>& v, const Triple<Number>& last, const Number* tolerance,
                                      Real share) const {
    const Number normal = unilateral_residual<Number>(v.n, scale_n * last.n), limit = share * tolerance[1];
    const Number slip2 = friction_residual_squared<Number>({v.x, v.y}, {last.x, last.y}, mu * last.n, scale_t);
    const auto above = (normal > Number(share * tolerance[0])) | (slip2 > limit * limit);
    return static_cast<decltype(Number{} > Number{})>(above);
  }
  AXION_HD void project(Number* lambda) const {
    lambda[0] = greater(lambda[0], Number(0));
    project_on_disc(mu * lambda[0], lambda + 1);
  }

  // `within`: share of the cone that friction of a sticking contact stays within; `held`: it is held to slide.
  template <typename Held, typename Tangents>
  AXION_HD int unknowns(const Number* lambda, Number within, Held&& held, Tangents&& tangents) const {
    if (!(lambda[0] > Number(0))) return 0;
    const Number most = within * mu * lambda[0];
    if (!(most > Number(0))) return kNormalAlone;
    const Vec2<Number> v = tangents();
    const Number along = lambda[1] * v.x + lambda[2] * v.y;
    const bool inside = lambda[1] * lambda[1] + lambda[2] * lambda[2] < most * most;
    return (inside || along > Number(0)) && !held() ? kSticks : kSlides;
  }
  AXION_HD StepEnd<Number> end_of_step(int part, bool sticks, const Number* l, const Number* x) const {
    if (part != 0) return {};
    const StepEnd<Number> end = Limit<Number>{scale_n}.end_of_step(0, true, l, x);
    if (!sticks) return end;
    const Number n = mu * (l[0] + x[0]), t1 = l[1] + x[1], t2 = l[2] + x[2];
    if (n >= Number(0) && t1 * t1 + t2 * t2 <= n * n) return {};  // a cone is convex
    const Number cone = share_to_cone(l, x, mu);
    return cone < end.share ? StepEnd<Number>{cone, ActiveBound::kCone} : end;
  }
  AXION_HD Number bound_met(Number) const { return 0; }

  // Of a soft contact its normal row and its friction have a compliance each.
  AXION_HD void linearise(const StepRules<Number>& rules, const LinearisedUnit<Number>& unit, Number normal_compliance,
                          Number tangent_compliance) const {
    const Number lambda_n = unit.lambda[0], share = contact_proximal(rules, scale_n * lambda_n);
    const Complementarity<Number> normal =
        complementarity(rules.s.contact_function, unit.residual[0], scale_n * lambda_n);
    unit.rhs[0] = normal.phi_over_alpha;
    unit.compliance[0] = scale_n * normal.beta_over_alpha + normal_compliance + share * scale_n;
    FrictionBlock<Number> f = linearise_disc(rules, unit, mu, lambda_n, scale_t);
    for (int k = 0; k < 4; ++k) f.compliance[k] += tangent_compliance * f.left[k];  // the law is of J u + c λ
    put_friction(f, share * scale_t, rules.symmetric, unit);
  }
};

// The lift of a soft contact (soft_laws.hpp) alone, its impulse on the edge of its cone in the direction d of friction:
//
//   r = p + G (λ_n, μ λ_n d),   r_n = L,   L = slip_lift (−r_t · d) − slip_excess λ_n
//
// with p its velocities without an impulse and without a lift. There is none where λ_n is not positive, as the contact
// opens then, or where r_t points along d, as it sticks then. In: its block G, velocities v at its impulse `last`.
template <typename Real>
AXION_HD inline Real lift_alone(const constraints::SoftContact<Real>& soft, const Real* G, Real compliance, Real mu,
                                const Triple<Real>& v, const Triple<Real>& last) {
  const Real p_n = v.n + soft.lift - (G[0] + compliance) * last.n - G[1] * last.x - G[2] * last.y;
  const Real p_x = v.x - G[3] * last.n - G[4] * last.x - G[5] * last.y;
  const Real p_y = v.y - G[6] * last.n - G[7] * last.x - G[8] * last.y;
  Real dx = last.x, dy = last.y, size = std::sqrt(dx * dx + dy * dy);
  if (!(size > Real(0))) dx = -p_x, dy = -p_y, size = std::sqrt(dx * dx + dy * dy);
  if (!(size > Real(0))) return Real(0);
  dx /= size, dy /= size;
  const Real by_n = G[0] + compliance + mu * (G[1] * dx + G[2] * dy);
  const Real by_d = dx * (G[3] + mu * (G[4] * dx + G[5] * dy)) + dy * (G[6] + mu * (G[7] * dx + G[8] * dy));
  const Real whole = by_n + soft.slip_lift * by_d + soft.slip_excess;
  const Real along = -(p_n + soft.slip_lift * (p_x * dx + p_y * dy));
  if (!(along > Real(0)) || !(whole > Real(0))) return Real(0);
  return greater(p_n + by_n * (along / whole), Real(0));
}

}  // namespace axion::laws
