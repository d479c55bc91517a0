// The process's limit of open files, and the share of it that connections may have.
#pragma once

#include <cstddef>

namespace axion::server::net {

// Raises the soft limit of open files to the hard one. Returns the limit that holds then.
std::size_t raise_descriptor_limit();

// Open files of this process.
std::size_t open_descriptors();

// How many connections to let in: well below what `limit` leaves beside the `open` files, so that the rest of the
// process always has some. 0: the limit is too low to serve anybody.
std::size_t connection_share(std::size_t limit, std::size_t open);

}  // namespace axion::server::net
