// How much memory what the network brings may take before it is a message.
#pragma once

#include <cstddef>

namespace axion::server::net {

// Bytes that this process may have: the least of the machine's memory, its control group's limit and its address
// space's.
std::size_t process_memory();

// The share for messages that have not come in whole, of all connections together.
std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes);

}  // namespace axion::server::net
