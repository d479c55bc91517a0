// The checks of tendons, and of equalities of coordinates.
#include <algorithm>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/model/scene_checker.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {

// Whether `joint` and `axis` of an item name a coordinate that something may act along.
void SceneChecker::axis_of_tree(const std::string& item, int joint, int axis) {
  index(item, "joint", joint, 0, scene_.joints.size());
  if (!ok()) return;
  const JointSpec& spec = scene_.joints[static_cast<std::size_t>(joint)];
  if (spec.kind != JointKind::kAxes) {
    fail(item, "joint", "must have hinges or slides; it is " + std::to_string(joint));
  }
  if (ok() && closes_loop_[static_cast<std::size_t>(joint)]) {
    fail(item, "joint",
         "closes a loop, and nothing may act along a loop joint: drive a joint of the tree; it is " +
             std::to_string(joint));
  }
  index(item, "axis", axis, 0, spec.axes.size());
}

void SceneChecker::tendons() {
  std::unordered_set<std::string> names;
  for (std::size_t t = 0; t < scene_.tendons.size() && ok(); ++t) {
    const TendonSpec& tendon = scene_.tendons[t];
    const std::string item = item_name("tendons", t);
    name(item, tendon.name, names);
    if (tendon.terms.empty()) fail(item, "terms", "must not be empty");
    if (tendon.terms.size() > static_cast<std::size_t>(kMaxTendonTerms)) {
      fail(item, "terms",
           "may have at most " + std::to_string(kMaxTendonTerms) + " entries; it has " +
               std::to_string(tendon.terms.size()));
    }
    std::vector<std::pair<int, int>> seen;
    for (std::size_t k = 0; k < tendon.terms.size() && ok(); ++k) {
      const TendonTermSpec& term = tendon.terms[k];
      const std::string path = item + "." + item_name("terms", k);
      axis_of_tree(path, term.joint, term.axis);
      real(path, "coefficient", term.coefficient);
      if (ok() && term.coefficient == 0) fail(path, "coefficient", "must not be 0");
      const std::pair<int, int> place{term.joint, term.axis};
      if (ok() && std::find(seen.begin(), seen.end(), place) != seen.end()) {
        fail(path, "axis", "is a coordinate that the tendon has already; it is " + std::to_string(term.axis));
      }
      seen.push_back(place);
    }
    at_least(item, "armature", tendon.armature, 0);
    at_least(item, "damping", tendon.damping, 0);
    at_least(item, "stiffness", tendon.stiffness, 0);
    real(item, "spring_reference", tendon.spring_reference);
    at_least(item, "friction_loss", tendon.friction_loss, 0);
    real(item, "lower", tendon.lower);
    real(item, "upper", tendon.upper);
    if (tendon.limited) range(item, "lower", tendon.lower, tendon.upper);
  }
}

void SceneChecker::coordinate(const std::string& item, const CoordinateSpec& coordinate) {
  index(item, "tendon", coordinate.tendon, -1, scene_.tendons.size());
  if (ok() && coordinate.tendon < 0) axis_of_tree(item, coordinate.joint, coordinate.axis);
}

void SceneChecker::equalities() {
  std::unordered_set<std::string> names;
  for (std::size_t e = 0; e < scene_.equalities.size() && ok(); ++e) {
    const EqualitySpec& equality = scene_.equalities[e];
    const std::string item = item_name("equalities", e);
    name(item, equality.name, names);
    coordinate(item + ".first", equality.first);
    reals(item, "polynomial", equality.polynomial);
    compliance(item, "stiffness", equality.stiffness, "damping", equality.damping);
    if (!equality.has_second) {
      const bool is_constant =
          std::all_of(equality.polynomial.begin() + 1, equality.polynomial.end(), [](double a) { return a == 0; });
      if (!is_constant) fail(item, "polynomial", "must have zeros after its first number where there is no second");
      continue;
    }
    coordinate(item + ".second", equality.second);
    if (!ok()) return;
    const CoordinateSpec &a = equality.first, &b = equality.second;
    const bool same = a.tendon >= 0 ? a.tendon == b.tendon : b.tendon < 0 && a.joint == b.joint && a.axis == b.axis;
    if (same) fail(item, "second", "must be another coordinate than first");
  }
  const auto size_of = [&](const CoordinateSpec& coordinate) {
    return coordinate.tendon < 0 ? 1 : scene_.tendons[static_cast<std::size_t>(coordinate.tendon)].terms.size();
  };
  std::size_t terms = 0;
  for (const TendonSpec& tendon : scene_.tendons) terms += tendon.terms.size();
  for (const EqualitySpec& equality : scene_.equalities) {
    if (!ok()) return;
    terms += size_of(equality.first) + (equality.has_second ? size_of(equality.second) : 0);
  }
  if (ok() && terms > static_cast<std::size_t>(kMaxSceneTerms)) {
    fail("tendons", "",
         "and equalities may have at most " + std::to_string(kMaxSceneTerms) + " terms in all, those of tendons in " +
             "equalities counted again; these have " + std::to_string(terms));
  }
}

}  // namespace axion::model
