#include "server/net/unread.hpp"

#include <algorithm>
#include <cstdint>

namespace axion::server::net {
namespace {

// Within this time a client takes so much, and one part in so many of what waits, or it takes nothing.
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr std::uint64_t kLeast = 16 << 10, kPart = 64;

}  // namespace

void Unread::update(std::uint64_t sent, std::uint64_t waiting, absl::Time now) {
  const bool anew = waiting_ == 0 || sent - std::min(sent, sent_then_) >= std::max(kLeast, waiting / kPart);
  if (anew) {
    sent_then_ = sent, then_ = now, last_ = now;
    byte_seconds_ = 0;
    is_stuck_ = false;
  }
  byte_seconds_ += static_cast<double>(waiting) * absl::ToDoubleSeconds(now - last_);
  waiting_ = waiting;
  is_stuck_ = waiting > 0 && now - then_ >= kPatience;
  last_ = now;
}

}  // namespace axion::server::net
