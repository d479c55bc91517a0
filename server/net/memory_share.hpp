// What of the machine this process may have, and how much memory what the network brings may take before it is a
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace axion::server::net {

// The least limit of memory, bytes, of a process's control groups of either version and of the groups that they lie in,
// as below `root`; the greatest number there is without one. `groups` is what /proc/self/cgroup says.
std::uint64_t group_memory(const std::string& groups, const std::string& root);

// Bytes that this process may have: the least of the machine's memory, its control group's limit and its address
// space's.
std::size_t process_memory();

// The least quota of processors, rounded up, of the same control groups; 0 without one.
int group_processors(const std::string& groups, const std::string& root);

// Processors that this process may have: of the `available` ones that it may run on, as many as its control group's
// quota lets it use all the time. At least 1.
int process_processors(int available);

// The share for messages that have not come in whole, of all connections together: beyond it connections are cut.
std::size_t unfinished_share(std::size_t memory, std::size_t max_message_bytes);

// What the transport may take: half as much again, for what comes in before the cut shows. Beyond it gRPC ends calls of
// clients as it comes upon them, idle connections first.
std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes);

// What the process has allocated and not freed, bytes. Cheap where that is little: it asks the kernel how much is
// resident, and the allocator, which looks through all of its lists, only where that is more than is of interest.
class HeapWatch {
 public:
  // 0 where less than `least` is in use. Where more is resident but free, it is given back to the kernel.
  std::size_t in_use(std::size_t least, absl::Time now);

 private:
  std::size_t last_ = 0;
  absl::Time next_look_ =
      absl::InfinitePast();  // the allocator's lists may be long: it is asked for a part of the time
  absl::Time next_trim_ = absl::InfinitePast();
};

}  // namespace axion::server::net
