// How much memory what the network brings may take before it is a message.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace axion::server::net {

// Bytes that this process may have: the least of the machine's memory, its control group's limit and its address
// space's.
std::size_t process_memory();

// The share for messages that have not come in whole, of all connections together.
std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes);

// Whether what the process has allocated and not freed is more than it should be. Cheap where it is not: it asks the
// kernel how much is resident, and the allocator, which looks through all of its lists, only where that is too much.
class HeapWatch {
 public:
  // `bytes` that are accounted for. Where memory is resident but free, it is given back to the kernel first.
  bool exceeds(std::size_t bytes, absl::Time now);

 private:
  absl::Time next_ = absl::InfinitePast();  // not before, where resident memory was free and stayed resident
};

}  // namespace axion::server::net
