#include "engine/import/urdf.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/import/import_frame.hpp"
#include "engine/import/mjcf_schema.hpp"
#include "engine/import/urdf_elements.hpp"
#include "engine/import/urdf_scene.hpp"

namespace axion::import {
namespace {

// What Gazebo reads in its extension and would move otherwise.
constexpr std::string_view kGazeboMotion =
    "mu1 mu2 kp kd minDepth maxVel maxContacts selfCollide gravity turnGravityOff implicitSpringDamper springStiffness "
    "springReference dampingFactor fudgeFactor stopCfm stopErp plugin";

// The element that an entry of a list of the scene came from; nullptr where there is none.
const XmlElement* element_of(const UrdfScene& scene, std::string_view list, std::size_t index) {
  const std::vector<const XmlElement*>& elements = list == "shapes"   ? scene.shape_elements
                                                   : list == "joints" ? scene.joint_elements
                                                                      : scene.body_elements;
  const bool known = list == "shapes" || list == "joints" || list == "bodies";
  return known && index < elements.size() ? elements[index] : nullptr;
}

// <mujoco><compiler/><option/></mujoco>: what MuJoCo reads in a URDF document. Angles are radians whatever it says.
MjcfSettings read_extension(const XmlElement& robot, Notes& notes) {
  MjcfSettings settings;
  settings.timestep = model::SceneSpec{}.timestep;
  const XmlElement* extension = find_child(robot, "mujoco");
  if (extension == nullptr) return settings;
  check_schema(*extension, {}, notes);
  for (const XmlElement& section : extension->children) {
    if (!is_listed("compiler option size", section.tag)) {
      notes.warn(section, "", "is not read: of this extension only compiler and option are");
    }
  }
  const double own = settings.timestep;
  settings = DocumentSettings(*extension, {}, notes).main();
  bool has_timestep = false;
  for (const XmlElement& section : extension->children) {
    has_timestep = has_timestep || (section.tag == "option" && section.find("timestep") != nullptr);
  }
  if (!has_timestep) settings.timestep = own;
  return settings;
}

void check_robot(const XmlElement& robot, Notes& notes) {
  if (robot.tag != "robot") refuse(robot, "", "is not the root of a URDF document, which is <robot>");
  for (const XmlElement& child : robot.children) {
    if (child.tag.starts_with("xacro:")) {
      refuse(child, "", "is of the macro language xacro; expand the file first: xacro robot.urdf.xacro > robot.urdf");
    }
  }
  note_unknown(robot, "name version", "link joint material transmission gazebo sensor mujoco ros2_control static",
               notes);
  for (const XmlElement& child : robot.children) {
    if (child.tag != "gazebo") continue;
    for (const XmlElement& setting : child.children) {
      if (is_listed(kGazeboMotion, setting.tag)) notes.warn(setting, "", "is of Gazebo, and is not used");
    }
  }
}

void add_ground(UrdfScene& scene) {
  model::ShapeSpec plane;
  plane.name = "ground";
  plane.kind = model::ShapeKind::kPlane;
  for (int copy = 2; !scene.shape_names.insert(plane.name).second; ++copy) plane.name = "ground" + std::to_string(copy);
  scene.spec.shapes.push_back(std::move(plane));
}

// The pose comes from outside the document, so it is looked at first.
model::Pose base_pose(const UrdfOptions& urdf) {
  double length = 0;
  bool finite = true;
  for (double x : urdf.X_WR.position) finite = finite && std::isfinite(x);
  for (double x : urdf.X_WR.rotation) {
    finite = finite && std::isfinite(x);
    length = std::max(length, std::abs(x));
  }
  if (!finite) throw ImportFailure{invalid_argument("base_pose", "base_pose must be finite.")};
  if (length == 0) throw ImportFailure{invalid_argument("base_pose", "base_pose.rotation must not be zero.")};
  return model::to_pose(urdf.X_WR);
}

ImportedScene import_tree(const XmlElement& robot, const ImportOptions& options, const UrdfOptions& urdf) {
  Notes notes(options.allow_unsupported);
  check_robot(robot, notes);
  MjcfSettings settings = read_extension(robot, notes);
  UrdfTree tree = read_urdf_tree(robot, urdf.free_base, base_pose(urdf), notes);
  const std::string directory = settings.mesh_directory;
  UrdfScene scene{notes,
                  robot,
                  urdf,
                  options.allow_unsupported,
                  std::move(settings),
                  std::move(tree),
                  UrdfMeshes(options.assets, directory),
                  {},
                  {},
                  {},
                  {},
                  {},
                  {}};
  scene.wants_visuals = options.wants_visuals;
  start_spec(robot, "name", scene.settings, scene.spec);
  read_urdf_links(scene);
  if (urdf.ground) add_ground(scene);
  read_urdf_joints(scene);
  check_spec(scene.spec, [&](std::string_view list, std::size_t index) { return element_of(scene, list, index); });
  leave_out_overlaps(scene, robot);
  return {.scene = std::move(scene.spec),
          .warnings = notes.take(),
          .visuals = std::move(scene.visuals),
          .hidden_shapes = std::move(scene.hidden_shapes)};
}

}  // namespace

Result<ImportedScene> import_urdf(std::string_view xml, const ImportOptions& options, const UrdfOptions& urdf) {
  // Some programs end their files with the NUL of a string.
  while (!xml.empty() && xml.back() == '\0') xml.remove_suffix(1);
  return without_failures([&]() -> Result<ImportedScene> {
    const Result<XmlElement> root = read_xml_alone(xml);
    if (!root.ok()) return root.error();
    return import_tree(root.value(), options, urdf);
  });
}

}  // namespace axion::import
