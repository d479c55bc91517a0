#include "server/net/unfinished.hpp"

#include <linux/tcp.h>  // its tcp_info tells the bytes received, that of <netinet/tcp.h> does not
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace axion::server::net {
namespace {

// Around a message: the headers of its call, and one part in so many of its bytes, which are heads of frames and TLS.
constexpr std::uint64_t kHeaders = 512, kFraming = 32;
// What a client says of its own accord, bytes a second, and of what it is sent one part in so many, in updates of
// windows.
constexpr double kChatter = 640;
constexpr std::uint64_t kUpdates = 256;
constexpr std::uint64_t kFew = 16 << 10;

}  // namespace

Flow flow_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

void Unfinished::update(const Flow& flow, const MessageCounts& whole, absl::Time now) {
  const double passed = std::max(absl::ToDoubleSeconds(now - last_), 0.0);
  fresh_ = flow.received - std::min(flow.received, flow_.received);
  const std::uint64_t sent = flow.sent - std::min(flow.sent, flow_.sent);
  const std::uint64_t accounted_for = whole.bytes + whole.bytes / kFraming + whole.count * kHeaders + sent / kUpdates +
                                      static_cast<std::uint64_t>(kChatter * passed);
  bytes_ += fresh_;
  bytes_ -= std::min(bytes_, accounted_for);
  byte_seconds_ = bytes_ < kFew ? 0 : byte_seconds_ + static_cast<double>(bytes_) * passed;
  flow_ = flow;
  last_ = now;
}

}  // namespace axion::server::net
