// How episodes begin: the worlds' states and commands. And what of them travels in snapshots.
#include <algorithm>
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

InputView view_of(const std::vector<double>& values, std::size_t row, std::size_t width) {
  return {.data = reinterpret_cast<const std::byte*>(values.data() + row * width),
          .dtype = DType::kFloat64,
          .world_stride = width * sizeof(double)};
}

// The layout that saved numbers stand for.
std::uint64_t layout_mark(const Task& task) {
  std::uint64_t mark = 1469598103934665603u;
  for (const int part : {task.observation_size, task.action_size(), task.action.delay, task.command_size,
                         task.before_size, static_cast<int>(task.command.size())}) {
    mark = (mark ^ static_cast<std::uint64_t>(part)) * 1099511628211u;
  }
  // Parts that tasks have not always had change the mark of a task that has them alone.
  std::uint64_t kind = 0;
  for (const std::size_t part : {task.push.size()}) {
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

double drawn(const StartSpec& spec, const Random& random, std::uint64_t index) {
  return spec.distribution == Distribution::kUniform ? random.uniform(2 * index, spec.lower, spec.upper)
                                                     : spec.mean + spec.deviation * random.normal(index);
}

// Joint velocities of the server and MuJoCo's are apart by the arm of the centre of mass and the axes
// of the angular velocity.
void turn_velocities(const Robot& robot, const double* q, double* v, bool to_server) {
  for (const FreeRoot& root : robot.free_roots) {
    const double* turn = q + root.position_start + 3;
    const Mat3 R = math::to_matrix(math::normalized(math::Quat<double>{turn[0], turn[1], turn[2], turn[3]}));
    double* out = v + root.velocity_start;
    const Vec3 linear{out[0], out[1], out[2]}, angular{out[3], out[4], out[5]};
    const Vec3 omega = to_server ? R * angular : angular;
    const Vec3 arm = math::cross(omega, R * robot.p_BoBcm[static_cast<std::size_t>(root.body)]);
    const Vec3 moved = to_server ? linear + arm : linear - arm;
    const Vec3 turned = to_server ? omega : math::transpose_times(R, angular);
    const double values[] = {moved.x, moved.y, moved.z, turned.x, turned.y, turned.z};
    std::copy(values, values + 6, out);
  }
}

// Numbers of a term from number `first` on; draw k begins at first + k size.
void draw(const StartTerm& term, const Random& random, std::uint64_t first, std::vector<double>& out) {
  constexpr std::uint64_t kDraws = 100;
  const auto size = static_cast<std::size_t>(term.size);
  const bool bounded = term.longer_than >= 0 || term.shorter_than < kInfinity;
  out.resize(size);
  for (std::uint64_t k = 0; k < (bounded ? kDraws : 1); ++k) {
    double square = 0;
    for (std::size_t i = 0; i < size; ++i) {
      out[i] = drawn(term.spec, random, first + k * size + i);
      if (!term.scale.empty()) out[i] *= term.scale[i];
      if (!term.offset.empty()) out[i] += term.offset[i];
      square += out[i] * out[i];
    }
    const double length = std::sqrt(square);
    if (length > term.longer_than && length < term.shorter_than) return;
  }
}

// Adds what the task's starts draw to coordinates and velocities; number i of term t is number t * 2^32 + i.
void apply_starts(const Task& task, const Random& random, double* q, double* v) {
  turn_velocities(task.robot, q, v, false);
  std::vector<double> numbers;
  for (std::size_t t = 0; t < task.start.size(); ++t) {
    const StartTerm& term = task.start[t];
    const std::uint64_t first = t << 32;
    if (term.spec.of == StartOf::kRotation) {
      double* at = q + term.first;
      const Vec3 axis = math::normalized(Vec3{term.spec.axis[0], term.spec.axis[1], term.spec.axis[2]});
      const auto turn = math::exp_rotation(drawn(term.spec, random, first) * axis);
      const auto turned = math::normalized(turn * math::Quat<double>{at[0], at[1], at[2], at[3]});
      at[0] = turned.w, at[1] = turned.x, at[2] = turned.y, at[3] = turned.z;
      continue;
    }
    double* at = (term.spec.of == StartOf::kPosition ? q : v) + term.first;
    draw(term, random, first, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) at[i] = (term.spec.replaces ? 0 : at[i]) + numbers[i];
  }
  for (const FreeRoot& root : task.robot.free_roots) {  // a quaternion without length is refused by the engine
    double* at = q + root.position_start + 3;
    const double square = at[0] * at[0] + at[1] * at[1] + at[2] * at[2] + at[3] * at[3];
    if (!(square > 1e-12)) at[0] = 1, at[1] = at[2] = at[3] = 0;
  }
  turn_velocities(task.robot, q, v, true);
}

}  // namespace

Status Episodes::perturb(Batch& batch, std::span<const std::int32_t> worlds) const {
  const auto nq = static_cast<std::size_t>(batch.spec().model->info().joint_position_count);
  const auto nv = static_cast<std::size_t>(batch.spec().model->info().joint_velocity_count);
  if (task_->start.empty() || nq == 0) return {};
  const bool wide = batch.real_dtype() == DType::kFloat64;
  const std::size_t bytes = size_of(batch.real_dtype());
  std::vector<std::byte> raw(worlds.size() * (nq + nv) * bytes);
  std::byte* velocities = raw.data() + worlds.size() * nq * bytes;
  const OutputView views[] = {{.field = Field::kJointPosition, .data = raw.data(), .world_stride = nq * bytes},
                              {.field = Field::kJointVelocity, .data = velocities, .world_stride = nv * bytes}};
  if (Status s = batch.get(worlds, views); !s.ok()) return s;
  const auto number = [&](std::size_t i) {
    if (wide) return reinterpret_cast<const double*>(raw.data())[i];
    return static_cast<double>(reinterpret_cast<const float*>(raw.data())[i]);
  };
  std::vector<double> q(worlds.size() * nq), v(worlds.size() * nv);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = number(i);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = number(q.size() + i);
  for (std::size_t row = 0; row < worlds.size(); ++row) {
    const World& w = world(worlds[row]);
    apply_starts(*task_, Random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kStart), &q[row * nq],
                 &v[row * nv]);
  }
  const auto update_of = [&](std::size_t row) {
    StateUpdate update;
    update.joint_position = view_of(q, row, nq);
    if (nv > 0) update.joint_velocity = view_of(v, row, nv);
    return update;
  };
  if (batch.set_state(worlds, update_of(0)).ok()) return {};
  // What the engine does not take of one world is that world's alone: it begins where the keyframe puts it.
  for (std::size_t row = 0; row < worlds.size(); ++row) {
    const Status taken = batch.set_state(worlds.subspan(row, 1), update_of(row));
    static_cast<void>(taken.ok());
  }
  return {};
}

void Episodes::draw_commands(World& w) {
  if (w.commands.empty()) return;
  const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kCommand);
  for (std::size_t c = 0; c < w.commands.size(); ++c) {
    const CommandTerm& term = task_->command[c];
    Clock& clock = w.commands[c];
    if (clock.draws > 0 && (clock.next == 0 || w.length < clock.next)) continue;
    const std::uint64_t first = (static_cast<std::uint64_t>(c) << 48) + (static_cast<std::uint64_t>(clock.draws) << 10);
    const bool zero = random.unit(first) < term.spec.zero_probability;
    for (int i = 0; i < term.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double value = random.uniform(first + 2 + at, term.spec.lower[at], term.spec.upper[at]);
      w.memory[layout_.command + static_cast<std::size_t>(term.start) + at] = zero ? 0 : value;
    }
    ++clock.draws;
    if (term.spec.most_steps == 0) continue;
    const int range = term.spec.most_steps - term.spec.least_steps + 1;
    clock.next = w.length + term.spec.least_steps + static_cast<std::int64_t>(random.unit(first + 1) * range);
  }
}

void Episodes::begin(World& w) {
  ++w.episode;
  w.length = 0, w.total = 0, w.ended = false;
  std::fill(w.memory.begin(), w.memory.end(), 0.0);
  std::fill(w.commands.begin(), w.commands.end(), Clock{});
  std::fill(w.pushes.begin(), w.pushes.end(), Clock{});
  draw_commands(w);
  draw_pushes(w);
}

Status Episodes::start(Batch& batch, std::span<const std::int32_t> worlds) {
  if (worlds.empty()) return {};
  if (Status s = batch.reset({.world_indices = worlds, .keyframe = task_->keyframe, .state = {}}); !s.ok()) return s;
  for (const std::int32_t index : worlds) begin(world(index));
  if (Status s = perturb(batch, worlds); !s.ok()) return s;
  return look_again(batch, worlds);
}

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

Status Episodes::check(std::string_view bytes) const {
  if (bytes.size() != saved_bytes(*task_) || take<std::uint32_t>(bytes) != kVersion ||
      take<std::uint64_t>(bytes) != layout_mark(*task_)) {
    return invalid_argument("snapshot", "was taken of a world with another task");
  }
  take<std::uint64_t>(bytes);  // any seed
  const auto episode = take<std::int64_t>(bytes), length = take<std::int64_t>(bytes);
  const auto total = take<double>(bytes);
  bool valid =
      episode >= -1 && length >= 0 && length <= kMostSteps && std::isfinite(total) && take<std::uint8_t>(bytes) <= 1;
  for (std::size_t c = 0; c < task_->command.size() + task_->push.size(); ++c) {
    const auto next = take<std::int64_t>(bytes), draws = take<std::int64_t>(bytes);
    valid = valid && next >= 0 && next <= 2 * kMostSteps && draws >= 0 && draws <= kMostSteps;
  }
  for (std::size_t i = 0; i < layout_.end; ++i) {
    const bool finite = std::isfinite(take<double>(bytes));
    valid = valid && (finite || i < layout_.action || i >= layout_.before);
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
