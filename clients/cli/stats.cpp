// axion stats, watch, top: what the solver did and does.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/target.hpp"

namespace axion::cli {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void print_counts(const char* name, const v1::BinnedCounts& counts) {
  absl::PrintF("  %-22s mean %-9.3g median <= %-6s 99 %% <= %s\n", name, mean_of(counts), quantile_text(counts, 0.5),
               quantile_text(counts, 0.99));
}

void print_batch_stats(const v1::BatchSolverStats& stats) {
  absl::PrintF(
      "world-steps %d: converged %.3f %%, max iterations %d, contact overflow %d, non finite %d, fallback %d, eased "
      "%d, "
      "overlap %d\n",
      stats.world_steps(), share(stats.converged(), stats.world_steps()), stats.max_iterations(),
      stats.contact_overflow(), stats.non_finite(), stats.fallback(), stats.eased(), stats.overlap());
  absl::PrintF("ended in joint mode");
  for (const char* mode : {"previous", "current", "linearised", "blended"}) {
    const auto found = stats.joint_modes().find(mode);
    absl::PrintF(" %s %d", mode, found == stats.joint_modes().end() ? 0 : found->second);
  }
  absl::PrintF("\nper world-step\n");
  print_counts("newton iterations", stats.newton_iterations());
  print_counts("linear iterations", stats.linear_iterations());
  print_counts("line search steps", stats.line_search_steps());
  print_counts("sweep rounds", stats.sweep_rounds());
  print_counts("contact sweeps", stats.contact_sweeps());
  print_counts("contacts", stats.contacts());
  absl::PrintF("residual, multiples of the tolerance\n");
  for (const char* block : {"dynamics", "joint", "contact", "friction", "control"}) {
    if (const auto found = stats.residual().find(block); found != stats.residual().end()) {
      print_counts(block, found->second);
    }
  }
  absl::PrintF("greatest penetration %.4g m, greatest joint error %.4g m\n", stats.max_penetration_meters(),
               stats.max_joint_error_meters());
  absl::PrintF("greatest overlap that stayed %.4g m, greatest error of an eased equality %.4g\n",
               stats.max_overlap_meters(), stats.max_equality_error());
}

void print_world_stats(const v1::WorldSolverStats& worlds) {
  absl::PrintF("\nlast step of each world\n%7s %7s %7s %7s %7s %7s %9s %13s %13s  %s\n", "world", "newton", "linear",
               "line s.", "rounds", "sweeps", "contacts", "penetration", "joint error", "outcome");
  for (int i = 0; i < worlds.newton_iterations_size(); ++i) {
    absl::PrintF("%7d %7d %7d %7d %7d %7d %9d %11.3g m %11.3g m  %s\n", worlds.world_indices(i),
                 worlds.newton_iterations(i), worlds.linear_iterations(i), worlds.line_search_steps(i),
                 worlds.sweep_rounds(i), worlds.contact_sweeps(i), worlds.contact_count(i),
                 worlds.max_penetration_meters(i), worlds.max_joint_error_meters(i), outcome_text(worlds.outcome(i)));
  }
}

struct Look {
  absl::Time time;
  v1::BatchSolverStats stats;
};

// What happened between two looks at a batch; means are of its world-steps.
struct Change {
  std::int64_t steps = 0;
  double rate = 0;  // world-steps a second
  double converged_percent = 0, newton_iterations = 0, contacts = 0;
  double max_penetration = 0;  // m
};

Change change_between(const Look& before, const Look& now) {
  Change change;
  change.steps = now.stats.world_steps() - before.stats.world_steps();
  change.rate = static_cast<double>(change.steps) / std::max(absl::ToDoubleSeconds(now.time - before.time), 1e-9);
  change.converged_percent = share(now.stats.converged() - before.stats.converged(), change.steps);
  const auto per_step = [&](const v1::BinnedCounts& after, const v1::BinnedCounts& first) {
    return change.steps > 0 ? (after.sum() - first.sum()) / static_cast<double>(change.steps) : 0.0;
  };
  change.newton_iterations = per_step(now.stats.newton_iterations(), before.stats.newton_iterations());
  change.contacts = per_step(now.stats.contacts(), before.stats.contacts());
  change.max_penetration = now.stats.max_penetration_meters();
  return change;
}

nlohmann::json change_json(const std::string& name, const Look& now, const Change& change) {
  return {{"time", absl::FormatTime(absl::RFC3339_full, now.time, absl::UTCTimeZone())},
          {"batch", name},
          {"world_steps", now.stats.world_steps()},
          {"world_steps_per_second", change.rate},
          {"converged_percent", change.converged_percent},
          {"newton_iterations_mean", change.newton_iterations},
          {"contacts_mean", change.contacts},
          {"max_penetration_meters", change.max_penetration}};
}

// As one line.
void print_change(const std::string& name, const Look& before, const Look& now, bool json) {
  const Change change = change_between(before, now);
  if (json) {
    print_json(change_json(name, now, change));
    return;
  }
  const std::string time = absl::FormatTime("%H:%M:%S", now.time, absl::LocalTimeZone());
  if (change.steps == 0) {  // of no step there is no share that converged
    absl::PrintF("%s  %-24s %10.0f world-steps/s\n", time, name, 0.0);
    std::fflush(stdout);
    return;
  }
  absl::PrintF("%s  %-24s %10.0f world-steps/s  converged %7.3f %%  newton %5.2f  contacts %5.2f  penetration %.3g m\n",
               time, name, change.rate, change.converged_percent, change.newton_iterations, change.contacts,
               change.max_penetration);
  std::fflush(stdout);
}

struct Row {
  v1::Batch batch;
  Look now;
  Change change;
};

// The server's own line, then a row for each batch, the greatest rate first. On a terminal in the place of the table
// before.
void print_table(const std::string& server, const v1::ServerInfo& info, std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.change.rate > b.change.rate; });
  double rate = 0;
  for (const Row& row : rows) {
    rate += row.change.rate;
  }
  if (isatty(STDOUT_FILENO) != 0) {
    absl::PrintF("\033[H\033[2J");
  }
  absl::PrintF("axiond %s at %s  %s  worlds %d of %d  batches %d  models %d of %d  %.0f world-steps/s\n",
               info.version(), server, absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()),
               info.world_count(), info.limits().max_worlds(), info.batch_count(), info.model_count(),
               info.limits().max_models(), rate);
  absl::PrintF("%-26s %8s %14s %11s %8s %9s %12s  %s\n", "batch", "worlds", "world-steps/s", "converged %", "newton",
               "contacts", "penetration", "model");
  for (const Row& row : rows) {
    absl::PrintF("%-26s %8d ", row.batch.name(), row.batch.world_count());
    if (row.change.steps == 0) {
      absl::PrintF("%14s %11s %8s %9s %12s  %s\n", "-", "-", "-", "-", "-", row.batch.model());
    } else {
      absl::PrintF("%14.0f %11.3f %8.2f %9.2f %10.3g m  %s\n", row.change.rate, row.change.converged_percent,
                   row.change.newton_iterations, row.change.contacts, row.change.max_penetration, row.batch.model());
    }
  }
  std::fflush(stdout);
}

// The named batch, or all that the server has now.
absl::StatusOr<std::vector<std::string>> batches_to_watch(const Invocation& invocation) {
  if (!invocation.words.empty()) {
    return std::vector<std::string>{invocation.words.front()};
  }
  const auto batches = invocation.client.list_batches();
  if (!batches.ok()) {
    return batches.status();
  }
  std::vector<std::string> names;
  for (const v1::Batch& batch : *batches) {
    names.push_back(batch.name());
  }
  return names;
}

}  // namespace

absl::Status run_stats(const Invocation& invocation) {
  const auto batch = named_batch(invocation, "stats");
  if (!batch.ok()) {
    return batch.status();
  }
  const bool per_world = absl::GetFlag(FLAGS_per_world);
  const auto stats = batch->solver_stats(!per_world);
  if (!stats.ok()) {
    return stats.status();
  }
  if (invocation.json) {
    nlohmann::json json = message_json(*stats);
    if (per_world) {
      for (const auto& [name, tensor] :
           {std::pair<const char*, const v1::Tensor&>{"residual", stats->worlds().residual()},
            {"residual_normalised", stats->worlds().residual_normalised()}}) {
        json["worlds"][name] = tensor_json(tensor);
      }
    }
    print_json(json);
    return absl::OkStatus();
  }
  print_batch_stats(stats->batch());
  if (per_world) {
    print_world_stats(stats->worlds());
  }
  return absl::OkStatus();
}

absl::Status run_watch(const Invocation& invocation) {
  if (invocation.words.size() > 1) {
    return usage_error("watch takes at most one batches/ID");
  }
  std::map<std::string, Look> looks;
  const int count = absl::GetFlag(FLAGS_count);
  // The first look has nothing to compare with, so `count` lines take one look more.
  for (int round = 0; count == 0 || round <= count; ++round) {
    if (round > 0) {
      absl::SleepFor(absl::GetFlag(FLAGS_interval));
    }
    const auto names = batches_to_watch(invocation);
    if (!names.ok()) {
      return names.status();
    }
    if (names->empty() && !invocation.json) {
      absl::PrintF("%s  no batches\n", absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()));
      std::fflush(stdout);
    }
    for (const std::string& name : *names) {
      const auto batch = invocation.client.get_batch(name);
      const auto stats = batch.ok() ? batch->solver_stats() : batch.status();
      if (!stats.ok()) {
        if (invocation.words.empty() && absl::IsNotFound(stats.status())) {
          looks.erase(name);  // deleted since it was listed
          continue;
        }
        return stats.status();
      }
      const Look now{absl::Now(), stats->batch()};
      if (const auto before = looks.find(name); before != looks.end()) {
        print_change(name, before->second, now, invocation.json);
      }
      looks[name] = now;
    }
  }
  return absl::OkStatus();
}

absl::Status run_top(const Invocation& invocation) {
  if (!invocation.words.empty()) {
    return usage_error("top takes no words: it shows all batches");
  }
  std::map<std::string, Look> looks;
  const int count = absl::GetFlag(FLAGS_count);
  // As for watch, `count` tables take one look more.
  for (int round = 0; count == 0 || round <= count; ++round) {
    if (round > 0) {
      absl::SleepFor(absl::GetFlag(FLAGS_interval));
    }
    const auto info = invocation.client.server_info();
    const auto batches = info.ok() ? invocation.client.list_batches() : info.status();
    if (!batches.ok()) {
      return batches.status();
    }
    std::vector<Row> rows;
    std::map<std::string, Look> seen;
    for (const v1::Batch& listed : *batches) {
      const auto batch = invocation.client.get_batch(listed.name());
      const auto stats = batch.ok() ? batch->solver_stats() : batch.status();
      if (absl::IsNotFound(stats.status())) {
        continue;  // deleted since it was listed
      }
      if (!stats.ok()) {
        return stats.status();
      }
      const Look now{absl::Now(), stats->batch()};
      const auto before = looks.find(listed.name());
      rows.push_back({listed, now, before == looks.end() ? Change{} : change_between(before->second, now)});
      seen.emplace(listed.name(), now);
    }
    looks = std::move(seen);
    if (round == 0) {
      continue;
    }
    if (!invocation.json) {
      print_table(absl::GetFlag(FLAGS_server), *info, rows);
      continue;
    }
    nlohmann::json table = {{"server", message_json(*info)}, {"batches", nlohmann::json::array()}};
    for (const Row& row : rows) {
      nlohmann::json entry = change_json(row.batch.name(), row.now, row.change);
      entry["worlds"] = row.batch.world_count();
      entry["model"] = row.batch.model();
      table["batches"].push_back(entry);
    }
    print_json(table);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
