// Pairs that are left out of a step are those that stay apart in it, seen by poses along the way.
#include "engine/collide/near_pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/collide/collide_pair.hpp"
#include "tests/engine/collide/random_heap.hpp"
#include "tests/support/validation.hpp"

namespace axion::near_pairs_test {
namespace {

using collide::Foresight;

template <typename Real>
class NearPairs : public ::testing::Test {};
TYPED_TEST_SUITE(NearPairs, testing::Precisions, testing::PrecisionNames);

// Points of a grid along the way, and between them golden section: the distance along a line is convex.
double least_distance(const math::Vec3<double>& d, const math::Vec3<double>& travel) {
  const auto at = [&](double t) { return math::norm(d + t * travel); };
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double a = low + 0.382 * (high - low), b = low + 0.618 * (high - low);
    (at(a) < at(b) ? high : low) = at(a) < at(b) ? b : a;
  }
  return at(low);
}

TYPED_TEST(NearPairs, spheres_come_near_where_the_least_distance_along_their_way_is_smaller) {
  std::mt19937 random(3);
  int near = 0;
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    const auto d = testing::random_vector<TypeParam>(1, random);
    const auto travel = testing::random_vector<TypeParam>(i % 3 == 0 ? 0.1 : 2, random);
    const double least = least_distance(math::cast<double>(d), math::cast<double>(travel));
    const TypeParam distance = TypeParam(i % 2 == 0 ? 0.99 * least : 1.01 * least);
    EXPECT_EQ(collide::come_near(d, travel, distance), i % 2 != 0) << i;
    EXPECT_EQ(collide::come_near(-d, -travel, distance), i % 2 != 0) << i;
    near += least < 0.9 * double(math::norm(d));
  }
  EXPECT_GT(near, kCases / 10);  // else only the ends are tried
  EXPECT_TRUE(collide::come_near<TypeParam>({1, 0, 0}, {}, TypeParam(1.1)));
  EXPECT_FALSE(collide::come_near<TypeParam>({1, 0, 0}, {}, TypeParam(0.9)));
}

// Contacts of two shapes a share of the step later, along given velocities.
template <typename Real>
int contacts_later(const model::ModelView<Real>& m, const model::WorldView<Real>& w, const model::PairData<Real>& pair,
                   ConstArray<math::Vec3<Real>> v, const model::StepSettings<Real>& s, Real share) {
  const auto pose = [&](int i) {
    const model::ShapeData<Real>& shape = m.shapes[i];
    if (shape.body < 0) return collide::ShapePose<Real>{w.collide.shape_centre[i], w.collide.shape_axes[i]};
    const Real t = share * s.dt;
    const math::Quat<Real> q = math::normalized(math::exp_rotation(t * w.omega[shape.body]) * w.q[shape.body]);
    return collide::ShapePose<Real>{w.x[shape.body] + t * v[shape.body] + math::rotate(q, shape.p_CS),
                                    math::to_matrix(q * shape.q_CS)};
  };
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  collide::ContactPoint<Real> points[collide::kMaxPairContacts];
  return collide::collide_pair(collide::Shape<Real>{a.kind, a.size}, pose(pair.shape_a),
                               collide::Shape<Real>{b.kind, b.size}, pose(pair.shape_b), s.contact_margin, points);
}

TYPED_TEST(NearPairs, that_are_left_out_stay_further_apart_than_the_margin_all_through_the_step) {
  std::mt19937 random(5);
  int left_out = 0, touching = 0;
  for (int round = 0; round < 12; ++round) {
    model::SceneSpec scene = testing::random_heap(30, random);
    for (std::size_t i = 1; i < scene.shapes.size(); i += 4) scene.shapes[i].X_BS.position = {0.2, -0.3, 0.1};
    testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), 0.05);
    const auto m = world.model();
    auto& w = world.world();
    const auto& s = world.settings();
    const auto draw = [&](double size) { return testing::random_vector<TypeParam>(size, random); };
    for (int b = 0; b < m.body_count; ++b) {
      w.v[b] = draw(5), w.v_plus[b] = draw(10), w.omega[b] = w.omega_plus[b] = draw(5);
    }
    for (int i = 0; i < m.shape_count; ++i) collide::place_shape(m, w, i, s.dt);
    std::vector<bool> near_last;
    for (int i = 0; i < m.pair_count; ++i) {
      near_last.push_back(collide::near_each_other(m, w, m.pairs[i].shape_a, m.pairs[i].shape_b, s, Foresight::kLast));
    }
    for (int i = 0; i < m.shape_count; ++i) collide::reach_as_solved(m, w, i, s.dt);
    for (int i = 0; i < m.pair_count; ++i) {
      const auto& pair = m.pairs[i];
      const bool last = near_last[i];
      const bool both = collide::near_each_other(m, w, pair.shape_a, pair.shape_b, s, Foresight::kLastAndSolved);
      EXPECT_TRUE(both || !last);
      left_out += !both;
      for (int k = 0; k <= 8; ++k) {
        const TypeParam share = TypeParam(k) / 8;
        const int along_last = contacts_later(m, w, pair, w.v, s, share);
        touching += along_last > 0;
        EXPECT_FALSE(!last && along_last > 0) << "round " << round << " pair " << i << " share " << share;
        EXPECT_FALSE(!both && contacts_later(m, w, pair, w.v_plus, s, share) > 0)
            << "round " << round << " pair " << i << " share " << share;
      }
    }
  }
  EXPECT_GT(left_out, 2000);
  EXPECT_GT(touching, 200);
}

}  // namespace
}  // namespace axion::near_pairs_test
