#include "engine/import/mjcf.hpp"

#include <charconv>
#include <new>
#include <utility>

#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_schema.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/model/merge_welds.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {
namespace {

// The element that a path like "bodies[3].mass" came from; nullptr where there is no single one.
const XmlElement* element_of(const MjcfScene& scene, const std::string& path) {
  const std::size_t open = path.find('[');
  if (open == std::string::npos) return nullptr;
  std::size_t index = 0;
  std::from_chars(path.data() + open + 1, path.data() + path.size(), index);
  const std::string list = path.substr(0, open);
  if (list == "shapes" && index < scene.shape_elements.size()) return scene.shape_elements[index];
  if (list == "tendons" && index < scene.tendon_elements.size()) return scene.tendon_elements[index];
  if (list == "equalities" && index < scene.equality_elements.size()) return scene.equality_elements[index];
  const std::size_t tree_joints = scene.spec.joints.size() - scene.loop_elements.size();
  if (list == "joints" && index >= tree_joints && index < scene.spec.joints.size()) {
    return scene.loop_elements[index - tree_joints];
  }
  if (list == "joints" && index < tree_joints) {
    index = static_cast<std::size_t>(scene.spec.joints[index].child);
  } else if (list != "bodies") {
    return nullptr;
  }
  return index < scene.body_elements.size() ? scene.body_elements[index] : nullptr;
}

// The last gate: what the readers let through must be a scene that compiles.
void check_scene(const MjcfScene& scene) {
  const Result<model::WeldedScene> welded = model::merge_welds(scene.spec);
  if (welded.ok()) return;
  const Error& error = welded.error();
  const XmlElement* element = element_of(scene, error.field);
  if (element == nullptr) throw ImportFailure{error};
  throw ImportFailure{{error.code, element->tag, describe(*element) + ": " + error.message}};
}

ImportedScene import_tree(const XmlElement& root, const ImportOptions& options) {
  Notes notes(options.allow_unsupported);
  check_schema(root, notes);
  const MjcfSettings settings = read_settings(root, notes);
  const DefaultClasses defaults(root);
  MjcfScene scene{root, notes, settings, defaults, MeshAssets(root, defaults, settings, options.assets),
                  {},   {},    {},       {},       {},
                  {},   {},    {},       {},       {}};
  const XmlAttribute* name = root.find("model");
  scene.spec.name = name == nullptr ? "" : name->value;
  scene.spec.gravity = model::to_spec(scene.settings.gravity);
  scene.spec.timestep = scene.settings.timestep;
  scene.spec.filter_parent_child = scene.settings.filter_parent;
  find_paired_geoms(scene);
  read_bodies(scene);
  read_contacts(scene);
  read_tendons(scene);
  read_actuators(scene);
  read_keyframes(scene);
  name_the_unnamed(scene);
  read_equalities(scene);
  check_scene(scene);
  return {std::move(scene.spec), notes.take()};
}

}  // namespace

Result<ImportedScene> import_mjcf(std::string_view xml, const ImportOptions& options) {
  try {
    const Result<XmlElement> root = read_xml(xml, options.assets);
    if (!root.ok()) return root.error();
    return import_tree(root.value(), options);
  } catch (const ImportFailure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kResourceExhausted, "xml", "There is not enough memory to read the document."};
  }
}

}  // namespace axion::import
