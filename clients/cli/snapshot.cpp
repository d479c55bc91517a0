// axion snapshot: whole batches, kept on the server or in files.
#include <fstream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"

namespace axion::cli {
namespace {

void print_snapshot(const v1::Snapshot& snapshot) {
  const absl::Time created = absl::FromUnixSeconds(snapshot.create_time().seconds());
  const std::string steps = snapshot.min_step_index() == snapshot.max_step_index()
                                ? absl::StrCat("step ", snapshot.min_step_index())
                                : absl::StrCat("steps ", snapshot.min_step_index(), " .. ", snapshot.max_step_index());
  absl::PrintF("%-26s %s  %d worlds of %s at %s, %s  %s\n", snapshot.name().empty() ? "(not kept)" : snapshot.name(),
               absl::FormatTime("%Y-%m-%d %H:%M:%S", created, absl::LocalTimeZone()), snapshot.world_count(),
               snapshot.batch(), steps, bytes_text(snapshot.size_bytes()), snapshot.display_name());
}

absl::Status save(const Invocation& invocation, const std::string& name) {
  const std::string path = absl::GetFlag(FLAGS_out);
  const bool keep = absl::GetFlag(FLAGS_keep);
  if (!keep && path.empty()) {
    return usage_error("--nokeep wants --out: else nothing would come of it");
  }
  if (const auto status = check_writable(path); !status.ok()) {
    return status;
  }
  const auto batch = invocation.client.get_batch(name);
  if (!batch.ok()) {
    return batch.status();
  }
  auto snapshot = batch->save_snapshot(absl::GetFlag(FLAGS_name), !path.empty(), !keep);
  if (keep && absl::IsFailedPrecondition(snapshot.status()) &&
      absl::StrContains(snapshot.status().message(), "--state_dir")) {
    return absl::FailedPreconditionError(
        absl::StrCat(snapshot.status().message(), "; with this tool: --nokeep --out=FILE"));
  }
  if (!snapshot.ok()) {
    return snapshot.status();
  }
  if (!path.empty()) {
    std::ofstream file(path, std::ios::binary);
    file.write(snapshot->content().data(), static_cast<std::streamsize>(snapshot->content().size()));
    if (!file.flush()) {
      return file_error(absl::StrCat("cannot write the file '", path, "'"));
    }
    snapshot->clear_content();
  }
  if (invocation.json) {
    print_json(message_json(*snapshot));
  } else {
    print_snapshot(*snapshot);
  }
  return absl::OkStatus();
}

absl::Status restore(const Invocation& invocation) {
  v1::RestoreSnapshotRequest request;
  const std::string& source = invocation.words[1];
  if (absl::StartsWith(source, "snapshots/")) {
    request.set_snapshot(source);
  } else {
    auto content = read_file(source);
    if (!content.ok()) {
      return content.status();
    }
    request.set_content(*std::move(content));
  }
  if (invocation.words.size() == 3) {
    request.set_batch(invocation.words[2]);
  }
  const auto batch = invocation.client.restore_snapshot(request);
  if (!batch.ok()) {
    return batch.status();
  }
  if (invocation.json) {
    print_json(message_json(batch->info()));
  } else {
    absl::PrintF("%s  %d worlds of %s, dt %g s\n", batch->name(), batch->world_count(), batch->info().model(),
                 batch->dt());
  }
  return absl::OkStatus();
}

absl::Status list(const Invocation& invocation) {
  const auto snapshots = invocation.client.list_snapshots();
  if (!snapshots.ok()) {
    return snapshots.status();
  }
  auto all = nlohmann::json::array();
  for (const v1::Snapshot& snapshot : *snapshots) {
    if (invocation.json) {
      all.push_back(message_json(snapshot));
    } else {
      print_snapshot(snapshot);
    }
  }
  if (invocation.json) {
    print_json(all);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status run_snapshot(const Invocation& invocation) {
  const auto& words = invocation.words;
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "save" && words.size() == 2) {
    return save(invocation, words[1]);
  }
  if (verb == "restore" && (words.size() == 2 || words.size() == 3)) {
    return restore(invocation);
  }
  if (verb == "list" && words.size() == 1) {
    return list(invocation);
  }
  if (verb == "delete" && words.size() > 1) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (const auto status = invocation.client.delete_snapshot(words[i]); !status.ok()) {
        return status;
      }
      if (!invocation.json) {
        absl::PrintF("deleted %s\n", words[i]);
      }
    }
    if (invocation.json) {
      print_json({{"deleted", std::vector<std::string>(words.begin() + 1, words.end())}});
    }
    return absl::OkStatus();
  }
  return usage_error(
      "snapshot takes save batches/ID, restore snapshots/ID|FILE [batches/ID], list, or delete snapshots/ID ...");
}

}  // namespace axion::cli
