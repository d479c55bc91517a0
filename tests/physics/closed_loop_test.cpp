// Closed loops: four-bar windows, two and more in a row, that pass through their singular pose, and a driven
// crank-rocker against Freudenstein's equation. All lie in the plane z = 0, with hinges about z.
#include <cmath>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::closed_loop_test {
namespace {

using math::Vec3;
using model::JointMode;
using testing::allowed;
using testing::epsilon;
using testing::exact_options;
using testing::Validation;

constexpr double kPi = 3.14159265358979323846;
constexpr std::pair<JointMode, const char*> kModes[] = {{JointMode::kCurrent, "CURRENT"},
                                                        {JointMode::kBlended, "DEFAULT"}};

// The stop test asks for 1e-6 of g·h: 1e-8 m/s or 1e-11 m at 1 ms.
model::SolverOptions loop_options(JointMode mode) {
  model::SolverOptions options = exact_options(mode);
  options.tolerance = 1e-6;
  return options;
}

// A uniform rod of 1 kg/m from one point to another, with its body's x axis along it.
model::BodySpec rod(const std::string& name, const Vec3<double>& from, const Vec3<double>& to) {
  const Vec3<double> along = to - from, middle = 0.5 * (from + to);
  const double length = math::norm(along), angle = std::atan2(along.y, along.x);
  model::BodySpec body;
  body.name = name, body.mass = length;
  body.X_WB.position = {middle.x, middle.y, middle.z};
  body.X_WB.rotation = {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
  const double I = length * length * length / 12;
  body.I_Bcm = {0.01 * I, I, I, 0, 0, 0};
  return body;
}

// A hinge about z between a rod and its parent, at the rod's start (-1) or end (+1).
model::JointSpec pivot(const model::SceneSpec& scene, int parent, int child, int end) {
  model::JointSpec joint;
  joint.name = "pivot" + std::to_string(scene.joints.size()), joint.kind = model::JointKind::kAxes;
  joint.parent = parent, joint.child = child;
  const double half = scene.bodies[child].mass / 2;  // 1 kg/m
  joint.axes = {testing::hinge(joint.name, {0, 0, 1}, {end * half, 0, 0})};
  return joint;
}

// Three verticals on the ground and two couplers between their tops; the second hinge of a coupler closes a loop.
model::SceneSpec four_bar_windows() {
  model::SceneSpec scene;
  scene.gravity = {0, -9.81, 0};
  for (int i = 0; i < 3; ++i) {
    scene.bodies.push_back(rod("vertical" + std::to_string(i), {1.0 * i, 0, 0}, {1.0 * i, 1, 0}));
  }
  for (int i = 0; i < 2; ++i) {
    scene.bodies.push_back(rod("coupler" + std::to_string(i), {1.0 * i, 1, 0}, {1.0 * i + 1, 1, 0}));
  }
  for (int i = 0; i < 3; ++i) scene.joints.push_back(pivot(scene, model::kWorldBody, i, -1));
  for (int i = 0; i < 2; ++i) {
    scene.joints.push_back(pivot(scene, i, 3 + i, -1));
    scene.joints.push_back(pivot(scene, i + 1, 3 + i, +1));
  }
  return scene;
}

// Angle about z by which a body has turned.
template <typename Real>
double turned(const testing::SingleWorld<Real>& world, int body) {
  const math::Quat<double> q = world.rotation(body);
  return 2 * std::atan2(q.z, q.w);
}

double wrapped(double angle) { return std::remainder(angle, 2 * kPi); }

struct Windows {
  Vec3<double> top;  // B0 at 1 s
  double parallel =
      0;              // greatest angle between verticals, and of the couplers against the ground, away from lying flat
  double gap = 0;     // of the lower and upper hinges, greatest in 2 s
  double apart = 0;   // greatest difference of the verticals' speeds in the first second, rad/s
  double flat = kPi;  // how near to lying flat it came, |cos| of the verticals' angle
  int unconverged = 0, fallbacks = 0;
};

template <typename Real>
Windows swing_windows(const model::SolverOptions& options, double h) {
  testing::SingleWorld<Real> world(four_bar_windows(), options, h);
  auto& w = world.world();
  const auto& internal = world.compiled().internal_body;
  for (int i = 0; i < 5; ++i) {  // B0 at +1 m/s: the verticals turn at -1 rad/s, the couplers do not
    w.v[internal[i]] = {Real(i < 3 ? 0.5 : 1), 0, 0};
    w.omega[internal[i]] = {0, 0, Real(i < 3 ? -1 : 0)};
  }
  Windows result;
  const int second = static_cast<int>(std::lround(1 / h));
  for (int k = 1; k <= 2 * second; ++k) {
    world.step();
    const double angle = turned(world, 0), flat = std::abs(std::cos(angle));
    for (int i = 1; i < 5 && flat > 0.1; ++i) {
      const double apart = std::abs(wrapped(turned(world, i) - (i < 3 ? angle : 0)));
      result.parallel = std::max(result.parallel, apart);
    }
    result.flat = std::min(result.flat, flat);
    result.unconverged += !world.converged();
    result.fallbacks += (world.record().outcome & step::kFallbackBit) != 0;
    for (int i = 0; i < 3; ++i) {
      const Vec3<double> ground{1.0 * i, 0, 0}, top{1.0 * i, 1, 0};
      result.gap = std::max(result.gap, math::norm(world.carried(i, ground) - ground));
      if (i < 2) result.gap = std::max(result.gap, math::norm(world.carried(i, top) - world.carried(3 + i, top)));
      if (i > 0) result.gap = std::max(result.gap, math::norm(world.carried(i, top) - world.carried(2 + i, top)));
    }
    for (int i = 1; i < 3 && k <= second; ++i) {
      result.apart = std::max(result.apart, std::abs(double(w.omega[internal[i]].z) - double(w.omega[internal[0]].z)));
    }
    if (k == second) result.top = world.carried(0, {0, 1, 0});
  }
  return result;
}

template <typename Real>
class FourBarWindows : public ::testing::Test {};
TYPED_TEST_SUITE(FourBarWindows, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(FourBarWindows, swing_through_their_singular_pose_and_stay_parallel) {
  using Real = TypeParam;
  const Vec3<double> answer{-0.195020302, -0.980799206, 0};
  // float32: rows at position level undo the rounding of positions of up to 3 m, ε/2 · 3 m, in each step: that is the
  // gap, and so much the angles of rods of 1 m. Over 1 s 1000 steps of ε · 1 m come together to 1.2e-4 m with one sign,
  // five times that in R. Lying flat, verticals may be √(2δ) apart where lengths are known to δ, which a step would
  // take up with √(2δ)/h, 1 rad/s at 1 ms and δ = 4ε · 1 m. Loops give way by what rounding leaves of a length, and
  // what is left of that is √(δ kRoundedLoad)/2 (problem/parameters.hpp), 0.05 rad/s for δ = 16ε · 1 m at any h.
  const double rounding = 1000 * epsilon<float>(), gap = 64 * epsilon<float>();
  const Validation<Real> row("four-bar windows");
  for (const auto& [mode, name] : kModes) {
    const Windows coarse = swing_windows<Real>(loop_options(mode), 1e-3);
    const Windows fine = swing_windows<Real>(loop_options(mode), 5e-4);
    const std::string at(name);
    EXPECT_LT(coarse.flat, 0.01) << "it did not pass its singular pose";
    const double left = math::norm(2.0 * fine.top - coarse.top - answer);
    if (mode == JointMode::kCurrent) {
      row.at_most("CURRENT: x of B0 at 1 s, h 1 ms, against ideal backward Euler, m", std::abs(coarse.top.x + 0.190138),
                  allowed<Real>(1e-6, 1e-6 + rounding));
      row.at_most("CURRENT: B0 at 1 s, R of 1 and .5 ms, m", left, allowed<Real>(1e-4, 1e-4 + 5 * rounding));
      row.at_least("CURRENT: order, 1 and .5 ms",
                   std::log2(math::norm(coarse.top - answer) / math::norm(fine.top - answer)), 0.9);
    } else {
      const double backward_euler = std::abs(-0.190138 - answer.x);
      row.at_most("DEFAULT: B0 at 1 s, h 1 ms, against the continuum, share of backward Euler's error",
                  math::norm(coarse.top - answer) / backward_euler, allowed<Real>(1, 1 + rounding / backward_euler));
      for (const auto& [windows, h] : {std::pair{coarse, 1e-3}, std::pair{fine, 5e-4}}) {
        row.at_most("DEFAULT: verticals' speeds apart, h " + std::string(h == 1e-3 ? "1" : ".5") + " ms, rad/s",
                    windows.apart, allowed<Real>(std::sqrt(2e-11) / h, 0.06));
      }
      row.at_most("DEFAULT: B0 at 1 s, R of 1 and .5 ms, m", left, allowed<Real>(1e-4, 1e-4 + 5 * rounding));
    }
    row.at_most(at + ": verticals and couplers parallel before and after singular passes, 2 s, rad",
                std::max(coarse.parallel, fine.parallel), allowed<Real>(1e-8, gap));
    row.at_most(at + ": greatest hinge gap, m", std::max(coarse.gap, fine.gap), allowed<Real>(1e-9, gap));
    std::printf("%s: steps unconverged %d and %d, fallbacks %d and %d\n", name, coarse.unconverged, fine.unconverged,
                coarse.fallbacks, fine.fallbacks);
  }
}

// `count` windows in a row of bars of one length and 1 kg/m, standing on `origin`. `left_first`: a coupler hangs on the
// vertical to its left and closes a loop with the one to its right; otherwise the other way round.
struct RowOfWindows {
  int count = 10;
  double bar = 1, speed = -1, h = 1e-3;
  Vec3<double> origin{};
  bool left_first = true;
};

model::SceneSpec scene_of(const RowOfWindows& row) {
  model::SceneSpec scene;
  scene.gravity = {0, -9.81, 0};
  const int n = row.count;
  const auto at = [&](int i, int level) { return row.origin + row.bar * Vec3<double>{double(i), double(level), 0}; };
  for (int i = 0; i <= n; ++i) scene.bodies.push_back(rod("vertical" + std::to_string(i), at(i, 0), at(i, 1)));
  for (int i = 0; i < n; ++i) scene.bodies.push_back(rod("coupler" + std::to_string(i), at(i, 1), at(i + 1, 1)));
  for (int i = 0; i <= n; ++i) scene.joints.push_back(pivot(scene, model::kWorldBody, i, -1));
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 2; ++k) {
      const bool left = (k == 0) == row.left_first;
      scene.joints.push_back(pivot(scene, left ? i : i + 1, n + 1 + i, left ? -1 : +1));
    }
  }
  return scene;
}

struct LongSwing {
  // Greatest angle between verticals, and of couplers against the ground, where |cos| of the verticals is above 0.1.
  double parallel = 0;
  double energy = 0;  // its change, as a share of what it was
  int passes = 0;     // of lying flat
};

// Ten seconds with the preset's own tolerance.
template <typename Real>
LongSwing swing_long(const RowOfWindows& row, JointMode mode) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.joint_mode = mode;
  testing::SingleWorld<Real> world(scene_of(row), options, row.h);
  auto& w = world.world();
  const auto& internal = world.compiled().internal_body;
  const int bodies = 2 * row.count + 1;
  for (int i = 0; i < bodies; ++i) {
    const bool upright = i <= row.count;
    w.v[internal[i]] = {Real(-row.speed * row.bar * (upright ? 0.5 : 1)), 0, 0};
    w.omega[internal[i]] = {0, 0, Real(upright ? row.speed : 0)};
  }
  LongSwing result;
  const double start = world.energy();
  double last = 1;
  for (int k = 1; k <= std::lround(10 / row.h); ++k) {
    world.step();
    const double angle = turned(world, 0), cosine = std::cos(angle);
    result.passes += (cosine > 0) != (last > 0);
    last = cosine;
    for (int i = 1; i < bodies && std::abs(cosine) > 0.1; ++i) {
      result.parallel = std::max(result.parallel, std::abs(wrapped(turned(world, i) - (i <= row.count ? angle : 0))));
    }
  }
  result.energy = std::abs(world.energy() / start - 1);
  return result;
}

// Ten seconds of a row, as rows of the validation table.
template <typename Real>
void check_long_swing(const std::string& name, const RowOfWindows& windows, JointMode mode) {
  const Validation<Real> row("four-bar windows in a row");
  const LongSwing swing = swing_long<Real>(windows, mode);
  // A row's lengths are known to 16ε of the extent, and turn verticals by 1/|cos| of that over their length.
  const double extent = std::max(1.0, windows.origin.x + windows.count * windows.bar);
  EXPECT_GE(swing.passes, 4) << name;
  row.at_most(name + ": verticals and couplers parallel away from lying flat, 10 s, rad", swing.parallel,
              allowed<Real>(1e-8, 16 * epsilon<float>() * extent / (0.1 * windows.bar)));
  // A leapfrog's energy swings by ω h of its turn; CURRENT loses it.
  if (mode == JointMode::kBlended) row.at_most(name + ": energy, relative", swing.energy, 1e-2);
}

// Each vertical could stay lying flat, or turn back, while the others go on: a row of n windows has 2ⁿ branches that
// meet where it lies flat. Equal verticals at equal speeds go round together.
TYPED_TEST(FourBarWindows, in_a_row_stay_on_their_branch_for_ten_seconds) {
  for (const int count : {2, 3, 10}) {
    check_long_swing<TypeParam>("DEFAULT, " + std::to_string(count), {.count = count}, JointMode::kBlended);
  }
  check_long_swing<TypeParam>("CURRENT, 2", {.count = 2}, JointMode::kCurrent);
}

// So do rows that take minutes: longer ones, and ten windows of other sizes, speeds, steps and places.
TYPED_TEST(FourBarWindows, of_any_kind_in_a_row_stay_on_their_branch_for_ten_seconds) {
  const auto check = check_long_swing<TypeParam>;
  for (const int count : {20, 40}) check("DEFAULT, " + std::to_string(count), {.count = count}, JointMode::kBlended);
  check("CURRENT, 10", {.count = 10}, JointMode::kCurrent);
  check("DEFAULT, 10 of 0.5 m", {.bar = 0.5}, JointMode::kBlended);
  check("DEFAULT, 10 of 2 m", {.bar = 2}, JointMode::kBlended);
  check("DEFAULT, 10 at -0.7 rad/s", {.speed = -0.7}, JointMode::kBlended);
  check("DEFAULT, 10 at -1.5 rad/s", {.speed = -1.5}, JointMode::kBlended);
  check("DEFAULT, 10 at 0.5 ms", {.h = 5e-4}, JointMode::kBlended);
  check("DEFAULT, 10 at 2 ms", {.h = 2e-3}, JointMode::kBlended);
  check("DEFAULT, 10 off the origin", {.origin = {7.3, 2.1, 0}}, JointMode::kBlended);
  check("DEFAULT, 10 with loops on the left", {.left_first = false}, JointMode::kBlended);
}

// Crank a, coupler b, rocker c, ground d. The crank starts along the ground, where the rocker stands upright.
constexpr double kCrank = 0.2, kCoupler = 0.5, kRocker = 0.4, kGround = 0.5;

model::SceneSpec crank_rocker() {
  model::SceneSpec scene;
  scene.gravity = {0, -9.81, 0};
  const Vec3<double> A{kCrank, 0, 0}, B{kGround, kRocker, 0}, D{kGround, 0, 0};
  scene.bodies = {rod("crank", {0, 0, 0}, A), rod("rocker", D, B), rod("coupler", A, B)};
  scene.joints.push_back(pivot(scene, model::kWorldBody, 0, -1));
  scene.joints.push_back(pivot(scene, model::kWorldBody, 1, -1));
  scene.joints.push_back(pivot(scene, 0, 2, -1));
  scene.joints.push_back(pivot(scene, 1, 2, +1));
  model::ActuatorSpec drive;
  drive.name = "drive", drive.kind = model::ActuatorKind::kVelocity, drive.joint = 0, drive.kd = 1e6;
  scene.actuators = {drive};
  return scene;
}

// K1 cos θ4 − K2 cos θ2 + K3 − cos(θ2 − θ4), as the error of θ4 that it means to first order, rad.
double freudenstein_error(double crank, double rocker) {
  const double a = kCrank, b = kCoupler, c = kRocker, d = kGround;
  const double K1 = d / a, K2 = d / c, K3 = (a * a - b * b + c * c + d * d) / (2 * a * c);
  const double value = K1 * std::cos(rocker) - K2 * std::cos(crank) + K3 - std::cos(crank - rocker);
  return value / (K1 * std::sin(rocker) + std::sin(crank - rocker));
}

// A stop test below what one iteration reaches sends steps to the fallback again and again; the attempt that stays must
// be the one with the better joints, not the linearised one that does not look at them.
TEST(FourBarWindowsInFallback, keep_their_joints) {
  model::SolverOptions options = exact_options(JointMode::kCurrent);
  options.tolerance = 1e-12;
  options.max_newton_iterations = 2;
  const Windows windows = swing_windows<double>(options, 2e-3);
  const Validation<double> row("four-bar windows");
  EXPECT_GT(windows.unconverged, 0);
  row.at_most("CURRENT with too few iterations for its stop test: hinge gap in 2 s, m", windows.gap, 1e-9);
}

template <typename Real>
class CrankRocker : public ::testing::Test {};
TYPED_TEST_SUITE(CrankRocker, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(CrankRocker, follows_freudensteins_equation) {
  using Real = TypeParam;
  const Validation<Real> row("crank-rocker four-bar");
  for (const auto& [mode, name] : kModes) {
    for (const double h : {1e-3, 1e-2}) {
      testing::SingleWorld<Real> world(crank_rocker(), loop_options(mode), h);
      auto& w = world.world();
      w.control[0] = static_cast<Real>(2 * kPi);
      double error = 0, crank = 0, lowest = kPi, highest = 0;
      const int steps = static_cast<int>(std::lround(3 / h));
      for (int k = 1; k <= steps; ++k) {
        world.step();
        const double theta2 = turned(world, 0), theta4 = kPi / 2 + turned(world, 1);
        error = std::max(error, std::abs(freudenstein_error(theta2, theta4)));
        crank = std::max(crank, std::abs(wrapped(theta2 - 2 * kPi * k * h)));
        lowest = std::min(lowest, theta4), highest = std::max(highest, theta4);
      }
      // The rocker swings between the poses in which crank and coupler are in line, in its one branch.
      EXPECT_GT(lowest, 0);
      EXPECT_LT(highest, kPi);
      EXPECT_GT(highest - lowest, 1);
      // float32: pins may gap by 16ε m at four hinges, on links of 0.2 m and more: 64ε m / 0.2 m. The crank's angle
      // comes from 3000 steps of ε/2 · 6.3 rad/s · h each, and from a quaternion of ε.
      const std::string at = std::string(name) + (h == 1e-3 ? ", h 1 ms" : ", h 10 ms");
      row.at_most(at + ": Freudenstein's equation in every step of 3 s, rad", error,
                  allowed<Real>(1e-6, 64 * epsilon<float>() / 0.2));
      row.at_most(at + ": crank against 2π t, rad", crank, allowed<Real>(1e-4, 1e-4 + 3 / h * epsilon<float>()));
    }
  }
}

// The same double pendulum, once carried by its joints, once of free bodies whose hinges close loops: one motion.
template <typename Real>
class FreeBodiesInLoops : public ::testing::Test {};
TYPED_TEST_SUITE(FreeBodiesInLoops, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(FreeBodiesInLoops, move_as_a_tree_of_joints) {
  const model::SceneSpec tree = testing::pendulum_chain(2);
  model::SceneSpec loops = tree;
  for (int b = 0; b < 2; ++b) {
    model::JointSpec free;
    free.name = "free" + std::to_string(b), free.kind = model::JointKind::kFree, free.child = b;
    loops.joints.insert(loops.joints.begin() + b, free);
  }
  testing::SingleWorld<TypeParam> one(tree, loop_options(JointMode::kBlended), 1e-3),
      other(loops, loop_options(JointMode::kBlended), 1e-3);
  ASSERT_EQ(other.model().loop_count, 2);
  double apart = 0;
  for (int k = 0; k < 1000; ++k) {
    one.step(), other.step();
    ASSERT_TRUE(one.converged() && other.converged()) << "step " << k;
    for (int b = 0; b < 2; ++b) {
      const int i = one.compiled().internal_body[b], j = other.compiled().internal_body[b];
      apart = std::max(apart, double(math::norm(one.world().x[i] - other.world().x[j])));
    }
  }
  // float32: a loop's pin may gap by 16ε m, and 1000 steps round places of 2 m by ε/2 · 2 m each.
  Validation<TypeParam>("loops of free bodies")
      .at_most("double pendulum against that of a tree, 1 s, m", apart,
               allowed<TypeParam>(1e-7, 1016 * epsilon<float>()));
}

}  // namespace
}  // namespace axion::closed_loop_test
