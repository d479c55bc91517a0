// Who is cut while the process holds memory that no request asks for, and how that memory is told.
#include "server/net/acceptor.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

#include "server/net/memory_share.hpp"

namespace axion::server::net {
namespace {

int connect_to(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return descriptor;
}

template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(10));
  return condition();
}

// Whether the other end has closed the connection: end of file, and not only nothing to read.
bool is_cut(int descriptor) {
  char byte;
  return recv(descriptor, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

class Cutting : public ::testing::Test {
 protected:
  Cutting() : listener_(*Listener::open("127.0.0.1:0")), port_(listener_.port()) {
    AcceptorEvents events;
    events.take = [this](int descriptor) {
      std::lock_guard<std::mutex> lock(mutex_);
      taken_.push_back(descriptor);
    };
    events.count = [](std::size_t, std::size_t) {};
    events.stalled = [](const std::string&) {};
    events.recovered = [] {};
    events.gave_up = [] {};
    events.overfull = [this] {
      ++looks_;
      return overfull_.load();
    };
    events.cut = [this](std::size_t bytes) { cut_bytes_ = bytes, ++cuts_; };
    acceptor_ = std::make_unique<Acceptor>(std::move(listener_), AcceptorOptions{}, std::move(events));
    talker_ = connect_to(port_), quiet_ = connect_to(port_);
    EXPECT_TRUE(eventually([this] {
      std::lock_guard<std::mutex> lock(mutex_);
      return taken_.size() == 2;
    }));
  }
  ~Cutting() override {
    acceptor_->stop();
    for (const int descriptor : taken_) close(descriptor);
    close(talker_), close(quiet_);
  }
  void wait_for_looks(int count) {
    const int begin = looks_;
    ASSERT_TRUE(eventually([&] { return looks_ >= begin + count; }));
  }

  Listener listener_;
  int port_;
  std::mutex mutex_;
  std::vector<int> taken_;
  std::atomic<bool> overfull_{false};
  std::atomic<int> looks_{0}, cuts_{0};
  std::atomic<std::size_t> cut_bytes_{0};
  std::unique_ptr<Acceptor> acceptor_;
  int talker_ = -1, quiet_ = -1;
};

TEST_F(Cutting, whoever_sends_the_most_while_there_is_too_much_is_cut_and_nobody_else) {
  const std::vector<char> much(64 << 10), little(100);
  ASSERT_EQ(send(talker_, much.data(), much.size(), 0), static_cast<ssize_t>(much.size()));
  wait_for_looks(3);
  EXPECT_EQ(cuts_, 0) << "there is not too much";
  overfull_ = true;
  wait_for_looks(3);
  EXPECT_EQ(cuts_, 0) << "nobody has sent anything since";
  ASSERT_EQ(send(quiet_, little.data(), little.size(), 0), static_cast<ssize_t>(little.size()));
  ASSERT_EQ(send(talker_, much.data(), much.size(), 0), static_cast<ssize_t>(much.size()));
  EXPECT_TRUE(eventually([this] { return cuts_ == 1; }));
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  EXPECT_GE(cut_bytes_, 16u << 10);
  EXPECT_FALSE(is_cut(quiet_));
  wait_for_looks(3);
  EXPECT_EQ(cuts_, 1);
}

TEST(HeapWatch, tells_what_is_allocated_and_in_use) {
  constexpr std::size_t kSize = 256 << 20, kPieces = 1024;
  if (mallinfo2().uordblks == 0) GTEST_SKIP() << "the allocator of sanitizers does not tell what is in use";
  HeapWatch watch;
  const absl::Time now = absl::Now();
  EXPECT_FALSE(watch.exceeds(std::size_t(1) << 40, now));
  std::vector<void*> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::malloc(kSize / kPieces));
    std::memset(pieces.back(), 1, kSize / kPieces);
  }
  EXPECT_TRUE(watch.exceeds(kSize / 2, now));
  for (void* piece : pieces) std::free(piece);
  EXPECT_FALSE(watch.exceeds(kSize / 2, now)) << "what is free again is not in use";
}

}  // namespace
}  // namespace axion::server::net
