// The scene while it is being read, and the readers of each section of the document.
//
// Used inside engine/import only. The readers throw ImportFailure; they run in the order in which they are declared.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_colors.hpp"
#include "engine/import/mjcf_content.hpp"
#include "engine/import/mjcf_defaults.hpp"
#include "engine/import/mjcf_geom.hpp"
#include "engine/import/mjcf_meshes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// Where an MJCF joint went: a joint of the scene, and its axis there (0 for free and ball joints).
struct JointPlace {
  int joint = 0;
  int axis = 0;
};

// Where a site is given: read when something asks for it.
struct SitePlace {
  const XmlElement* element;
  int body;
  Place place;
};

// Where a geom is, for the eye or not; not known of meshes that were not read.
struct GeomPlace {
  int body = model::kWorldBody;
  model::Pose X_BG;
  bool is_known = true;
  GeomType type = GeomType::kSphere;
  double radius = 0;  // m, of a sphere or a cylinder
};

// Of an actuator of the scene: what part of its gear is the document's gain, and the document's gear.
struct MotorGain {
  double gain = 1, gear = 1;
  std::size_t number = 0;  // of the actuator in the document
};

// What actuators together may do along an axis, N m or N.
struct ForceRange {
  JointPlace place;
  int tendon;  // or -1, and the force is along it and not an axis
  double lower, upper;
  const XmlElement* element;  // that gives it
};

// A joint whose spring and damper are given by the motion that they make.
struct SpringDamper {
  JointPlace place;
  double time, ratio;  // s, time constant, and share of critical damping
};

// Dry friction of a ball or of a free joint, N m and N.
struct JointFriction {
  int joint;  // of the scene
  double friction;
  model::SoftnessSpec softness;
  std::string name;  // of the joint, "" for none
  const XmlElement* element;
};

inline constexpr int kNoTendon = -1;

struct MjcfScene {
  const XmlElement& root;
  Notes& notes;
  const DocumentSettings& documents;
  const MjcfSettings& settings;  // of the main document, whose <option> is that of all
  DefaultClasses defaults;
  MeshAssets meshes;
  HeightFieldAssets height_fields;
  model::SceneSpec spec;
  std::map<std::string, int, std::less<>> body_index;          // by name, with "world"
  std::map<std::string, JointPlace, std::less<>> joint_place;  // by name
  std::map<std::string, SitePlace, std::less<>> sites;         // by name
  std::map<std::string, SitePlace, std::less<>> cameras;       // by name
  std::map<std::string, GeomPlace, std::less<>> geom_places;   // by name
  std::map<int, model::Pose> inertial_frames;  // of bodies whose document gives its axes, or has them from one geom
  std::map<int, int> first_parts;              // the first of a chain's parts, of bodies that have any (add_part)
  std::vector<MotorGain> motor_gains;          // [actuator]
  std::size_t actuator_count = 0;              // of the document, those that were left out among them
  // Geoms that <contact><pair> or a sensor of distances names: shapes, whatever else they touch.
  std::set<std::string, std::less<>> paired_geoms;
  std::vector<ForceRange> force_ranges;                       // of joints and tendons
  std::vector<const XmlElement*> body_elements;               // [body]
  std::vector<const XmlElement*> shape_elements;              // [shape]
  std::vector<const XmlElement*> loop_elements;               // of the last joints, those that equalities became
  std::map<std::string, int, std::less<>> tendon_index = {};  // by name; kNoTendon where the scene has it not
  std::vector<const XmlElement*> tendon_elements = {};        // [tendon]
  std::vector<SpringDamper> spring_dampers = {};
  std::vector<JointFriction> joint_frictions = {};
  std::vector<const XmlElement*> equality_elements = {};    // [equality of coordinates]
  std::set<std::string, std::less<>> measured_bodies = {};  // that a sensor of distances names: their geoms are shapes
  Materials materials = {root, defaults};
  std::vector<std::optional<Color>> shape_colors = {};  // [shape]
  bool wants_visuals = false;
  std::vector<Visual> visuals = {};
  std::vector<int> hidden_shapes = {};
};

// [body] the body that it is welded to, itself, or the world, by the joints of the tree.
std::vector<int> weld_roots(const model::SceneSpec& spec);

// The pose of a site in its body. Refuses one that is not there; `attribute` of `element` names it.
model::Pose site_pose(const MjcfScene& scene, const XmlElement& element, std::string_view attribute, int& body);

// Pose in its body of what is given at a place.
model::Pose pose_at(const Attributes& attributes, const Place& place, const MjcfSettings& settings);

// Notes the actuatorfrcrange of a joint that is at `place`, or of a tendon, if it has one.
void read_force_range(const Attributes& joint, const JointPlace& place, int tendon, MjcfScene& scene);

// Length of a tendon in the reference configuration.
double reference_of(const model::SceneSpec& spec, const model::TendonSpec& tendon);
// The tendon that an attribute names; kNoTendon where it is one without effect, which has been noted.
int find_tendon(const MjcfScene& scene, const XmlElement& element, const char* attribute);
// An equality of joints or of tendons, with its defaults.
void read_coordinate_equality(MjcfScene& scene, const XmlElement& element, const Attributes& attributes);

// The shape of the geom that an attribute names; -1 where the scene has it not: it touches nothing, or that was noted.
int find_shape(const MjcfScene& scene, const XmlElement& element, const char* attribute);

// Notes the springdamper of a joint that is at `place`, if it has one; then makes springs and dampers of them.
void read_spring_damper(const Attributes& joint, const JointPlace& place, MjcfScene& scene);
void make_springs(MjcfScene& scene);

// What of a geom is drawn, before it becomes a shape, if it becomes one.
void read_visual(MjcfScene& scene, const Attributes& attributes, const Geom& geom, int body);

void find_paired_geoms(MjcfScene& scene);  // names in <contact> and <sensor>
void read_bodies(MjcfScene& scene);        // <worldbody>
void read_contacts(MjcfScene& scene);      // <contact>
void read_tendons(MjcfScene& scene);       // <tendon>
void read_actuators(MjcfScene& scene);     // <actuator>
void add_dry_friction(MjcfScene& scene);   // of balls and free joints, after all other tendons
void read_sensors(MjcfScene& scene);       // <sensor>
void read_keyframes(MjcfScene& scene);     // <keyframe>
void name_the_unnamed(MjcfScene& scene);
// <equality>; its joints come after those of the tree, and have no joint coordinates.
void read_equalities(MjcfScene& scene);

}  // namespace axion::import
