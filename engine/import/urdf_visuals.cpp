// What links look like: their <visual>s, and the materials of these.
#include <algorithm>

#include "engine/import/urdf_elements.hpp"
#include "engine/import/urdf_scene.hpp"

namespace axion::import {
namespace {

// Of <material>: its own <color rgba>, or that of the robot's material of the same name.
std::optional<Color> color_of(const XmlElement& visual, const XmlElement& robot) {
  const XmlElement* material = find_child(visual, "material");
  if (material == nullptr) return std::nullopt;
  const XmlElement* color = find_child(*material, "color");
  const XmlAttribute* name = material->find("name");
  for (const XmlElement& other : robot.children) {
    if (color != nullptr || name == nullptr) break;
    const XmlAttribute* its = other.tag == "material" ? other.find("name") : nullptr;
    if (its != nullptr && its->value == name->value) color = find_child(other, "color");
  }
  const XmlAttribute* rgba = color == nullptr ? nullptr : color->find("rgba");
  if (rgba == nullptr) return std::nullopt;
  const std::vector<double> numbers = parse_numbers(*color, *rgba);
  if (numbers.size() != 4) return std::nullopt;
  Color found{};
  for (std::size_t i = 0; i < 4; ++i) {
    if (!(numbers[i] >= 0 && numbers[i] <= 1)) return std::nullopt;
    found[i] = static_cast<float>(numbers[i]);
  }
  return found;
}

// False where there is nothing of it to be drawn.
bool read_geometry(const UrdfScene& scene, const XmlElement& geometry, Visual& visual) {
  for (const XmlElement& kind : geometry.children) {
    if (kind.tag == "mesh") {
      const XmlAttribute* file = kind.find("filename");
      visual.file = file == nullptr ? "" : scene.meshes.drawn(file->value, scene.wants_visuals);
      visual.scale = model::to_spec(Attributes(kind).vec3("scale", {1, 1, 1}));
      return !visual.file.empty() && std::ranges::find(visual.scale, 0) == visual.scale.end();
    }
    if (kind.tag == "box") {
      visual.kind = model::ShapeKind::kBox;
      visual.size = model::to_spec(0.5 * Attributes(kind).vec3("size", {}));
      return std::ranges::all_of(visual.size, [](double side) { return side > 0; });
    }
    if (kind.tag == "sphere" || kind.tag == "cylinder" || kind.tag == "capsule") {
      const bool is_round = kind.tag == "sphere";
      visual.kind = is_round                ? model::ShapeKind::kSphere
                    : kind.tag == "capsule" ? model::ShapeKind::kCapsule
                                            : model::ShapeKind::kCylinder;
      visual.size = {require_length(kind, "radius"), is_round ? 0 : require_length(kind, "length") / 2, 0};
      return true;
    }
  }
  return false;
}

}  // namespace

void read_urdf_visuals(UrdfScene& scene, const UrdfLink& link, int body, std::size_t first_shape) {
  const std::size_t before = scene.visuals.size();
  for (const XmlElement& element : link.element->children) {
    if (element.tag != "visual") continue;
    try {
      Visual visual{.body = body, .color = color_of(element, scene.robot)};
      const XmlElement* geometry = find_child(element, "geometry");
      if (geometry == nullptr || !read_geometry(scene, *geometry, visual)) continue;
      const model::Pose X_LV = read_origin(element);
      visual.X_BV = model::to_spec(body == model::kWorldBody ? link.X_WL * X_LV : X_LV);
      scene.visuals.push_back(std::move(visual));
    } catch (const ImportFailure&) {
      continue;
    }
  }
  if (scene.visuals.size() == before) return;
  for (std::size_t i = first_shape; i < scene.spec.shapes.size(); ++i)
    scene.hidden_shapes.push_back(static_cast<int>(i));
}

}  // namespace axion::import
