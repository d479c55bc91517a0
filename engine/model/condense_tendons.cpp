#include "engine/model/condense_tendons.hpp"

#include <algorithm>
#include <utility>

namespace axion::model {
namespace {

// Models with no more such tendons keep them as nodes: those are exact however stiff a spring is.
constexpr int kMostTendonNodes = 12;

// Whether all that acts along tendon t is one law that gives way.
bool is_compliant(const ModelArrays<double>& a, int t) {
  if (t < a.slack_tendon_count || t >= a.tendon_axis_count) return false;
  const AxisData<double>& axis = a.axes[a.tendons[t].axis];
  return axis.limit < 0 && axis.effort_count == 0;
}

// The bodies on which tendon t acts, in their order.
std::vector<int> bodies_of(const ModelArrays<double>& a, int t) {
  std::vector<int> bodies;
  const TendonData<double>& tendon = a.tendons[t];
  for (int k = tendon.term_start; k < tendon.term_start + tendon.term_count; ++k) {
    for (const int b : {a.tendon_terms[k].a, a.tendon_terms[k].b}) {
      if (b >= 0) bodies.push_back(b);
    }
  }
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  return bodies;
}

}  // namespace

void condense_tendons(ModelArrays<double>& a) {
  const int count = static_cast<int>(a.tendons.size());
  int compliant = 0;
  for (int t = 0; t < count; ++t) compliant += is_compliant(a, t) ? 1 : 0;
  std::vector<std::vector<int>> of_body(a.bodies.size());
  std::vector<std::pair<int, int>> pairs;
  for (int t = 0; t < count; ++t) {
    if (compliant <= kMostTendonNodes || !is_compliant(a, t)) {
      a.tendons[t].node = static_cast<int>(a.node_tendons.size());
      a.node_tendons.push_back(t);
      continue;
    }
    a.tendons[t].node = -1;
    const std::vector<int> bodies = bodies_of(a, t);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      of_body[bodies[i]].push_back(t);
      for (std::size_t j = 0; j < i; ++j) pairs.emplace_back(bodies[j], bodies[i]);
    }
  }
  if (static_cast<int>(a.node_tendons.size()) == count) return;
  a.condensed_start.assign(1, 0);
  for (const std::vector<int>& tendons : of_body) {
    a.condensed_tendons.insert(a.condensed_tendons.end(), tendons.begin(), tendons.end());
    a.condensed_start.push_back(static_cast<int>(a.condensed_tendons.size()));
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const auto& [i, j] : pairs) a.condensed_pairs.insert(a.condensed_pairs.end(), {i, j});
}

}  // namespace axion::model
