// What may be asked of worlds, and the asking: the part of EngineBatch that is about engine/model/queries.hpp.
#include <cmath>
#include <string>

#include "engine/backend/checks.hpp"
#include "engine/backend/engine_batch.hpp"
#include "engine/backend/text.hpp"

namespace axion::backend {
namespace {

constexpr double kMaxLength = 1e9;  // m: what shapes and poses may be

Status check_index(const std::string& name, int value, int first, std::size_t end) {
  if (value >= first && value < static_cast<int>(end)) return {};
  return invalid_argument(
      name, text(name, " is ", value, "; it must be from ", first, " to ", static_cast<int>(end) - 1, "."));
}

// Worlds wait for a query as for a step, so that none may last.
Status check_work(const char* name, double work, double most, const char* what) {
  if (work <= most) return {};
  return Error{ErrorCode::kResourceExhausted, name,
               text("This is about ", work, " ", what, "; a request may ask for ", most,
                    ". Ask for fewer worlds at once, or for less of each.")};
}
constexpr double kMostRayTests = 2e7, kMostPairs = 2e6, kMostProducts = 2e8;

Status check_size(const char* name, std::size_t size, std::size_t expected) {
  if (size == expected) return {};
  return invalid_argument(name, text(name, " has ", size, " numbers; it must have ", expected, "."));
}

Status check_vectors(const char* name, std::span<const double> vectors, bool may_be_zero) {
  for (std::size_t i = 0; i + 2 < vectors.size(); i += 3) {
    double largest = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      if (!(std::abs(vectors[k]) <= kMaxLength)) {
        return invalid_argument(
            name, text(name, " must be finite and at most ", kMaxLength, "; number ", k, " is ", vectors[k], "."));
      }
      largest = std::max(largest, std::abs(vectors[k]));
    }
    if (!may_be_zero && !(largest > 1e-9)) {
      return invalid_argument(name, text(name, " of ray ", i / 3, " is zero, so that the ray goes nowhere."));
    }
  }
  return {};
}

}  // namespace

Status EngineBatch::check(std::span<const std::int32_t> worlds, const RayQuery& query) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s;
  worlds = resolve(worlds);
  if (query.rays < 1) return invalid_argument("origin", "There are no rays.");
  const std::size_t one = 3 * static_cast<std::size_t>(query.rays), all = one * worlds.size();
  if (query.origins.size() != one) {
    if (Status s = check_size("origin", query.origins.size(), all); !s.ok()) return s;
  }
  if (Status s = check_size("direction", query.directions.size(), query.origins.size()); !s.ok()) return s;
  if (Status s = check_vectors("origin", query.origins, true); !s.ok()) return s;
  if (Status s = check_vectors("direction", query.directions, false); !s.ok()) return s;
  const std::size_t bodies = model_->info().bodies.size();
  if (Status s = check_index("body", query.body, -1, bodies); !s.ok()) return s;
  if (!(query.max_distance > 0)) {
    return invalid_argument("max_distance", text("max_distance is ", query.max_distance, "; it must be above 0."));
  }
  for (std::size_t i = 0; i < query.ignored_bodies.size(); ++i) {
    const std::string name = text("ignored_bodies[", i, "]");
    if (Status s = check_index(name, query.ignored_bodies[i], -1, bodies); !s.ok()) return s;
  }
  const std::size_t rays = all / 3;
  const double tests = static_cast<double>(rays) * static_cast<double>(model_->info().shapes.size());
  return check_work("origin", tests, kMostRayTests, "tests of a ray with a shape");
}

Status EngineBatch::cast_rays(std::span<const std::int32_t> worlds, const RayQuery& query, const RayHits& hits) const {
  if (Status s = check(worlds, query); !s.ok()) return s;
  worlds = resolve(worlds);
  const std::size_t rays = static_cast<std::size_t>(query.rays) * worlds.size();
  if (Status s = check_size("hits", hits.distance.size(), rays); !s.ok()) return s;
  if (Status s = check_size("hits", hits.shape.size(), rays); !s.ok()) return s;
  return memory_->visit(worlds, Access::kRead, [&](int row, std::byte* block) {
    cast_rays_of(query, row, worlds[static_cast<std::size_t>(row)], block, hits);
  });
}

Status EngineBatch::check(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs,
                          double max_distance) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s;
  worlds = resolve(worlds);
  const std::size_t shapes = model_->info().shapes.size();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string name = text("pairs[", i, "]");
    if (Status s = check_index(name + ".shape_a", pairs[i].shape_a, 0, shapes); !s.ok()) return s;
    if (Status s = check_index(name + ".shape_b", pairs[i].shape_b, 0, shapes); !s.ok()) return s;
    const auto& [a, b] = pairs[i];
    if (a == b) return invalid_argument(name, text(name, " is of shape ", a, " and itself."));
    const auto& list = model_->info().shapes;
    const auto is_ground = [&](int shape) {
      const model::ShapeKind kind = list[static_cast<std::size_t>(shape)].kind;
      return kind == model::ShapeKind::kPlane || kind == model::ShapeKind::kHeightField;
    };
    if (is_ground(a) && is_ground(b)) {
      return invalid_argument(name, text(name, " is of two planes or height fields, which have no distance."));
    }
  }
  if (!(max_distance > 0 && max_distance <= kMaxLength)) {
    return invalid_argument(
        "max_distance", text("max_distance is ", max_distance, " m; it must be above 0 and at most ", kMaxLength, "."));
  }
  const std::size_t count = pairs.size() * worlds.size();
  return check_work("pairs", double(count), kMostPairs, "pairs of shapes");
}

Status EngineBatch::distances(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs,
                              double max_distance, const PairDistances& out) const {
  if (Status s = check(worlds, pairs, max_distance); !s.ok()) return s;
  worlds = resolve(worlds);
  const std::size_t count = pairs.size() * worlds.size();
  if (Status s = check_size("distance", out.distance.size(), count); !s.ok()) return s;
  if (Status s = check_size("point_a", out.point_a.size(), 3 * count); !s.ok()) return s;
  if (Status s = check_size("point_b", out.point_b.size(), 3 * count); !s.ok()) return s;
  return memory_->visit(worlds, Access::kRead, [&](int row, std::byte* block) {
    distances_of(pairs, max_distance, row, worlds[static_cast<std::size_t>(row)], block, out);
  });
}

Status EngineBatch::check(std::span<const std::int32_t> worlds, const DynamicsQuery& query) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s;
  worlds = resolve(worlds);
  const ModelInfo& info = model_->info();
  for (std::size_t i = 0; i < query.frames.size(); ++i) {
    const std::string name = text("frames[", i, "]");
    const model::FrameSpec& frame = query.frames[i];
    if (Status s = check_index(name + ".body", frame.body, -1, info.bodies.size()); !s.ok()) return s;
    double norm = 0;
    for (const double v : frame.X_BF.rotation) norm += v * v;
    for (const double v : frame.X_BF.position) {
      if (!(std::abs(v) <= kMaxLength)) norm = -1;
    }
    if (!(norm > 1e-12 && norm <= kMaxLength)) {
      return invalid_argument(name + ".pose",
                              name + ".pose must have finite numbers and a quaternion that is not zero.");
    }
  }
  const auto nv = static_cast<std::size_t>(info.joint_velocity_count);
  const double columns = double(worlds.size()) * double(nv) * double(info.bodies.size());
  const double products = columns * (query.mass_matrix ? double(nv) : 8.0);
  return check_work("mass_matrix", products, kMostProducts, "products of velocities");
}

Status EngineBatch::dynamics(std::span<const std::int32_t> worlds, const DynamicsQuery& query,
                             const Dynamics& out) const {
  if (Status s = check(worlds, query); !s.ok()) return s;
  worlds = resolve(worlds);
  const auto nv = static_cast<std::size_t>(model_->info().joint_velocity_count);
  const std::size_t n = worlds.size(), frames = query.frames.size() * n;
  if (Status s = check_size("frame_pose", out.frame_pose.size(), 7 * frames); !s.ok()) return s;
  if (Status s = check_size("jacobian", out.jacobian.size(), 6 * nv * frames); !s.ok()) return s;
  if (Status s = check_size("mass_matrix", out.mass_matrix.size(), query.mass_matrix ? nv * nv * n : 0); !s.ok()) {
    return s;
  }
  if (Status s = check_size("bias_force", out.bias_force.size(), query.bias_force ? nv * n : 0); !s.ok()) return s;
  return memory_->visit(worlds, Access::kRead, [&](int row, std::byte* block) {
    dynamics_of(query, row, worlds[static_cast<std::size_t>(row)], block, out);
  });
}

}  // namespace axion::backend
