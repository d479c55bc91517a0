// The same MJCF in C MuJoCo and here: what the models are made of, and smooth motions, whose errors fall with dt.
//
// MuJoCo runs with its fourth order integrator and steps so small that it counts as exact. Contacts and limits are off
// in both, because MuJoCo's are soft.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/model/spec_math.hpp"
#include "tests/physics/exact_options.hpp"
#include "tests/support/fitted_order.hpp"
#include "tests/support/mujoco_model.hpp"
#include "tests/support/published_model.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::mujoco_test {
namespace {

using math::Mat3;
using math::Quat;
using math::Vec3;
using model::JointMode;
using testing::allowed;
using testing::epsilon;
using testing::published_model;
using testing::Validation;

// A mode with the order that it must show and the greatest of the time steps that show it, each half of the one before.
struct Mode {
  JointMode mode;
  const char* name;
  double step, order, order_in_float;
};

// float32: at .25 ms errors of first order are 1e-4 of the motion and more, and rounding of 2000 steps, ε/2 each, is up
// to a fifth of that when its signs lean one way: it takes log2(1.2)/2 = 0.13 from the slope over two halvings. Those
// of second order are a few 1e-5 of the motion at 3 ms, of which rounding of 160 steps and what the stop test leaves of
// each is up to a half.
constexpr Mode kModes[] = {{JointMode::kCurrent, "CURRENT", 1e-3, 0.9, 0.77},
                           {JointMode::kBlended, "DEFAULT", 0.0125, 1.9, 1.4}};
constexpr double kHold = 0.05;  // s, of a control

// Three links with offset anchors, oblique axes, armature, damping and springs; a universal joint in the middle.
constexpr const char* kChain = R"(<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body pos="0 0 2">
      <joint name="a" type="hinge" axis="0 1 0" damping="0.05" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.4 0.05 0" size="0.04" contype="0" conaffinity="0"/>
      <body pos="0.4 0.05 0">
        <joint name="b" type="hinge" axis="0 1 0.2" stiffness="1" damping="0.02"/>
        <joint name="c" type="hinge" axis="1 0 0" pos="0.02 0 0" armature="0.005"/>
        <geom type="box" pos="0.2 0 0" size="0.2 0.05 0.03" contype="0" conaffinity="0"/>
        <body pos="0.4 0 0">
          <joint name="d" type="hinge" axis="0 1 -0.3" damping="0.01"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.03" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>)";

// Three links that a fluid with a current resists, and its own weight.
constexpr const char* kSwimmer = R"(<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -2" density="800" viscosity="0.3" wind="0.2 0 0.1"/>
  <worldbody>
    <body pos="0 0 2">
      <freejoint/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04" contype="0" conaffinity="0"/>
      <body pos="0.4 0 0">
        <joint name="b" type="hinge" axis="0 1 0.2"/>
        <geom type="box" pos="0.2 0 0" size="0.2 0.05 0.03" contype="0" conaffinity="0"/>
        <body pos="0.4 0 0">
          <joint name="d" type="hinge" axis="0 1 -0.3"/>
          <geom type="ellipsoid" pos="0.15 0 0" size="0.15 0.03 0.05" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="b" gear="20"/><motor joint="d" gear="8"/></actuator>
</mujoco>)";

// A trunk with two branches that motors at sites push and turn: alone, and from a site of the world. References that
// move are not here: MuJoCo 2.2 moves what both sites hang on.
constexpr const char* kRotors = R"(<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 0"/>
  <worldbody>
    <site name="post" pos="1 0 2" euler="0.3 0.2 0.1"/>
    <body pos="0 0 2">
      <freejoint/>
      <geom type="box" size="0.2 0.15 0.05" contype="0" conaffinity="0"/>
      <site name="rotor" pos="0.2 0.15 0.05" euler="0.4 -0.2 0"/>
      <body pos="0.25 0 0">
        <joint axis="0 1 0.2"/>
        <geom type="box" pos="0.2 0 0" size="0.2 0.05 0.03" contype="0" conaffinity="0"/>
        <body pos="0.4 0 0">
          <joint axis="0 1 -0.3"/>
          <geom type="ellipsoid" pos="0.15 0 0" size="0.15 0.03 0.05" contype="0" conaffinity="0"/>
          <body pos="0.3 0 0" euler="0 0.3 0.3">
            <geom type="sphere" size="0.04" contype="0" conaffinity="0"/>
            <site name="hand" pos="0 0.05 0.02" euler="0.1 0.2 0.3"/>
          </body>
        </body>
      </body>
      <body pos="-0.25 0 0">
        <joint axis="0 1 0"/>
        <geom type="box" pos="-0.2 0 0" size="0.2 0.05 0.03" contype="0" conaffinity="0"/>
        <site name="tail" pos="-0.4 0 0.02" euler="0 0 1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor site="rotor" gear="3 0 120 0 1 4"/>
    <motor site="hand" gear="10 8 0 0 0.5 1"/>
    <motor site="tail" refsite="post" gear="0 20 30 0 0 1"/>
  </actuator>
</mujoco>)";

Vec3<double> vec(const mjtNum* v) { return {v[0], v[1], v[2]}; }
Mat3<double> mat(const mjtNum* m) { return {{vec(m), vec(m + 3), vec(m + 6)}}; }

// A text in both: MuJoCo's model and data, and the scene.
class Both {
 public:
  explicit Both(const std::string& xml) : m_(testing::load_mujoco(xml)) {
    auto imported = import::import_mjcf(xml);
    if (!imported.ok()) throw std::runtime_error(imported.error().message);
    scene_ = std::move(imported).value().scene;
    m_->opt.integrator = mjINT_RK4;
    m_->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT;
    d_.reset(mj_makeData(m_.get()));
    mj_forward(m_.get(), d_.get());
  }

  mjModel& m() { return *m_; }
  mjData& d() { return *d_; }
  const model::SceneSpec& scene() const { return scene_; }

  // The scene without anything that may touch, and without limits.
  model::SceneSpec smooth_scene() const {
    model::SceneSpec scene = scene_;
    scene.shapes.clear();
    for (model::JointSpec& joint : scene.joints) {
      for (model::AxisSpec& axis : joint.axes) axis.limited = false;
    }
    for (model::TendonSpec& tendon : scene.tendons) tendon.limited = false;
    return scene;
  }

 private:
  testing::MujocoModel m_;
  testing::MujocoData d_;
  model::SceneSpec scene_;
};

// Small controls that differ from motor to motor and are held for kHold.
double held_control(int i, int hold) { return 0.2 * std::sin(1.0 + 2.0 * i + 1.3 * hold); }

// Coordinates of all hinges and slides in MuJoCo's order, then the frame of the first body.
std::vector<double> coordinates(Both& both) {
  std::vector<double> result;
  for (int j = 0; j < both.m().njnt; ++j) {
    if (both.m().jnt_type[j] == mjJNT_HINGE || both.m().jnt_type[j] == mjJNT_SLIDE) {
      result.push_back(both.d().qpos[both.m().jnt_qposadr[j]]);
    }
  }
  for (int i = 0; i < 3; ++i) result.push_back(both.d().xpos[3 + i]);
  for (int i = 0; i < 9; ++i) result.push_back(both.d().xmat[9 + i]);
  return result;
}

template <typename Real>
std::vector<double> coordinates(const model::SceneSpec& scene, testing::SingleWorld<Real>& world) {
  std::vector<double> result;
  const model::CompiledModel& compiled = world.compiled();
  for (std::size_t j = 0; j < compiled.welded.scene.joints.size(); ++j) {
    const model::JointSpec& joint = compiled.welded.scene.joints[j];
    if (joint.kind != model::JointKind::kAxes) continue;
    const int start = compiled.arrays.joints[compiled.joint_of_scene[j]].axis_start;
    for (std::size_t k = 0; k < joint.axes.size(); ++k) result.push_back(world.world().axis_position[start + k]);
  }
  const model::Pose X_WB = model::to_pose(scene.bodies[0].X_WB);
  const Vec3<double> p = world.carried(0, X_WB.position);
  const Mat3<double> R = math::to_matrix(world.rotation(0) * X_WB.rotation);
  for (int i = 0; i < 3; ++i) result.push_back(p[i]);
  for (int i = 0; i < 9; ++i) result.push_back(R.row[i / 3][i % 3]);
  return result;
}

std::vector<double> exact_motion(Both& both, double duration) {
  both.m().opt.timestep = 1e-4;
  const int steps = static_cast<int>(std::lround(kHold / both.m().opt.timestep));
  for (int hold = 0; hold < std::lround(duration / kHold); ++hold) {
    for (int i = 0; i < both.m().nu; ++i) both.d().ctrl[i] = held_control(i, hold);
    for (int k = 0; k < steps; ++k) mj_step(&both.m(), &both.d());
  }
  mj_forward(&both.m(), &both.d());
  return coordinates(both);
}

template <typename Real>
double motion_error(const model::SceneSpec& scene, const std::vector<double>& exact, JointMode mode, double duration,
                    double h) {
  model::SolverOptions options = testing::exact_options(mode);
  options.tolerance = 1e-9;
  testing::SingleWorld<Real> world(scene, options, h);
  for (int hold = 0; hold < std::lround(duration / kHold); ++hold) {
    for (int i = 0; i < world.model().control_count; ++i) world.world().control[i] = Real(held_control(i, hold));
    world.step(static_cast<int>(std::lround(kHold / h)));
  }
  const std::vector<double> ours = coordinates(scene, world);
  EXPECT_EQ(ours.size(), exact.size());
  double error = 0;
  for (std::size_t i = 0; i < std::min(ours.size(), exact.size()); ++i) {
    error = std::max(error, std::abs(ours[i] - exact[i]));
  }
  return error;
}

template <typename Real>
class AgainstMujoco : public ::testing::Test {
 protected:
  // Errors at three steps, the order between them, and the extent of the motion.
  void check_motion(const std::string& name, const std::string& xml, double duration, const Mode (&modes)[2] = kModes) {
    Both both(xml);
    const std::vector<double> start = coordinates(both), exact = exact_motion(both, duration);
    double moved = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) moved = std::max(moved, std::abs(exact[i] - start[i]));
    EXPECT_GT(moved, 0.1) << name << " hardly moves";
    const model::SceneSpec scene = both.smooth_scene();
    const Validation<Real> row("against C MuJoCo");
    for (const Mode& mode : modes) {
      const std::vector<double> steps{mode.step, mode.step / 2, mode.step / 4};
      std::vector<double> errors;
      for (const double h : steps) errors.push_back(motion_error<Real>(scene, exact, mode.mode, duration, h));
      const std::string at = mode.mode == JointMode::kCurrent ? "1 to .25 ms" : "12.5 to 3.1 ms";
      row.at_most(name + ", " + mode.name + ": error at the first of " + at + ", share of the motion",
                  errors.front() / moved, 0.02);
      row.at_least(name + ", " + mode.name + ": order over " + at, testing::fitted_order(steps, errors),
                   allowed<Real>(mode.order, mode.order_in_float));
    }
  }

  void check_model(const std::string& file);
};
TYPED_TEST_SUITE(AgainstMujoco, testing::Precisions, testing::PrecisionNames);

double greatest(double a, double b) { return std::max(a, std::abs(b)); }

double difference(const Vec3<double>& a, const Vec3<double>& b) { return math::norm(a - b); }
double difference(const Mat3<double>& a, const Mat3<double>& b) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += math::dot(a.row[i] - b.row[i], a.row[i] - b.row[i]);
  return std::sqrt(sum);
}

// The compiled model in `Real` beside MuJoCo's, whose welded bodies are added up.
template <typename Real>
void AgainstMujoco<Real>::check_model(const std::string& file) {
  Both both(published_model(file));
  const mjModel& m = both.m();
  const mjData& d = both.d();
  testing::SingleWorld<Real> world(both.scene(), testing::exact_options(), 1e-3);
  const model::CompiledModel& compiled = world.compiled();
  const auto view = world.model();
  double mass = 0, inertia = 0, pose = 0, axis = 0;
  for (int root = 1; root < m.nbody; ++root) {
    if (m.body_weldid[root] != root) continue;
    std::vector<model::MassProperties> parts;
    for (int b = root; b < m.nbody; ++b) {
      if (m.body_weldid[b] != root) continue;
      parts.push_back({m.body_mass[b], vec(d.xipos + 3 * b),
                       math::rotate_diagonal(mat(d.ximat + 9 * b), vec(m.body_inertia + 3 * b))});
    }
    const model::MassProperties sum = model::combine(parts);
    const int b = compiled.internal_body[compiled.welded.body_map[root - 1]];
    const Quat<double> q = math::cast<double>(world.world().q[b]);
    const Vec3<double> x = math::cast<double>(world.world().x[b]);
    mass = greatest(mass, double(view.bodies[b].mass) / sum.mass - 1);
    const Mat3<double> I = math::rotate_diagonal(math::to_matrix(q), math::cast<double>(view.bodies[b].inertia));
    inertia = greatest(inertia, difference(I, sum.I_cm) / difference(sum.I_cm, Mat3<double>{}));
    const Quat<double> q_WB = q * math::conjugate(compiled.q_BC[b]);
    pose = greatest(pose, difference(x, sum.p_cm));
    pose = greatest(pose, difference(x - math::rotate(q_WB, compiled.p_BC[b]), vec(d.xpos + 3 * root)));
    pose = greatest(pose, difference(math::to_matrix(q_WB), mat(d.xmat + 9 * root)));
  }
  int j = 0;
  for (std::size_t s = 0; s < compiled.welded.scene.joints.size(); ++s) {
    if (compiled.joint_of_scene[s] < 0) {
      ++j;  // a free joint has no rows
      continue;
    }
    const model::JointData<Real>& joint = view.joints[compiled.joint_of_scene[s]];
    const Quat<double> q = math::cast<double>(world.world().q[joint.child]);
    for (int k = 0; k < joint.slide_count + joint.hinge_count; ++k, ++j) {
      const auto& a = k < joint.slide_count ? joint.slide_dual[k] : joint.hinge[k - joint.slide_count];
      axis = greatest(axis, difference(math::rotate(q, math::cast<double>(a)), vec(d.xaxis + 3 * j)));
    }
  }
  EXPECT_EQ(j, m.njnt);
  // float32: every number is rounded once, by ε/2; the tensor of inertia is turned by a rounded quaternion, 4ε.
  const Validation<Real> row("against C MuJoCo");
  row.at_most(file + ": masses, relative", mass, 1e-6);
  row.at_most(file + ": inertias, relative", inertia, 1e-6);
  row.at_most(file + ": joint axes", axis, 1e-6);
  row.at_most(file + ": initial poses, m and rotation matrix", pose, 1e-6);
}

// CURRENT is first order, DEFAULT second with springs, dampers, armature and motors whose controls change.
TYPED_TEST(AgainstMujoco, a_chain_with_springs_and_armature_moves_alike) { this->check_motion("chain", kChain, 0.5); }

// Drag is of second order by itself. What joints take of it while it acts is known when the step has been solved, after
// it: of first order, and small.
TYPED_TEST(AgainstMujoco, a_swimmer_in_a_current_moves_alike) {
  static constexpr Mode kFirstOrder[] = {kModes[0], {JointMode::kBlended, "DEFAULT", 0.0125, 0.6, 0.6}};
  this->check_motion("swimmer", kSwimmer, 0.5, kFirstOrder);
}

TYPED_TEST(AgainstMujoco, bodies_with_motors_at_sites_move_alike) { this->check_motion("rotors", kRotors, 0.5); }

TYPED_TEST(AgainstMujoco, published_models_are_the_same) {
  for (const char* file : {"humanoid.xml", "ant.xml", "hopper.xml"}) {
    if (published_model(file).empty()) GTEST_SKIP() << file << " is not in " << AXION_MODELS_DIR;
    this->check_model(file);
  }
}

TYPED_TEST(AgainstMujoco, published_models_move_alike) {
  for (const char* file : {"humanoid.xml", "ant.xml", "hopper.xml", "walker2d.xml", "half_cheetah.xml"}) {
    if (published_model(file).empty()) GTEST_SKIP() << file << " is not in " << AXION_MODELS_DIR;
    this->check_motion(file, published_model(file), 0.2);
  }
}

}  // namespace
}  // namespace axion::mujoco_test
