#include "clients/cli/commands.hpp"

namespace axion::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"info", "", "version, devices, limits and counts of the server", {}, run_info},
      {"models", "[models/ID]", "the models on the server, or one in detail", {}, run_models},
      {"batches", "[batches/ID]", "the batches on the server, or one in detail", {}, run_batches},
      {"create",
       "FILE.xml|models/ID",
       "make a model of an MJCF file, and a batch of worlds of it",
       {"worlds", "dt", "preset", "precision", "tolerance", "options", "seed", "noise", "idle_ttl", "assets",
        "allow_unsupported", "shape_overrides", "joint_overrides"},
       run_create},
      {"delete", "models/ID|batches/ID ...", "delete batches and models", {}, run_delete},
      {"step",
       "batches/ID",
       "step all worlds of a batch once or several times",
       {"steps", "control", "hold", "outputs", "show"},
       run_step},
      {"run",
       "batches/ID|models/ID|FILE.xml",
       "step for some simulated seconds with a progress bar, and record",
       {"seconds",
        "every",
        "control",
        "hold",
        "keyframe",
        "trace",
        "trace_worlds",
        "csv",
        "png",
        "worlds",
        "dt",
        "preset",
        "precision",
        "tolerance",
        "options",
        "seed",
        "noise",
        "assets",
        "allow_unsupported",
        "shape_overrides",
        "joint_overrides"},
       run_run},
      {"state", "batches/ID", "print the state of worlds", {"fields", "show"}, run_state},
      {"stats", "batches/ID", "what the solver did", {"per_world", "show"}, run_stats},
      {"watch", "[batches/ID]", "rates of one batch or all, line by line", {"interval", "count"}, run_watch},
      {"bench",
       "batches/ID|models/ID|FILE.xml",
       "measure latency and throughput of the calls",
       {"calls", "steps", "in_flight", "outputs", "hold", "worlds", "dt", "preset", "precision", "options"},
       run_bench},
  };
  return table;
}

}  // namespace axion::cli
