// Colours of shapes between messages and what is kept of a model.
#include <array>

#include "absl/strings/str_cat.h"

#include "server/rpc/scene_conversion.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

using schedule::invalid_field;

absl::StatusOr<schedule::ShapeColors> to_colors(const v1::SceneSpec& message) {
  schedule::ShapeColors colors;
  for (int i = 0; i < message.shapes_size(); ++i) {
    if (!message.shapes(i).has_color()) continue;
    colors.resize(static_cast<std::size_t>(message.shapes_size()));
    const v1::Color& given = message.shapes(i).color();
    const std::array<float, 4> color{given.red(), given.green(), given.blue(), given.alpha()};
    constexpr const char* kNames[] = {"red", "green", "blue", "alpha"};
    for (std::size_t c = 0; c < color.size(); ++c) {
      if (color[c] >= 0 && color[c] <= 1) continue;
      return invalid_field(absl::StrCat("scene.shapes[", i, "].color.", kNames[c]),
                           absl::StrCat("is ", color[c], "; it must be from 0 to 1"));
    }
    colors[static_cast<std::size_t>(i)] = color;
  }
  return colors;
}

void fill_colors(const schedule::ShapeColors& colors, google::protobuf::RepeatedPtrField<v1::ShapeSpec>& shapes) {
  for (std::size_t i = 0; i < colors.size() && static_cast<int>(i) < shapes.size(); ++i) {
    if (!colors[i]) continue;
    v1::Color& color = *shapes.Mutable(static_cast<int>(i))->mutable_color();
    color.set_red((*colors[i])[0]), color.set_green((*colors[i])[1]), color.set_blue((*colors[i])[2]);
    color.set_alpha((*colors[i])[3]);
  }
}

}  // namespace axion::server::rpc
