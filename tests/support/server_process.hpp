// axiond as a child process on a port that it chose, for tests and benchmarks that need the program itself.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace axion::testing {

class ServerProcess {
 public:
  // Starts it on the CPU without metrics, with `flags` besides, and waits until it serves. Throws runtime_error if not.
  ServerProcess(const std::string& program, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {program, "--listen=127.0.0.1:0", "--metrics_listen=", "--device=cpu"});
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe for the server's log");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    log_ = fdopen(ends[0], "r");
    if (error != 0) throw std::runtime_error("cannot start " + program);
    address_ = await("event=serving", "listen=");
  }
  ~ServerProcess() {
    if (!reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::fclose(log_);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  void terminate() const { kill(pid_, SIGTERM); }

  // Reads the log up to a line with `event`; the value after `key` in it.
  std::string await(const std::string& event, const std::string& key) {
    char line[4096];
    while (std::fgets(line, sizeof line, log_) != nullptr) {
      const std::string text(line);
      if (text.find(event) == std::string::npos) continue;
      const std::size_t at = text.find(key) + key.size();
      return text.substr(at, text.find_first_of(" \n", at) - at);
    }
    throw std::runtime_error("the server ended without " + event);
  }

  // Its exit code; -1 if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  std::FILE* log_ = nullptr;
  std::string address_;
  bool reaped_ = false;
};

}  // namespace axion::testing
