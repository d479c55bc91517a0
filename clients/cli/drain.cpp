// axion drain: ends a server of this machine as its service manager would, and waits until it has saved all.
//
// There is no call for it: a caller who may not send the process a signal must not end the server.
#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"

namespace axion::cli {
namespace {

// Of the loopback device; none for an address elsewhere.
std::optional<int> local_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const bool is_bare = colon == std::string::npos;
  const std::string host = is_bare ? address : address.substr(0, colon);
  int port = client::kDefaultPort;
  if (!is_bare && !absl::SimpleAtoi(address.substr(colon + 1), &port)) {
    return std::nullopt;
  }
  const bool local = host == "localhost" || host == "[::1]" || host.starts_with("127.");
  return local ? std::optional(port) : std::nullopt;
}

// Numbers of the sockets that listen at a port, as /proc/net/tcp of proc(5) has them.
std::set<std::string> listening_sockets(int port) {
  constexpr absl::string_view kListens = "0A";
  std::set<std::string> sockets;
  const std::string end = absl::StrFormat(":%04X", port);
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() > 9 && words[1].ends_with(end) && words[3] == kListens) {
        sockets.insert("socket:[" + words[9] + "]");
      }
    }
  }
  return sockets;
}

template <typename F>
void for_each_name(const std::string& folder, F&& f) {
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) {
    return;
  }
  while (const dirent* entry = readdir(open)) {
    f(std::string(entry->d_name));
  }
  closedir(open);
}

// The axiond that has one of these sockets; none if there is none whose files this user may look at.
std::optional<pid_t> owner_of(const std::set<std::string>& sockets) {
  std::optional<pid_t> owner;
  for_each_name("/proc", [&](const std::string& name) {
    pid_t process = 0;
    if (owner || !absl::SimpleAtoi(name, &process)) {
      return;
    }
    std::ifstream comm(absl::StrCat("/proc/", name, "/comm"));
    std::string program;
    if (!std::getline(comm, program) || program != "axiond") {
      return;
    }
    const std::string folder = absl::StrCat("/proc/", name, "/fd/");
    for_each_name(folder, [&](const std::string& number) {
      char target[64] = {};
      const ssize_t length = readlink((folder + number).c_str(), target, sizeof(target) - 1);
      if (length > 0 && sockets.contains(std::string(target, static_cast<std::size_t>(length)))) {
        owner = process;
      }
    });
  });
  return owner;
}

// Also for one that has ended and whose parent has not asked for it yet.
bool has_ended(pid_t process) {
  if (kill(process, 0) != 0 && errno == ESRCH) {
    return true;
  }
  std::ifstream in(absl::StrCat("/proc/", process, "/stat"));
  std::string stat;
  std::getline(in, stat);
  const std::size_t close = stat.rfind(')');
  return close != std::string::npos && close + 2 < stat.size() && stat[close + 2] == 'Z';
}

}  // namespace

absl::Status run_drain(const Invocation& invocation) {
  const std::string address = absl::GetFlag(FLAGS_server);
  if (!invocation.words.empty()) {
    return usage_error("drain takes no words; --server names the server");
  }
  const std::optional<int> port = local_port(address);
  if (!port) {
    return usage_error(absl::StrCat("drain ends servers of this machine; ", address,
                                    " is elsewhere: run it there, or have its service manager stop it"));
  }
  const std::set<std::string> sockets = listening_sockets(*port);
  if (sockets.empty()) {
    return file_error(absl::StrCat("nothing listens at port ", *port, " of this machine"));
  }
  const std::optional<pid_t> process = owner_of(sockets);
  if (!process) {
    return file_error(absl::StrCat("what listens at port ", *port,
                                   " is no axiond of this user: run it as the server's user or as root, or have the "
                                   "service manager stop it (systemctl stop axiond)"));
  }
  const absl::Time start = absl::Now();
  if (kill(*process, SIGTERM) != 0) {
    return file_error(absl::StrCat("cannot end process ", *process, ": ", std::strerror(errno)));
  }
  const absl::Time end = start + absl::GetFlag(FLAGS_wait);
  while (!has_ended(*process)) {
    if (absl::Now() >= end) {
      return file_error(absl::StrCat("process ", *process, " drains on, ",
                                     absl::FormatDuration(absl::GetFlag(FLAGS_wait)), " after it was asked to end"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (invocation.json) {
    print_json({{"process", *process}, {"seconds", seconds}});
  } else {
    absl::PrintF("the server at %s, process %d, has ended after %.1f s\n", address, *process, seconds);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
