// The narrow phase beside FCL, the Flexible Collision Library: random pairs, and how far both are apart.
//
// FCL's distance of shapes apart is that of two points it names, hence no less than the true one; the separation along
// their direction, by support functions written here, is no more. The true distance lies between: an error is how far a
// gap is outside, so that FCL's own tolerance is not counted. Depths of overlaps are those of FCL's penetration test.
#pragma once

#include <fcl/fcl.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/collide/collide_pair.hpp"
#include "engine/math/quat.hpp"
#include "engine/model/convex_hull.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::collide::fcl_oracle {

using model::ShapeKind;
using Vec = math::Vec3<double>;

inline const char* name_of(ShapeKind kind) {
  static constexpr const char* kNames[] = {"plane", "sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh"};
  return kNames[static_cast<int>(kind)];
}

// A shape in its place; the same for FCL; and the vertices of a hull.
struct Body {
  ShapeKind kind = ShapeKind::kSphere;
  Vec size{};
  ShapePose<double> X{};
  std::vector<Vec> vertices;
  std::shared_ptr<fcl::CollisionGeometryd> geometry;
  std::vector<double> hull;
  std::vector<float> hull_float;

  template <typename Real>
  Shape<Real> shape() const {
    const int stride = static_cast<int>(hull.size()) / 3, count = static_cast<int>(vertices.size());
    if constexpr (sizeof(Real) == sizeof(float)) {
      return {kind, math::cast<Real>(size), {hull_float.data(), stride, count}};
    } else {
      return {kind, size, {hull.data(), stride, count}};
    }
  }
  template <typename Real>
  ShapePose<Real> pose() const {
    return {math::cast<Real>(X.p_WS),
            {{math::cast<Real>(X.R_WS.row[0]), math::cast<Real>(X.R_WS.row[1]), math::cast<Real>(X.R_WS.row[2])}}};
  }
  // Greatest n · (p − origin) over the points p of the body, n a unit vector of the world.
  double support(const Vec& n_W) const {
    const Vec n = math::transpose_times(X.R_WS, n_W);
    const double across = std::hypot(n.x, n.y);
    switch (kind) {
      case ShapeKind::kSphere:
        return size.x;
      case ShapeKind::kCapsule:
        return size.x + size.y * std::abs(n.z);
      case ShapeKind::kBox:
        return size.x * std::abs(n.x) + size.y * std::abs(n.y) + size.z * std::abs(n.z);
      case ShapeKind::kCylinder:
        return size.x * across + size.y * std::abs(n.z);
      case ShapeKind::kEllipsoid:
        return math::norm(math::scale(size, n));
      default:
        break;
    }
    double most = -1e300;
    for (const Vec& v : vertices) most = std::max(most, math::dot(n, v));
    return most;
  }
  double least_size() const {
    if (kind == ShapeKind::kSphere || kind == ShapeKind::kCapsule || kind == ShapeKind::kMesh) return size.x;
    return kind == ShapeKind::kCylinder ? std::min(size.x, size.y) : std::min({size.x, size.y, size.z});
  }
};

inline double separation(const Body& a, const Body& b, const Vec& n) {
  return math::dot(n, a.X.p_WS - b.X.p_WS) - a.support(-n) - b.support(n);
}

// Between 2 and 30 cm, long and flat ones among them; hulls of 8 to 64 points in balls, boxes and at the corners of
// boxes.
class Scenes {
 public:
  explicit Scenes(unsigned seed) : random_(seed) {}

  // One of many hulls, which are made once: that takes longer than all that is compared.
  static const Body& hull(unsigned which) {
    static const std::vector<Body> all = [] {
      std::vector<Body> made(512);
      for (unsigned i = 0; i < made.size(); ++i) {
        Scenes scenes(i);
        made[i].kind = ShapeKind::kMesh, made[i].size = {scenes.length(), scenes.length(), scenes.length()};
        scenes.make_hull(made[i]);
      }
      return made;
    }();
    return all[which % all.size()];
  }

  Body body(ShapeKind kind) {
    Body b;
    b.kind = kind, b.size = {length(), length(), length()};
    const Vec& s = b.size;
    switch (kind) {
      case ShapeKind::kSphere:
        b.geometry = std::make_shared<fcl::Sphered>(s.x);
        break;
      case ShapeKind::kCapsule:
        b.geometry = std::make_shared<fcl::Capsuled>(s.x, 2 * s.y);
        break;
      case ShapeKind::kBox:
        b.geometry = std::make_shared<fcl::Boxd>(2 * s.x, 2 * s.y, 2 * s.z);
        break;
      case ShapeKind::kCylinder:
        b.geometry = std::make_shared<fcl::Cylinderd>(s.x, 2 * s.y);
        break;
      case ShapeKind::kEllipsoid:
        b.geometry = std::make_shared<fcl::Ellipsoidd>(s.x, s.y, s.z);
        break;
      default:
        return hull(random_());
    }
    return b;
  }

  // Near each other: turned at random, or nearly or exactly aligned, the difficult cases; a third of them within a
  // millimetre of touching along some direction.
  void place(Body& a, Body& b) {
    const math::Quat<double> q_a = rotation();
    math::Quat<double> q_b = rotation();
    const double alignment = uniform(0, 1);
    if (alignment < 0.3) q_b = q_a;
    if (alignment > 0.3 && alignment < 0.6) {
      q_b = math::normalized(q_a * math::exp_rotation(std::pow(10.0, uniform(-6, -1)) * normal3()));
    }
    a.X.R_WS = math::to_matrix(q_a), b.X.R_WS = math::to_matrix(q_b);
    Vec n = math::normalized(normal3());
    if (uniform(0, 1) < 0.5) n = b.X.R_WS.column(static_cast<int>(uniform(0, 2.999)));
    double gap = uniform(-0.02, 0.05);
    if (uniform(0, 1) < 0.33) gap = uniform(-1, 1) * std::pow(10.0, uniform(-7, -3));
    b.X.p_WS = {};
    a.X.p_WS = (a.support(-n) + b.support(n) + gap) * n;
    a.X.p_WS += 0.1 * uniform(0, 1) * math::cross(n, math::normalized(normal3()));
  }

  Vec direction() { return math::normalized(normal3()); }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double length() { return 0.02 * std::pow(15.0, uniform(0, 1)); }
  Vec normal3() {
    std::normal_distribution<double> normal;
    return {normal(random_), normal(random_), normal(random_)};
  }
  math::Quat<double> rotation() {
    std::normal_distribution<double> normal;
    return math::normalized(math::Quat<double>{normal(random_), normal(random_), normal(random_), normal(random_)});
  }

  void make_hull(Body& b) {
    const Vec s = b.size;
    const int form = static_cast<int>(uniform(0, 2.999)), count = 8 + static_cast<int>(uniform(0, 56.999));
    std::vector<model::Vec3d> points;
    for (int i = 0; i < (form == 2 ? 8 : count); ++i) {
      Vec d = math::normalized(normal3());
      if (form == 1) d = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
      if (form == 2) d = {i & 1 ? 1.0 : -1.0, i & 2 ? 1.0 : -1.0, i & 4 ? 1.0 : -1.0};
      points.push_back(model::to_spec(math::scale(s, d)));
    }
    const model::ConvexHull hull = model::convex_hull(points).value();
    const auto corners = std::make_shared<std::vector<fcl::Vector3d>>();
    for (const model::Vec3d& v : hull.vertices) {
      b.vertices.push_back(model::to_vec3(v) - model::to_vec3(hull.centroid));
      corners->emplace_back(b.vertices.back().x, b.vertices.back().y, b.vertices.back().z);
    }
    const auto faces = std::make_shared<std::vector<int>>();
    for (const auto& f : hull.faces) faces->insert(faces->end(), {3, f[0], f[1], f[2]});
    b.geometry = std::make_shared<fcl::Convexd>(corners, static_cast<int>(hull.faces.size()), faces, false);
    b.size = {hull.centroid_depth, hull.radius, 0};
    const std::size_t stride = (b.vertices.size() + kHullLanes - 1) / kHullLanes * kHullLanes;
    for (int axis = 0; axis < 3; ++axis) {
      for (std::size_t i = 0; i < stride; ++i) b.hull.push_back(b.vertices[i < b.vertices.size() ? i : 0][axis]);
    }
    b.hull_float.assign(b.hull.begin(), b.hull.end());
  }

  std::mt19937 random_;
};

inline fcl::Transform3d transform_of(const Body& body) {
  fcl::Transform3d X = fcl::Transform3d::Identity();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) X.linear()(i, j) = body.X.R_WS(i, j);
    X.translation()[i] = body.X.p_WS[i];
  }
  return X;
}

// What FCL says of a pair: the distance is between low and high; of an overlap only that it is one.
struct Reference {
  bool apart = false;
  double low = 0, high = 0;
  Vec normal{};      // from b to a
  double depth = 0;  // of an overlap, by FCL's penetration test (of libccd); 0 where it finds none
};

inline double depth_of(const Body& a, const Body& b) {
  fcl::CollisionRequestd request(1, true);
  fcl::CollisionResultd result;
  fcl::collide(a.geometry.get(), transform_of(a), b.geometry.get(), transform_of(b), request, result);
  return result.numContacts() > 0 ? result.getContact(0).penetration_depth : 0;
}

inline Reference ask(const Body& a, const Body& b) {
  fcl::DistanceRequestd request;
  request.enable_nearest_points = true;
  request.distance_tolerance = 1e-8;
  fcl::DistanceResultd result;
  const double distance =
      fcl::distance(a.geometry.get(), transform_of(a), b.geometry.get(), transform_of(b), request, result);
  if (!(distance > 1e-9)) return {false, 0, 0, {}, depth_of(a, b)};
  const fcl::Vector3d v = result.nearest_points[0] - result.nearest_points[1];
  const Vec n = math::normalized(Vec{v[0], v[1], v[2]});
  return {true, separation(a, b, n), distance, n, 0};
}

struct Comparison {
  int apart = 0, overlapping = 0, missed = 0;  // missed: nearer than the margin, and no contact
  double width = 0;                            // m, of FCL's brackets, the greatest
  double distance = 0;                         // m, error of the least gap of pairs apart, the greatest
  double normal = 0;           // m, what separation along the normal falls short of the bracket, the greatest
  std::vector<double> angles;  // between the normals, where FCL's bracket is tight
  std::vector<double> excess;  // depth beyond FCL's, as a share of the lesser body's least size, of overlaps
  double off_surface = 0;      // m, of contact points out of the planes that hold the bodies
};

constexpr double kMargin = 0.1;  // m

template <typename Real>
void compare(const Body& a, const Body& b, const Reference& truth, Comparison& c) {
  ContactPoint<Real> points[kMaxPairContacts];
  const int count = collide_pair(a.shape<Real>(), a.pose<Real>(), b.shape<Real>(), b.pose<Real>(),
                                 static_cast<Real>(kMargin), points);
  if (truth.apart && truth.low > 0.99 * kMargin) return;
  if (count == 0) {
    c.missed += truth.apart ? 1 : 0;
    return;
  }
  const ContactPoint<Real>& least =
      *std::min_element(points, points + count, [](const auto& x, const auto& y) { return x.gap < y.gap; });
  const Vec n = math::cast<double>(least.normal);
  if (truth.apart) {
    ++c.apart;
    c.width = std::max(c.width, truth.high - truth.low);
    const double along = separation(a, b, math::normalized(n)), low = std::max(truth.low, std::min(along, truth.high));
    c.distance = std::max({c.distance, low - least.gap, least.gap - truth.high});
    c.normal = std::max(c.normal, truth.low - along);
    if (truth.high - truth.low < 1e-9 && truth.high > 1e-4) c.angles.push_back(math::norm(n - truth.normal));
  } else {
    ++c.overlapping;
    if (truth.depth > 0)
      c.excess.push_back((-static_cast<double>(least.gap) - truth.depth) / std::min(a.least_size(), b.least_size()));
  }
  for (int k = 0; k < count; ++k) {
    const Vec p_A = math::cast<double>(points[k].p_WA) - a.X.p_WS, p_B = math::cast<double>(points[k].p_WB) - b.X.p_WS;
    c.off_surface = std::max({c.off_surface, -math::dot(n, p_A) - a.support(-n), math::dot(n, p_B) - b.support(n)});
  }
}

// The value that a share of them does not exceed; 0 of none.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace axion::collide::fcl_oracle
