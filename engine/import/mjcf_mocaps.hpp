// Mocap bodies: where keyframes put them, and which of them must be fixed bodies here.
#pragma once

#include "engine/import/mjcf_scene.hpp"

namespace axion::import {

// A mocap body that carries what the engine cannot have on one (model/validate_mocaps.cpp) becomes a fixed body, with a
// warning. When joints, tendons and actuators have been read.
void settle_mocaps(MjcfScene& scene);

// mpos and mquat of a <key>, of which those that are not given are the document's.
void read_mocap_key(MjcfScene& scene, const XmlElement& element, model::KeyframeSpec& key);

}  // namespace axion::import
