// The masses of bodies as users read them: the masses that the scene's author gave.
//
// Some bodies of a scene stand for something else (BodySpec::is_armature, lender): the armature of a free joint, and
// the light parts between joints that no one joint can be. A merged body may have such a mass that it is read without,
// or lend some that it is read with. Both are sums of mass, first moment and inertia about the body's origin.
#pragma once

#include <vector>

#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {

// What a body of the merged scene has beyond what is read of it; less than nothing where it has lent some.
struct UnreadMass {
  int body = 0;
  double mass = 0;               // kg
  math::Vec3<double> moment{};   // kg m, body frame
  math::Mat3<double> inertia{};  // kg m^2, about the body's origin
  double armature = 0;           // kg, of the mass: at the origin, and without weight
};

// A part of the body, in its frame, that is not read as its own; with the sign -1 one that is read there.
void add_part(const MassProperties& part, double sign, UnreadMass& unread);

// The body as it is read, and the body that is read so. A body of which nothing is left is read without mass.
BodySpec as_read(const BodySpec& body, const UnreadMass& unread);
BodySpec from_read(const BodySpec& read, const UnreadMass& unread);

// All bodies of a merged scene as they are read.
void read_masses(const std::vector<UnreadMass>& unread, std::vector<BodySpec>& bodies);

}  // namespace axion::model
