#include "clients/cli/commands.hpp"

namespace axion::cli {
namespace {

using Flags = std::vector<const char*>;

// Of commands that make worlds of a file.
const Flags kNewBatch{
    "worlds", "dt",          "preset", "precision",    "tolerance",         "options",         "seed",
    "noise",  "idle_ttl",    "assets", "file_folders", "allow_unsupported", "shape_overrides", "joint_overrides",
    "base",   "base_height", "motors", "ground",       "self_collision",    "keep_overlaps",   "massless"};

Flags joined(Flags first, const Flags& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"info", "", "version, devices, limits and counts of the server", {}, run_info},
      {"models", "[models/ID]", "the models on the server, or one in detail", {}, run_models},
      {"batches", "[batches/ID]", "the batches on the server, or one in detail", {}, run_batches},
      {"create", "FILE|models/ID", "make a model of an MJCF or URDF file, and a batch of worlds of it", kNewBatch,
       run_create},
      {"delete", "models/ID|batches/ID ...", "delete batches and models", {}, run_delete},
      {"step",
       "batches/ID",
       "step all worlds of a batch once or several times",
       {"steps", "control", "hold", "outputs", "show"},
       run_step},
      {"run", "batches/ID|models/ID|FILE", "step for some simulated seconds with a progress bar, and record",
       joined({"seconds", "every", "control", "hold", "keyframe", "trace", "trace_worlds", "csv"}, kNewBatch), run_run},
      {"state", "batches/ID", "print the state of worlds", {"fields", "show"}, run_state},
      {"reset", "batches/ID", "start worlds again", {"keyframe", "only"}, run_reset},
      {"contacts", "batches/ID", "what worlds touch, where and how hard", {"show"}, run_contacts},
      {"stats", "batches/ID", "what the solver did", {"per_world", "show"}, run_stats},
      {"watch", "[batches/ID]", "rates of one batch or all, line by line", {"interval", "count"}, run_watch},
      {"top", "", "a table of all batches and their rates, again and again", {"interval", "count"}, run_top},
      {"drain",
       "",
       "end the server of this machine that --server names: it finishes what runs, then saves all; waits until it has",
       {"wait"},
       run_drain},
      {"bench", "batches/ID|models/ID|FILE", "measure latency and throughput of the calls",
       joined({"calls", "steps", "in_flight", "outputs", "control", "hold"}, kNewBatch), run_bench},
      {"snapshot",
       "save|restore|list|delete ...",
       "keep batches: save batches/ID, restore snapshots/ID|FILE [batches/ID], list, delete snapshots/ID ...",
       {"name", "out", "keep"},
       run_snapshot},
      {"view",
       "batches/ID|models/ID|FILE",
       "show worlds in a browser, by the Python package; axion view --help lists its flags",
       {},
       run_viewing},
      {"render",
       "batches/ID|models/ID|FILE",
       "write a picture or a movie of worlds, likewise; axion render --help",
       {},
       run_viewing},
      {"replay",
       "RUN.mcap",
       "an instant of a world of a recorded run again, with its bits; axion replay --help",
       {},
       run_viewing},
      {"train",
       "example|TASK",
       "teach a quadruped to walk after commands, or solve a task: policies, curve, pictures; axion train --help",
       {},
       run_viewing},
      {"play", "POLICY.npz", "what a trained policy does: speeds, pictures, movie; axion play --help", {}, run_viewing},
      {"completion",
       "bash|zsh|fish|flags COMMAND",
       "a script that completes command lines: source <(axion completion bash); or the flags of a command",
       {},
       run_completion},
      {"token", "new", "make a token of a tenant and its line for the server's --token_file", {"tenant"}, run_token},
  };
  return table;
}

const std::vector<const char*>& common_flags() {
  static const std::vector<const char*> names = {"server", "json",     "timeout", "token",           "tls",
                                                 "tls_ca", "tls_cert", "tls_key", "tls_server_name", "insecure_token"};
  return names;
}

}  // namespace axion::cli
