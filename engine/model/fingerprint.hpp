// Fingerprint: 128 bits that stand for all of a scene that decides how its worlds move.
//
// Names, keyframes and the suggested time step are left out: worlds of two scenes with one fingerprint move alike. The
// same on every machine and in every process.
#pragma once

#include <array>
#include <cstdint>

#include "engine/model/scene_spec.hpp"

namespace axion::model {

using Fingerprint = std::array<std::uint64_t, 2>;

Fingerprint fingerprint(const SceneSpec& scene);

}  // namespace axion::model
