// axiond: the simulation server. Wiring only: flags, engine, server, signals, exit code.
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "spdlog/spdlog.h"

#include "engine/engine.hpp"

#include "server/config.hpp"
#include "server/net/memory_share.hpp"
#include "server/observe/logging.hpp"
#include "server/rpc/library_logs.hpp"
#include "server/server.hpp"
#include "server/stop_signals.hpp"

namespace {

using axion::server::observe::log_text;

// Of sysexits.h: "temporary failure", an invitation to start the program again.
constexpr int kExitAgain = 75;
// What the log may take to be written at the end.
constexpr absl::Duration kLogTime = absl::Seconds(1);

std::string version_text() {
  const auto build = axion::server::build_info();
  return absl::StrCat("axiond ", build.version, " revision ", build.revision, " backends ",
                      absl::StrJoin(build.backends, ","), "\n");
}

// Returns what is left of the command line besides flags.
std::vector<char*> parse_flags(int argc, char** argv) {
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) { return absl::StrContains(file, "server/"); };
  usage.contains_helpshort_flags = usage.contains_help_flags;
  usage.normalize_filename = [](absl::string_view file) {
    return std::string(file.substr(std::min(file.rfind("server/"), file.size())));
  };
  usage.version_string = version_text;
  absl::SetFlagsUsageConfig(usage);
  absl::SetProgramUsageMessage("serves rigid body simulation over gRPC; see README.md");
  const std::vector<char*> all = absl::ParseCommandLine(argc, argv);
  return {all.begin() + 1, all.end()};
}

int fail(const std::string& message) {
  axion::server::observe::flush_logs(kLogTime);
  std::fprintf(stderr, "axiond: %s\n", message.c_str());
  return EXIT_FAILURE;
}

// Answers are megabytes and alike: memory that one gave back serves the next, without the kernel clearing its pages
// anew. Beyond this much at the top of the heap it goes back to the machine: less where there is little.
void keep_memory(std::int64_t limit) {
#ifdef __GLIBC__
  const bool little = limit < std::int64_t{4} << 30;
  mallopt(M_MMAP_THRESHOLD, little ? 4 << 20 : 32 << 20);
  mallopt(M_TRIM_THRESHOLD, little ? 8 << 20 : 256 << 20);
  if (little) mallopt(M_ARENA_MAX, 2);  // each keeps some
#else
  (void)limit;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<char*> rest = parse_flags(argc, argv);
  if (!rest.empty()) return fail(absl::StrCat("takes flags only; \"", rest.front(), "\" is none"));
  // Debian builds Abseil with its search for deadlocks, which takes a lock of its own at every lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // A reader of our log or of an answer that went away is an error of that write, not the end of the program; so is a
  // file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  auto& signals = *new axion::server::StopSignals;  // before any other thread is there
  const auto config = axion::server::config_from_flags();
  if (!config.ok()) return fail(std::string(config.status().message()));
  keep_memory(axion::server::memory_limit_of(*config));
  if (const auto status = axion::server::observe::set_up_logging(config->log_level, config->log_format); !status.ok()) {
    return fail(std::string(status.message()));
  }
  axion::server::rpc::take_library_logs();

  const int threads = axion::server::threads_of(*config);
  const int machine = axion::available_processors();
  if (config->threads == 0 && threads < machine) {
    spdlog::info("event=processor_quota threads={} machine={} reason={}", threads, machine,
                 log_text("the control group may use no more"));
  }
  std::string note;
  auto engine = axion::create_engine({.device = config->device, .threads = threads, .memory_limit_bytes = 0}, &note);
  if (!engine.ok()) return fail(absl::StrCat("--device=", config->device, ": ", engine.error().message));
  const axion::DeviceInfo device = engine.value()->device();
  spdlog::info("event=device id={} name={} threads={} memory_bytes={} note={}", device.id, log_text(device.name),
               device.threads, device.memory_total_bytes, log_text(note));

  absl::Notification gave_up;
  auto server = axion::server::Server::start(*config, std::move(engine).value(), [&gave_up, &signals] {
    gave_up.Notify();
    signals.ask(SIGTERM);
  });
  if (!server.ok()) return fail(std::string(server.status().message()));
  const auto build = axion::server::build_info();
  signals.defer();
  spdlog::info("event=serving listen={} metrics={} version={} revision={}", (*server)->address(),
               (*server)->metrics_address(), build.version, build.revision);

  const int signal = signals.wait();
  spdlog::info("event=drain signal={} limit_s={}", signal, absl::ToDoubleSeconds(config->drain_timeout));
  const bool in_time = (*server)->drain(config->drain_timeout);
  const int code = gave_up.HasBeenNotified() ? kExitAgain : EXIT_SUCCESS;
  spdlog::info("event=stopped drained={} code={}", in_time, code);
  axion::server::observe::flush_logs(kLogTime);
  if ((*server)->compiles_on()) std::_Exit(code);  // all that was acknowledged is done
  return code;
}
