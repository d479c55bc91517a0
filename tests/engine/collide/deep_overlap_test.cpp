// Bodies that are deep in each other come apart by the shortest way, nearly: beside a search over all directions.
#include <gtest/gtest.h>

#include "tests/engine/collide/depth_oracle.hpp"

namespace axion::collide::deep_overlap_test {
namespace {

using namespace fcl_oracle;

constexpr int kScenes = 100;  // of each pair

template <typename Real>
Vec normal_of_deepest(const Body& a, const Body& b) {
  ContactPoint<Real> points[kMaxPairContacts];
  const int count = collide_pair(a.shape<Real>(), a.pose<Real>(), b.shape<Real>(), b.pose<Real>(), Real(0.01), points);
  if (count == 0) return {0, 0, 0};
  const auto* least =
      std::min_element(points, points + count, [](const auto& x, const auto& y) { return x.gap < y.gap; });
  return math::normalized(math::cast<double>(least->normal));
}

// How much more than the least way a pair is moved along its contact's normal to part it, as shares of the lesser
// body's least size.
struct Excess {
  std::vector<double> in_double, in_float;
};

Excess excess_of(ShapeKind kind_a, ShapeKind kind_b) {
  Excess excess;
  for (int i = 0; i < kScenes; ++i) {
    Scenes scenes(static_cast<unsigned>(1000 * i + 10 * static_cast<int>(kind_a) + static_cast<int>(kind_b)));
    Body a = scenes.body(kind_a), b = scenes.body(kind_b);
    scenes.place(a, b);
    // From centre in centre to nearly parted along some direction; along another they may be apart.
    depth_oracle::overlap(a, b, scenes.direction(), 0.95 * i / kScenes);
    const double depth = depth_oracle::depth(a, b), size = std::min(a.least_size(), b.least_size());
    if (!(depth > 0)) continue;
    const auto more = [&](const Vec& n) { return (depth_oracle::depth_along(a, b, n) - depth) / size; };
    const Vec n = normal_of_deepest<double>(a, b), n_float = normal_of_deepest<float>(a, b);
    EXPECT_GT(math::norm(n) * math::norm(n_float), 0.5) << name_of(kind_a) << '-' << name_of(kind_b) << ' ' << i;
    excess.in_double.push_back(more(n)), excess.in_float.push_back(more(n_float));
  }
  return excess;
}

// The bound: in 98 of 100 pairs no more than 1 % of the least size, and never more than 20 %.
TEST(DeepOverlap, bodies_part_by_the_shortest_way) {
  for (int a = 1; a < 7; ++a) {
    for (int b = std::max(a, 4); b < 7; ++b) {
      const auto kind_a = static_cast<ShapeKind>(a), kind_b = static_cast<ShapeKind>(b);
      const Excess excess = excess_of(kind_a, kind_b);
      EXPECT_GT(excess.in_double.size(), kScenes / 2) << name_of(kind_a) << '-' << name_of(kind_b);
      for (const std::vector<double>& of : {excess.in_double, excess.in_float}) {
        EXPECT_LT(quantile(of, 0.98), 0.01) << name_of(kind_a) << '-' << name_of(kind_b);
        EXPECT_LT(quantile(of, 1), 0.2) << name_of(kind_a) << '-' << name_of(kind_b);
      }
    }
  }
}

// What has sunk half into the top of a thin table, wherever over it, leaves it upwards or downwards, not through its
// far sides, which the line of the centres leads to.
TEST(DeepOverlap, thin_tables_are_left_by_their_nearer_face) {
  for (const ShapeKind kind :
       {ShapeKind::kCapsule, ShapeKind::kBox, ShapeKind::kCylinder, ShapeKind::kEllipsoid, ShapeKind::kMesh}) {
    for (int i = 0; i < 200; ++i) {
      Scenes scenes(static_cast<unsigned>(i));
      Body body = scenes.body(kind), other = scenes.body(ShapeKind::kSphere), table;
      scenes.place(body, other);
      table.kind = i % 2 == 0 ? ShapeKind::kBox : ShapeKind::kCylinder;
      if (i % 2 == 0) table.size = {1, 0.6, 0.01};
      if (i % 2 == 1) table.size = {0.8, 0.01, 0};
      table.X.R_WS = math::Mat3<double>::identity();
      const Vec d = scenes.direction();
      body.X.p_WS = {0.3 * d.x, 0.2 * d.y, 0.005 * d.z};
      const Vec n = normal_of_deepest<float>(body, table);
      EXPECT_GT(std::abs(n.z), 0.9999) << name_of(kind) << i;
      EXPECT_LT(depth_oracle::depth_along(body, table, n), depth_oracle::depth_along(body, table, -n) + 1e-3)
          << name_of(kind) << i;
    }
  }
}

}  // namespace
}  // namespace axion::collide::deep_overlap_test
