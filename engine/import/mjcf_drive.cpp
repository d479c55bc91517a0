#include "engine/import/mjcf_drive.hpp"

#include <algorithm>
#include <iterator>
#include <numbers>
#include <string>
#include <utility>

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

// The numbers of one layer; each kind sets what it implies, so the order of the layers counts.
void read_layer(const XmlElement& layer, Drive& drive) {
  const Attributes a(layer);
  const bool is_position = layer.tag == "position" || layer.tag == "intvelocity";
  const bool keeps_kv = std::exchange(drive.is_position, is_position);
  if (!is_drive(layer.tag)) {
    drive.other = &layer;
    return;
  }
  // A motor sets its whole law; others take their gain from the default if they have none of their own.
  const char* gain = is_position ? "kp" : (layer.tag == "cylinder" ? "area" : "kv");
  if (layer.tag == "motor" || (layer.tag != "general" && layer.find(gain) != nullptr)) drive.other = nullptr;
  if (layer.tag == "general") return read_general(a, drive);
  drive.dynamics = drive.gain_type = drive.bias_type = 0;
  if (layer.tag == "motor") drive.gain[0] = 1;
  if (layer.tag == "position" && layer.find("timeconst") != nullptr) {
    drive.dynamics_numbers[0] = a.not_negative("timeconst", 0);
    drive.dynamics = drive.dynamics_numbers[0] > 0 ? Drive::kFilterExact : 0;
  }
  if (is_position) read_position(a, keeps_kv || layer.tag == "intvelocity", drive);
  if (layer.tag == "intvelocity") drive.dynamics = Drive::kIntegrator;
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
                 {"kv", "position velocity intvelocity"},
                 {"dampratio", "position intvelocity"},
                 {"timeconst", "position cylinder"},
                 {"area", "cylinder"},
                 {"diameter", "cylinder"},
                 {"bias", "cylinder"},
                 {"inheritrange", "position general intvelocity"},
                 {"input", "general"},
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
         tag == "cylinder";
}

Drive read_drive(const Attributes& attributes) {
  Drive drive;
  for (const XmlElement* layer : attributes.layers()) {
    check_own_attributes(*layer);
    read_layer(*layer, drive);
  }
  return drive;
}

}  // namespace axion::import
