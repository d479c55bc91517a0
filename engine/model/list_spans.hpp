// The spans of a tendon's path (tendon_path.hpp) from its points.
#pragma once

#include <vector>

#include "engine/model/spec_math.hpp"
#include "engine/model/tendon_path.hpp"

namespace axion::model {

// A body, -1 the world, and a pose in its frame as spans have it.
struct PlacedFrame {
  int body;
  Pose X;
};

template <typename Place>
TendonSpanData<double> wrench_span(const TendonPointSpec& point, double weight, Place&& place) {
  TendonSpanData<double> span{};
  span.kind = SpanKind::kWrench, span.weight = weight, span.has_side = point.has_side;
  span.object = span.side_body = span.term[0] = span.term[1] = span.body[0] = -1;
  const PlacedFrame frame = place(point.frame);
  span.body[1] = frame.body, span.p[1] = frame.X.position, span.q_end = frame.X.rotation;
  if (point.has_side) {
    const PlacedFrame side = place(point.side);
    span.body[0] = side.body, span.p[0] = side.X.position, span.q_object = side.X.rotation;
  }
  span.force = {point.gear[0], point.gear[1], point.gear[2]};
  span.torque = {point.gear[3], point.gear[4], point.gear[5]};
  return span;
}

// `place` makes a PlacedFrame of a FrameSpec. Terms are the caller's: there are none yet. The path is one that
// validate_scene accepts, or else spans are missing where points are.
template <typename Place>
std::vector<TendonSpanData<double>> list_spans(const std::vector<TendonPointSpec>& path, Place&& place) {
  using enum TendonPointKind;
  std::vector<TendonSpanData<double>> spans;
  double weight = 1;
  const auto is_site = [&](std::size_t i) { return i < path.size() && path[i].kind == kSite; };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i].kind == kPulley) weight = 1 / path[i].divisor;
    if (path[i].kind == kWrench) {
      spans.push_back(wrench_span(path[i], weight, place));
      continue;
    }
    const bool slides = path[i].kind == kSlider;
    if ((!is_site(i) && !slides) || i + 1 >= path.size()) continue;
    const bool wraps = !slides && (path[i + 1].kind == kSphere || path[i + 1].kind == kCylinder);
    const std::size_t end = i + (wraps ? 2 : 1);
    if (!is_site(end)) continue;
    TendonSpanData<double> span{};
    span.weight = weight, span.object = span.side_body = span.term[0] = span.term[1] = -1;
    for (int k = 0; k < 2; ++k) {
      const PlacedFrame at = place(path[k == 0 ? i : end].frame);
      span.body[k] = at.body, span.p[k] = at.X.position;
    }
    if (slides) {
      span.kind = SpanKind::kSlider;
      span.radius = path[i].radius, span.q_object = place(path[i].frame).X.rotation;
    }
    if (wraps) {
      const TendonPointSpec& point = path[i + 1];
      const PlacedFrame object = place(point.frame);
      span.kind = point.kind == kSphere ? SpanKind::kSphere : SpanKind::kCylinder;
      span.radius = point.radius, span.has_side = point.has_side;
      span.object = object.body, span.p_object = object.X.position, span.q_object = object.X.rotation;
      if (point.has_side) {
        const PlacedFrame side = place(point.side);
        span.side_body = side.body, span.p_side = side.X.position;
      }
    }
    spans.push_back(span);
  }
  return spans;
}

// Length of a path in the reference configuration, m.
inline double reference_length(const SceneSpec& scene, const std::vector<TendonPointSpec>& path) {
  const auto spans = list_spans(path, [&](const FrameSpec& frame) {
    const Pose X_BF = to_pose(frame.X_BF);
    if (frame.body == kWorldBody) return PlacedFrame{-1, X_BF};
    return PlacedFrame{-1, to_pose(scene.bodies[static_cast<std::size_t>(frame.body)].X_WB) * X_BF};
  });
  const BodyPoses<double> world{nullptr, nullptr};
  return measure_path(spans.data(), static_cast<int>(spans.size()), world, [](int, const Row<double>&) {}).first;
}

}  // namespace axion::model
