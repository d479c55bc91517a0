#include "server/schedule/launch_plan.hpp"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace axion::server::schedule {
namespace {

constexpr double kWeight = 0.25;  // of the newest measurement: follows a change within a few, forgets a hiccup as fast
constexpr double kMaxChange = 8;  // factor by which one measurement may change what is known of a batch
constexpr double kQuickPart = 0.25;  // of a shared slice: what a launch of quick steps alone may last
constexpr double kRounding = 1e-9;
constexpr double kMostParts = 8;    // of a slice, of jobs that are not done in less than such a part
constexpr std::size_t kGroup = 64;  // portions of more worlds are multiples of this, which is how devices group them

// Steps, and records of them, of the stretch that begins after job.steps_done.
void plan_steps(const Job& job, std::int64_t cap, Stretch& stretch, std::int64_t& engine_every) {
  const auto& work = std::get<StepWork>(job.work);
  const std::int64_t remaining = work.step_count - job.steps_done;
  const std::int64_t every = work.record_every;
  std::int64_t count = std::min(remaining, cap);
  engine_every = 0;
  if (every > 0) {
    stretch.first_record = job.steps_done / every;
    const std::int64_t since_record = job.steps_done % every;
    if (since_record == 0 && count >= every) {
      count -= count % every;  // whole records
      engine_every = every;
      stretch.record_count = count / every;
    } else {
      count = std::min(count, every - since_record);  // up to the next record, which is then this stretch's last step
      stretch.record_count = (since_record + count == every) ? 1 : 0;
    }
  } else {
    stretch.record_count = (count == remaining) ? 1 : 0;
  }
  stretch.step_count = count;
}

// Seconds that the rest of a step takes by what is known of its batch; 0 where nothing is.
double demand_of(const Job& job) {
  const auto& work = std::get<StepWork>(job.work);
  const double all = static_cast<double>(world_count_of(work.world_indices, *job.batch));
  const double left = all * static_cast<double>(work.step_count - job.steps_done) -
                      static_cast<double>(job.worlds_done) * static_cast<double>(job.pass_steps);
  return left * job.batch->world_step_cost;
}

// How many of the jobs that want `demands` seconds a slice holds, the first ones and one at least, of each what it
// wants or the least that is worth taking part.
std::size_t as_many_as_fit(double slice, double least, std::span<const double> demands) {
  double sum = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    sum += std::min(demands[i], least);
    if (i > 0 && sum > slice * (1 + kRounding)) return i;
  }
  return demands.size();
}

}  // namespace

void plan_stretch(const Job& job, const Portion& portion, Stretch& stretch) {
  const auto& work = std::get<StepWork>(job.work);
  const std::size_t all = world_count_of(work.world_indices, *job.batch);
  std::int64_t engine_every = 0;
  plan_steps(job, job.pass_steps > 0 ? job.pass_steps : portion.steps, stretch, engine_every);
  stretch.first_world = job.worlds_done;
  stretch.world_count = std::min(portion.worlds, all - job.worlds_done);
  const std::size_t first = stretch.first_world;

  stretch.outputs.clear();
  if (stretch.record_count > 0) {
    for (OutputView view : work.outputs) {
      view.data += static_cast<std::size_t>(stretch.first_record) * view.record_stride + first * view.world_stride;
      stretch.outputs.push_back(view);
    }
  }
  stretch.world_indices.clear();
  if (stretch.world_count < all) {
    for (std::size_t i = 0; i < stretch.world_count; ++i) {
      stretch.world_indices.push_back(world_at(work.world_indices, first + i));
    }
  }
  StepRequest& request = stretch.request;
  request.batch = job.batch->engine.get();
  if (stretch.world_count < all) {
    request.world_indices = stretch.world_indices;
  } else {
    request.world_indices = work.world_indices;
  }
  request.step_count = static_cast<int>(stretch.step_count);
  request.control = work.control;
  if (request.control.data != nullptr) {
    request.control.data +=
        static_cast<std::size_t>(job.steps_done) * request.control.step_stride + first * request.control.world_stride;
  }
  request.body_wrench = work.body_wrench;
  if (request.body_wrench.data != nullptr) request.body_wrench.data += first * request.body_wrench.world_stride;
  request.mocap_pose = work.mocap_pose;
  if (request.mocap_pose.data != nullptr) request.mocap_pose.data += first * request.mocap_pose.world_stride;
  request.record_every = static_cast<int>(engine_every);
  request.outputs = stretch.outputs;
}

std::vector<double> share_out(double slice, std::span<const double> demands, std::span<const double> weights) {
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return demands[a] * weight(b) < demands[b] * weight(a); });
  std::vector<double> shares(demands.size());
  double left = slice, weight_left = 0;
  for (const std::size_t i : order) weight_left += weight(i);
  for (const std::size_t i : order) {
    shares[i] = std::min(demands[i], left * weight(i) / weight_left);
    left -= shares[i], weight_left -= weight(i);
  }
  return shares;
}

std::vector<Job*> LaunchPacer::quick(std::span<Job* const> jobs) const {
  const double slice = absl::ToDoubleSeconds(shared_slice_);
  std::vector<Job*> quick;
  double sum = 0;
  bool some_fill_a_slice = false;
  for (Job* job : jobs) {
    const double demand = demand_of(*job);
    some_fill_a_slice |= demand > slice;
    if (demand > 0 && demand <= kQuickPart * slice) {
      quick.push_back(job);
      sum += demand;
    }
  }
  if (!some_fill_a_slice || sum > kQuickPart * slice) quick.clear();
  return quick;
}

Portion LaunchPacer::portion_of(const Job& job, double share) const {
  const std::size_t all = world_count_of(std::get<StepWork>(job.work).world_indices, *job.batch);
  const double cost = job.batch->world_step_cost;
  const double most = cost > 0 ? std::clamp(share / cost, 1.0, 1e12) : static_cast<double>(kFirstWorldSteps);
  Portion portion;
  if (job.pass_steps == 0 && most >= static_cast<double>(all)) {
    portion.steps = static_cast<std::int64_t>(std::min(most / static_cast<double>(std::max<std::size_t>(all, 1)), 1e6));
    portion.worlds = all;
  } else {
    const auto steps = static_cast<double>(std::max<std::int64_t>(job.pass_steps, 1));
    portion.worlds = static_cast<std::size_t>(std::max(most / steps, 1.0));
    if (portion.worlds > kGroup) portion.worlds -= portion.worlds % kGroup;
  }
  return portion;
}

std::vector<Portion> LaunchPacer::portions(std::span<Job* const> jobs, bool others_wait) const {
  const double slice = absl::ToDoubleSeconds(others_wait ? shared_slice_ : alone_slice_);
  const double least = slice / kMostParts;
  struct Tenant {
    std::vector<std::size_t> jobs;
    std::vector<double> demands;
    double demand = 0;
  };
  std::vector<Tenant> tenants;
  std::vector<double> wanted, weights;
  absl::flat_hash_map<absl::string_view, std::size_t> index;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Call& call = jobs[i]->call;
    const auto [place, is_new] = index.try_emplace(call.tenant, tenants.size());
    if (is_new) tenants.emplace_back(), weights.push_back(call.weight);
    Tenant& tenant = tenants[place->second];
    const double demand = jobs[i]->batch->world_step_cost > 0 ? demand_of(*jobs[i]) : least;
    tenant.jobs.push_back(i), tenant.demands.push_back(demand);
    tenant.demand += demand;
  }
  for (const Tenant& tenant : tenants) wanted.push_back(tenant.demand);
  const std::size_t taking_part = as_many_as_fit(slice, least, wanted);
  wanted.resize(taking_part), weights.resize(taking_part);
  const std::vector<double> parts = share_out(slice, wanted, weights);
  std::vector<Portion> portions(jobs.size(), {.steps = 0, .worlds = 0});
  for (std::size_t t = 0; t < taking_part; ++t) {
    Tenant& tenant = tenants[t];
    tenant.demands.resize(as_many_as_fit(parts[t], least, tenant.demands));
    const std::vector<double> shares = share_out(parts[t], tenant.demands);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      portions[tenant.jobs[k]] = portion_of(*jobs[tenant.jobs[k]], shares[k]);
    }
  }
  return portions;
}

void LaunchPacer::measured(std::span<const Part> parts, absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  double known = 0, unknown_steps = 0;  // what was to be expected of batches that are known; world-steps of the others
  for (const Part& part : parts) {
    known += part.batch->world_step_cost * static_cast<double>(part.world_steps);
    if (part.batch->world_step_cost <= 0) unknown_steps += static_cast<double>(part.world_steps);
  }
  if (unknown_steps > 0) {
    // What is left over is theirs; where nothing is, they are taken to cost what the others do on average.
    double steps = 0;
    for (const Part& part : parts) steps += static_cast<double>(part.world_steps);
    const double left = std::max(seconds - known, seconds * unknown_steps / steps);
    for (const Part& part : parts) {
      if (part.batch->world_step_cost <= 0 && part.world_steps > 0) part.batch->world_step_cost = left / unknown_steps;
    }
  } else if (known > 0) {
    const double ratio = std::clamp(seconds / known, 1 / kMaxChange, kMaxChange);
    for (const Part& part : parts) part.batch->world_step_cost *= 1 + kWeight * (ratio - 1);
  }
  seconds_per_launch_ += (seconds_per_launch_ > 0 ? kWeight : 1.0) * (seconds - seconds_per_launch_);
}

absl::Duration LaunchPacer::retry_delay() const {
  return std::clamp(absl::Seconds(4 * seconds_per_launch_), absl::Milliseconds(5), absl::Seconds(1));
}

}  // namespace axion::server::schedule
