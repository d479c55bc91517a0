// Pushes: which bodies they are of, when they come and what forces they are.
#include <algorithm>
#include <cmath>

#include "server/task/episodes.hpp"
#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

constexpr double kPi = 3.141592653589793;

// Push `count` of term `term` in an episode begins its numbers here: interval, body, magnitude, two of the direction.
std::uint64_t first_number(std::size_t term, std::int64_t count) {
  return (static_cast<std::uint64_t>(term) << 48) + (static_cast<std::uint64_t>(count) << 10);
}

Vec3 direction_of(const PushSpec& spec, const Random& random, std::uint64_t first) {
  if (spec.direction == PushDirection::kAxis) {
    return math::normalized(Vec3{spec.axis[0], spec.axis[1], spec.axis[2]});
  }
  const auto around = math::sine_cosine(2 * kPi * random.unit(first + 3));
  const double z = spec.direction == PushDirection::kAny ? random.uniform(first + 4, -1, 1) : 0;
  const double across = std::sqrt(1 - z * z);
  return {across * around.cosine, across * around.sine, z};
}

}  // namespace

Result<std::vector<int>> PartCompiler::bodies(const std::string& path, const std::vector<std::string>& given) {
  if (given.empty()) return invalid_argument(path, "is empty");
  return names_.find(path, "body", given, task_.robot.body_names);
}

Result<PushTerm> PartCompiler::push(const std::string& path, const PushSpec& spec) {
  PushTerm term{.spec = spec, .targets = {}};
  const auto named = bodies(path + ".bodies", spec.bodies);
  if (!named.ok()) return named.error();
  std::vector<int> roots;
  for (const int index : named.value()) {
    const BodyPart& part = task_.robot.bodies[static_cast<std::size_t>(index)];
    if (part.owner < 0) return invalid_argument(path + ".bodies", shown(part.name) + " does not move");
    if (spec.of == PushOf::kForce) {
      if (std::find(roots.begin(), roots.end(), part.owner) != roots.end()) continue;  // welded to another of them
      roots.push_back(part.owner);
      term.targets.push_back({part.owner});
      continue;
    }
    if (std::find(roots.begin(), roots.end(), part.root) != roots.end()) continue;
    roots.push_back(part.root);
    const int carrier = task_.robot.bodies[static_cast<std::size_t>(part.root)].owner;
    const auto& free = task_.robot.free_roots;
    if (std::none_of(free.begin(), free.end(), [&](const FreeRoot& root) { return root.body == carrier; })) {
      return invalid_argument(path + ".bodies",
                              shown(part.name) + " hangs on no free joint, which a change of " + "velocity is of");
    }
    std::vector<int> tree;
    for (const BodyPart& other : task_.robot.bodies) {
      if (other.root == part.root && other.owner >= 0) tree.push_back(other.owner);
    }
    std::sort(tree.begin(), tree.end());
    tree.erase(std::unique(tree.begin(), tree.end()), tree.end());
    term.targets.push_back(std::move(tree));
  }
  if (spec.least_steps < 1) {
    return invalid_argument(path + ".least_steps", "is " + std::to_string(spec.least_steps) + "; it must be 1 or more");
  }
  if (spec.most_steps < spec.least_steps) {
    return invalid_argument(path + ".most_steps", "is " + std::to_string(spec.most_steps) + " and least_steps is " +
                                                      std::to_string(spec.least_steps));
  }
  if (spec.steps < 1 || spec.steps > 100000) {
    return invalid_argument(path + ".steps", "is " + std::to_string(spec.steps) + "; it must be from 1 to 100000");
  }
  const bool along = spec.direction == PushDirection::kAxis;
  if (Status s = check_number(path + ".lower", spec.lower, along ? -kMaxNumber : 0); !s.ok()) return s.error();
  if (Status s = check_number(path + ".upper", spec.upper, spec.lower); !s.ok()) return s.error();
  for (std::size_t i = 0; i < 3; ++i) {
    if (Status s = check_number(path + ".axis", spec.axis[i], -kMaxNumber); !s.ok()) return s.error();
  }
  if (along && !(math::norm(Vec3{spec.axis[0], spec.axis[1], spec.axis[2]}) > 1e-9)) {
    return invalid_argument(path + ".axis", "has no length");
  }
  return term;
}

bool Episodes::is_pushed(const World& w, std::size_t term) const {
  const Clock& clock = w.pushes[term];
  return w.length >= clock.next && w.length - clock.next < task_->push[term].spec.steps;
}

void Episodes::draw_pushes(World& w) {
  if (w.pushes.empty()) return;
  const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kPush);
  for (std::size_t t = 0; t < w.pushes.size(); ++t) {
    const PushSpec& spec = task_->push[t].spec;
    Clock& clock = w.pushes[t];
    const bool over = w.length >= clock.next && w.length - clock.next >= spec.steps;
    if (w.length > 0 && !over) continue;
    if (w.length > 0) ++clock.draws;
    const double range = static_cast<double>(spec.most_steps) - spec.least_steps + 1;
    clock.next =
        w.length + spec.least_steps + static_cast<std::int64_t>(random.unit(first_number(t, clock.draws)) * range);
  }
}

Status Episodes::push_worlds(const Batch& batch, StepPlan& plan) const {
  plan.wrench.clear();
  if (task_->push.empty()) return {};
  const std::size_t bodies = task_->robot.p_BoBcm.size();
  const double time = task_->step_time * task_->action.frame_skip;
  std::vector<double> masses(bodies);
  for (std::size_t row = 0; row < plan.stepping_worlds.size(); ++row) {
    const std::int32_t index = plan.stepping_worlds[row];
    const World& w = world(index);
    const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kPush);
    for (std::size_t t = 0; t < task_->push.size(); ++t) {
      if (!is_pushed(w, t)) continue;
      const PushTerm& term = task_->push[t];
      const std::uint64_t first = first_number(t, w.pushes[t].draws);
      const auto& target =
          term.targets[static_cast<std::size_t>(random.unit(first + 1) * static_cast<double>(term.targets.size()))];
      const Vec3 push =
          random.uniform(first + 2, term.spec.lower, term.spec.upper) * direction_of(term.spec, random, first);
      const bool changes_velocity = term.spec.of == PushOf::kVelocity;
      if (changes_velocity) {
        if (Status s = batch.parameters({&index, 1}, Parameter::kBodyMass, masses); !s.ok()) return s;
      }
      plan.wrench.resize(plan.stepping_worlds.size() * bodies * 6);
      for (const int body : target) {
        const double factor = changes_velocity ? masses[static_cast<std::size_t>(body)] / (time * term.spec.steps) : 1;
        double* at = &plan.wrench[(row * bodies + static_cast<std::size_t>(body)) * 6];
        at[0] += factor * push.x, at[1] += factor * push.y, at[2] += factor * push.z;
      }
    }
  }
  return {};
}

}  // namespace axion::server::task
