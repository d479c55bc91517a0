#include "engine/import/mjcf_settings.hpp"

#include "engine/import/asset_files.hpp"

namespace axion::import {
namespace {

void read_compiler(const XmlElement& element, MjcfSettings& s, Notes& notes) {
  const Attributes a(element);
  s.degrees = a.keyword("angle", {"radian", "degree"}, s.degrees) == 1;
  if (a.keyword("coordinate", {"local", "global"}, 0) == 1) {
    a.refuse("coordinate", "is not supported; give poses in local coordinates");
  }
  s.euler_sequence = a.text("eulerseq", s.euler_sequence);
  if (s.euler_sequence.size() != 3 || s.euler_sequence.find_first_not_of("xyzXYZ") != std::string::npos) {
    a.refuse("eulerseq", "must have three letters of xyzXYZ");
  }
  const int from = a.keyword("inertiafromgeom", {"false", "true", "auto"}, static_cast<int>(s.inertia_from));
  s.inertia_from = static_cast<InertiaFrom>(from);
  double group[2] = {double(s.inertia_group_first), double(s.inertia_group_last)};
  a.numbers("inertiagrouprange", group, 2);
  for (double g : group) {
    if (!(g >= 0 && g <= 5 && g == static_cast<int>(g))) a.refuse("inertiagrouprange", "must have groups from 0 to 5");
  }
  s.inertia_group_first = static_cast<int>(group[0]);
  s.inertia_group_last = static_cast<int>(group[1]);
  s.mesh_directory = a.text("meshdir", a.text("assetdir", s.mesh_directory));
  s.fit_bounds = a.boolean("fitaabb", s.fit_bounds);
  s.total_mass = a.number("settotalmass", s.total_mass);
  s.auto_limits = a.boolean("autolimits", s.auto_limits);
  s.bound_mass = a.not_negative("boundmass", s.bound_mass);
  s.bound_inertia = a.not_negative("boundinertia", s.bound_inertia);
  s.balance_inertia = a.boolean("balanceinertia", s.balance_inertia);
  if (a.boolean("alignfree", false)) {
    notes.unsupported(element, "alignfree", "frames of free bodies stay where the document puts them");
  }
}

void read_flags(const XmlElement& element, MjcfSettings& s, Notes& notes) {
  const Attributes a(element);
  const auto enabled = [&](const char* name, bool now) { return a.keyword(name, {"disable", "enable"}, now) == 1; };
  s.limits = enabled("limit", s.limits) && enabled("constraint", true);
  s.contacts = enabled("contact", s.contacts) && enabled("constraint", true);
  s.equalities = enabled("equality", s.equalities) && enabled("constraint", true);
  s.dry_friction = enabled("frictionloss", s.dry_friction) && enabled("constraint", true);
  const bool passive = enabled("passive", true);
  s.springs = enabled("spring", s.springs) && passive;
  s.dampers = enabled("damper", s.dampers) && passive;
  if (!enabled("refsafe", true)) s.softness_rule.least_time_constant = 0;
  s.clamp_control = enabled("clampctrl", s.clamp_control);
  s.filter_parent = enabled("filterparent", s.filter_parent);
  if (!enabled("gravity", true)) s.gravity = {};
  if (!enabled("actuation", true)) {
    notes.unsupported(element, "actuation", "actuators cannot be switched off; send zero controls instead");
  }
}

void read_option(const XmlElement& element, MjcfSettings& s, Notes& notes) {
  const Attributes a(element);
  s.timestep = a.number("timestep", s.timestep);
  if (!(s.timestep > 0 && s.timestep <= 1)) a.refuse("timestep", "must be above 0 and at most 1 s");
  s.gravity = a.vec3("gravity", s.gravity);
  s.softness_rule.pyramidal = a.keyword("cone", {"pyramidal", "elliptic"}, !s.softness_rule.pyramidal) == 0;
  s.softness_rule.impedance_ratio = a.number("impratio", s.softness_rule.impedance_ratio);
  if (!(s.softness_rule.impedance_ratio > 0)) a.refuse("impratio", "must be above 0");
  s.magnetic_field = a.vec3("magnetic", s.magnetic_field);
  s.medium.density = a.not_negative("density", s.medium.density);
  s.medium.viscosity = a.not_negative("viscosity", s.medium.viscosity);
  a.numbers("wind", s.medium.wind, 3);
  if (!a.text("actuatorgroupdisable", "").empty()) {
    notes.unsupported(element, "actuatorgroupdisable", "actuators cannot be switched off");
  }
  if (a.keyword("collision", {"all", "predefined", "dynamic"}, 0) == 1) {
    notes.unsupported(element, "collision", "contacts follow from contype and conaffinity");
  }
}

void read_options(const XmlElement& root, MjcfSettings& settings, Notes& notes) {
  for (const XmlElement& section : root.children) {
    if (section.tag == "option") read_option(section, settings, notes);
  }
  settings.softness_rule.least_time_constant = 2 * settings.timestep;
  // After every option, so that a later gravity does not undo a flag.
  for (const XmlElement& section : root.children) {
    if (section.tag != "option") continue;
    for (const XmlElement& flag : section.children) read_flags(flag, settings, notes);
  }
}

}  // namespace

DocumentSettings::DocumentSettings(const XmlElement& root, const std::vector<AttachedModel>& attached, Notes& notes) {
  MjcfSettings options;
  read_options(root, options, notes);
  settings_.push_back(options);
  for (const XmlElement& section : root.children) {
    if (section.tag == "compiler") read_compiler(section, settings_.back(), notes);
  }
  for (const AttachedModel& model : attached) {
    settings_.push_back(options);
    for (const XmlElement& section : model.compiler) {
      read_compiler(section, settings_.back(), notes);
      if (settings_.back().total_mass > 0) {
        notes.unsupported(section, "settotalmass", "masses of attached models stay as they are");
      }
    }
    settings_.back().mesh_directory = joined_path(model.folder, settings_.back().mesh_directory);
  }
}

bool is_limited(const Attributes& attributes, const char* limited, const char* range, const MjcfSettings& settings) {
  const int given = attributes.keyword(limited, {"false", "true", "auto"}, 2);
  if (given < 2) return given == 1;
  double values[2] = {0, 0};
  attributes.numbers(range, values, 2);
  if (values[0] == 0 && values[1] == 0) return false;
  if (!settings.auto_limits) {
    attributes.refuse(range, "is given without " + std::string(limited) + " while autolimits is off");
  }
  if (!(values[0] < values[1])) attributes.refuse(range, "must have the smaller limit first");
  return true;
}

}  // namespace axion::import
