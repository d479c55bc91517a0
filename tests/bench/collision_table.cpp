// axion-collision: the narrow phase beside FCL over many random pairs, as the page docs/collision.md.
//
// Usage: axion-collision [pairs] > docs/collision.md
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/engine/collide/fcl_oracle.hpp"

namespace axion::collide {
namespace {

using namespace fcl_oracle;

// Time of a call, without FCL's.
template <typename Real>
double microseconds(ShapeKind kind_a, ShapeKind kind_b) {
  constexpr int kCalls = 400, kRounds = 5;
  std::vector<Body> a, b;
  for (int i = 0; i < kCalls; ++i) {
    Scenes scenes(static_cast<unsigned>(i));
    a.push_back(scenes.body(kind_a)), b.push_back(scenes.body(kind_b));
    scenes.place(a.back(), b.back());
  }
  double best = 1e9;
  volatile int sink = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) {
      ContactPoint<Real> points[kMaxPairContacts];
      const std::size_t k = static_cast<std::size_t>(i);
      sink = sink + collide_pair(a[k].shape<Real>(), a[k].pose<Real>(), b[k].shape<Real>(), b[k].pose<Real>(),
                                 Real(0.01), points);
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 1e6 * best / kCalls;
}

template <typename Real>
void print_row(ShapeKind kind_a, ShapeKind kind_b, const Comparison& c) {
  std::printf("| %s, %s | %s | %d | %.1e | %.1e | %.1e | %.1e | %.1e | %d | %.2f | %.2f | %d | %.2f |\n",
              name_of(kind_a), name_of(kind_b), sizeof(Real) == 4 ? "float32" : "float64", c.apart, c.width, c.distance,
              c.normal, quantile(c.angles, 0.5), quantile(c.angles, 0.99), c.overlapping, 100 * quantile(c.excess, 0.9),
              100 * quantile(c.excess, 0.99), c.missed, microseconds<Real>(kind_a, kind_b));
  std::fflush(stdout);
}

void print_rows(ShapeKind kind_a, ShapeKind kind_b, int scene_count) {
  Comparison in_double, in_float;
  for (int i = 0; i < scene_count; ++i) {
    Scenes scenes(static_cast<unsigned>(64 * i + 8 * static_cast<int>(kind_a) + static_cast<int>(kind_b)));
    Body a = scenes.body(kind_a), b = scenes.body(kind_b);
    scenes.place(a, b);
    const Reference truth = ask(a, b);
    compare<double>(a, b, truth, in_double);
    compare<float>(a, b, truth, in_float);
  }
  print_row<double>(kind_a, kind_b, in_double);
  print_row<float>(kind_a, kind_b, in_float);
}

}  // namespace
}  // namespace axion::collide

int main(int argc, char** argv) {
  using axion::model::ShapeKind;
  const int scenes = argc > 1 ? std::atoi(argv[1]) : 100000;
  std::printf(
      "# The narrow phase beside FCL\n\n"
      "Made by `axion-collision %d > docs/collision.md`: %d random pairs of each two kinds, 2 to 30 cm in size, most "
      "of them within\n"
      "5 cm of touching, a third within a millimetre, a third exactly and a third nearly aligned; hulls have up to 64 "
      "vertices.\n"
      "The reference is FCL (the Flexible Collision Library of Debian, with libccd).\n\n"
      "* *bracket*: the distance of FCL's nearest points is no less than the true one, the separation along their "
      "direction no\n"
      "  more; the greatest difference of the two, m: FCL's own uncertainty.\n"
      "* *distance*: how far the least gap of the contacts is outside that bracket, m, the greatest. Up to half a "
      "thousandth of\n"
      "  the lesser size is the choice between a face's points and the nearest one.\n"
      "* *along normal*: what the separation along the contact's normal falls short of the bracket, m, the greatest.\n"
      "* *angle*: between the normals, rad, the median and 99 of 100, where the bracket is below a nanometre.\n"
      "* *depth*: of overlaps, what the depth is more than FCL's, percent of the lesser body's least size: 90 and 99 "
      "of 100.\n"
      "* *missed*: pairs within the margin without a contact. *us*: time of a call on this machine, one core.\n\n"
      "| pair | numbers | apart | bracket | distance | along normal | angle, median | angle, 99 %% | overlap | depth, "
      "90 %% | depth, 99 %% "
      "| missed | us |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
      scenes, scenes);
  for (int a = 1; a < 7; ++a) {
    for (int b = a; b < 7; ++b) {
      axion::collide::print_rows(static_cast<ShapeKind>(a), static_cast<ShapeKind>(b), scenes);
    }
  }
  return 0;
}
