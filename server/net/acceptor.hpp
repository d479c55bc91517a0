// Accepts connections on a thread of its own and hands them on.
//
// Beyond `max_connections` newcomers are told so and closed. An error of accept that concerns one connection ends that
// one; one that concerns the process (no descriptor or memory left) is waited out: accepting goes on as soon as it can,
// what waits meanwhile stays in the kernel's queue, and whoever watches is told (`stalled`, `recovered`, `gave_up`).
//
// HTTP/2 has ways to make a server keep memory that no request asks for: headers without an end, calls that are taken
// back at once. gRPC 1.51 bounds few of them. While `overfull` says that the process holds such memory, the connection
// that has sent the most since the last look is cut, one a second: what gRPC kept for it goes with it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "server/net/listener.hpp"

namespace axion::server::net {

struct AcceptorOptions {
  std::size_t max_connections = 1024;
  // Accepting that has failed for so long is reported, and after `give_up` more is given up.
  absl::Duration patience = absl::Seconds(1);
  absl::Duration give_up = absl::Seconds(30);
  // Sent to a connection that is turned away.
  std::string farewell{};
};

// Called on the acceptor's thread; must not block.
struct AcceptorEvents {
  std::function<void(int descriptor)> take;  // a connection, non-blocking, which is the callee's to close
  std::function<void(std::size_t open, std::size_t turned_away)>
      count;  // connections now, and turned away since the last call
  std::function<void(const std::string& reason)> stalled;
  std::function<void()> recovered;
  std::function<void()> gave_up;  // at most once; accepting is tried on
  std::function<bool()> overfull = [] { return false; };
  std::function<void(std::size_t bytes)> cut = [](std::size_t) {};  // a connection that had sent so much in a look
};

class Acceptor {
 public:
  Acceptor(Listener listener, AcceptorOptions options, AcceptorEvents events);
  // As stop().
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Accepts nothing more and closes the listening sockets; no event comes after it. Not from an event.
  void stop();

 private:
  // A connection that was handed on: its descriptor names it until that is closed and given to another file.
  struct Connection {
    int descriptor;
    ino_t inode;
    std::uint64_t received = 0;  // bytes, at the last look while overfull
  };

  void run();
  // False if accepting failed for want of a resource.
  bool accept_all();
  void admit(int descriptor);
  void turn_away(int descriptor);
  // Forgets the connections that have been closed.
  void prune(absl::Time now);
  void report_failure(absl::Time now);
  void report_count();
  void relieve(absl::Time now);

  Listener listener_;
  const AcceptorOptions options_;
  const AcceptorEvents events_;
  int wake_ = -1;
  std::atomic<bool> stopping_{false};

  // The thread's own.
  std::vector<Connection> connections_;
  absl::Time last_prune_ = absl::InfinitePast();
  absl::Time failing_since_ = absl::InfiniteFuture();
  int failure_ = 0;  // errno
  bool stalled_ = false, gave_up_ = false;
  std::size_t reported_open_ = 0, turned_away_ = 0;
  bool overfull_ = false;  // at the last look
  absl::Time last_look_ = absl::InfinitePast(), last_cut_ = absl::InfinitePast();

  std::thread thread_;
};

}  // namespace axion::server::net
