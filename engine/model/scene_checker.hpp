// SceneChecker: the checks behind validate_scene, in the order in which they rely on each other.
//
// For validate_scene.cpp alone, which owns the order. Keeps the first fault; checks that need earlier ones to have
// passed ask ok() first. validate_joints.cpp has the checks of joints, loops and welds.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/parameters.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::model {

class SceneChecker {
 public:
  explicit SceneChecker(const SceneSpec& scene) : scene_(scene) {}
  Status run();
  Status run_numbers(ParameterSet changed);

 private:
  bool ok() const { return !error_.has_value(); }
  static std::string item_name(const char* list, std::size_t i);
  static bool is_real(double value);
  void fail(const std::string& item, const char* leaf, const std::string& message);
  void real(const std::string& item, const char* leaf, double value);
  void at_least(const std::string& item, const char* leaf, double value, double least);
  // A spring and its damper, in series with a rigid thing: a damper alone would have nothing to act on.
  void compliance(const std::string& item, const char* stiffness_leaf, double stiffness, const char* damping_leaf,
                  double damping);
  template <std::size_t N>
  void reals(const std::string& item, const char* leaf, const std::array<double, N>& values,
             const FieldRules& rules = {}) {
    for (std::size_t i = 0; i < N; ++i) {
      if (is_real(values[i]) && values[i] >= rules.least) continue;
      bounded(item, (std::string(leaf) + "[" + std::to_string(i) + "]").c_str(), values[i], rules);
    }
  }
  void bounded(const std::string& item, const char* leaf, double value, const FieldRules& rules);
  // Each number of a struct alone, by its list (spec_field.hpp).
  template <typename Spec>
  void numbers(const std::string& item, const Spec& spec) {
    for_each_field<Spec>([&](const auto& field) {
      const auto& value = spec.*field.member;
      using T = std::remove_cvref_t<decltype(value)>;
      if (!field.rules.is_checked || (field.condition.is_presence && !field.holds(spec))) return;
      if constexpr (std::is_same_v<T, double>) {
        bounded(item, field.name, value, field.rules);
      } else if constexpr (std::is_same_v<T, PoseSpec>) {
        pose(item, field.name, value);
      } else if constexpr (std::is_same_v<T, SoftnessSpec>) {
        softness(item, field.name, value);
      } else if constexpr (std::is_same_v<T, ForceRangeSpec>) {
        force_range(item, field.name, value);
      } else if constexpr (requires { reals(item, field.name, value); }) {
        reals(item, field.name, value, field.rules);
      }
    });
  }
  void softness(const std::string& item, const char* leaf, const SoftnessSpec& softness);
  void force_range(const std::string& item, const char* leaf, const ForceRangeSpec& forces);
  void cone_dimension(const std::string& item, int dimension);
  void pose(const std::string& item, const char* leaf, const PoseSpec& X);
  void index(const std::string& item, const char* leaf, int value, int first, std::size_t end);
  void range(const std::string& item, const char* leaf, double lower, double upper);
  // A name that may be empty and be there twice.
  void text(const std::string& item, const std::string& value);
  void name(const std::string& item, const std::string& value, std::unordered_set<std::string>& seen);
  void count(const char* list, std::size_t value, int limit);

  void counts();
  void world();
  void bodies();
  void fluid_ellipsoids(const std::string& body, const BodySpec& spec);
  void meshes();
  void height_fields();
  void shapes();
  void excludes();
  void keyframes();
  void contact_pairs();
  // validate_actuators.cpp
  void actuators();
  void activation(const std::string& item, const ActuatorSpec& actuator);
  void muscle(const std::string& item, const MuscleSpec& muscle);
  void site(const std::string& item, const ActuatorSpec& actuator);
  // validate_tendons.cpp
  void axis_of_tree(const std::string& item, int joint, int axis);
  void tendons();
  void path(const std::string& tendon, const TendonSpec& spec);
  void equalities();
  void coordinate(const std::string& item, const CoordinateSpec& coordinate);
  // validate_sensors.cpp
  void sensors();
  void sensor_of_joint(const std::string& item, const SensorSpec& sensor);
  void touch_zone(const std::string& item, const SensorSpec& sensor);
  void contact_side(const std::string& item, const char* leaf, const ContactSideSpec& side);
  void sensor_of_contacts(const std::string& item, const SensorSpec& sensor);
  void sensor_of_distance(const std::string& item, const SensorSpec& sensor);
  void image(const std::string& item, const ImageSpec& image);
  void frame(const std::string& item, const char* leaf, const FrameSpec& frame);

  void keyframe_quaternions(const std::string& item, const KeyframeSpec& key);
  // validate_mocaps.cpp
  int mocap_under(int body) const;
  void mocaps();
  void keyframe_mocaps(const std::string& item, const KeyframeSpec& key);

  // validate_joints.cpp
  void joints();
  void joint(std::size_t j, std::unordered_set<std::string>& axis_names);
  void axis(const std::string& item, const AxisSpec& axis);
  void break_limits(const std::string& item, const JointSpec& joint);
  void axes_span_their_space(const std::string& item, const JointSpec& joint);
  void tree();
  void loops();
  void nothing_acts_along(const std::string& item, const JointSpec& joint);
  void welds();

  const SceneSpec& scene_;
  std::optional<Error> error_;
  bool skips_names_ = false;
  std::vector<bool> closes_loop_;   // [joint]
  std::vector<int> joint_of_body_;  // the joint that carries it; -1: none
  std::unordered_set<std::string> mesh_names_, field_names_;
  std::vector<int> weld_root_;  // body that this one moves with, or kWorldBody
};

}  // namespace axion::model
