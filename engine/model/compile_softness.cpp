#include "engine/model/compile_softness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "engine/math/small_matrix.hpp"
#include "engine/model/loop_joints.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;
using Spatial = std::array<double, 6>;  // angular, then linear at the origin of the world
using Spatial6 = std::array<Spatial, 6>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Spatial spatial(const Vec& angular, const Vec& linear) {
  return {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z};
}

double dot(const Spatial& a, const Spatial& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) sum += a[i] * b[i];
  return sum;
}

Spatial times(const Spatial6& A, const Spatial& x) {
  Spatial y{};
  for (std::size_t i = 0; i < 6; ++i) y[i] = dot(A[i], x);
  return y;
}

// One freedom of a body's joint: its motion, the armature along it, and its axis among the model's, -1 where it has
// none.
struct Freedom {
  Spatial motion;
  double armature;
  int axis;
};

// J M^-1 J^T of bodies and of axes, M the joint-space inertia, by recursion over the trees: articulated inertias P from
// the leaves to the roots, then mobilities W from the roots to the leaves. With motions S of a body's joint, its parent
// p and all in the frame of the world,
//
//   U = P S,  D = S^T U + armature,  P_p += P - U D^-1 U^T
//   K = U D^-1,  W = (1 - S K^T) W_p (1 - S K^T)^T + S D^-1 S^T,  (M^-1)_kk = (D^-1 + K^T W_p K)_kk
//
// Source: Featherstone, Rigid Body Dynamics Algorithms, chapter 7; Kreutz-Delgado et al. 1992 for W. Cost: linear in
// bodies. Joints that close loops are left out, as MuJoCo leaves out its equalities.
class Mobilities {
 public:
  explicit Mobilities(const CompiledModel& model) : model_(model), axis_(model.arrays.axes.size(), 0.0) {
    const std::size_t count = model.arrays.bodies.size();
    freedoms_.resize(count), weights_.resize(count), gains_.resize(count);
    inertia_.resize(count, Spatial6{}), mobility_.resize(count, Spatial6{});
    list_freedoms();
    for (std::size_t b = count; b-- > 0;) gather(b);
    for (std::size_t b = 0; b < count; ++b) spread(b);
  }

  // 1/kg: what a unit of force at point p of a body moves that by, the mean of all directions.
  double of_point(int body, const Vec& p) const {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      Vec e{};
      e[i] = 1;
      const Spatial row = spatial(math::cross(p, e), e);
      sum += dot(row, times(mobility_[at(body)], row));
    }
    return sum / 3;
  }

  // 1/(kg m^2): the same of a unit of torque on a body.
  double of_turn(int body) const {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += mobility_[at(body)][i][i];
    return sum / 3;
  }

  double of_axis(int axis) const { return axis_[at(axis)]; }

 private:
  void list_freedoms() {
    const SceneSpec& scene = model_.welded.scene;
    std::vector<char> jointed(freedoms_.size(), 0);
    for (std::size_t j = 0; j < scene.joints.size(); ++j) {
      const JointSpec& joint = scene.joints[j];
      if (model_.closes_loop[j] || joint.kind == JointKind::kFree) continue;
      const std::size_t b = at(model_.internal_body[at(joint.child)]);
      jointed[b] = 1;
      const Pose X_WB = to_pose(scene.bodies[at(joint.child)].X_WB);
      const int first = model_.arrays.joints[at(model_.joint_of_scene[j])].axis_start;
      const auto turns = [&](const Vec& axis, const Vec& anchor) { return spatial(axis, math::cross(anchor, axis)); };
      if (joint.kind == JointKind::kBall) {
        for (int k = 0; k < 3; ++k) {
          Vec e{};
          e[k] = 1;
          freedoms_[b].push_back(
              {turns(e, X_WB * to_vec3(joint.anchor)), joint.ball_armature, joint.ball_limited ? first + k : -1});
        }
      }
      for (std::size_t k = 0; k < joint.axes.size(); ++k) {
        const AxisSpec& axis = joint.axes[k];
        const Vec along = math::normalized(math::rotate(X_WB.rotation, to_vec3(axis.axis)));
        const Spatial motion =
            axis.kind == AxisKind::kSlide ? spatial({}, along) : turns(along, X_WB * to_vec3(axis.anchor));
        freedoms_[b].push_back({motion, axis.armature, first + static_cast<int>(k)});
      }
    }
    for (std::size_t b = 0; b < freedoms_.size(); ++b) {
      for (std::size_t k = 0; k < 6 && jointed[b] == 0; ++k) {
        Spatial motion{};
        motion[k] = 1;
        freedoms_[b].push_back({motion, 0, -1});
      }
    }
  }

  // Of a body alone about the origin of the world.
  Spatial6 own_inertia(std::size_t b) const {
    const BodyData<double>& body = model_.arrays.bodies[b];
    const math::Mat3<double> R = math::to_matrix(model_.q[b]);
    const Vec c = reference_centre(b);
    Spatial6 M{};
    for (int i = 0; i < 6; ++i) {
      Vec omega{}, v{};
      (i < 3 ? omega : v)[i % 3] = 1;
      const Vec momentum = body.mass * (v + math::cross(omega, c));
      const Vec local = math::transpose_times(R, omega);
      const Vec& I = body.inertia;
      const Vec spin = R * Vec{I.x * local.x, I.y * local.y, I.z * local.z} + math::cross(c, momentum);
      const Spatial column = spatial(spin, momentum);
      for (std::size_t k = 0; k < 6; ++k) M[k][at(i)] = column[k];
    }
    return M;
  }

  Vec reference_centre(std::size_t b) const {
    const BodySpec& body = model_.welded.scene.bodies[at(model_.external_body[b])];
    return to_pose(body.X_WB) * to_vec3(body.p_BoBcm);
  }

  void gather(std::size_t b) {
    const Spatial6 own = own_inertia(b);
    Spatial6& P = inertia_[b];
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t k = 0; k < 6; ++k) P[i][k] += own[i][k];
    }
    const std::vector<Freedom>& S = freedoms_[b];
    const std::size_t n = S.size();
    std::vector<Spatial> U;
    U.reserve(n);
    for (const Freedom& f : S) U.push_back(times(P, f.motion));
    std::array<double, 36>& D = weights_[b];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) D[6 * i + k] = dot(S[i].motion, U[k]) + (i == k ? S[i].armature : 0.0);
    }
    math::invert_positive(D.data(), static_cast<int>(n), 6);
    for (std::size_t k = 0; k < n; ++k) {
      Spatial K{};
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t r = 0; r < 6; ++r) K[r] += U[i][r] * D[6 * i + k];
      }
      gains_[b].push_back(K);
    }
    const int parent = model_.arrays.bodies[b].parent;
    if (parent < 0) return;
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t k = 0; k < 6; ++k) {
        double held = P[i][k];
        for (std::size_t f = 0; f < n; ++f) held -= gains_[b][f][i] * U[f][k];
        inertia_[at(parent)][i][k] += held;
      }
    }
  }

  void spread(std::size_t b) {
    const std::vector<Freedom>& S = freedoms_[b];
    const std::size_t n = S.size();
    const int parent = model_.arrays.bodies[b].parent;
    const Spatial6 W = parent < 0 ? Spatial6{} : mobility_[at(parent)];
    const auto carried = [&](const Spatial& x) {  // (1 - S K^T)^T x
      Spatial y = x;
      for (std::size_t f = 0; f < n; ++f) {
        const double along = dot(S[f].motion, x);
        for (std::size_t r = 0; r < 6; ++r) y[r] -= gains_[b][f][r] * along;
      }
      return y;
    };
    std::array<Spatial, 6> basis;
    for (std::size_t i = 0; i < 6; ++i) {
      Spatial e{};
      e[i] = 1;
      basis[i] = carried(e);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const Spatial Wi = times(W, basis[i]);
      for (std::size_t k = 0; k < 6; ++k) {
        double sum = dot(Wi, basis[k]);
        for (std::size_t f = 0; f < n; ++f) {
          for (std::size_t g = 0; g < n; ++g) sum += S[f].motion[i] * weights_[b][6 * f + g] * S[g].motion[k];
        }
        mobility_[b][i][k] = sum;
      }
    }
    for (std::size_t f = 0; f < n; ++f) {
      if (S[f].axis < 0) continue;
      axis_[at(S[f].axis)] = weights_[b][7 * f] + dot(gains_[b][f], times(W, gains_[b][f]));
    }
  }

  const CompiledModel& model_;
  std::vector<std::vector<Freedom>> freedoms_;
  std::vector<std::array<double, 36>> weights_;  // D^-1
  std::vector<std::vector<Spatial>> gains_;      // columns of K
  std::vector<Spatial6> inertia_, mobility_;     // P, W
  std::vector<double> axis_;
};

bool along_own_axis(const AxisSpec& axis) {
  const auto is_part = [](double x) { return std::abs(x) > 1e-12; };
  const auto parts = std::count_if(axis.axis.begin(), axis.axis.end(), is_part);
  return axis.kind == AxisKind::kSlide && parts == 1 && axis.anchor == Vec3d{0, 0, 0};
}

// 1/kg, [body of the welded scene]: 1/m of bodies that only slide along their own axes, on the world or on what is
// welded to it, with their centre and their principal axes at their own frame and nothing attached to them; 0 of all
// others. MuJoCo takes 1/m for them, without armature, both for their contacts and for their limits, where the rule for
// others would count the directions in which they cannot move.
std::vector<double> slider_mobilities(const SceneSpec& scene, const WeldedScene& welded) {
  std::vector<double> mobility(scene.bodies.size(), 0.0);
  std::vector<int> parents(scene.bodies.size(), 0);
  for (const JointSpec& joint : scene.joints) {
    const BodySpec& child = scene.bodies[at(joint.child)];
    const std::array<double, 6>& I = child.I_Bcm;
    const bool on_world = joint.parent == kWorldBody || welded.body_map[at(joint.parent)] == kWorldBody;
    const bool slides = !joint.axes.empty() && std::all_of(joint.axes.begin(), joint.axes.end(), along_own_axis);
    const bool centred = child.p_BoBcm == Vec3d{0, 0, 0} && I[3] == 0 && I[4] == 0 && I[5] == 0;
    if (on_world && slides && centred) mobility[at(joint.child)] = 1 / child.mass;
    ++parents[at(joint.child)];
  }
  for (std::size_t b = 0; b < parents.size(); ++b) {
    if (parents[b] != 1) mobility[b] = 0;
  }
  for (const JointSpec& joint : scene.joints) {
    if (joint.parent != kWorldBody) mobility[at(joint.parent)] = 0;
  }
  std::vector<double> welded_mobility(welded.scene.bodies.size(), 0.0);
  for (std::size_t b = 0; b < mobility.size(); ++b) {
    if (mobility[b] > 0) welded_mobility[at(welded.body_map[b])] = mobility[b];
  }
  return welded_mobility;
}

ShapeSoftness softness_of(const ShapeSpec& shape, double mobility) {
  ShapeSoftness s{{}, {}, shape.softness_mix, shape.softness.margin, mobility, shape.cone_dimension};
  std::copy(shape.softness.solref.begin(), shape.softness.solref.end(), s.solref);
  std::copy(shape.softness.solimp.begin(), shape.softness.solimp.end(), s.solimp);
  return s;
}

ShapeSoftness softness_of(const ContactPairSpec& pair, double mobility) {
  ShapeSoftness s{{}, {}, 1.0, pair.softness.margin, mobility, pair.cone_dimension};
  std::copy(pair.softness.solref.begin(), pair.softness.solref.end(), s.solref);
  std::copy(pair.softness.solimp.begin(), pair.softness.solimp.end(), s.solimp);
  return s;
}

void add_pairs(CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const ModelView<double> m = a.view();
  std::map<std::pair<int, int>, const ContactPairSpec*> own;
  for (const ContactPairSpec& pair : model.welded.scene.contact_pairs) {
    own.emplace(std::minmax(pair.shape_a, pair.shape_b), &pair);
  }
  for (const PairData<double>& pair : a.pairs) {
    const auto [first, second] = std::minmax(pair.shape_a, pair.shape_b);
    const auto law = own.find({first, second});
    if (law == own.end()) {
      a.pair_impedances.push_back(mix_shapes(m, first, second, pair.friction));
    } else {
      const double mobility = a.shape_softness[at(first)].mobility + a.shape_softness[at(second)].mobility;
      const ShapeSoftness whole = softness_of(*law->second, mobility);
      ShapeSoftness nothing = whole;
      nothing.mobility = nothing.margin = 0;
      a.pair_impedances.push_back(mix_softness(whole, nothing, 0, pair.friction, a.softness_rule));
    }
  }
}

// Where a body of the scene, as it was given, is held: its centre of mass; of one without mass MuJoCo takes the point
// that is as far from its frame as that from its parent's.
Vec centre_in_body(const SceneSpec& scene, const std::vector<bool>& closes_loop, int part) {
  const BodySpec& body = scene.bodies[at(part)];
  if (body.mass > 0) return to_vec3(body.p_BoBcm);
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    if (joint.child != part || closes_loop[j] || joint.parent == kWorldBody) continue;
    return (inverse(to_pose(scene.bodies[at(joint.parent)].X_WB)) * to_pose(body.X_WB)).position;
  }
  return to_vec3(body.X_WB.position);
}

// Locks of loop joints: of the points of their bodies, as the scene gave them, and what these turn by. MuJoCo's
// rotation rows are of half the angle, times the weight.
void add_loop_softness(const SceneSpec& scene, const std::vector<double>& sliders, const Mobilities& mobilities,
                       CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const std::vector<bool> closes_loop = find_loop_joints(scene);
  std::size_t kept = 0;
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    if (is_weld(joint, closes_loop[j])) continue;
    const int index = model.joint_of_scene[kept++];
    if (!joint.is_soft || !closes_loop[j]) continue;
    double move = 0, turn = 0;
    for (const int part : {joint.parent, joint.child}) {
      const int body = part < 0 ? kWorldBody : model.welded.body_map[at(part)];
      if (body == kWorldBody) continue;
      const BodySpec& given = scene.bodies[at(part)];
      const int b = model.internal_body[at(body)];
      const Vec centre = to_pose(given.X_WB) * centre_in_body(scene, closes_loop, part);
      move += sliders[at(body)] > 0 ? sliders[at(body)] : mobilities.of_point(b, centre);
      turn += mobilities.of_turn(b);
    }
    const double weight = joint.turn_weight / 2;
    const auto law = [&](double mobility) {
      const SoftnessSpec& soft = joint.softness;
      return make_impedance(soft.solref.data(), soft.solimp.data(), 0, mobility, a.softness_rule);
    };
    a.joints[at(index)].softness = static_cast<int>(a.lock_softness.size());
    a.lock_softness.push_back({law(move), law(turn / (weight * weight)), weight});
  }
}

// Equalities: of the axes that they are of, or the tendons.
void add_equality_softness(const std::vector<double>& axis_mobility, CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const SceneSpec& welded = model.welded.scene;
  const auto of_axis = [&](int joint, int axis) {
    return axis_mobility[at(a.joints[at(model.joint_of_scene[at(joint)])].axis_start + axis)];
  };
  // MuJoCo's is exact; this is that of axes that do not move each other.
  const auto of = [&](const CoordinateSpec& coordinate) {
    if (coordinate.tendon < 0) return of_axis(coordinate.joint, coordinate.axis);
    double sum = 0;
    for (const TendonTermSpec& term : welded.tendons[at(coordinate.tendon)].terms) {
      sum += term.coefficient * term.coefficient * of_axis(term.joint, term.axis);
    }
    return sum;
  };
  for (std::size_t i = 0; i < welded.equalities.size(); ++i) {
    const EqualitySpec& equality = welded.equalities[i];
    if (!equality.is_soft) continue;
    const double mobility = of(equality.first) + (equality.has_second ? of(equality.second) : 0.0);
    if (mobility == 0) continue;  // through space: rigid
    TendonData<double>& row = a.tendons[at(a.tendon_axis_count) + i];
    row.softness = static_cast<int>(a.lock_softness.size());
    const SoftnessSpec& soft = equality.softness;
    a.lock_softness.push_back(
        {make_impedance(soft.solref.data(), soft.solimp.data(), 0, mobility, a.softness_rule), {}, 1});
  }
}

}  // namespace

void add_softness(const SceneSpec& scene, CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const SceneSpec& welded = model.welded.scene;
  const Mobilities mobilities(model);
  const std::vector<double> sliders = slider_mobilities(scene, model.welded);
  a.softness_rule = scene.softness_rule;
  for (std::size_t i = 0; i < welded.shapes.size(); ++i) {
    const int part = model.welded.shape_part[i], body = part < 0 ? kWorldBody : model.welded.body_map[at(part)];
    double mobility = 0;
    if (body != kWorldBody && sliders[at(body)] > 0) {
      mobility = sliders[at(body)];
    } else if (body != kWorldBody) {
      const BodySpec& given = scene.bodies[at(part)];
      mobility = mobilities.of_point(model.internal_body[at(body)], to_pose(given.X_WB) * to_vec3(given.p_BoBcm));
    }
    a.shape_softness.push_back(softness_of(welded.shapes[i], mobility));
    a.soft_margin = std::max(a.soft_margin, 2 * welded.shapes[i].softness.margin);
  }
  for (const ContactPairSpec& pair : welded.contact_pairs)
    a.soft_margin = std::max(a.soft_margin, pair.softness.margin);
  if (a.lists_pairs) add_pairs(model);
  std::vector<const SoftnessSpec*> axes(a.axes.size(), nullptr);
  std::vector<double> axis_mobility(a.axes.size(), 0.0);
  for (std::size_t j = 0; j < welded.joints.size(); ++j) {
    if ((welded.joints[j].axes.empty() && !welded.joints[j].ball_limited) || model.closes_loop[j]) continue;
    const int first = a.joints[at(model.joint_of_scene[j])].axis_start;
    if (welded.joints[j].ball_limited) {
      axes[at(first)] = &welded.joints[j].ball_limit_softness;
      for (int k = 0; k < 3; ++k) axis_mobility[at(first)] += mobilities.of_axis(first + k) / 3;
    }
    const double slider = sliders[at(welded.joints[j].child)];
    for (std::size_t k = 0; k < welded.joints[j].axes.size(); ++k) {
      axes[at(first) + k] = &welded.joints[j].axes[k].limit_softness;
      axis_mobility[at(first) + k] = slider > 0 ? slider : mobilities.of_axis(first + static_cast<int>(k));
    }
  }
  for (const int axis : a.limit_axis) {
    a.limit_impedance.push_back({});
    if (axes[at(axis)] == nullptr) continue;
    const SoftnessSpec& soft = *axes[at(axis)];
    a.limit_impedance.back() =
        make_impedance(soft.solref.data(), soft.solimp.data(), soft.margin, axis_mobility[at(axis)], a.softness_rule);
  }
  add_loop_softness(scene, sliders, mobilities, model);
  add_equality_softness(axis_mobility, model);
}

}  // namespace axion::model
