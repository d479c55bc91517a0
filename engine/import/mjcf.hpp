// MJCF (MuJoCo XML) to SceneSpec.
//
// Understands what describes rigid bodies and acts on them: joints, loops, shapes, meshes and height fields, tendons,
// equalities, actuators, sensors and keyframes, with defaults, compiler options and includes. Anything that would
// change the physics and is not supported is an error unless `allow_unsupported`; anything understood only in part is a
// warning. Nothing is dropped in silence. Source: the MJCF reference of MuJoCo 2.2, with what has been added since; as
// in newer versions, `autolimits` is on unless it is switched off (2.2 refuses a range without `limited` then, so no
// file means something else).
//
// A body with several joints has one JointSpec whose axes are those joints in order, or a chain of them with parts of
// the body between where one cannot be all; a body without any is fixed to its parent (engine/model/merge_welds.hpp
// makes one body of both). Bodies are in MuJoCo's order, depth first, parts after what they are parts of. Equalities
// that connect or weld bodies are joints that close loops, after those of the tree. Unnamed things are called by kind
// and index ("body3").
//
// Errors name the element, its line, the attribute and the value; `field` is "<element>.<attribute>". Throws nothing;
// safe on hostile input (limits below). May be called by anyone, from any thread.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/import/xml_files.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// Red, green, blue and opacity, each from 0 to 1.
using Color = std::array<float, 4>;

struct ImportOptions {
  // Unsupported elements and attributes become warnings; only what leaves no meaningful scene is refused then.
  bool allow_unsupported = false;
  XmlFiles assets;  // included files and meshes
  // Meshes for the eye are among what the document needs, though they are not read.
  bool wants_visuals = false;
};

// What is drawn and moves nothing: a mesh of a file, or a sphere, capsule, box, cylinder or ellipsoid.
struct Visual {
  int body = model::kWorldBody;  // index into the scene's
  model::ShapeKind kind = model::ShapeKind::kMesh;
  model::PoseSpec X_BV = {};
  model::Vec3d size{0, 0, 0};   // m, of what is no mesh, as of a shape
  std::string file = {};        // of a mesh: its name among the assets, at hand or elsewhere
  model::Vec3d scale{1, 1, 1};  // of the file's vertices, before they are placed
  std::optional<Color> color = {};
};

struct ImportedScene {
  model::SceneSpec scene;
  std::vector<std::string> warnings;  // each names the element, its line and what was not taken over
  // What the scene's shapes are drawn in, where the source says so; as many as it has shapes, or none.
  std::vector<std::optional<Color>> shape_colors = {};
  std::vector<Visual> visuals = {};
  std::vector<int> hidden_shapes = {};  // indices of shapes that are not drawn where the visuals are
};

// Limits on hostile input; the error names the limit.
inline constexpr std::size_t kMaxXmlBytes = 16u << 20;
inline constexpr int kMaxXmlDepth = 96;          // nested elements, includes spliced in (the XML library stops at 100)
inline constexpr int kMaxXmlElements = 1 << 18;  // of one file
inline constexpr int kMaxXmlAttributes = 1 << 20;  // of one file
inline constexpr int kMaxXmlElementAttributes = 256;
inline constexpr int kMaxBodies = 4096;
inline constexpr int kMaxShapes = 16384;
inline constexpr int kMaxIncludeDepth = 16;

Result<ImportedScene> import_mjcf(std::string_view xml, const ImportOptions& options = {});

}  // namespace axion::import
