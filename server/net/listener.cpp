#include "server/net/listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace axion::server::net {
namespace {

// Connections that the kernel keeps until they are accepted; it takes fewer if its own limit is lower.
constexpr int kBacklog = 1024;
// Another address of the same name may have the free port that the first one got; then another port is tried.
constexpr int kPortAttempts = 10;

void set_port(sockaddr_storage& address, int port) {
  const auto network = htons(static_cast<std::uint16_t>(port));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = network;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = network;
  }
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// A listening socket, or -1 with errno.
int listen_on(const addrinfo& info, int port, bool alone) {
  const int made = socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const int on = 1, v6_only = alone ? 0 : 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // the port of a server that has just ended
  // [::] alone takes clients of both families.
  if (info.ai_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
  sockaddr_storage address{};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  set_port(address, port);
  if (bind(made, reinterpret_cast<sockaddr*>(&address), info.ai_addrlen) == 0 && listen(made, kBacklog) == 0)
    return made;
  const int reason = errno;
  close(made);
  errno = reason;
  return -1;
}

bool is_loopback(const sockaddr_storage& address) {
  constexpr unsigned char kNetwork = 127;
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == kNetwork;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kNetwork);
}

}  // namespace

Listener::Listener(Listener&& other) noexcept
    : sockets_(std::exchange(other.sockets_, {})), port_(std::exchange(other.port_, 0)) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(sockets_, other.sockets_);
  std::swap(port_, other.port_);
  return *this;
}

Listener::~Listener() {
  for (const int socket : sockets_) close(socket);
}

bool Listener::loopback() const {
  for (const int socket : sockets_) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 || !is_loopback(address)) return false;
  }
  return true;
}

absl::StatusOr<Listener> Listener::open(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return absl::InvalidArgumentError("an address is host:port");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return absl::UnavailableError(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  const bool alone = addresses->ai_next == nullptr;
  int wanted = 0;
  if (const auto* first = reinterpret_cast<const sockaddr_in*>(addresses->ai_addr)) wanted = ntohs(first->sin_port);
  int reason = 0;
  for (int attempt = 0; attempt < (wanted == 0 ? kPortAttempts : 1); ++attempt) {
    Listener listener;
    listener.port_ = wanted;
    bool clash = false;
    for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
      const int made = listen_on(*at, listener.port_, alone);
      if (made < 0) {
        reason = errno;
        // An address that this machine has not (no IPv6, say) is left out; one that another process has is an error.
        clash = clash || reason == EADDRINUSE || reason == EACCES;
        continue;
      }
      listener.sockets_.push_back(made);
      if (listener.port_ == 0) listener.port_ = port_of(made);
    }
    if (!clash && !listener.sockets_.empty()) return listener;
  }
  return absl::UnavailableError(std::strerror(reason));
}

}  // namespace axion::server::net
