#include "server/rpc/visuals.hpp"

#include "axion/v1/visual.pb.h"

#include "server/rpc/asset_upload.hpp"
#include "server/rpc/scene_fields.hpp"
#include "server/rpc/scene_parts.hpp"

namespace axion::server::rpc {

std::string visuals_of(const import::ImportedScene& imported, const v1::CreateModelRequest& request) {
  v1::VisualsSpec message;
  for (const import::Visual& visual : imported.visuals) {
    v1::VisualSpec& out = *message.add_visuals();
    if (visual.body >= 0) out.set_body(imported.scene.bodies[static_cast<std::size_t>(visual.body)].name);
    out.set_kind(static_cast<v1::ShapeKind>(static_cast<int>(visual.kind) + 1));
    fill_fields(visual.X_BV, *out.mutable_pose());
    if (visual.kind == model::ShapeKind::kMesh) {
      const auto named = request.asset_digests().find(visual.file);
      out.set_asset(named != request.asset_digests().end() ? named->second
                                                           : digest_of(request.assets().at(visual.file)));
      out.set_file(visual.file.substr(visual.file.find_last_of("/\\") + 1));
      fill_vec3(visual.scale, *out.mutable_scale());
    } else {
      fill_vec3(visual.size, *out.mutable_size());
    }
    if (!visual.color) continue;
    v1::Color& color = *out.mutable_color();
    color.set_red((*visual.color)[0]), color.set_green((*visual.color)[1]), color.set_blue((*visual.color)[2]);
    color.set_alpha((*visual.color)[3]);
  }
  for (const int shape : imported.hidden_shapes) message.add_hidden_shapes(shape);
  return message.SerializeAsString();
}

}  // namespace axion::server::rpc
