// The <compiler> and <option> sections: how the rest of the document is to be read.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/import/mjcf_attach.hpp"
#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/math/constants.hpp"
#include "engine/math/vec3.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

enum class InertiaFrom { kInertial, kGeoms, kWhatIsGiven };  // inertiafromgeom = false, true, auto

struct MjcfSettings {
  // <compiler>
  bool degrees = true;
  std::string euler_sequence = "xyz";
  InertiaFrom inertia_from = InertiaFrom::kWhatIsGiven;
  int inertia_group_first = 0, inertia_group_last = 5;
  bool auto_limits = true;
  bool balance_inertia = false;
  double bound_mass = 0;       // kg
  double bound_inertia = 0;    // kg m^2
  std::string mesh_directory;  // before the names of mesh files
  bool fit_bounds = false;     // geoms are fitted to the bounding box of a mesh, not to its inertia
  double total_mass = -1;      // kg; not positive: masses stay as they are
  // <option>
  double timestep = 0.002;  // s
  math::Vec3<double> gravity{0, 0, -math::kGravity};
  math::Vec3<double> magnetic_field{0, -0.5, 0};
  model::MediumSpec medium;
  model::SoftnessRule softness_rule;  // its least time constant is two time steps, but for the flag refsafe
  // <flag>
  bool limits = true, contacts = true, springs = true, dampers = true, clamp_control = true, filter_parent = true;
  bool equalities = true, dry_friction = true;

  double radians(double angle) const { return degrees ? angle * (3.14159265358979323846 / 180.0) : angle; }
};

// The settings of a document and of those that are attached to it: their own of <compiler>, its <option>.
class DocumentSettings {
 public:
  DocumentSettings(const XmlElement& root, const std::vector<AttachedModel>& attached, Notes& notes);

  const MjcfSettings& main() const { return settings_.front(); }
  const MjcfSettings& of(const XmlElement& element) const {
    return settings_[static_cast<std::size_t>(element.document)];
  }

 private:
  std::vector<MjcfSettings> settings_;  // [document]
};

// Whether a range applies: `limited` is true, or auto with a range given. `limited` and `range` are attribute names.
bool is_limited(const Attributes& attributes, const char* limited, const char* range, const MjcfSettings& settings);

}  // namespace axion::import
