// The commands of the `axion` tool and what their help says.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cpp/client.hpp"

namespace axion::cli {

// What a command gets. Words are the arguments that are not flags, without the command.
struct Invocation {
  client::Client client;
  std::vector<std::string> words;
  bool json = false;
};

using CommandFunction = absl::Status (*)(const Invocation&);

struct Command {
  const char* name;
  const char* arguments;           // for the synopsis, for example "BATCH"
  const char* summary;             // one line
  std::vector<const char*> flags;  // that it reads besides every command's
  CommandFunction function;
};

// In the order in which help lists them.
const std::vector<Command>& commands();

// Flags of every command.
const std::vector<const char*>& common_flags();

absl::Status run_info(const Invocation& invocation);
absl::Status run_models(const Invocation& invocation);
absl::Status run_batches(const Invocation& invocation);
absl::Status run_create(const Invocation& invocation);
absl::Status run_delete(const Invocation& invocation);
absl::Status run_step(const Invocation& invocation);
absl::Status run_run(const Invocation& invocation);
absl::Status run_state(const Invocation& invocation);
absl::Status run_stats(const Invocation& invocation);
absl::Status run_watch(const Invocation& invocation);
absl::Status run_top(const Invocation& invocation);
absl::Status run_drain(const Invocation& invocation);
absl::Status run_snapshot(const Invocation& invocation);
absl::Status run_token(const Invocation& invocation);
absl::Status run_bench(const Invocation& invocation);
absl::Status run_reset(const Invocation& invocation);
absl::Status run_contacts(const Invocation& invocation);
absl::Status run_viewing(const Invocation& invocation);
absl::Status run_completion(const Invocation& invocation);

}  // namespace axion::cli
