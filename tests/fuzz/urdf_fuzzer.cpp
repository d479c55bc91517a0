// URDF with one asset, "a.stl": the reader and the compiler. The first byte has the options; the
// asset begins after a byte 1.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/import/urdf.hpp"

#include "tests/fuzz/scene_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  axion::import::ImportOptions options;
  axion::import::UrdfOptions urdf;
  options.allow_unsupported = (data[0] & 1) != 0;
  urdf.free_base = (data[0] & 2) != 0;
  urdf.motors = (data[0] & 4) != 0;
  urdf.ground = (data[0] & 8) != 0;
  urdf.self_collision = (data[0] & 16) == 0;
  urdf.massless = (data[0] & 32) != 0;
  urdf.keep_overlaps = (data[0] & 64) != 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto cut = text.find('\x01'); cut != std::string_view::npos) {
    options.assets.emplace("a.stl", std::string(text.substr(cut + 1)));
    text = text.substr(0, cut);
  }
  const auto scene = axion::import::import_urdf(text, options, urdf);
  if (scene.ok()) axion::fuzz::compile_scene(scene.value().scene);
  return 0;
}
