#include "engine/model/compile_tendons.hpp"

#include <algorithm>

#include "engine/model/body_joints.hpp"
#include "engine/model/compile_actuators.hpp"
#include "engine/model/list_spans.hpp"

namespace axion::model {
namespace {

class TendonCompiler {
 public:
  TendonCompiler(CompiledModel& model, std::vector<double>& friction_loss)
      : model_(model), a_(model.arrays), friction_loss_(friction_loss) {}

  std::vector<int> run() {
    const SceneSpec& scene = model_.welded.scene;
    a_.joint_lock_count = a_.lock_count;
    joint_axis_count_ = static_cast<int>(a_.axes.size());
    find_actuators();
    axis_of_tendon_.assign(scene.tendons.size(), -1);
    for (const bool with_law : {false, true}) {
      if (with_law) a_.slack_tendon_count = static_cast<int>(a_.tendons.size());
      for (std::size_t t = 0; t < scene.tendons.size(); ++t) {
        if (acts(t) && has_law(t) == with_law) add(t);
      }
    }
    a_.tendon_axis_count = static_cast<int>(a_.tendons.size());
    for (const EqualitySpec& equality : scene.equalities) add(equality);
    list_terms_of_axes();
    list_sides_of_bodies();
    return std::move(axis_of_tendon_);
  }

 private:
  void find_actuators() {
    const SceneSpec& scene = model_.welded.scene;
    has_actuator_.assign(scene.tendons.size(), false), has_drive_ = has_actuator_;
    for (const ActuatorSpec& actuator : scene.actuators) {
      if (actuator.tendon < 0 || actuator.on_site) continue;
      has_actuator_[actuator.tendon] = true;
      // Those with bounds have rows of their own.
      const bool has_row = actuator.effort_limited && !has_curves(actuator.kind);
      if (actuator.kind != ActuatorKind::kMotor && !has_row) has_drive_[actuator.tendon] = true;
    }
  }

  // Whether something acts along tendon t that depends on its rate at the end of a step.
  bool has_law(std::size_t t) const {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    return spec.armature > 0 || spec.damping > 0 || spec.stiffness > 0 || has_drive_[t];
  }

  bool acts(std::size_t t) const {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    return has_law(t) || spec.limited || spec.friction_loss > 0 || has_actuator_[t] || model_.welded.senses_tendon[t];
  }

  int axis_of(int joint, int axis) const { return a_.joints[model_.joint_of_scene[joint]].axis_start + axis; }

  TendonData<double> begin() const {
    TendonData<double> tendon{};
    tendon.axis = tendon.lock = -1;
    tendon.term_start = static_cast<int>(a_.tendon_terms.size());
    tendon.span_start = static_cast<int>(a_.tendon_spans.size());
    tendon.side_start = static_cast<int>(a_.tendon_sides.size());
    return tendon;
  }

  void add_term(int axis, double first, double second) {
    const JointData<double>& joint = a_.joints[a_.axes[axis].joint];
    a_.tendon_terms.push_back({axis, static_cast<int>(a_.tendons.size()), first, second, joint.child, joint.parent});
  }

  // A straight piece of a path; none where both of its ends are on one body.
  int add_piece(int from, int to, double first, double second) {
    if (from == to) return -1;
    a_.tendon_terms.push_back(
        {-1, static_cast<int>(a_.tendons.size()), first, second, to < 0 ? from : to, to < 0 ? -1 : from});
    return static_cast<int>(a_.tendon_terms.size()) - 1;
  }

  void add_path(const std::vector<TendonPointSpec>& path, bool of_second) {
    const auto place = [&](const FrameSpec& frame) {
      if (frame.body == kWorldBody) return PlacedFrame{-1, to_pose(frame.X_BF)};
      const int b = model_.internal_body[frame.body];
      return PlacedFrame{b, inverse(Pose{model_.q_BC[b], model_.p_BC[b]}) * to_pose(frame.X_BF)};
    };
    for (TendonSpanData<double>& span : list_spans(path, place)) {
      const double first = of_second ? 0 : span.weight, second = of_second ? span.weight : 0;
      span.of_second = of_second;
      if (span.kind != SpanKind::kSphere && span.kind != SpanKind::kCylinder) {
        span.term[0] = add_piece(span.body[0], span.body[1], first, second);
      } else {
        span.term[0] = add_piece(span.body[0], span.object, first, second);
        span.term[1] = add_piece(span.object, span.body[1], first, second);
      }
      a_.tendon_spans.push_back(span);
    }
  }

  void end(TendonData<double> tendon) {
    tendon.term_count = static_cast<int>(a_.tendon_terms.size()) - tendon.term_start;
    tendon.span_count = static_cast<int>(a_.tendon_spans.size()) - tendon.span_start;
    list_sides(tendon);
    a_.tendons.push_back(tendon);
  }

  // Sides of its pieces, those of a body together.
  void list_sides(TendonData<double>& tendon) {
    for (int k = tendon.term_start; k < tendon.term_start + tendon.term_count; ++k) {
      if (a_.tendon_terms[k].axis >= 0) continue;
      a_.tendon_sides.push_back(2 * k);
      if (a_.tendon_terms[k].b >= 0) a_.tendon_sides.push_back(2 * k + 1);
    }
    std::stable_sort(a_.tendon_sides.begin() + tendon.side_start, a_.tendon_sides.end(),
                     [&](int l, int r) { return body_of_side(l) < body_of_side(r); });
    tendon.side_count = static_cast<int>(a_.tendon_sides.size()) - tendon.side_start;
  }

  int body_of_side(int side) const {
    const TendonTermData<double>& term = a_.tendon_terms[side / 2];
    return side % 2 == 0 ? term.a : term.b;
  }

  // Sides of all terms, in the order in which each body adds up what acts on it.
  void list_sides_of_bodies() {
    if (a_.tendons.empty()) return;
    std::vector<std::vector<int>> sides(a_.bodies.size());
    const ModelView<double> m = a_.view();
    for (int b = 0; b < m.body_count; ++b) {
      for_each_joint<double>(m, b, [&](int j, bool on_child) {
        const int first = m.joints[j].axis_start, last = first + m.joints[j].axis_count;
        for (int k = m.axis_term_start[first]; k < m.axis_term_start[last]; ++k) {
          sides[b].push_back(2 * m.axis_terms[k] + (on_child ? 0 : 1));
        }
      });
    }
    for (const int side : a_.tendon_sides) sides[body_of_side(side)].push_back(side);
    a_.body_side_start.assign(1, 0);
    for (const std::vector<int>& of_body : sides) {
      a_.body_sides.insert(a_.body_sides.end(), of_body.begin(), of_body.end());
      a_.body_side_start.push_back(static_cast<int>(a_.body_sides.size()));
    }
  }

  // The joint of what has a path through space: an entry behind the joints, which has no rows and is a slide where a
  // limit asks, with the bodies of the first piece. It keeps which share of a step its forces take.
  int add_entry(const TendonData<double>& tendon, int axis) {
    JointData<double> entry{};
    const bool has_pieces = static_cast<int>(a_.tendon_terms.size()) > tendon.term_start;
    entry.child = has_pieces ? a_.tendon_terms[tendon.term_start].a : 0;
    entry.parent = has_pieces ? a_.tendon_terms[tendon.term_start].b : -1;
    entry.axis_start = axis, entry.slide_count = 1;
    a_.joints.push_back(entry);
    ++a_.spatial_count;
    return static_cast<int>(a_.joints.size()) - 1;
  }

  void add(std::size_t t) {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    TendonData<double> tendon = begin();
    tendon.axis = axis_of_tendon_[t] = static_cast<int>(a_.axes.size());
    AxisData<double> axis{};
    axis.limit = -1;
    for_each_tendon_number([](double& to, double from) { to = from; }, axis, spec);
    bound_motors(spec.motors, axis);
    tendon.spring_slack = spec.spring_slack;
    for (const TendonTermSpec& term : spec.terms) {
      const int of = axis_of(term.joint, term.axis);
      add_term(of, term.coefficient, 0);
      axis.initial_position += term.coefficient * a_.axes[of].initial_position;
    }
    add_path(spec.path, false);
    const bool moves = static_cast<int>(a_.tendon_terms.size()) > tendon.term_start;
    if (!moves) axis.armature = axis.damping = axis.stiffness = 0;  // its length is constant
    axis.joint =
        spec.path.empty() ? a_.axes[a_.tendon_terms[tendon.term_start].axis].joint : add_entry(tendon, tendon.axis);
    if (spec.limited && moves) {
      axis.limit = static_cast<int>(a_.limit_axis.size());
      a_.limit_axis.push_back(tendon.axis);
    }
    a_.axes.push_back(axis);
    friction_loss_.push_back(moves ? spec.friction_loss : 0);
    end(tendon);
  }

  void add(const EqualitySpec& spec) {
    TendonData<double> equality = begin();
    equality.lock = a_.lock_count++;
    for (int k = 0; k < 5; ++k) equality.polynomial[k] = spec.polynomial[k];
    equality.stiffness = spec.stiffness, equality.damping = spec.damping;
    add_coordinate(spec.first, true);
    if (spec.has_second) add_coordinate(spec.second, false);
    const bool through_space = static_cast<int>(a_.tendon_spans.size()) > equality.span_start;
    a_.lock_joint.push_back(through_space ? add_entry(equality, 0)
                                          : a_.axes[a_.tendon_terms[equality.term_start].axis].joint);
    end(equality);
  }

  void add_coordinate(const CoordinateSpec& coordinate, bool is_first) {
    const auto add = [&](int axis, double weight) { add_term(axis, is_first ? weight : 0, is_first ? 0 : weight); };
    if (coordinate.tendon < 0) return add(axis_of(coordinate.joint, coordinate.axis), 1);
    for (const TendonTermSpec& term : model_.welded.scene.tendons[coordinate.tendon].terms) {
      add(axis_of(term.joint, term.axis), term.coefficient);
    }
    add_path(model_.welded.scene.tendons[coordinate.tendon].path, !is_first);
  }

  void list_terms_of_axes() {
    a_.axis_term_start.assign(joint_axis_count_ + 1, 0);
    for (const auto& term : a_.tendon_terms) {
      if (term.axis >= 0) ++a_.axis_term_start[term.axis + 1];
    }
    for (int i = 0; i < joint_axis_count_; ++i) a_.axis_term_start[i + 1] += a_.axis_term_start[i];
    std::vector<int> next = a_.axis_term_start;
    a_.axis_terms.resize(next.back());
    for (std::size_t k = 0; k < a_.tendon_terms.size(); ++k) {
      if (a_.tendon_terms[k].axis < 0) continue;
      a_.axis_terms[next[a_.tendon_terms[k].axis]++] = static_cast<int>(k);
    }
  }

  CompiledModel& model_;
  ModelArrays<double>& a_;
  std::vector<double>& friction_loss_;
  std::vector<bool> has_actuator_, has_drive_;  // [tendon of the scene] any; one without bounds on its effort
  std::vector<int> axis_of_tendon_;             // [tendon of the scene]
  int joint_axis_count_ = 0;
};

}  // namespace

std::vector<int> add_tendons(CompiledModel& model, std::vector<double>& friction_loss) {
  return TendonCompiler(model, friction_loss).run();
}

}  // namespace axion::model
