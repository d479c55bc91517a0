#include "server/net/page_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace axion::server::net {
namespace {

constexpr std::size_t kMaxRequestBytes = 16 << 10;
constexpr int kRetryMilliseconds = 50;  // while accepting fails
constexpr absl::string_view kEndOfRequest = "\r\n\r\n";

std::string message(absl::string_view status, absl::string_view content_type, absl::string_view body,
                    bool with_body = true) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", content_type, "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n\r\n", with_body ? body : "");
}

std::string refusal(absl::string_view status) { return message(status, "text/plain", absl::StrCat(status, "\n")); }

}  // namespace

PageServer::PageServer(Listener listener, PageOptions options, std::function<std::string()> render)
    : listener_(std::move(listener)),
      options_(std::move(options)),
      render_(std::move(render)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

PageServer::~PageServer() {
  stopping_ = true;
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) errno = 0;  // the thread looks at every deadline in any case
  thread_.join();
  if (wake_ >= 0) close(wake_);
  for (const Visitor& visitor : visitors_) close(visitor.socket);
}

void PageServer::run() {
  bool works = true;
  while (!stopping_) {
    std::vector<pollfd> polled{{wake_, POLLIN, 0}};
    for (const int socket : listener_.sockets()) {
      polled.push_back({socket, static_cast<short>(works ? POLLIN : 0), 0});
    }
    const std::size_t first = polled.size();
    absl::Duration wait = works ? absl::Seconds(1) : absl::Milliseconds(kRetryMilliseconds);
    for (const Visitor& visitor : visitors_) {
      polled.push_back({visitor.socket, static_cast<short>(visitor.answer.empty() ? POLLIN : POLLOUT), 0});
      wait = std::min(wait, visitor.deadline - absl::Now());
    }
    poll(polled.data(), polled.size(),
         static_cast<int>(std::max<std::int64_t>(absl::ToInt64Milliseconds(wait), 0)) + 1);
    const absl::Time now = absl::Now();
    auto visitor = visitors_.begin();
    for (std::size_t i = first; i < polled.size(); ++i) {
      const auto at = visitor++;
      const bool stays =
          now < at->deadline && (polled[i].revents == 0 || serve(*at, (polled[i].revents & POLLIN) != 0));
      if (stays) continue;
      close(at->socket);
      visitors_.erase(at);
    }
    works = accept_all();
  }
}

bool PageServer::accept_all() {
  for (const int socket : listener_.sockets()) {
    // No more than there are places before those who came are looked at.
    for (std::size_t i = 0; i < options_.max_visitors; ++i) {
      const int made = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (made < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return false;
        break;
      }
      if (visitors_.size() >= options_.max_visitors) drop_one();
      visitors_.push_back({.socket = made, .deadline = absl::Now() + options_.patience});
    }
  }
  return true;
}

void PageServer::drop_one() {
  auto at = std::find_if(visitors_.begin(), visitors_.end(), [](const Visitor& v) { return v.answer.empty(); });
  if (at == visitors_.end()) at = visitors_.begin();
  close(at->socket);
  visitors_.erase(at);
}

bool PageServer::serve(Visitor& visitor, bool readable) {
  if (visitor.answer.empty()) {
    if (!readable) return false;  // an error or a hang-up
    std::array<char, 4096> bytes;
    const ssize_t count = recv(visitor.socket, bytes.data(), bytes.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    visitor.request.append(bytes.data(), static_cast<std::size_t>(count));
    if (!absl::StrContains(visitor.request, kEndOfRequest)) {
      if (visitor.request.size() <= kMaxRequestBytes) return true;
      visitor.answer = refusal("431 Request Header Fields Too Large");
    } else {
      visitor.answer = answer_to(visitor.request);
    }
  }
  while (visitor.sent < visitor.answer.size()) {
    const ssize_t count =
        send(visitor.socket, visitor.answer.data() + visitor.sent, visitor.answer.size() - visitor.sent, MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    visitor.sent += static_cast<std::size_t>(count);
  }
  shutdown(visitor.socket, SHUT_WR);
  return false;
}

std::string PageServer::answer_to(const std::string& request) const {
  const absl::string_view line = absl::string_view(request).substr(0, request.find("\r\n"));
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == absl::string_view::npos || last <= first || !absl::StartsWith(line.substr(last + 1), "HTTP/1.")) {
    return refusal("400 Bad Request");
  }
  const absl::string_view method = line.substr(0, first);
  if (method != "GET" && method != "HEAD") return refusal("405 Method Not Allowed");
  const absl::string_view target = line.substr(first + 1, last - first - 1);
  if (target.substr(0, target.find('?')) != options_.path) return refusal("404 Not Found");
  return message("200 OK", options_.content_type, render_(), method == "GET");
}

}  // namespace axion::server::net
