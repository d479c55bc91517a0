#include "engine/model/compile_softness.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/model/loop_joints.hpp"
#include "engine/model/path_growths.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

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

// Of what a shape's turning moves its rim by: a shape that turns about its body's centre alone, as on a hinge through
// it, has contacts whose springs would be rigid by the mobility of that centre, and against each other impulses without
// bound.
constexpr double kLeastMobility = 1e-4;

ShapeSoftness softness_of(const ShapeSpec& shape, double mobility, double least_mobility) {
  ShapeSoftness s{{}, {}, shape.softness_mix, shape.softness.margin, mobility, shape.cone_dimension, least_mobility};
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
      const double mobility =
          a.shape_softness[at(first)].contact_mobility() + a.shape_softness[at(second)].contact_mobility();
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
    if (!closes_loop[j] || joint.lock_stiffness > 0) continue;
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
    a.joints[at(index)].is_soft = joint.is_soft;
    a.lock_softness.push_back({law(move), law(turn / (weight * weight)), weight});
  }
}

// What a path through space is lengthened by in the reference configuration.
void add_path(const CompiledModel& model, const TendonSpec& tendon, Mobilities::Row& J) {
  const SceneSpec& scene = model.welded.scene;
  const std::vector<Row<double>> growths = path_growths(scene, tendon.path);
  for (std::size_t b = 0; b < growths.size(); ++b) {
    const Vec moment = growths[b].k_a + math::cross(to_vec3(scene.bodies[b].X_WB.position), growths[b].l);
    Mobilities::Spatial& sum = J.body[at(model.internal_body[b])];
    for (int i = 0; i < 3; ++i) sum[at(i)] = moment[i], sum[at(3 + i)] = growths[b].l[i];
  }
}

// [tendon] What a unit of tension moves them by; their own armature a, which M has not, leaves A/(1 + a A).
std::vector<double> tendon_mobilities(const CompiledModel& model, const Mobilities& mobilities) {
  std::vector<double> mobility;
  for (const TendonSpec& tendon : model.welded.scene.tendons) {
    Mobilities::Row J = mobilities.empty_row();
    for (const TendonTermSpec& term : tendon.terms) {
      const int joint = model.joint_of_scene[at(term.joint)];
      J.axis[at(model.arrays.joints[at(joint)].axis_start + term.axis)] += term.coefficient;
    }
    if (!tendon.path.empty()) add_path(model, tendon, J);
    const double free = mobilities.of_row(J);
    mobility.push_back(free / (1 + tendon.armature * free));
  }
  return mobility;
}

// What acts along an axis, or a tendon, and its softness.
struct AxisSoftness {
  const SoftnessSpec *limit = nullptr, *friction = nullptr;
  double mobility = 0;
};

void add_axis_softness(const std::vector<AxisSoftness>& axes, CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  for (const int axis : a.limit_axis) {
    a.limit_impedance.push_back({});
    const AxisSoftness& soft = axes[at(axis)];
    if (soft.limit == nullptr) continue;
    a.limit_impedance.back() = make_impedance(soft.limit->solref.data(), soft.limit->solimp.data(), soft.limit->margin,
                                              soft.mobility, a.softness_rule);
  }
  for (EffortData<double>& effort : a.efforts) {
    const AxisSoftness& soft = axes[at(effort.axis)];
    if (effort.actuator >= 0 || soft.friction == nullptr) continue;
    effort.softness =
        make_impedance(soft.friction->solref.data(), soft.friction->solimp.data(), 0, soft.mobility, a.softness_rule);
    effort.softness.stiffness = 0;
  }
}

// Equalities: of the axes that they are of, or the tendons.
void add_equality_softness(const std::vector<AxisSoftness>& axes, const std::vector<double>& tendons,
                           CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const SceneSpec& welded = model.welded.scene;
  const auto of_axis = [&](int joint, int axis) {
    return axes[at(a.joints[at(model.joint_of_scene[at(joint)])].axis_start + axis)].mobility;
  };
  const auto of = [&](const CoordinateSpec& coordinate) {
    return coordinate.tendon < 0 ? of_axis(coordinate.joint, coordinate.axis) : tendons[at(coordinate.tendon)];
  };
  for (std::size_t i = 0; i < welded.equalities.size(); ++i) {
    const EqualitySpec& equality = welded.equalities[i];
    if (equality.stiffness > 0) continue;
    const double mobility = of(equality.first) + (equality.has_second ? of(equality.second) : 0.0);
    if (mobility == 0) continue;  // nothing moves it
    TendonData<double>& row = a.tendons[at(a.tendon_axis_count) + i];
    row.softness = static_cast<int>(a.lock_softness.size()), row.is_soft = equality.is_soft;
    const SoftnessSpec& soft = equality.softness;
    a.lock_softness.push_back(
        {make_impedance(soft.solref.data(), soft.solimp.data(), 0, mobility, a.softness_rule), {}, 1});
  }
}

}  // namespace

void add_softness(const SceneSpec& scene, const Mobilities& mobilities, CompiledModel& model) {
  ModelArrays<double>& a = model.arrays;
  const SceneSpec& welded = model.welded.scene;
  const std::vector<double> sliders = slider_mobilities(scene, model.welded);
  a.softness_rule = scene.softness_rule;
  for (std::size_t i = 0; i < welded.shapes.size(); ++i) {
    const int part = model.welded.shape_part[i], body = part < 0 ? kWorldBody : model.welded.body_map[at(part)];
    double mobility = 0, least = 0;
    if (body != kWorldBody && sliders[at(body)] > 0) {
      mobility = sliders[at(body)];
    } else if (body != kWorldBody) {
      const BodySpec& given = scene.bodies[at(part)];
      const int internal = model.internal_body[at(body)];
      mobility = mobilities.of_point(internal, to_pose(given.X_WB) * to_vec3(given.p_BoBcm));
      const double radius = a.shapes[i].bounding_radius;
      if (std::isfinite(radius)) least = kLeastMobility * mobilities.of_turn(internal) * radius * radius;
    }
    a.shape_softness.push_back(softness_of(welded.shapes[i], mobility, least));
    a.soft_margin = std::max(a.soft_margin, 2 * welded.shapes[i].softness.margin);
  }
  for (const ContactPairSpec& pair : welded.contact_pairs)
    a.soft_margin = std::max(a.soft_margin, pair.softness.margin);
  if (a.lists_pairs) add_pairs(model);
  std::vector<AxisSoftness> axes(a.axes.size());
  for (std::size_t j = 0; j < welded.joints.size(); ++j) {
    if ((welded.joints[j].axes.empty() && !welded.joints[j].ball_limited) || model.closes_loop[j]) continue;
    const int first = a.joints[at(model.joint_of_scene[j])].axis_start;
    if (welded.joints[j].ball_limited) {
      axes[at(first)].limit = &welded.joints[j].ball_limit_softness;
      for (int k = 0; k < 3; ++k) axes[at(first)].mobility += mobilities.of_axis(first + k) / 3;
    }
    const double slider = sliders[at(welded.joints[j].child)];
    for (std::size_t k = 0; k < welded.joints[j].axes.size(); ++k) {
      const AxisSpec& axis = welded.joints[j].axes[k];
      axes[at(first) + k] = {&axis.limit_softness, &axis.friction_softness,
                             slider > 0 ? slider : mobilities.of_axis(first + static_cast<int>(k))};
    }
  }
  const std::vector<double> tendons = tendon_mobilities(model, mobilities);
  for (std::size_t t = 0; t < tendons.size(); ++t) {
    const TendonSpec& tendon = welded.tendons[t];
    if (model.axis_of_tendon[t] < 0) continue;
    axes[at(model.axis_of_tendon[t])] = {&tendon.limit_softness, &tendon.friction_softness, tendons[t]};
  }
  add_axis_softness(axes, model);
  add_loop_softness(scene, sliders, mobilities, model);
  add_equality_softness(axes, tendons, model);
}

}  // namespace axion::model
