// ShapeKind: the kinds of collision shapes. A header of its own, so that code for a device needs no strings.
#pragma once

#include <cstdint>

namespace axion::model {

// A pair with a kind after kBox belongs to the convex family of engine/collide.
enum class ShapeKind : std::uint8_t { kPlane, kSphere, kCapsule, kBox, kCylinder, kEllipsoid, kMesh, kHeightField };

// Most contacts of a shape with a height field.
constexpr int height_field_contacts(ShapeKind kind) {
  return kind == ShapeKind::kSphere || kind == ShapeKind::kEllipsoid ? 4 : 8;
}

}  // namespace axion::model
