// Whose turn at the device it is: of tenants the one that has had the least of it for its weight, of a tenant's batches
// the one that was served the longest ago. What a tenant did not want while it had nothing to do is not made up for.
// The device's owner only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "server/schedule/job.hpp"

namespace axion::server::schedule {

class Turns {
 public:
  // First whose turn it is.
  void sort(std::vector<Job*>& jobs) const;
  // A job has had so many seconds of the device.
  void served(const Job& job, double seconds);

 private:
  double had(const std::string& tenant) const;

  absl::flat_hash_map<std::string, double> had_;  // by tenant, s by weight; where it is more than now_
  double now_ = 0;                                // what one has had whose turn it was last
  std::uint64_t count_ = 0;
};

}  // namespace axion::server::schedule
