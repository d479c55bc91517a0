#include "engine/import/mjcf_drive.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace axion::import {
namespace {

void read_general(const Attributes& a, Drive& drive) {
  drive.dynamics =
      a.keyword("dyntype", {"none", "integrator", "filter", "filterexact", "muscle", "user"}, drive.dynamics);
  drive.gain_type = a.keyword("gaintype", {"fixed", "affine", "muscle", "user"}, drive.gain_type);
  drive.bias_type = a.keyword("biastype", {"none", "affine", "muscle", "user"}, drive.bias_type);
  a.numbers("dynprm", drive.dynamics_numbers, 1);
  a.numbers("gainprm", drive.gain, 1);
  a.numbers("biasprm", drive.bias, 1);
}

// A spring of stiffness kp about the control, or about what integrates it, and a damper. A position keeps the damping
// of a position alone, one that integrates that of any default.
void read_position(const Attributes& a, bool keeps_kv, Drive& drive) {
  const XmlElement& layer = a.element();
  drive.bias_type = 1;
  drive.gain[0] = a.not_negative("kp", drive.gain[0]);
  drive.bias[1] = -drive.gain[0];
  const double kept = keeps_kv ? drive.bias[2] : 0;
  if (layer.find("kv") != nullptr && layer.find("dampratio") != nullptr) {
    refuse(layer, "dampratio", "is given together with kv");
  }
  drive.bias[2] = layer.find("kv") != nullptr          ? -a.not_negative("kv", 0)
                  : layer.find("dampratio") != nullptr ? a.not_negative("dampratio", 0)
                                                       : kept;
}

// A pressure that follows the control, over an area, with an affine bias.
void read_cylinder(const Attributes& a, Drive& drive) {
  drive.dynamics = Drive::kFilter;
  drive.bias_type = 1;
  drive.dynamics_numbers[0] = a.not_negative("timeconst", drive.dynamics_numbers[0]);
  drive.gain[0] = a.number("area", drive.gain[0]);
  const double diameter = a.number("diameter", -1);
  if (diameter >= 0) drive.gain[0] = std::numbers::pi / 4 * diameter * diameter;
  a.numbers("bias", {drive.bias, 3}, 1);
}

// Without a number of its own or of a class, a muscle has these.
void read_muscle(const Attributes& a, Drive& drive) {
  static constexpr struct {
    int number;
    double unset, value;
  } kDefaults[] = {{0, 1, 0.75}, {1, 0, 1.05}, {2, 0, -1},  {3, 0, 200}, {4, 0, 0.5},
                   {5, 0, 1.6},  {6, 0, 1.5},  {7, 0, 1.3}, {8, 0, 1.2}};
  double* times = drive.dynamics_numbers;
  if (times[0] == 1) times[0] = 0.01;
  if (times[1] == 0) times[1] = 0.04;
  for (const auto& each : kDefaults) {
    if (drive.gain[each.number] == each.unset) drive.gain[each.number] = each.value;
  }
  // What is below zero is not given.
  const auto take = [&](const char* name, std::span<double> numbers) {
    double given[2] = {-1, -1};
    a.numbers(name, {given, numbers.size()}, 1);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (given[k] >= 0) numbers[k] = given[k];
    }
  };
  take("timeconst", {times, 2}), take("range", {drive.gain, 2});
  times[2] = a.not_negative("tausmooth", times[2]);
  const char* const names[] = {"force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"};
  for (std::size_t k = 0; k < std::size(names); ++k) take(names[k], {drive.gain + 2 + k, 1});
  std::copy(drive.gain, drive.gain + 9, drive.bias);
  drive.dynamics = Drive::kMuscleDynamics, drive.gain_type = drive.bias_type = Drive::kMuscle;
}

// A force of -kv times the control times the velocity.
void read_damper(const Attributes& a, bool inherits, Drive& drive) {
  const double kv = a.not_negative("kv", inherits ? -drive.gain[2] : 0);
  std::fill(std::begin(drive.gain), std::end(drive.gain), 0.0);
  drive.gain[2] = -kv;
  drive.gain_type = Drive::kAffine;
  drive.limits_control = true;
}

// What of a motor has a memory, depends on its angle or bounds something within it.
void refuse_more_than_a_circuit(const Attributes& a, Notes& notes) {
  static constexpr struct {
    const char* attribute;
    std::size_t first, end;  // of its numbers
    const char* reason;
  } kMore[] = {{"inductance", 0, 2, "the current has no state of its own"},
               {"thermal", 0, 3, "windings have no temperature"},
               {"saturation", 2, 3, "the current has no state of its own"},
               {"cogging", 0, 1, "forces do not depend on the angle but by springs"},
               {"lugre", 0, 1, "friction has no state of its own; give the joint frictionloss"},
               {"controller", 1, 2, "a controller has no integrator"},
               {"controller", 3, 6, "set points and voltages of a controller have no bounds of their own"}};
  for (const auto& more : kMore) {
    double numbers[6] = {};
    a.numbers(more.attribute, numbers, 1);
    const auto is_given = [](double x) { return x != 0; };
    if (std::any_of(numbers + more.first, numbers + more.end, is_given)) {
      notes.unsupported(a.where(more.attribute), more.attribute, more.reason);
    }
  }
}

// A motor without memory: a voltage v drives the force K/R (v - K rate), K its constant and R its resistance; or a
// controller has it exert kp (x - length) + kd (x' - rate) + f, of which the control is one and the others are 0.
void read_dcmotor(const Attributes& a, Notes& notes, Drive& drive) {
  drive = {};
  double constants[2] = {}, nominal[3] = {}, saturation[3] = {}, controller[6] = {};
  a.numbers("motorconst", constants, 1), a.numbers("nominal", nominal, 1);
  a.numbers("saturation", saturation, 1), a.numbers("controller", controller, 1);
  if (constants[0] < 0 || constants[1] < 0) a.refuse("motorconst", "must not be negative");
  if (constants[1] == 0 && nominal[2] > 0) constants[1] = nominal[0] / nominal[2];
  const double K = constants[0] > 0 && constants[1] > 0 ? std::sqrt(constants[0] * constants[1])
                                                        : std::max(constants[0], constants[1]);
  if (!(K > 0)) a.refuse("motorconst", "must be above zero, or follow from nominal");
  double R = a.not_negative("resistance", 0);
  if (R == 0 && nominal[1] > 0) R = K * nominal[0] / nominal[1];
  if (!(R > 0)) a.refuse("resistance", "must be above zero, or follow from nominal");
  refuse_more_than_a_circuit(a, notes);
  if (saturation[0] < 0 || saturation[1] < 0) a.refuse("saturation", "must not be negative");
  drive.greatest_force = saturation[0] > 0 ? saturation[0] : K * saturation[1];
  drive.bias_type = Drive::kAffine;
  const std::string input = a.text("input", "voltage");
  const double kp = controller[0], kd = controller[2];
  if (kp < 0 || kd < 0) a.refuse("controller", "must not be negative");
  if (input == "voltage") {
    if (kp != 0 || kd != 0) a.refuse("controller", "is for an input that is not a voltage");
    drive.gain[0] = K / R, drive.bias[2] = -K * K / R;
    return;
  }
  if (input != "pos" && input != "vel" && input != "ff") {
    notes.unsupported(a.where("input"), "input", "an actuator has one control: voltage, pos, vel or ff");
  }
  drive.gain[0] = input == "pos" ? kp : input == "vel" ? kd : 1;
  drive.bias[1] = -kp, drive.bias[2] = -kd;
}

// The numbers of one layer; each kind sets what it implies, so the order of the layers counts.
void read_layer(const XmlElement& layer, Drive& drive) {
  const Attributes a(layer);
  const bool is_position = layer.tag == "position" || layer.tag == "intvelocity";
  const bool keeps_kv = std::exchange(drive.is_position, is_position);
  if (!is_drive(layer.tag) || layer.tag == "dcmotor") {
    drive.other = &layer;
    return;
  }
  // A motor sets its whole law; others take their gain from the default if they have none of their own.
  const char* gain = is_position ? "kp" : (layer.tag == "cylinder" ? "area" : "kv");
  if (layer.tag == "motor" || (layer.tag != "general" && layer.find(gain) != nullptr)) drive.other = nullptr;
  drive.limits_control = false;
  if (layer.tag == "general") return read_general(a, drive);
  if (layer.tag == "muscle") return read_muscle(a, drive);
  const bool was_affine = drive.gain_type == Drive::kAffine;
  drive.dynamics = drive.gain_type = drive.bias_type = 0;
  if (layer.tag == "motor") drive.gain[0] = 1;
  if (layer.tag == "position" && layer.find("timeconst") != nullptr) {
    drive.dynamics_numbers[0] = a.not_negative("timeconst", 0);
    drive.dynamics = drive.dynamics_numbers[0] > 0 ? Drive::kFilterExact : 0;
  }
  if (is_position) read_position(a, keeps_kv || layer.tag == "intvelocity", drive);
  if (layer.tag == "intvelocity") drive.dynamics = Drive::kIntegrator;
  if (layer.tag == "adhesion") {
    drive.gain[0] = a.not_negative("gain", drive.gain[0]);
    drive.limits_control = true;
  }
  if (layer.tag == "damper") read_damper(a, was_affine, drive);
  if (layer.tag == "cylinder") read_cylinder(a, drive);
  if (layer.tag == "velocity") {
    drive.bias_type = 1;
    std::fill(std::begin(drive.bias), std::end(drive.bias), 0.0);
    drive.gain[0] = a.not_negative("kv", drive.gain[0]);
    drive.bias[2] = -drive.gain[0];
  }
}

// Which attributes a short form has.
void check_own_attributes(const XmlElement& layer) {
  static constexpr struct {
    const char* attribute;
    const char* tags;
  } kOwners[] = {{"kp", "position intvelocity"},
                 {"kv", "position velocity intvelocity damper"},
                 {"dampratio", "position intvelocity"},
                 {"timeconst", "position cylinder muscle"},
                 {"gain", "adhesion"},
                 {"tausmooth", "muscle"},
                 {"range", "muscle"},
                 {"force", "muscle"},
                 {"scale", "muscle"},
                 {"lmin", "muscle"},
                 {"lmax", "muscle"},
                 {"vmax", "muscle"},
                 {"fpmax", "muscle"},
                 {"fvmax", "muscle"},
                 {"area", "cylinder"},
                 {"diameter", "cylinder"},
                 {"bias", "cylinder"},
                 {"inheritrange", "position general intvelocity"},
                 {"input", "general dcmotor"},
                 {"velrange", "general"},
                 {"ffrange", "general"},
                 {"dyntype", "general"},
                 {"gaintype", "general"},
                 {"biastype", "general"},
                 {"dynprm", "general"},
                 {"gainprm", "general"},
                 {"biasprm", "general"},
                 {"actlimited", "general"},
                 {"actrange", "general intvelocity"},
                 {"actdim", "general"},
                 {"actearly", "general"}};
  if (!is_drive(layer.tag)) return;
  for (const auto& owner : kOwners) {
    if (layer.find(owner.attribute) == nullptr) continue;
    if ((" " + std::string(owner.tags) + " ").find(" " + layer.tag + " ") != std::string::npos) continue;
    refuse(layer, owner.attribute, "is not an attribute that this element has");
  }
}

}  // namespace

bool is_drive(std::string_view tag) {
  return tag == "general" || tag == "motor" || tag == "position" || tag == "velocity" || tag == "intvelocity" ||
         tag == "cylinder" || tag == "damper" || tag == "muscle" || tag == "adhesion" || tag == "dcmotor";
}

Drive read_drive(const Attributes& attributes, Notes& notes) {
  Drive drive;
  std::vector<const XmlElement*> motors;
  for (const XmlElement* layer : attributes.layers()) {
    check_own_attributes(*layer);
    read_layer(*layer, drive);
    if (layer->tag == "dcmotor") motors.push_back(layer);
  }
  // The law of a motor is of what all its layers give together; other kinds have no say in it.
  if (attributes.element().tag == "dcmotor") read_dcmotor(Attributes(motors), notes, drive);
  return drive;
}

}  // namespace axion::import
