// What the parts of a scene are made of (scene_spec.hpp).
#pragma once

#include <array>

namespace axion::model {

using Vec3d = std::array<double, 3>;
using Quatd = std::array<double, 4>;  // w, x, y, z

struct PoseSpec {
  Vec3d position{0, 0, 0};     // m
  Quatd rotation{1, 0, 0, 0};  // need not be normalised; compile() normalises it
};

inline constexpr int kWorldBody = -1;

// A frame that is fixed in a body of the scene, or in the world.
struct FrameSpec {
  int body = kWorldBody;  // index into SceneSpec::bodies, as given: what is welded keeps its own frames
  PoseSpec X_BF;          // in the body frame
};

}  // namespace axion::model
