#include "server/rpc/scene_overrides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

absl::Status check_value(const std::string& path, double value, double greatest) {
  if (std::isfinite(value) && value >= 0 && value <= greatest) return absl::OkStatus();
  const std::string bounds = std::isinf(greatest) ? "finite and at least 0" : absl::StrCat("from 0 to ", greatest);
  return invalid_field(path, absl::StrCat("is ", value, "; it must be ", bounds));
}

// A damper alone would have nothing to act on. `item` is what the override left.
absl::Status check_compliance(const std::string& path, const char* leaf, const std::string& item, double stiffness,
                              double damping) {
  if (stiffness > 0 || damping == 0) return absl::OkStatus();
  return invalid_field(absl::StrCat(path, ".", leaf, "_damping"),
                       absl::StrCat("leaves \"", item, "\" with damping ", damping,
                                    " and stiffness 0, which is rigid; give ", leaf, "_stiffness too"));
}

absl::Status no_such(const std::string& path, const char* what, const std::string& name,
                     const std::vector<std::string>& names) {
  return schedule::make_failure(
      absl::StatusCode::kNotFound,
      absl::StrCat(path, ".name: there is no ", what, " \"", name.substr(0, 64), "\" in the scene; ",
                   known_names(names)),
      {.reason = std::string(schedule::reason::kNotFound), .field = absl::StrCat(path, ".name")});
}

absl::Status apply(const std::string& path, const v1::ShapeOverride& change, std::vector<model::ShapeSpec>& shapes) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  absl::Status status;
  if (change.has_restitution()) status.Update(check_value(path + ".restitution", change.restitution(), 1));
  if (change.has_contact_stiffness())
    status.Update(check_value(path + ".contact_stiffness", change.contact_stiffness(), kAny));
  if (change.has_contact_damping())
    status.Update(check_value(path + ".contact_damping", change.contact_damping(), kAny));
  if (!status.ok()) return status;
  bool found = change.name().empty();
  std::vector<std::string> names;
  for (model::ShapeSpec& shape : shapes) {
    names.push_back(shape.name);
    if (!change.name().empty() && shape.name != change.name()) continue;
    found = true;
    if (change.has_restitution()) shape.restitution = change.restitution();
    if (change.has_contact_stiffness()) shape.contact_stiffness = change.contact_stiffness();
    if (change.has_contact_damping()) shape.contact_damping = change.contact_damping();
    status = check_compliance(path, "contact", shape.name, shape.contact_stiffness, shape.contact_damping);
    if (!status.ok()) return status;
  }
  return found ? absl::OkStatus() : no_such(path, "shape", change.name(), names);
}

// A joint goes by its own name and by its axes' names: a scene file may name the axes alone.
bool goes_by(const model::JointSpec& joint, const std::string& name) {
  return joint.name == name ||
         std::any_of(joint.axes.begin(), joint.axes.end(), [&](const auto& a) { return a.name == name; });
}

absl::Status apply(const std::string& path, const v1::JointOverride& change, std::vector<model::JointSpec>& joints) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  absl::Status status;
  if (change.has_lock_stiffness()) status.Update(check_value(path + ".lock_stiffness", change.lock_stiffness(), kAny));
  if (change.has_lock_damping()) status.Update(check_value(path + ".lock_damping", change.lock_damping(), kAny));
  if (!status.ok()) return status;
  bool found = change.name().empty();
  std::vector<std::string> names;
  for (model::JointSpec& joint : joints) {
    names.push_back(joint.name);
    const bool has_freedom = joint.kind == model::JointKind::kBall || joint.kind == model::JointKind::kAxes;
    if (change.name().empty() ? !has_freedom : !goes_by(joint, change.name())) continue;
    found = true;
    if (joint.kind == model::JointKind::kFree) {
      return invalid_field(path + ".name", absl::StrCat("\"", joint.name, "\" is a free joint, which locks nothing"));
    }
    if (change.has_lock_stiffness()) joint.lock_stiffness = change.lock_stiffness();
    if (change.has_lock_damping()) joint.lock_damping = change.lock_damping();
    status = check_compliance(path, "lock", joint.name, joint.lock_stiffness, joint.lock_damping);
    if (!status.ok()) return status;
  }
  return found ? absl::OkStatus() : no_such(path, "joint", change.name(), names);
}

template <typename Overrides, typename Items>
absl::Status apply_all(const char* path, const Overrides& overrides, Items& items) {
  for (int i = 0; i < overrides.size(); ++i) {
    if (absl::Status status = apply(absl::StrCat(path, "[", i, "]"), overrides.Get(i), items); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status apply_overrides(const v1::CreateModelRequest& request, model::SceneSpec& scene) {
  absl::Status status = apply_all("shape_overrides", request.shape_overrides(), scene.shapes);
  status.Update(apply_all("joint_overrides", request.joint_overrides(), scene.joints));
  return status;
}

}  // namespace axion::server::rpc
