#include "engine/model/compile_tendons.hpp"

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
    return std::move(axis_of_tendon_);
  }

 private:
  void find_actuators() {
    const SceneSpec& scene = model_.welded.scene;
    has_actuator_.assign(scene.tendons.size(), false), has_drive_ = has_actuator_;
    for (const ActuatorSpec& actuator : scene.actuators) {
      if (actuator.tendon < 0) continue;
      has_actuator_[actuator.tendon] = true;
      // Those with bounds have rows of their own.
      if (actuator.kind != ActuatorKind::kMotor && !actuator.effort_limited) has_drive_[actuator.tendon] = true;
    }
  }

  // Whether something acts along tendon t that depends on its rate at the end of a step.
  bool has_law(std::size_t t) const {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    return spec.armature > 0 || spec.damping > 0 || spec.stiffness > 0 || has_drive_[t];
  }

  bool acts(std::size_t t) const {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    return has_law(t) || spec.limited || spec.friction_loss > 0 || has_actuator_[t];
  }

  int axis_of(int joint, int axis) const { return a_.joints[model_.joint_of_scene[joint]].axis_start + axis; }

  TendonData<double> begin() const {
    TendonData<double> tendon{};
    tendon.axis = tendon.lock = -1;
    tendon.term_start = static_cast<int>(a_.tendon_terms.size());
    return tendon;
  }

  void add_term(int axis, double first, double second) {
    a_.tendon_terms.push_back({axis, static_cast<int>(a_.tendons.size()), first, second});
  }

  void end(TendonData<double> tendon) {
    tendon.term_count = static_cast<int>(a_.tendon_terms.size()) - tendon.term_start;
    a_.tendons.push_back(tendon);
  }

  void add(std::size_t t) {
    const TendonSpec& spec = model_.welded.scene.tendons[t];
    TendonData<double> tendon = begin();
    tendon.axis = axis_of_tendon_[t] = static_cast<int>(a_.axes.size());
    AxisData<double> axis{};
    axis.limit = -1;
    axis.armature = spec.armature, axis.damping = spec.damping;
    axis.stiffness = spec.stiffness, axis.spring_reference = spec.spring_reference;
    axis.lower = spec.lower, axis.upper = spec.upper;
    for (const TendonTermSpec& term : spec.terms) {
      const int of = axis_of(term.joint, term.axis);
      add_term(of, term.coefficient, 0);
      axis.initial_position += term.coefficient * a_.axes[of].initial_position;
    }
    axis.joint = a_.axes[a_.tendon_terms[tendon.term_start].axis].joint;
    if (spec.limited) {
      axis.limit = static_cast<int>(a_.limit_axis.size());
      a_.limit_axis.push_back(tendon.axis);
    }
    a_.axes.push_back(axis);
    friction_loss_.push_back(spec.friction_loss);
    end(tendon);
  }

  void add(const EqualitySpec& spec) {
    TendonData<double> equality = begin();
    equality.lock = a_.lock_count++;
    for (int k = 0; k < 5; ++k) equality.polynomial[k] = spec.polynomial[k];
    equality.stiffness = spec.stiffness, equality.damping = spec.damping;
    add_coordinate(spec.first, true);
    if (spec.has_second) add_coordinate(spec.second, false);
    a_.lock_joint.push_back(a_.axes[a_.tendon_terms[equality.term_start].axis].joint);
    end(equality);
  }

  void add_coordinate(const CoordinateSpec& coordinate, bool is_first) {
    const auto add = [&](int axis, double weight) { add_term(axis, is_first ? weight : 0, is_first ? 0 : weight); };
    if (coordinate.tendon < 0) return add(axis_of(coordinate.joint, coordinate.axis), 1);
    for (const TendonTermSpec& term : model_.welded.scene.tendons[coordinate.tendon].terms) {
      add(axis_of(term.joint, term.axis), term.coefficient);
    }
  }

  void list_terms_of_axes() {
    a_.axis_term_start.assign(joint_axis_count_ + 1, 0);
    for (const auto& term : a_.tendon_terms) ++a_.axis_term_start[term.axis + 1];
    for (int i = 0; i < joint_axis_count_; ++i) a_.axis_term_start[i + 1] += a_.axis_term_start[i];
    std::vector<int> next = a_.axis_term_start;
    a_.axis_terms.resize(a_.tendon_terms.size());
    for (std::size_t k = 0; k < a_.tendon_terms.size(); ++k) {
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
