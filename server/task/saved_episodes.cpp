// What of a world's episode travels in snapshots.
#include <cmath>
#include <cstring>

#include "server/task/episodes.hpp"

namespace axion::server::task {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;  // of an episode that a snapshot may claim

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return value;
}

// The layout that saved numbers stand for.
std::uint64_t layout_mark(const Task& task) {
  std::uint64_t mark = 1469598103934665603u;
  for (const int part : {task.observation_size, task.action_size(), task.action.most_delay, task.command_size,
                         task.before_size, static_cast<int>(task.command.size())}) {
    mark = (mark ^ static_cast<std::uint64_t>(part)) * 1099511628211u;
  }
  // Parts that tasks have not always had change the mark of a task that has them alone.
  std::uint64_t kind = 0;
  for (const std::size_t part :
       {task.push.size(), static_cast<std::size_t>(task.privileged_size), static_cast<std::size_t>(task.late_size),
        static_cast<std::size_t>(task.target_size()), static_cast<std::size_t>(task.draw_size), task.tracked.size(),
        task.curriculum.size()}) {
    ++kind;
    if (part > 0) mark = (mark ^ (kind << 32 | part)) * 1099511628211u;
  }
  return mark;
}

std::size_t saved_bytes(const Task& task) {
  return sizeof(kVersion) + 5 * sizeof(std::uint64_t) + sizeof(std::uint8_t) +
         2 * sizeof(std::int64_t) * (task.command.size() + task.push.size()) +
         sizeof(double) * static_cast<std::size_t>(task.memory_size());
}

}  // namespace

std::string Episodes::save(std::int32_t index) const {
  const World& w = world(index);
  std::string bytes;
  append(bytes, kVersion);
  append(bytes, layout_mark(*task_));
  append(bytes, w.seed);
  append(bytes, w.episode);
  append(bytes, w.length);
  append(bytes, w.total);
  append(bytes, static_cast<std::uint8_t>(w.ended));
  for (const std::vector<Clock>* clocks : {&w.commands, &w.pushes}) {
    for (const Clock& clock : *clocks) append(bytes, clock.next), append(bytes, clock.draws);
  }
  for (const double number : w.memory) append(bytes, number);
  return bytes;
}

// What is observed, and measured of it, may be no number.
bool Episodes::may_be_any(std::size_t i) const {
  return i < layout_.action || (i >= layout_.before && i < layout_.target) || i >= layout_.result;
}

Status Episodes::check(std::string_view bytes) const {
  if (bytes.size() != saved_bytes(*task_) || take<std::uint32_t>(bytes) != kVersion ||
      take<std::uint64_t>(bytes) != layout_mark(*task_)) {
    return invalid_argument("snapshot", "was taken of a world with another task");
  }
  take<std::uint64_t>(bytes);  // any seed
  const auto episode = take<std::int64_t>(bytes), length = take<std::int64_t>(bytes);
  take<double>(bytes);  // any sum of rewards, which may be beyond all numbers
  bool valid = episode >= -1 && length >= 0 && length <= kMostSteps && take<std::uint8_t>(bytes) <= 1;
  for (std::size_t c = 0; c < task_->command.size() + task_->push.size(); ++c) {
    const auto next = take<std::int64_t>(bytes), draws = take<std::int64_t>(bytes);
    valid = valid && next >= 0 && next <= 2 * kMostSteps && draws >= 0 && draws <= kMostSteps;
  }
  for (std::size_t i = 0; i < layout_.end; ++i) {
    const auto number = take<double>(bytes);
    valid = valid && (std::isfinite(number) || may_be_any(i));
    if (i < layout_.level || i >= layout_.result || !valid) continue;
    const int levels = task_->curriculum[i - layout_.level].spec.levels;
    valid = number >= 0 && number <= levels - 1 && number == std::floor(number);
  }
  return valid ? Status{} : Status(invalid_argument("snapshot", "has an episode that cannot be"));
}

Status Episodes::load(std::int32_t index, std::string_view bytes) {
  if (Status s = check(bytes); !s.ok()) return s;
  World& w = world(index);
  bytes.remove_prefix(sizeof(kVersion) + sizeof(std::uint64_t));
  w.seed = take<std::uint64_t>(bytes);
  w.episode = take<std::int64_t>(bytes);
  w.length = take<std::int64_t>(bytes);
  w.total = take<double>(bytes);
  w.ended = take<std::uint8_t>(bytes) != 0;
  for (std::vector<Clock>* clocks : {&w.commands, &w.pushes}) {
    for (Clock& clock : *clocks) clock.next = take<std::int64_t>(bytes), clock.draws = take<std::int64_t>(bytes);
  }
  for (double& number : w.memory) number = take<double>(bytes);
  return {};
}

}  // namespace axion::server::task
