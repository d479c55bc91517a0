// MJCF (MuJoCo XML) to SceneSpec.
//
// Understands the part of the format that describes rigid bodies, joints, primitive shapes, motors and keyframes, with
// its defaults, compiler options and includes. Anything that would change the physics and is not supported is an error
// unless `allow_unsupported`; anything understood only in part is a warning. Nothing is dropped in silence.
// Source: the MJCF reference of MuJoCo 2.2. Throws nothing; safe on hostile input (limits below).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

struct ImportOptions {
  bool allow_unsupported = false;  // unsupported elements become warnings
  std::map<std::string, std::string, std::less<>> assets;  // included files by name: bytes, never paths
};

struct ImportedScene {
  model::SceneSpec scene;
  std::vector<std::string> warnings;  // each names the element, its line and what was not taken over
};

// Limits on hostile input; the error names the limit.
inline constexpr std::size_t kMaxXmlBytes = 16u << 20;
inline constexpr int kMaxXmlDepth = 128;
inline constexpr int kMaxBodies = 4096;
inline constexpr int kMaxShapes = 16384;
inline constexpr int kMaxIncludeDepth = 16;

Result<ImportedScene> import_mjcf(std::string_view xml, const ImportOptions& options = {});

}  // namespace axion::import
