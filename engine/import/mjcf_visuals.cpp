// What geoms look like: meshes as their files have them, in the place of hulls, and what touches nothing.
#include "engine/import/mjcf_scene.hpp"

namespace axion::import {
namespace {

// Of MuJoCo's groups the last one that its viewer shows unless it is told otherwise.
constexpr int kLastShownGroup = 2;

void read(MjcfScene& scene, const Attributes& a, const Geom& geom, int body) {
  const int shape = static_cast<int>(scene.spec.shapes.size());  // that it becomes, if it becomes one
  if (geom.group > kLastShownGroup) {
    if (geom.is_shape) scene.hidden_shapes.push_back(shape);
    return;
  }
  Visual visual{.body = body, .size = geom.size, .color = scene.materials.of(a)};
  model::Pose X_BV = geom.X_BV;
  if (geom.type == GeomType::kMesh) {
    const auto drawn = scene.meshes.drawn(a, scene.wants_visuals);
    if (!drawn) return;
    visual.file = drawn->file, visual.scale = drawn->scale;
    X_BV = X_BV * drawn->X_MF;
    if (geom.is_shape) scene.hidden_shapes.push_back(shape);
  } else if (!geom.is_shape && geom.type == GeomType::kCylinder) {
    visual.kind = model::ShapeKind::kCylinder;
  } else if (!geom.is_shape && geom.type == GeomType::kEllipsoid) {
    visual.kind = model::ShapeKind::kEllipsoid;
  } else {
    return;
  }
  visual.X_BV = model::to_spec(X_BV);
  scene.visuals.push_back(std::move(visual));
}

}  // namespace

void read_visual(MjcfScene& scene, const Attributes& a, const Geom& geom, int body) {
  try {
    read(scene, a, geom, body);
  } catch (const ImportFailure&) {
    return;  // nothing of it moves a world, so nothing of it is refused
  }
}

}  // namespace axion::import
