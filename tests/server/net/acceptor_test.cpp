// Who is cut: for calls taken back, for memory that no request asks for, for the sake of clients from elsewhere.
#include "server/net/acceptor.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

#include "server/net/connection_name.hpp"
#include "server/net/unfinished.hpp"
#include "server/net/unread.hpp"

namespace axion::server::net {
namespace {

int connect_to(int port, std::uint32_t from = INADDR_LOOPBACK) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(from);
  EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&source), sizeof source), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return descriptor;
}

template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(10));
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
    events.crowding = [this] { return crowding_.load(); };
    events.calls = [this] {
      ++looks_;
      absl::SleepFor(absl::Milliseconds(late_milliseconds_.load()));
      return tally_.take();
    };
    events.waiting = [this] { return tally_.waiting(); };
    events.messages = [this] { return tally_.take_messages(); };
    events.cut = [this](const std::string& reason) {
      std::lock_guard<std::mutex> lock(mutex_);
      reasons_.push_back(reason);
    };
    acceptor_ = std::make_unique<Acceptor>(std::move(listener_),
                                           AcceptorOptions{.max_connections = 60,
                                                           .max_open_calls = 4900,
                                                           .max_open_calls_of_one = 2000,
                                                           .max_unread_bytes = 1000,
                                                           .max_unfinished_bytes = 900'000},
                                           std::move(events));
    talker_ = connect_to(port_), quiet_ = connect_to(port_);
    EXPECT_TRUE(eventually([this] { return taken() == 2; }));
    talker_name_ = name_of(talker_), quiet_name_ = name_of(quiet_);
  }
  ~Cutting() override {
    acceptor_->stop();
    for (const int descriptor : taken_) close(descriptor);
    close(talker_), close(quiet_);
  }
  std::size_t taken() {
    std::lock_guard<std::mutex> lock(mutex_);
    return taken_.size();
  }
  std::vector<std::string> reasons() {
    std::lock_guard<std::mutex> lock(mutex_);
    return reasons_;
  }
  // As the server names the connection of a client.
  static std::string name_of(int client) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(client, reinterpret_cast<sockaddr*>(&address), &size);
    return "ipv4:127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  static void say(int client, std::size_t bytes) {
    const std::vector<char> words(bytes);
    ASSERT_EQ(send(client, words.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }
  // Sends any number of bytes: a thread of the test reads them.
  void say_all(int client, std::size_t bytes) {
    for (std::size_t said = 0; said < bytes;) {
      const std::size_t part = std::min<std::size_t>(bytes - said, 32 << 10);
      say(client, part);
      said += part;
      std::lock_guard<std::mutex> lock(mutex_);
      std::vector<char> heard(part);
      for (const int descriptor : taken_) {
        while (recv(descriptor, heard.data(), heard.size(), MSG_DONTWAIT) > 0) {
        }
      }
    }
  }
  void wait_for_looks(int count) {
    const int begin = looks_;
    ASSERT_TRUE(eventually([&] { return looks_ >= begin + count; }));
  }

  Listener listener_;
  int port_;
  std::mutex mutex_;
  std::vector<int> taken_;
  std::vector<std::string> reasons_;
  std::atomic<Crowding> crowding_{Crowding::kNone};
  std::atomic<int> looks_{0};
  std::atomic<int> late_milliseconds_{0};  // that the acceptor gets no processor for after each look
  CallTally tally_;
  std::unique_ptr<Acceptor> acceptor_;
  int talker_ = -1, quiet_ = -1;
  std::string talker_name_, quiet_name_;
};

TEST_F(Cutting, a_client_that_sends_the_most_while_there_is_too_much_is_cut_and_no_other) {
  tally_.on_message(talker_name_), tally_.on_message(quiet_name_);
  say(talker_, 24 << 10);
  wait_for_looks(3);
  crowding_ = Crowding::kCrowded;
  wait_for_looks(3);
  say(talker_, 24 << 10);
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "there is not too much";
  crowding_ = Crowding::kOverfull;
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "no client has sent anything since";
  say(quiet_, 100);
  say(talker_, 24 << 10);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  wait_for_looks(3);
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " sent "), std::string::npos) << reasons().front();
  EXPECT_FALSE(is_cut(quiet_));
}

TEST_F(Cutting, a_client_that_sends_no_message_is_cut_while_memory_gets_scarce) {
  say(talker_, 4 << 10);
  tally_.on_message(quiet_name_);
  say(quiet_, 4 << 10);
  const int idle = connect_to(port_);
  absl::SleepFor(absl::Seconds(1));
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "there is no lack";
  crowding_ = Crowding::kCrowded;
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  wait_for_looks(3);
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " sent 4096 bytes and no message"), std::string::npos);
  EXPECT_FALSE(is_cut(quiet_)) << "it has sent one";
  EXPECT_FALSE(is_cut(idle)) << "it has sent nothing at all";
  close(idle);
}

TEST_F(Cutting, a_client_that_has_had_most_of_a_message_under_way_for_longest_is_cut_while_they_are_too_much) {
  tally_.on_message(talker_name_), tally_.on_message(quiet_name_);
  tally_.on_bytes(talker_name_, 10), tally_.on_bytes(quiet_name_, 10);
  say_all(talker_, 500'000);
  absl::SleepFor(absl::Seconds(2));  // it lies there
  say_all(quiet_, 600'000);
  wait_for_looks(12);
  EXPECT_TRUE(reasons().empty()) << "there is no lack";
  tally_.on_bytes(quiet_name_, 250'000);  // a part of that was one
  crowding_ = Crowding::kCrowded;
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "together they are within what may be";
  say_all(quiet_, 100'000);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  wait_for_looks(3);
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " has "), std::string::npos) << reasons().front();
  EXPECT_NE(reasons().front().find(" bytes of messages under way"), std::string::npos) << reasons().front();
  EXPECT_FALSE(is_cut(quiet_)) << "it has sent more, but a moment ago";
}

TEST(Unfinished, is_what_came_in_less_whole_messages_and_what_is_around_them) {
  absl::Time now = absl::UnixEpoch();
  Unfinished one(now);
  const auto after_a_second = [&](std::uint64_t received, std::uint64_t sent, const MessageCounts& whole) {
    one.update({received, sent}, whole, now += absl::Seconds(1));
  };
  after_a_second(2000, 0, {.count = 3, .bytes = 100});
  EXPECT_EQ(one.bytes(), 0u) << "headers and settings";
  after_a_second(1'002'500, 0, {.count = 1, .bytes = 1'000'000});
  EXPECT_EQ(one.bytes(), 0u) << "a message";
  after_a_second(2'002'500, 0, {});
  EXPECT_NEAR(static_cast<double>(one.bytes()), 1e6, 1e3);
  EXPECT_EQ(one.fresh(), 1'000'000u);
  after_a_second(2'002'500, 0, {});
  EXPECT_NEAR(one.byte_seconds(), 2e6, 1e4);
  after_a_second(2'002'500, 0, {.count = 1, .bytes = 1'000'000});
  EXPECT_EQ(one.bytes(), 0u) << "it came in whole";
  EXPECT_EQ(one.byte_seconds(), 0.0);
  for (std::uint64_t i = 1; i < 1000; ++i) after_a_second(2'002'500 + 26'000 * i, 10'000'000 * i, {});
  EXPECT_EQ(one.byte_seconds(), 0.0) << "windows are updated for what the server sends";
}

TEST_F(Cutting, a_client_that_does_not_take_its_answers_is_cut_while_they_are_too_much) {
  tally_.on_answer(talker_name_, 700), tally_.on_answer(quiet_name_, 200);
  absl::SleepFor(absl::Seconds(13));
  EXPECT_TRUE(reasons().empty()) << "so much may be";
  tally_.on_answer(quiet_name_, 500), tally_.on_answered(quiet_name_, 500), tally_.on_answer(talker_name_, 200);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  wait_for_looks(12);
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " has 900 bytes of answers that it does not take"), std::string::npos)
      << reasons().front();
  EXPECT_FALSE(is_cut(quiet_));
}

TEST(Unread, is_what_waits_for_a_client_that_takes_nothing) {
  absl::Time now = absl::UnixEpoch();
  Unread one;
  const auto after_seconds = [&](int seconds, std::uint64_t sent, std::uint64_t waiting) {
    one.update(sent, waiting, now += absl::Seconds(seconds));
  };
  after_seconds(1, 0, 64'000'000);
  after_seconds(9, 0, 64'000'000);
  EXPECT_EQ(one.bytes(), 0u) << "not for long";
  after_seconds(2, 0, 64'000'000);
  EXPECT_EQ(one.bytes(), 64'000'000u);
  EXPECT_EQ(one.byte_seconds(), 64e6 * 11);
  after_seconds(1, 500'000, 64'000'000);
  EXPECT_EQ(one.bytes(), 64'000'000u) << "at that pace for twenty minutes";
  after_seconds(1, 1'000'000, 63'000'000);
  EXPECT_EQ(one.bytes(), 0u) << "it goes on";
  after_seconds(60, 1'000'000, 0);
  after_seconds(1, 1'000'000, 1000);
  EXPECT_EQ(one.bytes(), 0u) << "another one, from its beginning on";
}

TEST_F(Cutting, a_client_that_takes_back_too_many_calls_is_cut_and_newcomers_from_there_wait) {
  for (int i = 0; i < 500; ++i) tally_.on_taken_back(talker_name_);
  for (int i = 0; i < 100; ++i) tally_.on_taken_back(quiet_name_);
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "as many as a host of clients may, whose deadlines pass";
  say(talker_, 1000);
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 100'000; ++i) tally_.on_taken_back(talker_name_);
  for (int i = 0; i < 100; ++i) tally_.on_taken_back(quiet_name_);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  const int newcomer = connect_to(port_);
  EXPECT_TRUE(eventually([this] { return taken() == 3; }));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(900)) << "a second after the cut";
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " took back "), std::string::npos) << reasons().front();
  EXPECT_FALSE(is_cut(quiet_));
  EXPECT_FALSE(is_cut(newcomer));
  close(newcomer);
}

// As on a machine, or beside work, where no more are taken in.
TEST_F(Cutting, a_client_that_goes_on_taking_back_calls_at_any_pace_is_cut) {
  for (int i = 0; i < 200 && !is_cut(talker_); ++i) {
    for (int k = 0; k < 900; ++k) tally_.on_taken_back(talker_name_);
    tally_.on_taken_back(quiet_name_);
    wait_for_looks(1);
  }
  EXPECT_TRUE(is_cut(talker_));
  EXPECT_FALSE(is_cut(quiet_));
  EXPECT_EQ(reasons().size(), 1u);
}

// 700 a second are within what a server forgets that looks ten times a second, and not one that looks twice.
TEST_F(Cutting, a_client_that_takes_back_more_than_a_starved_server_can_bear_is_cut) {
  late_milliseconds_ = 400;
  for (int i = 0; i < 20 && !is_cut(talker_); ++i) {
    for (int k = 0; k < 350; ++k) tally_.on_taken_back(talker_name_);
    tally_.on_taken_back(quiet_name_);
    wait_for_looks(1);
  }
  EXPECT_TRUE(is_cut(talker_));
  EXPECT_FALSE(is_cut(quiet_));
}

TEST_F(Cutting, calls_that_are_open_beyond_what_one_may_have_were_taken_back) {
  for (int i = 0; i < 2900; ++i) tally_.on_open(talker_name_);
  for (int i = 0; i < 500; ++i) tally_.on_open(quiet_name_);
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "as many as one may take back at once";
  for (int i = 0; i < 1500; ++i) tally_.on_open(talker_name_);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " took back "), std::string::npos) << reasons().front();
  EXPECT_FALSE(is_cut(quiet_));
}

TEST_F(Cutting, many_connections_of_one_address_count_together) {
  std::vector<int> crowd;
  for (int i = 0; i < 50; ++i) crowd.push_back(connect_to(port_));
  EXPECT_TRUE(eventually([this] { return taken() == 52; }));
  for (const int client : crowd) {  // so many that also the part of the last that comes after a look is too much
    const std::string name = name_of(client);
    for (int i = 0; i < 2500; ++i) tally_.on_taken_back(name);
  }
  tally_.on_taken_back(quiet_name_);
  EXPECT_TRUE(eventually([this] { return reasons().size() >= 50; }));
  wait_for_looks(3);
  EXPECT_EQ(reasons().size(), 50u);
  for (const int client : crowd) {
    EXPECT_TRUE(is_cut(client));
    close(client);
  }
  EXPECT_FALSE(is_cut(quiet_));
}

TEST_F(Cutting, a_client_that_has_all_connections_makes_room_for_other_addresses_and_not_for_its_own) {
  constexpr std::uint32_t kElsewhere = INADDR_LOOPBACK + 1;
  std::vector<int> crowd;
  for (int i = 0; i < 58; ++i) {
    crowd.push_back(connect_to(port_));
    ASSERT_TRUE(eventually([&] { return taken() == crowd.size() + 2; }));
  }
  tally_.on_message(name_of(crowd.back()));  // it has work to do; the one before it has said nothing
  wait_for_looks(2);
  const int own = connect_to(port_);
  EXPECT_TRUE(eventually([&] { return is_cut(own); })) << "the limit holds for the address that has the most";
  EXPECT_EQ(taken(), 60u);
  EXPECT_TRUE(reasons().empty());
  const int stranger = connect_to(port_, kElsewhere);
  EXPECT_TRUE(eventually([&] { return taken() == 61; }));
  EXPECT_TRUE(eventually([&] { return is_cut(crowd[56]); }));
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(" makes room for ipv4:127.0.0.2: its address has 60 connections, the most of 60"),
            std::string::npos)
      << reasons().front();
  // While those that were cut are not closed, each newcomer is one too many: a few, and no more.
  std::vector<int> others;
  for (int i = 0; i < 10; ++i) others.push_back(connect_to(port_, kElsewhere));
  EXPECT_TRUE(eventually([&] { return is_cut(others.back()); }));
  EXPECT_EQ(taken(), 68u);
  EXPECT_EQ(reasons().size(), 8u);
  EXPECT_FALSE(is_cut(stranger) || is_cut(talker_) || is_cut(quiet_) || is_cut(crowd.back()));
  crowd.insert(crowd.end(), others.begin(), others.end());
  for (const int client : crowd) close(client);
  close(own), close(stranger);
}

TEST(ConnectionName, is_that_of_the_other_end) {
  for (const auto& [listen, family, text] :
       {std::tuple{"127.0.0.1:0", AF_INET, "ipv4:127.0.0.1"}, std::tuple{"[::1]:0", AF_INET6, "ipv6:%5B::1%5D"}}) {
    auto listener = Listener::open(listen);
    if (!listener.ok()) GTEST_SKIP() << "this machine has no IPv6";
    const int client = socket(family, SOCK_STREAM, 0);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(getsockname(listener->sockets().front(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int port = ntohs(family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                             : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    int accepted = -1;
    EXPECT_TRUE(eventually([&] {
      if (accepted < 0) accepted = accept(listener->sockets().front(), nullptr, nullptr);
      return accepted >= 0;
    }));
    EXPECT_EQ(connection_name(accepted), std::string(text) + ":" + std::to_string(port));
    EXPECT_EQ(address_of(connection_name(accepted)), text);
    close(accepted), close(client);
  }
  EXPECT_EQ(connection_name(0), "") << "no connection";
}

TEST_F(Cutting, a_client_that_has_the_most_calls_open_is_cut_while_they_are_too_many_and_no_other) {
  for (int i = 0; i < 2900; ++i) tally_.on_open(talker_name_);
  for (int i = 0; i < 2000; ++i) tally_.on_open(quiet_name_);
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "so many may be";
  tally_.on_open(quiet_name_), tally_.on_closed(quiet_name_);
  wait_for_looks(3);
  EXPECT_TRUE(reasons().empty()) << "those that ended are none";
  tally_.on_open(quiet_name_);
  EXPECT_TRUE(eventually([this] { return is_cut(talker_); }));
  wait_for_looks(3);  // what it left behind is told still
  ASSERT_EQ(reasons().size(), 1u);
  EXPECT_NE(reasons().front().find(talker_name_ + " has 2900 calls open"), std::string::npos) << reasons().front();
  EXPECT_FALSE(is_cut(quiet_));
}

}  // namespace
}  // namespace axion::server::net
