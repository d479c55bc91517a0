#include "engine/import/mjcf.hpp"

#include <algorithm>
#include <utility>

#include "engine/import/import_frame.hpp"
#include "engine/import/mjcf_attach.hpp"
#include "engine/import/mjcf_copies.hpp"
#include "engine/import/mjcf_mocaps.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_schema.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {
namespace {

// The element that an entry of a list of the scene came from; nullptr where there is no single one.
const XmlElement* element_of(const MjcfScene& scene, std::string_view list, std::size_t index) {
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

// Coefficients that no contact of the document uses say nothing. Without them its scene is the one that it was before
// there was such friction, to which snapshots belong.
void leave_out_unused_moments(model::SceneSpec& spec) {
  int dimension = 3;
  for (const model::ShapeSpec& shape : spec.shapes) dimension = std::max(dimension, shape.cone_dimension);
  for (model::ShapeSpec& shape : spec.shapes) {
    if (dimension < 4) shape.torsional_friction = 0;
    if (dimension < 6) shape.rolling_friction = 0;
  }
}

ImportedScene import_tree(XmlElement& root, const ImportOptions& options) {
  Notes notes(options.allow_unsupported);
  const std::vector<AttachedModel> attached = attach_models(root, options.assets, notes);
  copy_references(root);
  check_schema(root, attached, notes);
  const DocumentSettings documents(root, attached, notes);
  const DefaultClasses defaults(root, attached);
  MjcfScene scene{root,
                  notes,
                  documents,
                  documents.main(),
                  defaults,
                  MeshAssets(root, defaults, documents, options.assets),
                  HeightFieldAssets(root, documents, options.assets),
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {}};
  scene.wants_visuals = options.wants_visuals;
  start_spec(root, "model", scene.settings, scene.spec);
  find_paired_geoms(scene);
  read_bodies(scene);
  make_springs(scene);
  read_contacts(scene);
  read_tendons(scene);
  read_actuators(scene);
  add_dry_friction(scene);
  read_sensors(scene);
  settle_mocaps(scene);
  read_keyframes(scene);
  name_the_unnamed(scene);
  read_equalities(scene);
  leave_out_unused_moments(scene.spec);
  check_spec(scene.spec, [&](std::string_view list, std::size_t index) { return element_of(scene, list, index); });
  if (scene.visuals.empty()) scene.hidden_shapes.clear();
  return {std::move(scene.spec), notes.take(), std::move(scene.shape_colors), std::move(scene.visuals),
          std::move(scene.hidden_shapes)};
}

}  // namespace

Result<ImportedScene> import_mjcf(std::string_view xml, const ImportOptions& options) {
  return without_failures([&]() -> Result<ImportedScene> {
    Result<XmlElement> root = read_xml(xml, options.assets);
    if (!root.ok()) return root.error();
    return import_tree(root.value(), options);
  });
}

}  // namespace axion::import
