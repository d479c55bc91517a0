// One page over HTTP/1.1, for scrapers.
//
// One thread serves all visitors without ever waiting for one: who does not finish its request or does not read its
// answer in time is dropped, and when all places are taken the one that has dawdled longest is. Each answer ends its
// connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "server/net/listener.hpp"

struct pollfd;

namespace axion::server::net {

struct PageOptions {
  std::string path{};  // e.g. "/metrics"
  std::string content_type{};
  std::size_t max_visitors = 64;
  absl::Duration patience = absl::Seconds(10);  // from connecting to the end of the answer
};

class PageServer {
 public:
  // `render` makes the page's content; it is called on the server's thread.
  PageServer(Listener listener, PageOptions options, std::function<std::string()> render);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const { return listener_.port(); }

 private:
  struct Visitor {
    int socket;
    absl::Time deadline;
    std::string request{}, answer{};  // an answer once the request is whole
    std::size_t sent = 0;
  };

  void run();
  // False if it could not for want of a resource.
  bool accept_all();
  // False when the visitor is done with or gone.
  bool serve(Visitor& visitor, bool readable);
  std::string answer_to(const std::string& request) const;
  void drop_one();

  const Listener listener_;
  const PageOptions options_;
  const std::function<std::string()> render_;
  int wake_ = -1;
  std::atomic<bool> stopping_{false};
  std::list<Visitor> visitors_;  // the thread's own, the earliest first
  std::thread thread_;
};

}  // namespace axion::server::net
