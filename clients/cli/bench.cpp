// axion bench: what a call costs (latency) and what a stream carries (throughput), seen from this machine.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/progress.hpp"
#include "clients/cli/target.hpp"

namespace axion::cli {
namespace {

struct Latency {
  double median = 0, p99 = 0, least = 0;  // s
};

// `progress` goes on by a third.
absl::StatusOr<Latency> measure(int calls, const std::function<absl::Status()>& call, double begun,
                                Progress& progress) {
  std::vector<double> seconds;
  for (int i = 0; i < calls; ++i) {
    if (is_interrupted()) {
      return interrupted_error();
    }
    const absl::Time start = absl::Now();
    if (const auto status = call(); !status.ok()) {
      return status;
    }
    seconds.push_back(absl::ToDoubleSeconds(absl::Now() - start));
    progress.show(begun + (i + 1.0) / (3.0 * calls), "single calls");
  }
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double fraction) {
    return seconds[static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(seconds.size()))) - 1];
  };
  return Latency{at(0.5), at(0.99), seconds.front()};
}

struct Throughput {
  double wall_seconds = 0;
  std::int64_t world_steps = 0;
  std::int64_t answer_bytes = 0;
};

absl::StatusOr<Throughput> stream_steps(const client::Batch& batch, const client::StepArguments& arguments, int calls,
                                        int in_flight, Progress& progress) {
  Throughput throughput;
  client::StepStream stream = batch.stream();
  const absl::Time start = absl::Now();
  for (int sent = 0, received = 0; received < calls;) {
    if (is_interrupted()) {
      return interrupted_error();
    }
    if (sent < calls && stream.pending() < in_flight) {
      if (const auto status = stream.send(arguments); !status.ok()) {
        return status;
      }
      ++sent;
      continue;
    }
    const auto result = stream.receive();
    if (!result.ok()) {
      return result.status();
    }
    throughput.answer_bytes += static_cast<std::int64_t>(result->message().ByteSizeLong());
    throughput.world_steps += std::int64_t{arguments.step_count} * batch.world_count();
    ++received;
    progress.show((2.0 + static_cast<double>(received) / calls) / 3.0, "streamed calls");
  }
  throughput.wall_seconds = std::max(absl::ToDoubleSeconds(absl::Now() - start), 1e-9);
  if (const auto status = stream.finish(); !status.ok()) {
    return status;
  }
  return throughput;
}

void print_latency(const char* name, const Latency& latency) {
  absl::PrintF("%-34s median %8.3f ms  99 %% %8.3f ms  least %8.3f ms\n", name, 1e3 * latency.median, 1e3 * latency.p99,
               1e3 * latency.least);
}

nlohmann::json latency_json(const Latency& latency) {
  return {{"median_seconds", latency.median}, {"p99_seconds", latency.p99}, {"least_seconds", latency.least}};
}

}  // namespace

absl::Status run_bench(const Invocation& invocation) {
  const int calls = absl::GetFlag(FLAGS_calls);
  const int in_flight = absl::GetFlag(FLAGS_in_flight);
  if (invocation.words.size() != 1 || calls < 1 || in_flight < 1) {
    return usage_error(
        "bench takes one batches/ID, models/ID, or MJCF or URDF file, and positive --calls and --in_flight");
  }
  auto batch = open_batch(invocation.client, invocation.words.front());
  if (!batch.ok()) {
    return batch.status();
  }
  const auto control = control_of_flags(invocation.client, *batch);
  if (!control.ok()) {
    return control.status();
  }
  heed_interrupts();
  auto progress = std::make_unique<Progress>("bench", invocation.json);
  const auto empty = measure(
      calls, [&] { return invocation.client.server_info().status(); }, 0.0, *progress);
  if (!empty.ok()) {
    return empty.status();
  }
  const auto single = measure(
      calls, [&] { return batch->step({.control = *control}).status(); }, 1.0 / 3.0, *progress);
  if (!single.ok()) {
    return single.status();
  }
  const client::StepArguments arguments{
      .control = *control, .step_count = absl::GetFlag(FLAGS_steps), .outputs = absl::GetFlag(FLAGS_outputs)};
  const auto stream = stream_steps(*batch, arguments, calls, in_flight, *progress);
  progress.reset();  // ends its line
  if (!stream.ok()) {
    return stream.status();
  }
  const double rate = static_cast<double>(stream->world_steps) / stream->wall_seconds;
  if (invocation.json) {
    print_json({{"worlds", batch->world_count()},
                {"calls", calls},
                {"get_server_info", latency_json(*empty)},
                {"step_once", latency_json(*single)},
                {"stream_steps_per_call", arguments.step_count},
                {"stream_in_flight", in_flight},
                {"stream_calls_per_second", calls / stream->wall_seconds},
                {"stream_world_steps_per_second", rate},
                {"stream_answer_bytes", stream->answer_bytes}});
    return absl::OkStatus();
  }
  absl::PrintF("%d calls each, %d worlds on %s\n", calls, batch->world_count(), batch->info().device());
  print_latency("GetServerInfo", *empty);
  print_latency("Step, all worlds once", *single);
  absl::PrintF("StepStream, %d steps, %d in flight    %.0f calls/s  %.0f world-steps/s  %s/s of answers\n",
               arguments.step_count, in_flight, calls / stream->wall_seconds, rate,
               bytes_text(static_cast<std::int64_t>(static_cast<double>(stream->answer_bytes) / stream->wall_seconds)));
  return absl::OkStatus();
}

}  // namespace axion::cli
