// axion run: steps for some simulated seconds with a progress bar, records, and writes CSV.
#include <algorithm>
#include <cmath>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/progress.hpp"
#include "clients/cli/target.hpp"
#include "clients/cli/trace.hpp"

namespace axion::cli {
namespace {

struct Plan {
  int record_every = 1;      // steps
  std::int64_t records = 1;  // of the whole run
  int records_per_call = 1;
};

constexpr double kAnswerBytes = 8 << 20;  // a call's records aim at this

absl::StatusOr<Plan> make_plan(const client::Batch& batch, const std::vector<std::string>& fields,
                               std::int64_t max_steps_per_request) {
  const double seconds = absl::GetFlag(FLAGS_seconds);
  const double every = absl::GetFlag(FLAGS_every);
  if (!(seconds > 0) || !(every > 0)) {
    return usage_error(absl::StrCat("--seconds=", seconds, " and --every=", every, " must be positive"));
  }
  Plan plan;
  plan.record_every = std::max(1, static_cast<int>(std::lround(every / batch.dt())));
  plan.records = std::max<std::int64_t>(1, std::llround(seconds / (batch.dt() * plan.record_every)));
  double record_bytes = 1;
  for (const std::string& field : fields) {
    record_bytes += 8.0 * static_cast<double>(batch.field_size(field)) * batch.world_count();
  }
  // About a hundred calls keep the bar moving; fewer records where they are large or the server bounds the steps.
  const double by_bytes = kAnswerBytes / record_bytes;
  const double by_steps = static_cast<double>(std::max<std::int64_t>(max_steps_per_request, 1)) / plan.record_every;
  const double by_bar = std::ceil(static_cast<double>(plan.records) / 100);
  plan.records_per_call = static_cast<int>(std::max(1.0, std::min({by_bytes, by_steps, by_bar})));
  return plan;
}

struct Summary {
  double wall_seconds = 0;
  std::int64_t world_steps = 0;
  std::int64_t calls = 0;
  std::uint32_t outcomes = 0;         // bits seen in any world
  std::int64_t unconverged_rows = 0;  // worlds of calls without CONVERGED
};

absl::Status record(const client::Batch& batch, const std::vector<double>& control, const Plan& plan,
                    const std::vector<std::string>& fields, bool quiet, Trace& trace, Summary& summary) {
  Progress progress("run", quiet);
  const absl::Time start = absl::Now();
  for (std::int64_t done = 0; done < plan.records;) {
    if (is_interrupted()) {
      return interrupted_error();
    }
    const int count = static_cast<int>(std::min<std::int64_t>(plan.records_per_call, plan.records - done));
    const auto result = batch.step({.control = control,
                                    .step_count = count * plan.record_every,
                                    .outputs = fields,
                                    .record_every = plan.record_every});
    if (!result.ok()) {
      return result.status();
    }
    std::vector<double> times;
    times.reserve(count);
    for (int i = 0; i < count; ++i) {
      times.push_back(result->time()[0] - batch.dt() * plan.record_every * (count - 1 - i));
    }
    std::vector<const v1::Tensor*> tensors;
    for (const Channel& channel : trace.channels()) {
      tensors.push_back(result->tensor(channel.field));
      if (tensors.back() == nullptr) {
        return absl::InternalError(absl::StrCat("the server did not answer ", channel.field));
      }
    }
    if (const auto status = trace.append(times, tensors); !status.ok()) {
      return status;
    }
    for (const std::uint32_t outcome : result->outcome()) {
      summary.outcomes |= outcome;
    }
    summary.unconverged_rows += batch.world_count() - result->worlds_with(v1::OUTCOME_CONVERGED);
    summary.world_steps += std::int64_t{count} * plan.record_every * batch.world_count();
    ++summary.calls;
    done += count;
    summary.wall_seconds = absl::ToDoubleSeconds(absl::Now() - start);
    progress.show(static_cast<double>(done) / static_cast<double>(plan.records),
                  absl::StrFormat("%.2f s, %.0f world-steps/s", result->time()[0],
                                  static_cast<double>(summary.world_steps) / summary.wall_seconds));
  }
  return absl::OkStatus();
}

void print_summary(const Summary& summary, const client::Batch& batch, bool json) {
  const double rate = static_cast<double>(summary.world_steps) / std::max(summary.wall_seconds, 1e-9);
  if (json) {
    print_json({{"batch", batch.name()},
                {"worlds", batch.world_count()},
                {"world_steps", summary.world_steps},
                {"wall_seconds", summary.wall_seconds},
                {"world_steps_per_second", rate},
                {"outcomes", summary.outcomes},
                {"unconverged_world_calls", summary.unconverged_rows},
                {"csv", absl::GetFlag(FLAGS_csv)}});
    return;
  }
  absl::PrintF("%d world-steps of %d worlds in %.2f s: %.0f world-steps/s, %.2f x real time\n", summary.world_steps,
               batch.world_count(), summary.wall_seconds, rate, rate * batch.dt());
  absl::PrintF("outcomes %s; worlds with a step above tolerance, summed over %d calls: %d\n",
               outcome_text(summary.outcomes), summary.calls, summary.unconverged_rows);
  if (const std::string path = absl::GetFlag(FLAGS_csv); !path.empty()) {
    absl::PrintF("wrote %s\n", path);
  }
}

absl::StatusOr<std::vector<Channel>> channels_of_flags(const client::Batch& batch) {
  std::vector<Channel> channels;
  for (const std::string& word : absl::GetFlag(FLAGS_trace)) {
    auto channel = parse_channel(word);
    if (!channel.ok()) {
      return channel.status();
    }
    if (batch.field_size(channel->field) == 0) {
      std::vector<std::string> names;
      for (const v1::FieldInfo& field : batch.info().fields()) {
        names.push_back(field.name());
      }
      return usage_error(absl::StrCat("--trace=", word, ": the batch has no numbers of '", channel->field,
                                      "'; there are ", absl::StrJoin(names, ", ")));
    }
    if (channel->index >= batch.field_size(channel->field)) {
      return usage_error(absl::StrCat("--trace=", word, ": the field ", channel->field, " has ",
                                      batch.field_size(channel->field), " numbers a world"));
    }
    channels.push_back(*std::move(channel));
  }
  return channels;
}

}  // namespace

absl::Status run_run(const Invocation& invocation) {
  if (invocation.words.size() != 1) {
    return usage_error("run takes one batches/ID, models/ID, or MJCF or URDF file");
  }
  const std::string csv = absl::GetFlag(FLAGS_csv);
  if (const auto status = check_writable(csv); !status.ok()) {
    return status;  // before minutes of stepping whose records would be lost
  }
  auto batch = open_batch(invocation.client, invocation.words.front());
  if (!batch.ok()) {
    return batch.status();
  }
  auto control = control_of_flags(invocation.client, *batch);
  if (!control.ok()) {
    return control.status();
  }
  if (const std::string keyframe = absl::GetFlag(FLAGS_keyframe); !keyframe.empty()) {
    if (const auto status = batch->reset({}, keyframe); !status.ok()) {
      return status;
    }
  }
  auto channels = channels_of_flags(*batch);
  if (!channels.ok()) {
    return channels.status();
  }
  std::vector<std::string> fields;
  for (const Channel& channel : *channels) {
    if (std::find(fields.begin(), fields.end(), channel.field) == fields.end()) {
      fields.push_back(channel.field);
    }
  }
  const auto info = invocation.client.server_info();
  if (!info.ok()) {
    return info.status();
  }
  const auto plan = make_plan(*batch, fields, info->limits().max_steps_per_request());
  if (!plan.ok()) {
    return plan.status();
  }
  Trace trace(*std::move(channels), std::clamp(absl::GetFlag(FLAGS_trace_worlds), 1, batch->world_count()));
  Summary summary;
  heed_interrupts();
  const auto ended = record(*batch, *control, *plan, fields, invocation.json, trace, summary);
  if (!ended.ok() && summary.calls == 0) {
    return ended;
  }
  // What was recorded until Ctrl-C, or until the server was lost, is written all the same.
  if (const auto status = csv.empty() ? absl::OkStatus() : trace.write_csv(csv); !status.ok()) {
    return ended.ok() ? status : ended;
  }
  print_summary(summary, *batch, invocation.json);
  return ended;
}

}  // namespace axion::cli
