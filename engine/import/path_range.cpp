#include "engine/import/path_range.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

#include "engine/model/list_spans.hpp"

namespace axion::import {
namespace {

constexpr int kSamples = 16, kRefinements = 12, kPasses = 20;
constexpr double kGain = 1e-7;  // m: a pass that gains less is the last

class PathRange {
 public:
  PathRange(const model::SceneSpec& spec, const std::vector<model::TendonPointSpec>& path) : spec_(spec), path_(path) {
    above_.assign(spec.bodies.size(), -1);
    for (std::size_t j = 0; j < spec.joints.size(); ++j) {
      above_[static_cast<std::size_t>(spec.joints[j].child)] = static_cast<int>(j);
    }
    find_axes();
  }

  bool run(double& lower, double& upper) {
    if (!known_ || axes_.size() > static_cast<std::size_t>(kMostPathAxes)) return false;
    lower = extreme(-1), upper = extreme(1);
    return true;
  }

 private:
  struct Axis {
    model::AxisSpec spec;
    double s;
  };

  // A hinge without a range may turn all the way round.
  static model::AxisSpec within_a_turn(model::AxisSpec hinge) {
    constexpr double kHalfTurn = std::numbers::pi;
    hinge.lower = hinge.reference - kHalfTurn, hinge.upper = hinge.reference + kHalfTurn;
    return hinge;
  }

  // A ball turns about x, y and z of the child.
  void add_ball(const model::JointSpec& joint) {
    for (const model::Vec3d& axis : {model::Vec3d{1, 0, 0}, model::Vec3d{0, 1, 0}, model::Vec3d{0, 0, 1}}) {
      model::AxisSpec hinge;
      hinge.axis = axis, hinge.anchor = joint.anchor;
      axes_.push_back({within_a_turn(std::move(hinge)), 0});
    }
  }

  // Of the joints on which some of the path's bodies hang and others do not.
  void find_axes() {
    std::vector<int> hanging(spec_.joints.size(), 0);
    int points = 0;
    const auto count = [&](const model::FrameSpec& frame) {
      ++points;
      for (int b = frame.body; b != model::kWorldBody;) {
        const int j = above_[static_cast<std::size_t>(b)];
        if (j < 0) break;
        ++hanging[static_cast<std::size_t>(j)];
        b = spec_.joints[static_cast<std::size_t>(j)].parent;
      }
    };
    for (const model::TendonPointSpec& point : path_) {
      if (point.kind == model::TendonPointKind::kPulley) continue;
      count(point.frame);
      if (point.has_side) count(point.side);
    }
    first_.assign(spec_.joints.size(), -1);
    for (std::size_t j = 0; j < spec_.joints.size(); ++j) {
      const model::JointSpec& joint = spec_.joints[j];
      if (hanging[j] == 0 || hanging[j] == points || joint.kind == model::JointKind::kFixed) continue;
      known_ = known_ && joint.kind != model::JointKind::kFree && !joint.ball_limited;
      first_[j] = static_cast<int>(axes_.size());
      if (joint.kind == model::JointKind::kBall) add_ball(joint);
      for (const model::AxisSpec& axis : joint.axes) {
        known_ = known_ && (axis.limited || axis.kind == model::AxisKind::kHinge);
        axes_.push_back({axis.limited ? axis : within_a_turn(axis), axis.reference});
      }
    }
  }

  // Of a body under the present coordinates: what its joints do is in its frame of the reference configuration.
  model::Pose pose_of(int body) const {
    if (body == model::kWorldBody) return {};
    const model::Pose X_WB = model::to_pose(spec_.bodies[static_cast<std::size_t>(body)].X_WB);
    const int j = above_[static_cast<std::size_t>(body)];
    if (j < 0) return X_WB;
    const model::JointSpec& joint = spec_.joints[static_cast<std::size_t>(j)];
    const model::Pose X_WP = joint.parent == model::kWorldBody
                                 ? model::Pose{}
                                 : model::to_pose(spec_.bodies[static_cast<std::size_t>(joint.parent)].X_WB);
    model::Pose X = pose_of(joint.parent) * (model::inverse(X_WP) * X_WB);
    const int first = first_[static_cast<std::size_t>(j)];
    const std::size_t count = joint.kind == model::JointKind::kBall ? 3 : joint.axes.size();
    for (std::size_t k = 0; first >= 0 && k < count; ++k) {
      const Axis& at = axes_[static_cast<std::size_t>(first) + k];
      const model::AxisSpec& axis = at.spec;
      const double s = at.s - axis.reference;
      const math::Vec3<double> n = math::normalized(model::to_vec3(axis.axis)), p = model::to_vec3(axis.anchor);
      if (axis.kind == model::AxisKind::kSlide) {
        X = X * model::Pose{math::Quat<double>{}, s * n};
      } else {
        const math::Quat<double> turn = math::exp_rotation(s * n);
        X = X * model::Pose{turn, p - math::rotate(turn, p)};
      }
    }
    return X;
  }

  double length() const {
    const auto spans = model::list_spans(path_, [&](const model::FrameSpec& frame) {
      return model::PlacedFrame{-1, pose_of(frame.body) * model::to_pose(frame.X_BF)};
    });
    const model::BodyPoses<double> world{nullptr, nullptr};
    return model::measure_path(spans.data(), static_cast<int>(spans.size()), world,
                               [](int, const model::Row<double>&) {})
        .first;
  }

  // The greatest length times `sign`, over one coordinate after the other.
  double extreme(double sign) {
    for (Axis& axis : axes_) axis.s = std::clamp(axis.spec.reference, axis.spec.lower, axis.spec.upper);
    double best = sign * length();
    for (int pass = 0; pass < kPasses; ++pass) {
      const double before = best;
      for (Axis& axis : axes_) {
        double at = axis.s, width = (axis.spec.upper - axis.spec.lower) / kSamples;
        const auto attempt = [&](double s) {
          axis.s = std::clamp(s, axis.spec.lower, axis.spec.upper);
          const double found = sign * length();
          if (found > best) best = found, at = axis.s;
        };
        for (int k = 0; k <= kSamples; ++k) attempt(axis.spec.lower + k * width);
        for (int k = 0; k < kRefinements; ++k) {
          const double middle = at;
          width /= 2;
          attempt(middle - width), attempt(middle + width);
        }
        axis.s = at;
      }
      if (!(best > before + kGain)) break;
    }
    return sign * best;
  }

  const model::SceneSpec& spec_;
  const std::vector<model::TendonPointSpec>& path_;
  std::vector<int> above_;  // [body] joint
  std::vector<int> first_;  // [joint] in axes_, -1: it does not change the path
  std::vector<Axis> axes_;
  bool known_ = true;
};

}  // namespace

bool find_path_range(const model::SceneSpec& spec, const std::vector<model::TendonPointSpec>& path, double& lower,
                     double& upper) {
  return PathRange(spec, path).run(lower, upper);
}

}  // namespace axion::import
