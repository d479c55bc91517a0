#include "server/net/acceptor.hpp"

#include <linux/tcp.h>  // its tcp_info tells the bytes received, that of <netinet/tcp.h> does not
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/time/clock.h"

namespace axion::server::net {
namespace {

constexpr int kLookMilliseconds = 100;   // between two looks at the process's memory, and two turns of the thread
constexpr int kIdleMilliseconds = 1000;  // between two counts
constexpr int kRetryMilliseconds = 50;   // between two attempts while accepting fails
constexpr absl::Duration kPruneInterval = absl::Milliseconds(50);
// Between two connections that are cut while there is too much: what was kept for the first takes time to be freed.
constexpr absl::Duration kCutInterval = absl::Seconds(1);
constexpr std::uint64_t kLeastToCut = 16 << 10;  // bytes between two looks; who sends less fills nothing
constexpr int kAtOnce = 64;                      // connections of one socket before the others are looked at

// Errors that end accepting until something changes; all others belong to the connection that was being accepted.
bool lacks_resource(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EFAULT:
      return true;
    default:
      return false;
  }
}

// What has come in over a connection, bytes; 0 where that is no connection any more.
std::uint64_t bytes_received(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace

Acceptor::Acceptor(Listener listener, AcceptorOptions options, AcceptorEvents events)
    : listener_(std::move(listener)),
      options_(std::move(options)),
      events_(std::move(events)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) errno = 0;  // the thread looks every second in any case
  thread_.join();
  if (wake_ >= 0) close(wake_);
  const Listener closed = std::move(listener_);
}

void Acceptor::run() {
  std::vector<pollfd> polled;
  for (const int socket : listener_.sockets()) polled.push_back({socket, POLLIN, 0});
  polled.push_back({wake_, POLLIN, 0});
  bool works = true;
  while (!stopping_) {
    // While accepting fails the sockets stay readable, so only the clock is waited for.
    if (works) {
      poll(polled.data(), polled.size(), kLookMilliseconds);
    } else {
      poll(&polled.back(), 1, kRetryMilliseconds);
    }
    if (stopping_) break;
    works = accept_all();
    const absl::Time now = absl::Now();
    if (works) {
      failing_since_ = absl::InfiniteFuture();
      if (std::exchange(stalled_, false)) events_.recovered();
    } else {
      report_failure(now);
    }
    if (now - last_prune_ >= absl::Milliseconds(kIdleMilliseconds)) prune(now);
    report_count();
    if (now - last_look_ >= absl::Milliseconds(kLookMilliseconds)) relieve(now);
  }
}

bool Acceptor::accept_all() {
  bool works = true;
  for (const int socket : listener_.sockets()) {
    for (int i = 0; i < kAtOnce && !stopping_; ++i) {
      const int descriptor = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (descriptor >= 0) {
        admit(descriptor);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (lacks_resource(errno)) {
        failure_ = errno;
        works = false;
        break;
      }
    }
  }
  return works;
}

void Acceptor::admit(int descriptor) {
  if (connections_.size() >= options_.max_connections) {
    // A flood of newcomers is not to make the whole list be looked through for each.
    const absl::Time now = absl::Now();
    if (now - last_prune_ >= kPruneInterval) prune(now);
    if (connections_.size() >= options_.max_connections) return turn_away(descriptor);
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct stat status {};
  fstat(descriptor, &status);
  connections_.push_back({descriptor, status.st_ino, 0});
  events_.take(descriptor);
}

void Acceptor::turn_away(int descriptor) {
  ++turned_away_;
  if (!options_.farewell.empty()) {
    send(descriptor, options_.farewell.data(), options_.farewell.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(descriptor, SHUT_WR);
    // What the client has said already is read: closing over unread bytes would take the farewell back.
    char unread[4096];
    while (recv(descriptor, unread, sizeof unread, MSG_DONTWAIT) > 0) {
    }
  }
  close(descriptor);
}

void Acceptor::prune(absl::Time now) {
  last_prune_ = now;
  const auto closed = [](const Connection& connection) {
    struct stat status {};
    return fstat(connection.descriptor, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != connection.inode;
  };
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(), closed), connections_.end());
}

void Acceptor::report_failure(absl::Time now) {
  failing_since_ = std::min(failing_since_, now);
  if (!stalled_ && now - failing_since_ >= options_.patience) {
    stalled_ = true;
    events_.stalled(std::strerror(failure_));
  }
  if (stalled_ && !gave_up_ && now - failing_since_ >= options_.patience + options_.give_up) {
    gave_up_ = true;
    events_.gave_up();
  }
}

void Acceptor::report_count() {
  if (connections_.size() == reported_open_ && turned_away_ == 0) return;
  reported_open_ = connections_.size();
  events_.count(reported_open_, std::exchange(turned_away_, 0));
}

void Acceptor::relieve(absl::Time now) {
  last_look_ = now;
  const bool was_overfull = std::exchange(overfull_, events_.overfull());
  if (!overfull_) {
    last_cut_ = absl::InfinitePast();
    return;
  }
  prune(now);
  std::uint64_t most = 0;
  const Connection* sender = nullptr;
  for (Connection& connection : connections_) {
    const std::uint64_t received = bytes_received(connection.descriptor);
    const std::uint64_t fresh = received - std::min(received, std::exchange(connection.received, received));
    if (fresh > most) most = fresh, sender = &connection;
  }
  // The first look is what the next one is compared with.
  if (!was_overfull || most < kLeastToCut || now - last_cut_ < kCutInterval) return;
  last_cut_ = now;
  shutdown(sender->descriptor, SHUT_RDWR);
  events_.cut(most);
}

}  // namespace axion::server::net
