// The units of a step: first row, number of rows and law of each, in runs of one law.
//
//   for_each_law(f)            f(units) for each run, in the order of rows
//   for_each_unit(team, f)     f(units, i) for all units, the i-th of its run each; those whose law follows other units
//                              after these
//   with_unit(row, f)          f(units, i) of the unit that a row belongs to
//
// A run has row(i), the first row of its i-th unit, and law(i, λ), its law at these impulses (engine/laws), made of the
// arrays that have its numbers. What sweeps, steps on the active set and means do with a unit they do with any: a law
// more is a file in engine/laws and a run here. Cost: none; a look-up by row is two comparisons and a division.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/laws/bounded_effort.hpp"
#include "engine/laws/friction_cone.hpp"
#include "engine/laws/limit.hpp"
#include "engine/laws/spin_friction.hpp"
#include "engine/problem/row_layout.hpp"

namespace axion::solver {

template <typename OfUnits>
struct UnitRun {
  using Law = OfUnits;
  int base, count;

  AXION_HD int row(int i) const { return base + Law::kRows * i; }
};

template <typename Real>
struct LimitUnits : UnitRun<laws::Limit<Real>> {
  const Real* scale;

  AXION_HD laws::Limit<Real> law(int i, const Real*) const { return {scale[this->row(i)]}; }
};

template <typename Real>
struct EffortUnits : UnitRun<laws::BoundedEffort<Real>> {
  const Real *scale, *compliance, *lower, *upper;

  AXION_HD laws::BoundedEffort<Real> law(int i, const Real*) const {
    return {scale[this->row(i)], compliance[i], lower[i], upper[i]};
  }
};

template <typename Real>
struct ContactUnits : UnitRun<laws::FrictionCone<Real>> {
  static constexpr bool kLifts = true;  // soft ones (soft_laws.hpp)
  const Real* scale;
  const model::Contact<Real>* contacts;

  AXION_HD laws::FrictionCone<Real> law(int i, const Real*) const {
    return {contacts[i].friction, scale[this->row(i)], scale[this->row(i) + 1]};
  }
};

template <typename Real>
struct MomentUnits : UnitRun<laws::SpinFriction<Real>> {
  static constexpr bool kLifts = false;
  const Real* scale;
  const constraints::ContactMoment<Real>* moments;
  int contact_base;

  AXION_HD laws::SpinFriction<Real> law(int i, const Real* lambda) const {
    const Real normal = laws::greater(lambda[contact_base + 3 * moments[i].contact], Real(0));
    return {moments[i].torsional * normal, moments[i].rolling * normal, scale[this->row(i)], scale[this->row(i) + 1]};
  }
};

// f(units...) out of line: few models have such units.
template <typename F, typename... Arguments>
AXION_HD_RARE decltype(auto) call_rarely(F& f, Arguments... arguments) {
  return f(arguments...);
}

template <typename Real>
struct UnitTable : RowLayout {
  const Real* row_scale;                                        // [nrow]
  const Real *effort_compliance, *effort_lower, *effort_upper;  // [neffort]
  const model::Contact<Real>* contacts;                         // [block_count]
  const constraints::ContactMoment<Real>* moments;              // [moment_count]

  AXION_HD LimitUnits<Real> limit_units() const { return {{limit_base(), limit_count()}, row_scale}; }
  AXION_HD EffortUnits<Real> effort_units() const {
    return {{effort_base(), effort_count()}, row_scale, effort_compliance, effort_lower, effort_upper};
  }
  AXION_HD ContactUnits<Real> contact_units() const { return {{contact_base(), contact_count}, row_scale, contacts}; }
  AXION_HD MomentUnits<Real> moment_units() const {
    return {{moment_base(), moment_count}, row_scale, moments, contact_base()};
  }

  // Whether units follow others.
  AXION_HD bool has_followers() const { return moment_count > 0; }

  template <typename F>
  AXION_HD void for_each_law(F&& f) const {
    f(limit_units()), f(effort_units()), f(contact_units());
    if (moment_count > 0) call_rarely(f, moment_units());
  }

  template <typename F>
  AXION_HD decltype(auto) with_unit(int row, F&& f) const {
    if (row < effort_base()) return f(limit_units(), row - limit_base());
    if (row < contact_base()) return f(effort_units(), row - effort_base());
    if (row < moment_base()) return f(contact_units(), (row - contact_base()) / 3);
    return call_rarely(f, moment_units(), (row - moment_base()) / 3);
  }

  template <typename Team, typename F>
  AXION_HD void for_each_unit(const Team& team, F&& f) const {
    if constexpr (Team::kSharesByWarp) {  // a barrier for each law would cost more than to ask each unit for its own
      team.for_each(unit_count() - moment_count, [&](int k) { with_unit(first_row(k), f); });
      if (moment_count > 0) team.for_each(moment_count, [&](int i) { call_rarely(f, moment_units(), i); });
    } else {
      for_each_law([&](const auto& units) { team.for_each(units.count, [&](int i) { f(units, i); }); });
    }
  }
};

}  // namespace axion::solver
