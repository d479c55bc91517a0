#include "engine/import/mjcf_softness.hpp"

namespace axion::import {
namespace {

model::SoftnessSpec read_solver(const Attributes& a, const char* reference, const char* impedance, Notes& notes) {
  model::SoftnessSpec soft;
  a.numbers(reference, soft.solref, 1);
  if ((soft.solref[0] > 0) != (soft.solref[1] > 0)) {
    notes.warn(a.where(reference), reference, "is taken as 0.02 1: its numbers must both be above 0, or neither");
    soft.solref = model::SoftnessSpec{}.solref;
  }
  a.numbers(impedance, soft.solimp, 1);
  return soft;
}

}  // namespace

model::SoftnessSpec read_friction_softness(const Attributes& a, Notes& notes) {
  return read_solver(a, "solreffriction", "solimpfriction", notes);
}

model::SoftnessSpec read_softness(const Attributes& a, const char* reference, const char* impedance, Notes& notes) {
  model::SoftnessSpec soft = read_solver(a, reference, impedance, notes);
  soft.margin = a.number("margin", 0);
  if (soft.margin < 0) {
    notes.warn(a.where("margin"), "margin", "is taken as 0: contacts push from their surfaces on at the latest");
    soft.margin = 0;
  }
  return soft;
}

}  // namespace axion::import
