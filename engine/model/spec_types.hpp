// What the parts of a scene are made of (scene_spec.hpp).
#pragma once

#include <array>

namespace axion::model {

using Vec3d = std::array<double, 3>;
using Quatd = std::array<double, 4>;  // w, x, y, z

struct PoseSpec {
  Vec3d position{0, 0, 0};     // m
  Quatd rotation{1, 0, 0, 0};  // need not be normalised; compile() normalises it

  bool operator==(const PoseSpec&) const = default;
};

inline constexpr int kWorldBody = -1;
inline constexpr double kMinLength = 1e-9;  // m, of a shape's size

// A frame that is fixed in a body of the scene, or in the world.
struct FrameSpec {
  int body = kWorldBody;  // index into SceneSpec::bodies, as given: what is welded keeps its own frames
  PoseSpec X_BF;          // in the body frame

  bool operator==(const FrameSpec&) const = default;
};

// How a contact or a limit gives way in batches whose contacts are soft (impedance.hpp): MuJoCo's numbers.
struct SoftnessSpec {
  std::array<double, 2> solref{0.02, 1.0};  // both above 0: time constant in s, damping ratio; or none is
  std::array<double, 5> solimp{0.9, 0.95, 0.001, 0.5, 2.0};
  double margin = 0.0;  // m or rad: the gap from which on it pushes

  bool operator==(const SoftnessSpec&) const = default;
};

// What motors may do together, N m or N, lower < upper; position and velocity drives have bounds of their own.
struct ForceRangeSpec {
  bool limited = false;
  double lower = 0.0, upper = 0.0;
};

}  // namespace axion::model
