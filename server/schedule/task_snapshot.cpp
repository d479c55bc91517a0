#include "server/schedule/task_snapshot.hpp"

#include <cstring>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

constexpr std::string_view kMagic = "AXIONTSK";
constexpr std::size_t kTailBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t) + kMagic.size();

// FNV-1a.
std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return sum;
}

// The two parts of a snapshot; false where it is damaged.
bool split(std::string_view bytes, std::string_view& engine, std::string_view& episode) {
  engine = bytes, episode = {};
  if (bytes.size() < kTailBytes || !bytes.ends_with(kMagic)) return true;
  const std::string_view body = bytes.substr(0, bytes.size() - kTailBytes);
  std::uint64_t sum = 0;
  std::uint32_t length = 0;
  std::memcpy(&sum, bytes.data() + body.size(), sizeof(sum));
  std::memcpy(&length, bytes.data() + body.size() + sizeof(sum), sizeof(length));
  if (length > body.size() || sum != sum_of(body)) return false;
  engine = body.substr(0, body.size() - length);
  episode = body.substr(engine.size());
  return true;
}

}  // namespace

std::string with_episode(std::string snapshot, const std::string& episode) {
  snapshot += episode;
  const std::uint64_t sum = sum_of(snapshot);
  const auto length = static_cast<std::uint32_t>(episode.size());
  snapshot.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  snapshot.append(reinterpret_cast<const char*>(&length), sizeof(length));
  return snapshot.append(kMagic);
}

absl::Status EpisodesOfSnapshots::take(const BatchHandle& batch, const StateUpdate& state, absl::string_view field) {
  state_ = state;
  episodes_.assign(state.snapshots.size(), {});
  for (std::size_t i = 0; i < state.snapshots.size(); ++i) {
    const std::string path = absl::StrCat(field, ".snapshot[", i, "]");
    if (!split(state.snapshots[i], state_.snapshots[i], episodes_[i])) {
      return invalid_field(path, "is damaged: the sum over it is another");
    }
    if (batch.episodes == nullptr || episodes_[i].empty()) continue;
    const Status status = batch.episodes->check(episodes_[i]);
    if (!status.ok()) return invalid_field(path, status.error().message);
  }
  return absl::OkStatus();
}

absl::Status EpisodesOfSnapshots::load(BatchHandle& batch, std::span<const std::int32_t> worlds, std::size_t first,
                                       std::size_t last) const {
  if (batch.episodes == nullptr || episodes_.empty()) return absl::OkStatus();
  for (std::size_t i = first; i < last; ++i) {
    const std::string_view episode = episodes_[episodes_.size() == 1 ? 0 : i];  // one for all
    if (episode.empty()) continue;
    const Status status = batch.episodes->load(world_at(worlds, i), episode);
    if (!status.ok()) return from_engine(status.error());
  }
  return absl::OkStatus();
}

}  // namespace axion::server::schedule
