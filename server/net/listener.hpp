// Listening sockets of an address.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace axion::server::net {

// Closes its sockets when destroyed.
class Listener {
 public:
  // `address` is host:port. A name may have several addresses (localhost has 127.0.0.1 and ::1): all are listened on
  // that this machine has, at one port; port 0 takes a free one. UNAVAILABLE with the system's reason.
  static absl::StatusOr<Listener> open(const std::string& address);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();

  const std::vector<int>& sockets() const { return sockets_; }  // non-blocking
  // Whether only this machine reaches it, at every address.
  bool loopback() const;
  int port() const { return port_; }

 private:
  Listener() = default;
  std::vector<int> sockets_;
  int port_ = 0;
};

}  // namespace axion::server::net
