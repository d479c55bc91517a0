// ShapeKind: the kinds of collision shapes. A header of its own, so that code for a device needs no strings.
#pragma once

#include <cstdint>

namespace axion::model {

enum class ShapeKind : std::uint8_t { kPlane, kSphere, kCapsule, kBox };

}  // namespace axion::model
