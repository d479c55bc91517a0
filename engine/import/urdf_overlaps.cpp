// Links that overlap where the robot stands, which then do not collide with each other.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/stop.hpp"
#include "engine/collide/collide_pair.hpp"
#include "engine/import/urdf_scene.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

// m; what parts that touch may overlap by as their document's numbers have been rounded, to five or six digits.
constexpr double kTouching = 1e-5;

constexpr int kMostPairs = 1 << 20;           // of shapes that are looked at: a robot has some thousands
constexpr std::size_t kMostNamedPairs = 256;  // in the warning

class OverlapFinder {
 public:
  explicit OverlapFinder(const model::CompiledModel& model) : model_(model), m_(model.arrays.view()) {}

  // Bodies of the scene, the lower first, in rising order.
  std::set<std::pair<int, int>> find() {
    std::vector<int> order;  // of shapes of links, along x
    for (int i = 0; i < m_.shape_count; ++i) {
      stop_if_asked();
      poses_.push_back(pose(m_.shapes[i]));
      if (m_.shape_contacts[i].part > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return least(a) < least(b); });
    int looked_at = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      stop_if_asked();
      const double end = least(order[k]) + 2 * m_.shapes[order[k]].bounding_radius;
      for (std::size_t l = k + 1; l < order.size() && least(order[l]) <= end; ++l) {
        if (++looked_at > kMostPairs || found_.size() >= static_cast<std::size_t>(model::kMaxSceneExcludes)) {
          return found_;
        }
        look_at(std::min(order[k], order[l]), std::max(order[k], order[l]));
      }
    }
    return found_;
  }

 private:
  collide::ShapePose<double> pose(const model::ShapeData<double>& shape) const {
    if (shape.body < 0) return {shape.p_CS, math::to_matrix(shape.q_CS)};
    const auto body = static_cast<std::size_t>(shape.body);
    const math::Quat<double>& q = model_.q[body];
    return {model_.x[body] + math::rotate(q, shape.p_CS), math::to_matrix(q * shape.q_CS)};
  }

  double least(int i) const { return poses_[static_cast<std::size_t>(i)].p_WS.x - m_.shapes[i].bounding_radius; }

  collide::Shape<double> shape(int i) const {
    const model::ShapeData<double>& of = m_.shapes[i];
    return {of.kind, of.size, {m_.hull_vertices + of.hull_start, of.hull_stride, of.hull_count}};
  }

  void look_at(int a, int b) {
    if (!model::may_touch(m_, a, b)) return;
    std::pair<int, int> links = std::minmax(m_.shape_contacts[a].part - 1, m_.shape_contacts[b].part - 1);
    if (found_.contains(links)) return;
    collide::ContactPoint<double> points[collide::kMaxPairContacts];
    const int count = collide::collide_pair(shape(a), poses_[static_cast<std::size_t>(a)], shape(b),
                                            poses_[static_cast<std::size_t>(b)], 0.0, points);
    const auto overlaps = [](const collide::ContactPoint<double>& point) { return point.gap < -kTouching; };
    if (std::any_of(points, points + count, overlaps)) found_.insert(links);
  }

  const model::CompiledModel& model_;
  model::ModelView<double> m_;
  std::vector<collide::ShapePose<double>> poses_;  // [shape]
  std::set<std::pair<int, int>> found_;
};

}  // namespace

void leave_out_overlaps(UrdfScene& scene, const XmlElement& robot) {
  if (scene.options.keep_overlaps || !scene.options.self_collision || !scene.settings.contacts) return;
  const Result<model::CompiledModel> model = model::compile(scene.spec);
  if (!model.ok()) return;  // who compiles the scene says why
  std::string names;
  std::size_t count = 0;
  for (const auto& [a, b] : OverlapFinder(model.value()).find()) {
    if (scene.spec.excludes.size() >= static_cast<std::size_t>(model::kMaxSceneExcludes)) break;
    scene.spec.excludes.push_back({a, b});
    if (++count > kMostNamedPairs) continue;
    const auto name = [&](int body) { return scene.spec.bodies[static_cast<std::size_t>(body)].name; };
    names += (count > 1 ? ", " : "") + name(a) + " and " + name(b);
  }
  if (count == 0) return;
  if (count > kMostNamedPairs) names += ", and " + std::to_string(count - kMostNamedPairs) + " more pairs";
  scene.notes.warn(robot, "",
                   "has links that overlap where it stands and therefore do not collide with each other: " + names +
                       " (the option keep_overlaps lets them collide)");
}

}  // namespace axion::import
