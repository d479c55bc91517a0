#include "server/net/acceptor.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/net/connection_name.hpp"

namespace axion::server::net {
namespace {

constexpr int kLookMilliseconds = 100;    // between two looks at the calls of connections
constexpr int kWatchMilliseconds = 20;    // between two looks at what is allocated, while there are connections
constexpr int kCrowdedMilliseconds = 10;  // while that is much; a gigabyte may come in within a second
constexpr int kIdleMilliseconds = 1000;   // between two counts
constexpr int kRetryMilliseconds = 50;    // between two attempts while accepting fails
constexpr absl::Duration kPruneInterval = absl::Milliseconds(50);
constexpr absl::Duration kMeasureInterval = absl::Seconds(1);  // between two counts of bytes, while there is room
// Between two connections that are cut while there is too much: what was kept for the first takes time to be freed.
constexpr absl::Duration kCutInterval = absl::Seconds(1);
constexpr std::uint64_t kLeastToCut = 16 << 10;             // bytes between two looks; who sends less fills nothing
constexpr std::uint64_t kGreeting = 1 << 10;                // bytes that a client sends before its first call, at most
constexpr absl::Duration kFirstMessage = absl::Seconds(1);  // that a client's first message may take while crowded
// Calls that one address may take back at once, more than a host of clients comes to whose deadlines pass together; and
// what is forgotten of them from look to look: 1,000 a second, a tenth of what keeps a core busy. A server that is
// short of processors looks later, and forgets no more for that: it can do less work, too.
constexpr double kMostTakenBack = 1000, kForgottenALook = 100;
// Of newcomers from where calls were taken back: at first, at most, and how long it is remembered.
constexpr absl::Duration kFirstHoldUp = absl::Seconds(1), kLastHoldUp = absl::Seconds(8);
constexpr absl::Duration kRemembered = absl::Minutes(1);
constexpr std::size_t kUnread = 1 << 20;  // bytes thrown away at once
constexpr int kMostUnread = 64;           // times that; who sends faster than they are thrown away holds no other up
constexpr int kAtOnce = 64;               // connections of one socket before the others are looked at
// Connections that are cut and not closed yet, beside which no other is cut for a newcomer: each is a descriptor more.
constexpr std::size_t kMostLeaving = 8;

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

// From no point of time in particular. The time of day may be set by hours, and no client is to wait for that.
absl::Time steady_now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// What lies in the kernel's buffer of a connection.
void throw_away(int descriptor) {
  for (int i = 0; i < kMostUnread && recv(descriptor, nullptr, kUnread, MSG_DONTWAIT | MSG_TRUNC) > 0; ++i) {
  }
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
  for (const Newcomer& newcomer : std::exchange(held_up_, {})) close(newcomer.descriptor);
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
      poll(polled.data(), polled.size(),
           connections_.empty() ? kLookMilliseconds : (crowded_ ? kCrowdedMilliseconds : kWatchMilliseconds));
    } else {
      poll(&polled.back(), 1, kRetryMilliseconds);
    }
    if (stopping_) break;
    works = accept_all();
    const absl::Time now = steady_now();
    if (works) {
      failing_since_ = absl::InfiniteFuture();
      if (std::exchange(stalled_, false)) events_.recovered();
    } else {
      report_failure(now);
    }
    if (now - last_prune_ >= absl::Milliseconds(kIdleMilliseconds)) prune(now);
    report_count();
    if (now - last_look_ >= absl::Milliseconds(kLookMilliseconds)) look(now);
    relieve(now);
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
  const absl::Time now = steady_now();
  const auto full = [this] { return connections_.size() + held_up_.size() >= options_.max_connections; };
  // A flood of newcomers is not to make the whole list be looked through for each.
  if (full() && now - last_prune_ >= kPruneInterval) prune(now);
  std::string name = connection_name(descriptor);
  const std::string address = address_of(name);
  if (full() && !make_room(address)) return turn_away(descriptor);
  ++shares_[address];
  const auto barred = barred_.find(address);
  if (barred != barred_.end() && now < barred->second.until) {
    held_up_.push_back({descriptor, std::move(name), barred->second.until});
  } else {
    let_in(descriptor, std::move(name), now);
  }
}

bool Acceptor::make_room(const std::string& address) {
  const auto most = std::max_element(shares_.begin(), shares_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto own = shares_.find(address);
  if (most == shares_.end() || most->second <= (own == shares_.end() ? 0 : own->second) + 1) return false;
  const auto of_most = [&](const auto& one) { return address_of(one.name) == most->first; };
  if (const auto waits = std::find_if(held_up_.rbegin(), held_up_.rend(), of_most); waits != held_up_.rend()) {
    turn_away(waits->descriptor);
    held_up_.erase(std::next(waits).base());
  } else {
    if (leaving_ >= kMostLeaving) return false;
    Connection* newest = nullptr;
    for (Connection& connection : connections_) {
      if (connection.cut || !of_most(connection)) continue;
      if (newest == nullptr || newest->asked || !connection.asked) newest = &connection;
    }
    if (newest == nullptr) return false;
    ++leaving_;
    cut(*newest, absl::StrCat("makes room for ", address, ": its address has ", most->second,
                              " connections, the most of ", options_.max_connections));
  }
  --most->second;
  return true;
}

void Acceptor::let_in(int descriptor, std::string name, absl::Time now) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct stat status {};
  fstat(descriptor, &status);
  connections_.push_back({descriptor, status.st_ino, std::move(name), now, false, false, Unfinished(now)});
  events_.take(descriptor);
}

void Acceptor::turn_away(int descriptor) {
  ++turned_away_;
  if (!options_.farewell.empty()) {
    send(descriptor, options_.farewell.data(), options_.farewell.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(descriptor, SHUT_WR);
    // What the client has said already is read: closing over unread bytes would take the farewell back.
    throw_away(descriptor);
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
  shares_.clear();
  leaving_ = 0;
  for (const Newcomer& newcomer : held_up_) ++shares_[address_of(newcomer.name)];
  for (const Connection& connection : connections_) {
    if (connection.cut) {
      ++leaving_;
    } else {
      ++shares_[address_of(connection.name)];
    }
  }
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

void Acceptor::look(absl::Time now) {
  last_look_ = now;
  const CallsByConnection calls = events_.calls();
  if (!calls.empty() || !taken_back_.empty()) judge(calls, now);
  if (!calls.empty()) close_most_open(calls);
  let_in_waiting_clients(now);
}

void Acceptor::count_taken_back(const CallsByConnection& calls) {
  for (auto& [address, count] : taken_back_) count -= kForgottenALook;
  absl::erase_if(taken_back_, [](const auto& entry) { return entry.second <= 0; });
  for (Connection& connection : connections_) {
    connection.taken_back = std::max(0.0, connection.taken_back - kForgottenALook);
    connection.open_beyond = 0;
    const auto counts = calls.find(connection.name);
    if (counts == calls.end()) continue;
    connection.asked = connection.asked || counts->second.asked > 0;
    if (connection.cut) continue;  // what one that was cut left behind is told still
    const std::size_t open = counts->second.open;
    connection.open_beyond = static_cast<double>(open - std::min(open, options_.max_open_calls_of_one));
    if (counts->second.taken_back == 0) continue;
    connection.taken_back += static_cast<double>(counts->second.taken_back);
    taken_back_[address_of(connection.name)] += static_cast<double>(counts->second.taken_back);
  }
}

void Acceptor::judge(const CallsByConnection& calls, absl::Time now) {
  count_taken_back(calls);
  struct Address {
    double taken_back = 0;
    double connections = 0;  // that took any back
  };
  absl::flat_hash_map<std::string, Address> addresses;
  for (const auto& [name, count] : taken_back_) addresses[name].taken_back = count;
  for (const Connection& connection : connections_) {
    if (connection.cut || connection.taken_back + connection.open_beyond == 0) continue;
    Address& address = addresses[address_of(connection.name)];
    address.taken_back += connection.open_beyond;
    ++address.connections;
  }
  absl::erase_if(addresses, [](const auto& entry) { return entry.second.taken_back <= kMostTakenBack; });
  for (const auto& [name, address] : addresses) {
    Bar& bar = barred_[name];
    bar.hold_up = std::clamp(2 * bar.hold_up, kFirstHoldUp, kLastHoldUp);
    bar.until = now + bar.hold_up;
    taken_back_.erase(name);  // it has paid for them
  }
  if (addresses.empty()) return;
  for (Connection& connection : connections_) {
    const auto address = addresses.find(address_of(connection.name));
    if (connection.cut || address == addresses.end()) continue;
    const double own = connection.taken_back + connection.open_beyond;
    // Half a fair share of what is allowed: who stays below has no part in it.
    if (own <= kMostTakenBack / (2 * address->second.connections)) continue;
    cut(connection,
        absl::StrCat("took back ", std::round(own), " calls, its address ", std::round(address->second.taken_back),
                     ", where ", kMostTakenBack, " may be at once, and a second"));
  }
}

void Acceptor::close_most_open(const CallsByConnection& calls) {
  std::size_t open = 0;  // calls of connections that were closed or cut end by themselves
  std::vector<std::pair<std::size_t, Connection*>> most;
  for (Connection& connection : connections_) {
    const auto counts = calls.find(connection.name);
    if (connection.cut || counts == calls.end() || counts->second.open == 0) continue;
    open += counts->second.open;
    most.emplace_back(counts->second.open, &connection);
  }
  if (open <= options_.max_open_calls) return;
  std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [own, connection] : most) {
    if (open <= options_.max_open_calls) return;
    cut(*connection, absl::StrCat("has ", own, " calls open, the most of ", open, "; together ",
                                  options_.max_open_calls, " may be"));
    open -= own;
  }
}

void Acceptor::let_in_waiting_clients(absl::Time now) {
  absl::erase_if(barred_, [now](const auto& entry) { return entry.second.until + kRemembered <= now; });
  const auto waits = [now](const Newcomer& newcomer) { return newcomer.until > now; };
  const auto done = std::stable_partition(held_up_.begin(), held_up_.end(), waits);
  std::vector<Newcomer> free(std::make_move_iterator(done), std::make_move_iterator(held_up_.end()));
  held_up_.erase(done, held_up_.end());
  for (Newcomer& newcomer : free) let_in(newcomer.descriptor, std::move(newcomer.name), now);
}

void Acceptor::measure(absl::Time now) {
  last_measure_ = now;
  prune(now);
  const MessagesByConnection messages = events_.messages();  // first: what came in whole has come in
  const BytesByConnection waiting = events_.waiting();
  std::vector<Holder> stuck;
  for (Connection& connection : connections_) {
    if (connection.cut) continue;
    const auto found = messages.find(connection.name);
    const MessageCounts whole = found == messages.end() ? MessageCounts() : found->second;
    connection.asked = connection.asked || whole.count > 0;
    const Flow flow = flow_of(connection.descriptor);
    connection.unfinished.update(flow, whole, now);
    const auto waits = waiting.find(connection.name);
    connection.unread.update(flow.sent, waits == waiting.end() ? 0 : waits->second, now);
    if (const std::uint64_t bytes = connection.unread.bytes(); bytes > 0) {
      stuck.push_back({&connection, bytes, connection.unread.byte_seconds()});
    }
  }
  cut_longest(std::move(stuck), options_.max_unread_bytes, "answers that it does not take");
}

void Acceptor::relieve(absl::Time now) {
  const Crowding crowding = events_.crowding();
  const bool was_crowded = std::exchange(crowded_, crowding != Crowding::kNone);
  if (!crowded_ && now - last_measure_ < kMeasureInterval) return;
  measure(now);
  if (!crowded_) return;
  std::vector<Holder> holders;
  for (Connection& connection : connections_) {
    const Unfinished& own = connection.unfinished;
    if (!connection.cut && own.byte_seconds() > 0) holders.push_back({&connection, own.bytes(), own.byte_seconds()});
  }
  cut_longest(std::move(holders), options_.max_unfinished_bytes, "messages under way");
  std::uint64_t most = 0;
  Connection* sender = nullptr;
  bool any_silent = false;
  for (Connection& connection : connections_) {
    if (connection.cut) continue;
    const std::uint64_t received = connection.unfinished.received(), fresh = connection.unfinished.fresh();
    if (fresh > most) most = fresh, sender = &connection;
    if (connection.asked || received < kGreeting || now - connection.since < kFirstMessage) continue;
    any_silent = true;
    cut(connection, absl::StrCat("sent ", received, " bytes and no message"));
  }
  if (crowding != Crowding::kOverfull) return;
  // The first look is what the next one is compared with.
  if (any_silent || !was_crowded || most < kLeastToCut || now - last_cut_ < kCutInterval) return;
  last_cut_ = now;
  cut(*sender, absl::StrCat("sent ", most, " bytes"));
}

void Acceptor::cut_longest(std::vector<Holder> holders, std::uint64_t most, const char* what) {
  std::uint64_t sum = 0;
  for (const Holder& holder : holders) sum += holder.bytes;
  if (sum <= most) return;
  absl::flat_hash_map<std::string, double> addresses;  // byte seconds of all connections from there
  for (const Holder& holder : holders) addresses[address_of(holder.connection->name)] += holder.byte_seconds;
  std::sort(holders.begin(), holders.end(), [&](const Holder& a, const Holder& b) {
    const double of_a = addresses[address_of(a.connection->name)], of_b = addresses[address_of(b.connection->name)];
    return std::pair(of_a, a.byte_seconds) > std::pair(of_b, b.byte_seconds);
  });
  for (const Holder& holder : holders) {
    if (sum <= most) return;
    cut(*holder.connection,
        absl::StrCat("has ", holder.bytes, " bytes of ", what, ", all together ", sum, "; ", most, " may be"));
    sum -= holder.bytes;
  }
}

void Acceptor::cut(Connection& connection, const std::string& reason) {
  if (std::exchange(connection.cut, true)) return;
  // A connection that another thread has closed a moment ago may have left its descriptor to another.
  struct stat status {};
  if (fstat(connection.descriptor, &status) != 0 || status.st_ino != connection.inode) return;
  shutdown(connection.descriptor, SHUT_RDWR);
  // What lies in the kernel's buffer would still be read and answered; megabytes of it are a hundred thousand calls.
  throw_away(connection.descriptor);
  events_.cut(absl::StrCat(connection.name, " ", reason));
}

}  // namespace axion::server::net
