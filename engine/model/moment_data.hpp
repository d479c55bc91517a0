// Torsional and rolling friction of shapes, and of pairs of them (constraints/moment_rows.hpp).
#pragma once

namespace axion::model {

// What a shape brings to torsional and rolling friction, in models that have any. Double in either precision, as
// ShapeContactData is.
struct ShapeMomentData {
  double torsional, rolling;  // m
  int cone_dimension;
  bool operator==(const ShapeMomentData&) const = default;
};

// Torsional and rolling friction of a pair, m: torques of a contact are at most these times its normal force.
template <typename Real>
struct MomentFriction {
  Real torsional, rolling;
  bool operator==(const MomentFriction&) const = default;
};

}  // namespace axion::model
