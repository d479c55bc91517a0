#include "engine/model/validate_scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "engine/base/utf8.hpp"
#include "engine/model/loop_joints.hpp"
#include "engine/model/scene_checker.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

// A name as a message shows it.
std::string shown(const std::string& name) {
  constexpr std::size_t kMaxBytes = 64;
  return name.size() <= kMaxBytes ? name : std::string(utf8_prefix(name, kMaxBytes)) + "...";
}

}  // namespace

std::string SceneChecker::item_name(const char* list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

void SceneChecker::fail(const std::string& item, const char* leaf, const std::string& message) {
  if (error_) return;
  std::string path = item;
  if (*leaf != '\0') path += (path.empty() ? "" : ".") + std::string(leaf);
  error_ = invalid_argument(path, path + " " + message + ".");
}

bool SceneChecker::is_real(double value) { return std::abs(value) <= kMaxMagnitude; }

void SceneChecker::real(const std::string& item, const char* leaf, double value) {
  if (!is_real(value)) {
    fail(item, leaf, "must be finite and at most " + to_text(kMaxMagnitude) + " in magnitude; it is " + to_text(value));
  }
}

void SceneChecker::at_least(const std::string& item, const char* leaf, double value, double least) {
  bounded(item, leaf, value, {.least = least});
}

void SceneChecker::bounded(const std::string& item, const char* leaf, double value, const FieldRules& rules) {
  real(item, leaf, value);
  if (!ok()) return;
  if (value < rules.least) fail(item, leaf, "must be at least " + to_text(rules.least) + "; it is " + to_text(value));
  if (value > rules.most) fail(item, leaf, "must be at most " + to_text(rules.most) + "; it is " + to_text(value));
}

void SceneChecker::compliance(const std::string& item, const char* stiffness_leaf, double stiffness,
                              const char* damping_leaf, double damping) {
  if (ok() && stiffness == 0 && damping > 0) {
    fail(item, damping_leaf,
         "must be 0 unless " + std::string(stiffness_leaf) + " is above 0, as stiffness 0 is rigid; it is " +
             to_text(damping));
  }
}

void SceneChecker::pose(const std::string& item, const char* leaf, const PoseSpec& X) {
  const auto& [position, q] = X;
  double norm_sq = 0;
  for (double v : q) norm_sq += v * v;
  if (std::all_of(position.begin(), position.end(), is_real) && std::all_of(q.begin(), q.end(), is_real) &&
      norm_sq >= 1e-12) {
    return;
  }
  reals(item, (std::string(leaf) + ".position").c_str(), position);
  const std::string rotation = std::string(leaf) + ".rotation";
  reals(item, rotation.c_str(), q);
  if (ok()) fail(item, rotation.c_str(), "is a zero quaternion; its norm is " + to_text(std::sqrt(norm_sq)));
}

void SceneChecker::index(const std::string& item, const char* leaf, int value, int first, std::size_t end) {
  if (value < first || value >= static_cast<int>(end)) {
    fail(item, leaf,
         "must be an index from " + std::to_string(first) + " to " + std::to_string(static_cast<int>(end) - 1) +
             "; it is " + std::to_string(value));
  }
}

void SceneChecker::range(const std::string& item, const char* leaf, double lower, double upper) {
  if (ok() && !(lower < upper)) {
    fail(item, leaf, "must be below the upper limit; the limits are " + to_text(lower) + " and " + to_text(upper));
  }
}

void SceneChecker::text(const std::string& item, const std::string& value) {
  if (value.size() > kMaxNameBytes) {
    fail(item, "name",
         "must have at most " + std::to_string(kMaxNameBytes) + " bytes; it has " + std::to_string(value.size()));
  }
  if (!is_printable(value)) fail(item, "name", "must be UTF-8 without control characters");
}

void SceneChecker::name(const std::string& item, const std::string& value, std::unordered_set<std::string>& seen) {
  if (skips_names_) return;
  if (value.empty()) fail(item, "name", "must not be empty");
  text(item, value);
  if (ok() && !seen.insert(value).second) fail(item, "name", "is used twice: \"" + shown(value) + "\"");
}

void SceneChecker::count(const char* list, std::size_t value, int limit) {
  if (value > static_cast<std::size_t>(limit)) {
    fail(list, "", "may have at most " + std::to_string(limit) + " entries; it has " + std::to_string(value));
  }
}

void SceneChecker::counts() {
  count("bodies", scene_.bodies.size(), kMaxSceneBodies);
  count("joints", scene_.joints.size(), kMaxSceneJoints);
  count("shapes", scene_.shapes.size(), kMaxSceneShapes);
  count("meshes", scene_.meshes.size(), kMaxSceneMeshes);
  count("height_fields", scene_.height_fields.size(), kMaxSceneHeightFields);
  count("actuators", scene_.actuators.size(), kMaxSceneActuators);
  count("excludes", scene_.excludes.size(), kMaxSceneExcludes);
  count("keyframes", scene_.keyframes.size(), kMaxSceneKeyframes);
  count("contact_pairs", scene_.contact_pairs.size(), kMaxSceneContactPairs);
  count("tendons", scene_.tendons.size(), kMaxSceneTendons);
  count("equalities", scene_.equalities.size(), kMaxSceneEqualities);
  count("sensors", scene_.sensors.size(), kMaxSceneSensors);
}

void SceneChecker::softness(const std::string& item, const char* leaf, const SoftnessSpec& softness) {
  const std::string name = item + "." + leaf;
  numbers(name, softness);
  const auto& [first, second] = softness.solref;
  if (ok() && (first > 0) != (second > 0)) {
    fail(name, "solref", "must have two numbers above 0 or none; it has " + to_text(first) + " and " + to_text(second));
  }
}

void SceneChecker::cone_dimension(const std::string& item, int dimension) {
  if (dimension == 1 || dimension == 3 || dimension == 4 || dimension == 6) return;
  fail(item, "cone_dimension", "must be 1, 3, 4 or 6; it is " + std::to_string(dimension));
}

void SceneChecker::world() {
  reals("", "gravity", scene_.gravity);
  real("", "timestep", scene_.timestep);
  if (ok() && !(scene_.timestep > 0 && scene_.timestep <= 1)) {
    fail("", "timestep", "must be above 0 and at most 1 s; it is " + to_text(scene_.timestep));
  }
  text("", scene_.name);
  at_least("medium", "density", scene_.medium.density, 0);
  at_least("medium", "viscosity", scene_.medium.viscosity, 0);
  reals("medium", "wind", scene_.medium.wind);
  real("softness_rule", "impedance_ratio", scene_.softness_rule.impedance_ratio);
  if (ok() && !(scene_.softness_rule.impedance_ratio > 0)) {
    fail("softness_rule", "impedance_ratio", "must be above 0; it is " + to_text(scene_.softness_rule.impedance_ratio));
  }
  at_least("softness_rule", "least_time_constant", scene_.softness_rule.least_time_constant, 0);
}

void SceneChecker::bodies() {
  std::unordered_set<std::string> names;
  for (std::size_t b = 0; b < scene_.bodies.size() && ok(); ++b) {
    const BodySpec& body = scene_.bodies[b];
    const std::string item = item_name("bodies", b);
    name(item, body.name, names);
    numbers(item, body);
    fluid_ellipsoids(item, body);
    if (body.lender < -1 || body.lender >= static_cast<int>(scene_.bodies.size()) ||
        body.lender == static_cast<int>(b)) {
      fail(item, "lender", "must be another body, or -1; it is " + std::to_string(body.lender));
    }
  }
}

void SceneChecker::fluid_ellipsoids(const std::string& body, const BodySpec& spec) {
  if (spec.fluid_ellipsoids.size() > static_cast<std::size_t>(kMaxFluidEllipsoids)) {
    fail(body, "fluid_ellipsoids", "may have at most " + std::to_string(kMaxFluidEllipsoids));
  }
  for (std::size_t i = 0; i < spec.fluid_ellipsoids.size() && ok(); ++i) {
    numbers(body + "." + item_name("fluid_ellipsoids", i), spec.fluid_ellipsoids[i]);
  }
}

// Their points are checked where hulls are made of them (convex_hull.hpp).
void SceneChecker::meshes() {
  for (std::size_t i = 0; i < scene_.meshes.size() && ok(); ++i) {
    name(item_name("meshes", i), scene_.meshes[i].name, mesh_names_);
  }
}

void SceneChecker::height_fields() {
  std::size_t all = 0;
  for (std::size_t i = 0; i < scene_.height_fields.size() && ok(); ++i) {
    const HeightFieldSpec& field = scene_.height_fields[i];
    const std::string item = item_name("height_fields", i);
    name(item, field.name, field_names_);
    const char* const counts[] = {"columns", "rows"};
    for (int k = 0; k < 2 && ok(); ++k) {
      const int value = k == 0 ? field.columns : field.rows;
      if (value < 2) fail(item, counts[k], "must be at least 2; it is " + std::to_string(value));
    }
    at_least(item, "half_x", field.half_x, kMinLength);
    at_least(item, "half_y", field.half_y, kMinLength);
    at_least(item, "base", field.base, 0);
    if (!ok()) return;
    const std::int64_t points = std::int64_t(field.columns) * field.rows;
    if (points > kMaxFieldHeights) {
      fail(item, "heights",
           "may be at most " + std::to_string(kMaxFieldHeights) + "; columns times rows is " + std::to_string(points));
    } else if (field.heights.size() != static_cast<std::size_t>(points)) {
      fail(item, "heights",
           "must be columns times rows, " + std::to_string(points) + "; they are " +
               std::to_string(field.heights.size()));
    }
    for (std::size_t k = 0; k < field.heights.size() && ok(); ++k) {
      real(item, "heights", field.heights[k]);
      if (ok() && !(field.heights[k] >= -field.base)) {
        fail(item, "heights",
             "must not be below the base, at " + to_text(-field.base) + "; one is " + to_text(field.heights[k]));
      }
    }
    all += field.heights.size();
    if (ok() && all > static_cast<std::size_t>(kMaxSceneFieldHeights)) {
      fail("height_fields", "", "may have at most " + std::to_string(kMaxSceneFieldHeights) + " heights in all");
    }
  }
}

void SceneChecker::shapes() {
  std::unordered_set<std::string> names;
  for (std::size_t s = 0; s < scene_.shapes.size() && ok(); ++s) {
    const ShapeSpec& shape = scene_.shapes[s];
    const std::string item = item_name("shapes", s);
    name(item, shape.name, names);
    index(item, "body", shape.body, kWorldBody, scene_.bodies.size());
    numbers(item, shape);
    static constexpr int kSizes[] = {0, 1, 2, 3, 2, 3, 0, 0};  // the order of ShapeKind
    for (int i = 0; i < kSizes[static_cast<int>(shape.kind)]; ++i) {
      if (shape.size[i] >= kMinLength) continue;
      at_least(item, ("size[" + std::to_string(i) + "]").c_str(), shape.size[i], kMinLength);
    }
    if (ok() && shape.kind == ShapeKind::kMesh && !mesh_names_.contains(shape.mesh)) {
      fail(item, "mesh", "must name one of the scene's meshes; it is \"" + shape.mesh + "\"");
    }
    if (ok() && shape.kind != ShapeKind::kMesh && !shape.mesh.empty()) {
      fail(item, "mesh", "is for shapes of kind mesh; it is \"" + shape.mesh + "\"");
    }
    const bool is_field = shape.kind == ShapeKind::kHeightField;
    if (ok() && is_field && !field_names_.contains(shape.height_field)) {
      fail(item, "height_field",
           "must name one of the scene's height fields; it is \"" + shown(shape.height_field) + "\"");
    }
    if (ok() && !is_field && !shape.height_field.empty()) {
      fail(item, "height_field", "is for shapes of kind height field; it is \"" + shown(shape.height_field) + "\"");
    }
    compliance(item, "contact_stiffness", shape.contact_stiffness, "contact_damping", shape.contact_damping);
    if (shape.contact_dimension != 1 && shape.contact_dimension != 3) {
      fail(item, "contact_dimension", "must be 1 or 3; it is " + std::to_string(shape.contact_dimension));
    }
    cone_dimension(item, shape.cone_dimension);
    const bool is_ground = shape.kind == ShapeKind::kPlane || is_field;
    if (ok() && is_ground && shape.body != kWorldBody && weld_root_[shape.body] != kWorldBody) {
      fail(item, "body",
           std::string("of a ") + (is_field ? "height field" : "plane") + " must be the world or welded to it; it is " +
               std::to_string(shape.body));
    }
  }
}

void SceneChecker::excludes() {
  for (std::size_t i = 0; i < scene_.excludes.size() && ok(); ++i) {
    const std::string item = item_name("excludes", i);
    index(item, "body_a", scene_.excludes[i].body_a, kWorldBody, scene_.bodies.size());
    index(item, "body_b", scene_.excludes[i].body_b, kWorldBody, scene_.bodies.size());
    if (scene_.excludes[i].body_a == scene_.excludes[i].body_b) {
      fail(item, "body_b", "must be another body than body_a; both are " + std::to_string(scene_.excludes[i].body_a));
    }
  }
}

void SceneChecker::contact_pairs() {
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < scene_.contact_pairs.size() && ok(); ++i) {
    const ContactPairSpec& pair = scene_.contact_pairs[i];
    const std::string item = item_name("contact_pairs", i);
    index(item, "shape_a", pair.shape_a, 0, scene_.shapes.size());
    index(item, "shape_b", pair.shape_b, 0, scene_.shapes.size());
    numbers(item, pair);
    if (pair.contact_dimension != 1 && pair.contact_dimension != 3) {
      fail(item, "contact_dimension", "must be 1 or 3; it is " + std::to_string(pair.contact_dimension));
    }
    cone_dimension(item, pair.cone_dimension);
    if (!ok()) return;
    const auto root = [&](int shape) {
      const int body = scene_.shapes[static_cast<std::size_t>(shape)].body;
      return body == kWorldBody ? body : weld_root_[static_cast<std::size_t>(body)];
    };
    if (root(pair.shape_a) == root(pair.shape_b)) {
      fail(item, "shape_b",
           "must be of a body that is not welded to that of shape_a; they are " + std::to_string(pair.shape_a) +
               " and " + std::to_string(pair.shape_b));
    }
    if (!seen.insert(std::minmax(pair.shape_a, pair.shape_b)).second) {
      fail(item, "",
           "is a second pair of shapes " + std::to_string(pair.shape_a) + " and " + std::to_string(pair.shape_b));
    }
  }
  if (ok() && !scene_.contact_pairs.empty() && scene_.shapes.size() > static_cast<std::size_t>(kMaxShapesWithPairs)) {
    fail("contact_pairs", "",
         "may be given in scenes of at most " + std::to_string(kMaxShapesWithPairs) + " shapes; this has " +
             std::to_string(scene_.shapes.size()));
  }
}

void SceneChecker::keyframes() {
  std::size_t positions = 0, velocities = 0;
  for (std::size_t j = 0; j < scene_.joints.size(); ++j) {
    positions += static_cast<std::size_t>(position_count(scene_.joints[j], closes_loop_[j]));
    velocities += static_cast<std::size_t>(velocity_count(scene_.joints[j], closes_loop_[j]));
  }
  std::unordered_set<std::string> names;
  for (std::size_t k = 0; k < scene_.keyframes.size() && ok(); ++k) {
    const KeyframeSpec& key = scene_.keyframes[k];
    const std::string item = item_name("keyframes", k);
    name(item, key.name, names);
    real(item, "time", key.time);
    if (key.joint_position.size() != positions) {
      fail(item, "joint_position",
           "must have " + std::to_string(positions) + " numbers; it has " + std::to_string(key.joint_position.size()));
    }
    if (!key.joint_velocity.empty() && key.joint_velocity.size() != velocities) {
      fail(item, "joint_velocity",
           "must be empty or have " + std::to_string(velocities) + " numbers; it has " +
               std::to_string(key.joint_velocity.size()));
    }
    if (!key.control.empty() && key.control.size() != scene_.actuators.size()) {
      fail(item, "control",
           "must be empty or have " + std::to_string(scene_.actuators.size()) + " numbers; it has " +
               std::to_string(key.control.size()));
    }
    const auto stateful = static_cast<std::size_t>(
        std::count_if(scene_.actuators.begin(), scene_.actuators.end(),
                      [](const ActuatorSpec& actuator) { return actuator.activation != ActivationKind::kNone; }));
    if (!key.activation.empty() && key.activation.size() != stateful) {
      fail(item, "activation",
           "must be empty or have " + std::to_string(stateful) + " numbers; it has " +
               std::to_string(key.activation.size()));
    }
    for (double v : key.activation) real(item, "activation", v);
    for (double v : key.control) real(item, "control", v);
    for (double v : key.joint_position) real(item, "joint_position", v);
    for (double v : key.joint_velocity) real(item, "joint_velocity", v);
    keyframe_mocaps(item, key);
    if (ok()) keyframe_quaternions(item, key);
  }
}

void SceneChecker::keyframe_quaternions(const std::string& item, const KeyframeSpec& key) {
  std::size_t start = 0;
  for (std::size_t j = 0; j < scene_.joints.size(); ++j) {
    const JointSpec& joint = scene_.joints[j];
    const std::size_t count = static_cast<std::size_t>(position_count(joint, closes_loop_[j]));
    if (count > 0 && (joint.kind == JointKind::kFree || joint.kind == JointKind::kBall)) {
      const std::size_t w = start + count - 4;
      double norm_sq = 0;
      for (std::size_t i = w; i < w + 4; ++i) norm_sq += key.joint_position[i] * key.joint_position[i];
      if (norm_sq < 1e-12) {
        fail(item, "joint_position",
             "has a zero quaternion for joint \"" + shown(joint.name) + "\" at index " + std::to_string(w) +
                 "; its norm is " + to_text(std::sqrt(norm_sq)));
      }
    }
    start += count;
  }
}

// Each stage relies on those before it: indices before the tree, the tree before shapes and welds.
Status SceneChecker::run() {
  void (SceneChecker::*const stages[])() = {
      &SceneChecker::counts,        &SceneChecker::world,         &SceneChecker::bodies,    &SceneChecker::joints,
      &SceneChecker::tree,          &SceneChecker::loops,         &SceneChecker::welds,     &SceneChecker::meshes,
      &SceneChecker::height_fields, &SceneChecker::shapes,        &SceneChecker::actuators, &SceneChecker::excludes,
      &SceneChecker::keyframes,     &SceneChecker::contact_pairs, &SceneChecker::tendons,   &SceneChecker::equalities,
      &SceneChecker::sensors,       &SceneChecker::mocaps};
  for (auto stage : stages) {
    (this->*stage)();
    if (!ok()) return *error_;
  }
  return {};
}

// In the order of run(), so that the first fault is the same one.
Status SceneChecker::run_numbers(ParameterSet changed) {
  const auto has = [changed](ParameterOf of) { return (changed & set_of(of)) != 0; };
  skips_names_ = true;  // no number changes one
  if (has(ParameterOf::kWorld)) world();
  if (ok() && has(ParameterOf::kBodies)) bodies();
  if (ok() && has(ParameterOf::kAxes)) joints();
  if (ok()) tree();  // what follows relies on it
  if (ok() && has(ParameterOf::kBodies)) welds();
  if (ok() && has(ParameterOf::kShapes)) {
    skips_names_ = false;
    meshes(), height_fields();  // for their names
    skips_names_ = true;
    shapes();
  }
  if (ok() && has(ParameterOf::kActuators)) actuators();
  if (!ok()) return *error_;
  return {};
}

Status validate_scene(const SceneSpec& scene) { return SceneChecker(scene).run(); }

Status validate_numbers(const SceneSpec& scene, ParameterSet changed) {
  return SceneChecker(scene).run_numbers(changed);
}

}  // namespace axion::model
