// What becomes of a scene that was read from a fuzzer's bytes: it is compiled, for both precisions.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "engine/model/compile.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::fuzz {

// Larger scenes find nothing that small ones do not, and take seconds.
inline constexpr std::size_t kMaxShapes = 200;

inline void compile_scene(const model::SceneSpec& scene) {
  if (scene.shapes.size() > kMaxShapes) return;
  const auto compiled = model::compile(scene);
  if (!compiled.ok()) {
    if (compiled.error().message.empty()) std::abort();  // a refusal has words
    return;
  }
  model::to_float(compiled.value().arrays);
}

}  // namespace axion::fuzz
