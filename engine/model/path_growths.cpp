#include "engine/model/path_growths.hpp"

#include "engine/model/list_spans.hpp"

namespace axion::model {

std::vector<Row<double>> path_growths(const SceneSpec& scene, const std::vector<TendonPointSpec>& path) {
  std::vector<math::Vec3<double>> x;
  std::vector<math::Quat<double>> q;
  for (const BodySpec& body : scene.bodies) {
    const Pose X = to_pose(body.X_WB);
    x.push_back(X.position), q.push_back(X.rotation);
  }
  std::vector<TendonSpanData<double>> spans = list_spans(path, [](const FrameSpec& frame) {
    return PlacedFrame{frame.body == kWorldBody ? -1 : frame.body, to_pose(frame.X_BF)};
  });
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<Row<double>> sums(scene.bodies.size());
  for (TendonSpanData<double>& span : spans) {
    const bool wraps = span.kind == SpanKind::kSphere || span.kind == SpanKind::kCylinder;
    const int ends[2][2] = {{span.body[0], wraps ? span.object : span.body[1]}, {span.object, span.body[1]}};
    for (int k = 0; k < (wraps ? 2 : 1); ++k) span.term[k] = ends[k][0] == ends[k][1] ? -1 : k;
    measure_span(span, {x.data(), q.data()}, span.weight, [&](int k, const Row<double>& row) {
      const int to = ends[k][1], from = ends[k][0], a = to < 0 ? from : to, b = to < 0 ? -1 : from;
      sums[at(a)].l += row.l, sums[at(a)].k_a += row.k_a;
      if (b >= 0) sums[at(b)].l -= row.l, sums[at(b)].k_a += row.k_b;
    });
  }
  return sums;
}

}  // namespace axion::model
