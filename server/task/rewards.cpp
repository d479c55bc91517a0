// Rewards and ends of a step, and what of bodies' touching is looked at once a step.
#include <algorithm>
#include <cmath>

#include "server/task/episodes.hpp"

namespace axion::server::task {
namespace {

double within(double x, double lower, double upper) { return x < lower ? lower : (x > upper ? upper : x); }

// |x|^power with the sign of x.
double to_power(double x, double power) {
  if (power == 1 || x == 0 || !std::isfinite(x)) return x;
  const double size = std::abs(x);
  const double raised = power == 2     ? size * size
                        : power == 0.5 ? std::sqrt(size)
                                       : exponential(power * logarithm(size));
  return x < 0 ? -raised : raised;
}

}  // namespace

void Episodes::track(World& w) {
  const double time = task_->step_time * task_->action.frame_skip;
  double* numbers = w.memory.data() + layout_.tracked;
  for (const TrackedBody& tracked : task_->tracked) {
    double& air = numbers[0];
    double& contact = numbers[1];
    const bool touches = reading_.contact_force(tracked.body) > tracked.force_above;
    numbers[3] = touches && air > 0 ? 1 : 0;
    if (numbers[3] > 0) numbers[2] = air;
    air = touches ? 0 : air + time;
    contact = touches ? contact + time : 0;
    numbers += kTrackedNumbers;
  }
}

bool Episodes::holds(const EndTerm& end) {
  if (end.condition == Condition::kContact) {
    return std::any_of(end.bodies.begin(), end.bodies.end(),
                       [&](int body) { return reading_.contact_force(body) > end.force_above; });
  }
  values_.resize(static_cast<std::size_t>(end.quantity.size));
  reading_.read(end.quantity, values_.data());
  return std::any_of(values_.begin(), values_.end(), [&](double x) {
    if (end.condition == Condition::kNonFinite) return !std::isfinite(x);
    const bool inside = end.bounds_end ? end.lower < x && x < end.upper : end.lower <= x && x <= end.upper;
    return !inside;  // so is what is no number
  });
}

void Episodes::find_end(const World& w, bool non_finite, bool& terminated, bool& truncated, std::int32_t& by) {
  const auto count = static_cast<std::int32_t>(task_->ends.size());
  terminated = non_finite, truncated = false;
  by = non_finite ? count + 1 : -1;
  for (std::int32_t i = 0; i < count; ++i) {
    const EndTerm& end = task_->ends[static_cast<std::size_t>(i)];
    if (!holds(end)) continue;
    (end.terminates ? terminated : truncated) = true;
    if (by < 0) by = i;
  }
  const std::int64_t limit = task_->spec.max_episode_steps;
  if (limit > 0 && w.length >= limit) {
    truncated = true;
    if (by < 0) by = count;
  }
}

double Episodes::measure(const Measured& part, const World& w, bool terminated) {
  double value = terminated ? 0 : 1;
  if (part.measure != Measure::kAlive) {
    values_.resize(static_cast<std::size_t>(part.quantity.size));
    reading_.read(part.quantity, values_.data());
    if (part.target.size > 0) {
      targets_.resize(values_.size());
      reading_.read(part.target, targets_.data());
      const bool dot = part.measure == Measure::kDot;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        values_[i] = dot ? values_[i] * targets_[i] : values_[i] - targets_[i];
      }
    }
    const double* before = w.memory.data() + layout_.before + part.before;
    const double time = task_->step_time * task_->action.frame_skip;
    double sum = 0, squares = 0, absolute = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double x = values_[i];
      sum += part.measure == Measure::kRate ? (x - before[i]) / time : x;
      squares += x * x;
      absolute += std::abs(x);
    }
    switch (part.measure) {
      case Measure::kSquareSum:
        value = squares;
        break;
      case Measure::kAbsoluteSum:
        value = absolute;
        break;
      case Measure::kLength:
        value = std::sqrt(squares);
        break;
      case Measure::kTracking:
        value = exponential(-squares / (part.tracking_width * part.tracking_width));
        break;
      case Measure::kExponential:
        value = exponential(sum);
        break;
      default:
        value = sum;
        break;
    }
  }
  if (part.has_threshold) value = value > part.threshold ? 1 : 0;
  return within(to_power(value, part.power), part.lower, part.upper);
}

double Episodes::reward_of(const RewardTerm& term, const World& w, bool terminated) {
  double product = term.weight * measure(term.factors[0], w, terminated);
  for (std::size_t f = 1; f < term.factors.size(); ++f) product *= measure(term.factors[f], w, terminated);
  return within(product, term.lower, term.upper);
}

}  // namespace axion::server::task
