// Parts of a scene that are right and may still surprise its author.
#pragma once

#include <string>
#include <vector>

#include "engine/model/scene_spec.hpp"

namespace axion::model {

// Sentences for people; empty where there is nothing to say. Joints that start outside their limits: they are pushed
// back.
std::vector<std::string> scene_warnings(const SceneSpec& scene);

}  // namespace axion::model
