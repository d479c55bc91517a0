#include "server/schedule/turns.hpp"

#include <algorithm>
#include <tuple>

namespace axion::server::schedule {

double Turns::had(const std::string& tenant) const {
  const auto found = had_.find(tenant);
  return found == had_.end() ? now_ : std::max(found->second, now_);
}

void Turns::sort(std::vector<Job*>& jobs) const {
  if (jobs.size() < 2) return;
  struct Place {
    double had;
    std::uint64_t turn;
    Job* job;
  };
  std::vector<Place> places;
  for (Job* job : jobs) places.push_back({had(job->call.tenant), job->batch == nullptr ? 0 : job->batch->turn, job});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.had, a.job->call.tenant, a.turn) < std::tie(b.had, b.job->call.tenant, b.turn);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = places[i].job;
}

void Turns::served(const Job& job, double seconds) {
  const double start = had(job.call.tenant);
  had_[job.call.tenant] = start + seconds / job.call.weight;
  now_ = start;
  if (job.batch != nullptr) job.batch->turn = ++count_;
  absl::erase_if(had_, [&](const auto& tenant) { return tenant.second <= now_; });
}

}  // namespace axion::server::schedule
