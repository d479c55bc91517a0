// merge_welds: one body of those that are welded together.
//
// A body whose joint is a weld (is_weld of loop_joints.hpp: fixed, rigid, in the tree) becomes part of its nearest
// ancestor that can move, the root of its weld. Masses add up by the parallel axis theorem; shapes, joints, actuators,
// excludes and keyframes are re-indexed and re-expressed. A body that is welded to the world disappears: its mass has
// no effect and its shapes become shapes of the world. The order of the roots, and of the joints that remain, is kept,
// so the layout of joint coordinates is too.
//
// A loop joint stays one, with the bodies that its two have become part of. Where its child has become part of the
// world it is turned round: parent and child change places, hinges come in the opposite order and axes point the other
// way.
//
// An exclusion is between the shapes of the bodies that it names, whatever these become part of. Of the scene's own are
// left those that say the same of the merged bodies; the list of all is kept beside it, with the body that each shape
// was given on.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/read_masses.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {

struct Weld {
  std::string name;       // of the body that was welded
  int body = kWorldBody;  // what it became part of: index into WeldedScene::scene.bodies, or kWorldBody
  int mocap = -1;         // where that is the world: the mocap body that it goes with, or -1
  PoseSpec X_BW;          // pose of the welded frame in that body (in the world, if that is the world)
};

// What the force of gravity compensation holds up of a body and all that is welded to it.
struct Lift {
  double mass = 0;  // kg
  Vec3d moment{};   // mass times its centre, kg m, frame of the body
};

// A body of the input that a fluid resists, with its own mass, as part of what it has become part of; or an ellipsoid.
struct FluidPart {
  int body = 0;         // of WeldedScene::scene
  MassProperties mass;  // frame of that body; the inertia about the part's centre
  bool is_ellipsoid = false;
  FluidEllipsoidSpec ellipsoid{};  // X_BE in that body
};

struct WeldedScene {
  SceneSpec scene;                     // without welds; fixed joints that close loops or are compliant remain
  std::vector<Weld> welds;             // in the order of the bodies that were welded
  std::vector<int> body_map;           // [body of the input] -> body of `scene`, or kWorldBody
  std::vector<bool> closes_loop;       // [joint of `scene`] whether it closed a loop in the input
  std::vector<int> shape_part;         // [shape] the body of the input that it was given on, or kWorldBody
  std::vector<Lift> lifts;             // [body of `scene`]
  std::vector<UnreadMass> unread;      // rising bodies; without bodies that are read as they are
  std::vector<FluidPart> fluid_parts;  // sorted by body; empty without a fluid
  std::vector<bool> senses_tendon;     // [tendon] whether a sensor reads it
  std::vector<ContactExcludeSpec> part_excludes;  // the exclusions, of bodies of the input
  std::vector<int> mocaps;                        // bodies of the input that clients place
  std::vector<int> mocap_of_body;                 // [body of the input] the one of `mocaps` that it goes with, or -1
  std::vector<int> mocap_of_joint;                // [joint of `scene`] that its side in the world goes with, or -1
  std::vector<PoseSpec> mocap_poses;              // of `mocaps`, in the world
};

// Validates the scene first (validate_scene.hpp) and fails as that does, and for a weld whose mass or inertia, all
// parts together, cannot move; the field is then that of the root in the input.
Result<WeldedScene> merge_welds(const SceneSpec& scene);

}  // namespace axion::model
