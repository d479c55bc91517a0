// Soft contacts and limits as MuJoCo has them: the numbers of their law, and how two shapes' become a pair's.
//
// A row that is soft pushes so that its acceleration gives way by its own force:
//
//   dv/dt + R f = -b v - k d(r) r,   f >= 0,   R = (1 - d)/d A,   d = d(r) of solimp,   b and k of solref
//
// r is the gap less the margin, A what a unit of force accelerates in the reference configuration. The law is
// discretised in constraints/soft_laws.hpp. Numbers are MuJoCo's (its documentation, chapter Computation, section
// Constraint model): solref > 0 is a time constant and a damping ratio, b = 2/(d_w T), k = 1/(d_w T Z)^2; below 0 they
// are -k d_w^2 and -b d_w; d_w is the impedance at the width. Of two shapes the solver numbers are mixed by their
// weights, or are those of the one with the greater priority; their margins add up. A pyramid of friction stands on its
// edges, which makes its normal give way mu^2 (1 + mu^2)/(impratio (condim - 1)) times as much as one row of A would.
// Friction within its cone is soft by the same d and b, with k = 0 and A (1 + mu^2)/impratio, or A/impratio of an
// elliptic cone: what presses a contact sideways makes it creep.
#pragma once

#include "engine/base/macros.hpp"

namespace axion::model {

// Of the whole scene.
struct SoftnessRule {
  bool pyramidal = true;             // how friction is held: pyramids, or elliptic cones
  double impedance_ratio = 1;        // of friction and normal, > 0
  double least_time_constant = 0.0;  // s, of solref; 0: as it is given

  bool operator==(const SoftnessRule&) const = default;
};

// What a shape brings to its contacts. Double in either precision, as ShapeContactData.
struct ShapeSoftness {
  double solref[2], solimp[5];
  double mix, margin;
  double mobility;  // 1/kg, of the centre of its body
  int cone_dimension;
  double least_mobility = 0;  // 1/kg, what its contacts are softened by at least

  AXION_HD double contact_mobility() const { return mobility > least_mobility ? mobility : least_mobility; }

  bool operator==(const ShapeSoftness&) const = default;
};

// The law of one row, ready for a step.
template <typename Real>
struct ImpedanceData {
  Real stiffness, damping;      // k 1/s^2, b 1/s
  Real least, most;             // d at the margin, and from the width on
  Real width, midpoint, power;  // m or rad; 0 .. 1; >= 1
  Real margin;                  // m or rad
  Real mobility;                // A, 1/kg or 1/(kg m^2); 0: the row is rigid
  Real tangent_mobility;        // A of friction, 1/kg
  Real contact_mobility;        // A of one row of a contact, whatever its cone, 1/kg
  Real slip_mobility;           // A of a direction along the cone, in which a contact that slides pushes, 1/kg

  bool operator==(const ImpedanceData&) const = default;
};

// The locks of a joint that closes a loop, or of an equality. Each goes by the depth of all together, |(c_t, w c_r)|.
template <typename Real>
struct LockSoftness {
  ImpedanceData<Real> translation, rotation;  // of an equality the first alone
  Real turn_weight;                           // w, m/rad

  bool operator==(const LockSoftness&) const = default;
};

// The same numbers in another precision.
template <typename Real>
AXION_HD inline ImpedanceData<Real> cast_impedance(const ImpedanceData<double>& a) {
  return {Real(a.stiffness),        Real(a.damping),      Real(a.least),  Real(a.most),     Real(a.width),
          Real(a.midpoint),         Real(a.power),        Real(a.margin), Real(a.mobility), Real(a.tangent_mobility),
          Real(a.contact_mobility), Real(a.slip_mobility)};
}

inline constexpr double kLeastImpedance = 1e-4, kGreatestImpedance = 0.9999, kGreatestPower = 100;

// `reference` and `impedance` are solref and solimp.
AXION_HD inline ImpedanceData<double> make_impedance(const double* reference, const double* impedance, double margin,
                                                     double mobility, const SoftnessRule& rule) {
  const auto within = [](double x, double least, double most) { return x < least ? least : x > most ? most : x; };
  const auto at_least = [](double x, double least) { return x < least ? least : x; };
  ImpedanceData<double> law{};
  law.least = within(impedance[0], kLeastImpedance, kGreatestImpedance);
  law.most = within(impedance[1], kLeastImpedance, kGreatestImpedance);
  law.width = at_least(impedance[2], 0), law.midpoint = within(impedance[3], kLeastImpedance, kGreatestImpedance);
  law.power = within(impedance[4], 1, kGreatestPower);
  constexpr double tiny = 1e-15;
  if (reference[0] > 0) {
    const double time = at_least(reference[0], rule.least_time_constant), ratio = reference[1];
    law.stiffness = 1 / at_least(law.most * law.most * time * time * ratio * ratio, tiny);
    law.damping = 2 / at_least(law.most * time, tiny);
  } else {
    law.stiffness = -reference[0] / (law.most * law.most), law.damping = -reference[1] / law.most;
  }
  law.margin = margin, law.mobility = mobility;
  return law;
}

// Of shapes a and b; `friction` is the pair's coefficient, 0 without friction, `preferred` 0, or -1 or 1 where a's or
// b's numbers count alone.
AXION_HD inline ImpedanceData<double> mix_softness(const ShapeSoftness& a, const ShapeSoftness& b, int preferred,
                                                   double friction, const SoftnessRule& rule) {
  constexpr double tiny = 1e-15;
  double share = 0.5;  // of a
  if (preferred != 0) {
    share = preferred < 0 ? 1 : 0;
  } else if (a.mix >= tiny && b.mix >= tiny) {
    share = a.mix / (a.mix + b.mix);
  } else if (a.mix >= tiny || b.mix >= tiny) {
    share = a.mix >= tiny ? 1 : 0;
  }
  double reference[2], impedance[5];
  const bool averaged = (a.solref[0] > 0 && b.solref[0] > 0) || share == 0 || share == 1;
  for (int i = 0; i < 2; ++i) {
    const double least = a.solref[i] < b.solref[i] ? a.solref[i] : b.solref[i];
    reference[i] = averaged ? share * a.solref[i] + (1 - share) * b.solref[i] : least;
  }
  for (int i = 0; i < 5; ++i) impedance[i] = share * a.solimp[i] + (1 - share) * b.solimp[i];
  int dimension = a.cone_dimension > b.cone_dimension ? a.cone_dimension : b.cone_dimension;
  if (preferred != 0) dimension = preferred < 0 ? a.cone_dimension : b.cone_dimension;
  const double mobility = a.contact_mobility() + b.contact_mobility(), square = friction * friction;
  ImpedanceData<double> law = make_impedance(reference, impedance, a.margin + b.margin, mobility, rule);
  law.contact_mobility = mobility;
  law.tangent_mobility = mobility / rule.impedance_ratio;
  if (rule.pyramidal && friction > 0 && dimension > 1) {
    law.mobility *= square * (1 + square) / (rule.impedance_ratio * (dimension - 1));
    law.tangent_mobility *= 1 + square;
    law.slip_mobility = 2 * (dimension - 1) * law.mobility;  // of one edge
  } else {
    law.slip_mobility = law.mobility + square * law.tangent_mobility;
  }
  return law;
}

}  // namespace axion::model
