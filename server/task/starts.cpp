// How episodes begin: the worlds' states.
#include <algorithm>
#include <cmath>

#include "server/task/episodes.hpp"

namespace axion::server::task {
namespace {

InputView view_of(const std::vector<double>& values, std::size_t row, std::size_t width) {
  return {.data = reinterpret_cast<const std::byte*>(values.data() + row * width),
          .dtype = DType::kFloat64,
          .world_stride = width * sizeof(double)};
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
  const auto size = term.numbers.size();
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
      double* at = q + term.numbers[0];
      const Vec3 axis = math::normalized(Vec3{term.spec.axis[0], term.spec.axis[1], term.spec.axis[2]});
      const auto turn = math::exp_rotation(drawn(term.spec, random, first) * axis);
      const auto turned = math::normalized(turn * math::Quat<double>{at[0], at[1], at[2], at[3]});
      at[0] = turned.w, at[1] = turned.x, at[2] = turned.y, at[3] = turned.z;
      continue;
    }
    double* whole = term.spec.of == StartOf::kPosition ? q : v;
    draw(term, random, first, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double& at = whole[term.numbers[i]];
      at = (term.spec.replaces ? 0 : at) + numbers[i];
    }
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

void Episodes::begin(World& w) {
  rate(w);
  ++w.episode;
  w.length = 0, w.total = 0, w.ended = false;
  std::fill(w.memory.begin(), w.memory.begin() + static_cast<std::ptrdiff_t>(layout_.level), 0.0);
  std::fill(w.memory.begin() + static_cast<std::ptrdiff_t>(layout_.result), w.memory.end(), 0.0);
  for (int i = 0; i < task_->target_size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    w.memory[layout_.target + at] = task_->action.rest[static_cast<std::size_t>(task_->action.actuators[at])];
  }
  std::fill(w.commands.begin(), w.commands.end(), Clock{});
  std::fill(w.pushes.begin(), w.pushes.end(), Clock{});
  draw_commands(w);
  draw_pushes(w);
}

Status Episodes::start(Batch& batch, std::span<const std::int32_t> worlds) {
  if (worlds.empty()) return {};
  if (Status s = batch.reset({.world_indices = worlds, .keyframe = task_->keyframe, .state = {}}); !s.ok()) return s;
  for (const std::int32_t index : worlds) begin(world(index));
  if (Status s = draw_numbers(batch, worlds); !s.ok()) return s;
  if (Status s = perturb(batch, worlds); !s.ok()) return s;
  return look_again(batch, worlds);
}

}  // namespace axion::server::task
