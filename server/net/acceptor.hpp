// Accepts connections on a thread of its own and hands them on.
//
// Beyond `max_connections` newcomers are told so and closed, unless some other address has at least two more than
// theirs: then the newest of that one is cut for them, and first one that has sent no message. So a client that opens
// all that there are keeps no client out that comes from elsewhere; while there is room no address is asked how many it
// has.
//
// An error of accept that concerns one connection ends that one; one that concerns the process (no descriptor or memory
// left) is waited out: accepting goes on as soon as it can, what waits meanwhile stays in the kernel's queue, and
// the server is told (`stalled`, `recovered`, `gave_up`).
//
// HTTP/2 has ways to make a server work and keep memory that no request asks for, and gRPC 1.51 bounds few of them. Ten
// times a second the acceptor looks at the connections that it has let in, and cuts
//
// * clients that take back more calls than any has reason to, as soon as they are made: others would wait for the
//   server to be done with them. What connections of one address do counts together, and newcomers from there are held
//   up, for longer each time. Calls that a connection has open beyond `max_open_calls_of_one`, which HTTP/2 does not
//   let a client have, were taken back too: the server only has not come to it yet;
// * while more calls are open than `max_open_calls`, the one that has the most of them, until the rest is within that:
//   each takes memory for as long as it is open, and a health watch, for one, needs no token;
// * while `crowding` says that the process holds memory that nothing accounts for, and messages that have not come in
//   whole are more than `max_unfinished_bytes`: the one that has had the most of them under way for longest, until
//   the rest is within that. Connections of the address that has had the most go first;
// * while answers that clients have not begun to take within ten seconds are more than `max_unread_bytes`: likewise
//   those clients;
// * and while `crowding` says that: all that have sent something, but no
//   whole message since they connected (headers without an end, calls that are opened and left); and where it holds too
//   much, the one that has sent the most since the last look, one a second. What gRPC kept for them goes with them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

#include "server/net/call_tally.hpp"
#include "server/net/listener.hpp"
#include "server/net/unfinished.hpp"
#include "server/net/unread.hpp"

namespace axion::server::net {

// How much the process has allocated of what may be on its way in and out.
enum class Crowding { kNone, kCrowded, kOverfull };

struct AcceptorOptions {
  std::size_t max_connections = 1024;
  std::size_t max_open_calls = SIZE_MAX;            // of all connections together
  std::size_t max_open_calls_of_one = SIZE_MAX;     // of one connection
  std::uint64_t max_unread_bytes = UINT64_MAX;      // of answers that clients do not take, of all connections
  std::uint64_t max_unfinished_bytes = UINT64_MAX;  // of messages that have not come in whole, of all connections
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
  std::function<Crowding()> crowding = [] { return Crowding::kNone; };
  std::function<CallsByConnection()> calls = [] { return CallsByConnection(); };    // since the last call of this
  std::function<BytesByConnection()> waiting = [] { return BytesByConnection(); };  // answers that wait to be sent
  std::function<MessagesByConnection()> messages = [] { return MessagesByConnection(); };  // likewise
  std::function<void(const std::string& reason)> cut = [](const std::string&) {};
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
    std::string name;  // connection_name()
    absl::Time since;
    bool asked = false;  // has sent a whole message
    bool cut = false;    // and is listed until its descriptor is closed
    Unfinished unfinished;
    Unread unread{};
    double taken_back = 0;   // calls, less what has been forgotten of them
    double open_beyond = 0;  // calls that are open and more than one may have, which count as taken back
  };
  // One that waits to be let in.
  struct Newcomer {
    int descriptor;
    std::string name;
    absl::Time until;
  };
  // Of an address whose connections took back too many calls.
  struct Bar {
    absl::Time until;        // newcomers wait
    absl::Duration hold_up;  // the last time
  };

  void run();
  // False if accepting failed for want of a resource.
  bool accept_all();
  void admit(int descriptor);
  // Has a connection closed of the address that has the most, where that leaves it no fewer than `address` has then.
  bool make_room(const std::string& address);
  void let_in(int descriptor, std::string name, absl::Time now);
  void turn_away(int descriptor);
  // Forgets the connections that have been closed.
  void prune(absl::Time now);
  void report_failure(absl::Time now);
  void report_count();
  void look(absl::Time now);
  // Cuts who has taken back too many calls.
  void judge(const CallsByConnection& calls, absl::Time now);
  void count_taken_back(const CallsByConnection& calls);
  void close_most_open(const CallsByConnection& calls);
  // Counts what each connection has under way.
  void measure(absl::Time now);
  void relieve(absl::Time now);
  // Cuts holders of `bytes` until all together have no more than `most`: who has held most for the longest goes first,
  // and first those from the address of which most is held.
  struct Holder {
    Connection* connection;
    std::uint64_t bytes;
    double byte_seconds;
  };
  void cut_longest(std::vector<Holder> holders, std::uint64_t most, const char* what);
  void let_in_waiting_clients(absl::Time now);
  void cut(Connection& connection, const std::string& reason);

  Listener listener_;
  const AcceptorOptions options_;
  const AcceptorEvents events_;
  int wake_ = -1;
  std::atomic<bool> stopping_{false};

  // The thread's own.
  std::vector<Connection> connections_;
  std::vector<Newcomer> held_up_;
  absl::flat_hash_map<std::string, Bar> barred_;         // by address_of()
  absl::flat_hash_map<std::string, double> taken_back_;  // calls, likewise, less what has been forgotten of them
  // Connections and newcomers by address_of(), and connections that were cut and are not closed: counted by prune(),
  // and brought up to date by admit() between.
  absl::flat_hash_map<std::string, std::size_t> shares_;
  std::size_t leaving_ = 0;
  absl::Time last_prune_ = absl::InfinitePast();
  absl::Time failing_since_ = absl::InfiniteFuture();
  int failure_ = 0;  // errno
  bool stalled_ = false, gave_up_ = false;
  std::size_t reported_open_ = 0, turned_away_ = 0;
  bool crowded_ = false;  // at the last look
  absl::Time last_look_ = absl::InfinitePast(), last_cut_ = absl::InfinitePast(), last_measure_ = absl::InfinitePast();

  std::thread thread_;
};

}  // namespace axion::server::net
