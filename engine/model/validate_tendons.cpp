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

// Sites in the order in which a path passes them, an object between two sites at most, and no branch of one site alone.
void SceneChecker::path(const std::string& tendon, const TendonSpec& spec) {
  const std::vector<TendonPointSpec>& points = spec.path;
  if (points.size() > static_cast<std::size_t>(kMaxTendonPoints)) {
    fail(tendon, "path",
         "may have at most " + std::to_string(kMaxTendonPoints) + " points; it has " + std::to_string(points.size()));
  }
  const auto can_move = [&](const FrameSpec& frame) {
    const std::size_t body = static_cast<std::size_t>(frame.body);
    return body < weld_root_.size() && weld_root_[body] != kWorldBody;
  };
  const bool moves = std::any_of(points.begin(), points.end(), [&](const TendonPointSpec& point) {
    if (point.kind == TendonPointKind::kWrench && point.has_side && can_move(point.side)) return true;
    return point.kind != TendonPointKind::kPulley && can_move(point.frame);
  });
  using enum TendonPointKind;
  const auto is = [&](std::size_t i, TendonPointKind kind) { return i < points.size() && points[i].kind == kind; };
  for (std::size_t i = 0; i < points.size() && ok(); ++i) {
    const TendonPointSpec& point = points[i];
    const std::string item = tendon + "." + item_name("path", i);
    // Index −1 is none too, as unsigned.
    const bool follows_site = is(i - 1, kSite), is_followed = is(i + 1, kSite);
    const bool starts = i == 0 || is(i - 1, kPulley);
    switch (point.kind) {
      case kSite:
        frame(item, "frame", point.frame);
        if (ok() && starts && (i + 1 >= points.size() || is(i + 1, kPulley))) {
          fail(item, "", "is a site without another before or behind it");
        }
        break;
      case kPulley:
        real(item, "divisor", point.divisor);
        if (ok() && !(point.divisor > 0)) fail(item, "divisor", "must be above 0; it is " + to_text(point.divisor));
        at_least(item, "divisor", point.divisor, kMinLength);
        if (ok() && !is_followed && !is(i + 1, kWrench)) fail(item, "", "is a pulley that no site follows");
        break;
      case kWrench:
        frame(item, "frame", point.frame);
        if (ok() && point.has_side) frame(item, "side", point.side);
        reals(item, "gear", point.gear);
        if (ok() && (!starts || (i + 1 < points.size() && !is(i + 1, kPulley)))) {
          fail(item, "", "is a wrench that is not alone");
        }
        break;
      case kSlider:
        frame(item, "frame", point.frame);
        at_least(item, "radius", point.radius, kMinLength);
        if (ok() && (!starts || !is_followed || (i + 2 < points.size() && !is(i + 2, kPulley)))) {
          fail(item, "", "is a slider that is not alone with the site behind it");
        }
        break;
      default:
        frame(item, "frame", point.frame);
        at_least(item, "radius", point.radius, kMinLength);
        if (ok() && point.has_side) frame(item, "side", point.side);
        if (ok() && (!follows_site || !is_followed))
          fail(item, "", "wraps about an object that is not between two sites");
    }
  }
  if (ok() && !moves) fail(tendon, "path", "must lead over a body that can move");
}

void SceneChecker::tendons() {
  std::unordered_set<std::string> names;
  for (std::size_t t = 0; t < scene_.tendons.size() && ok(); ++t) {
    const TendonSpec& tendon = scene_.tendons[t];
    const std::string item = item_name("tendons", t);
    name(item, tendon.name, names);
    if (tendon.terms.empty() && tendon.path.empty()) fail(item, "terms", "must not be empty where there is no path");
    if (!tendon.terms.empty() && !tendon.path.empty()) fail(item, "path", "is given together with terms");
    if (!tendon.path.empty()) path(item, tendon);
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
      numbers(path, term);
      if (ok() && term.coefficient == 0) fail(path, "coefficient", "must not be 0");
      const std::pair<int, int> place{term.joint, term.axis};
      if (ok() && std::find(seen.begin(), seen.end(), place) != seen.end()) {
        fail(path, "axis", "is a coordinate that the tendon has already; it is " + std::to_string(term.axis));
      }
      seen.push_back(place);
    }
    numbers(item, tendon);
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
    numbers(item, equality);
    compliance(item, "stiffness", equality.stiffness, "damping", equality.damping);
    if (equality.is_soft && equality.stiffness > 0) fail(item, "softness", "is for equalities without stiffness");
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
    if (coordinate.tendon < 0) return std::size_t{1};
    const TendonSpec& tendon = scene_.tendons[static_cast<std::size_t>(coordinate.tendon)];
    return tendon.terms.size() + tendon.path.size();
  };
  std::size_t terms = 0;
  for (const TendonSpec& tendon : scene_.tendons) terms += tendon.terms.size() + tendon.path.size();
  for (const EqualitySpec& equality : scene_.equalities) {
    if (!ok()) return;
    terms += size_of(equality.first) + (equality.has_second ? size_of(equality.second) : 0);
  }
  if (ok() && terms > static_cast<std::size_t>(kMaxSceneTerms)) {
    fail("tendons", "",
         "and equalities may have at most " + std::to_string(kMaxSceneTerms) +
             " terms and points in all, those of tendons in " + "equalities counted again; these have " +
             std::to_string(terms));
  }
}

}  // namespace axion::model
