// Walks quadrupeds on a running axiond, over a stream, to controls that are sent ahead.
//
// Usage: axion-example-walk FILE.xml [HOST:PORT [WORLDS [SECONDS]]]. Exit code 1: a robot fell or the server refused.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "clients/cpp/client.hpp"
#include "clients/examples/cpp/gait.hpp"

namespace {

namespace client = axion::client;

constexpr int kStepsPerCall = 20;
constexpr int kInFlight = 4;
constexpr double kLowest = 0.22;  // m: a trunk below this has fallen

// Controls of call number `call` for every world: [n, k, nu], the same for all.
std::vector<float> controls(const axion::examples::Trot& gait, int call, double dt, int world_count) {
  std::vector<float> rows;
  for (int step = 0; step < kStepsPerCall; ++step) {
    for (const double angle : gait.joint_angles((call * kStepsPerCall + step) * dt)) {
      rows.push_back(static_cast<float>(angle));
    }
  }
  std::vector<float> all;
  all.reserve(rows.size() * static_cast<std::size_t>(world_count));
  for (int world = 0; world < world_count; ++world) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

struct Walk {
  double wall_seconds = 0;
  double lowest = 1, highest = 0;  // m, of the trunks
  double mean_travel = 0;          // m, from the origin
};

absl::StatusOr<Walk> walk(const client::Batch& batch, double seconds) {
  const axion::examples::Trot gait;
  const int calls = std::max(1, static_cast<int>(std::lround(seconds / (batch.dt() * kStepsPerCall))));
  const auto pose_size = static_cast<std::size_t>(batch.field_size("body_pose"));
  const auto world_count = static_cast<std::size_t>(batch.world_count());
  Walk walk;
  client::StepStream stream = batch.stream();
  const absl::Time start = absl::Now();
  for (int sent = 0, received = 0; received < calls;) {
    if (sent < calls && stream.pending() < kInFlight) {
      const auto control = controls(gait, sent, batch.dt(), batch.world_count());
      if (const auto status = stream.send({.control = control, .step_count = kStepsPerCall, .outputs = {"body_pose"}});
          !status.ok()) {
        return status;
      }
      ++sent;
      continue;
    }
    const auto result = stream.receive();
    if (!result.ok()) {
      return result.status();
    }
    const auto poses = result->output<float>("body_pose");
    if (!poses.ok()) {
      return poses.status();
    }
    walk.mean_travel = 0;
    for (std::size_t world = 0; world < world_count; ++world) {
      const auto trunk = poses->subspan(world * pose_size, 7);
      walk.lowest = std::min<double>(walk.lowest, trunk[2]);
      walk.highest = std::max<double>(walk.highest, trunk[2]);
      walk.mean_travel += trunk[0] / static_cast<double>(world_count);
    }
    ++received;
  }
  walk.wall_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (const auto status = stream.finish(); !status.ok()) {
    return status;
  }
  return walk;
}

absl::Status run(const std::string& scene, const std::string& server, int world_count, double seconds) {
  const auto client = client::Client::connect(server);
  const auto model = client.create_model(scene);
  if (!model.ok()) {
    return model.status();
  }
  const auto batch = client.create_batch(model->name(), world_count);
  if (!batch.ok()) {
    return batch.status();
  }
  if (const auto status = batch->reset({}, "stand"); !status.ok()) {
    return status;
  }
  const auto result = walk(*batch, seconds);
  if (!result.ok()) {
    return result.status();
  }
  const auto stats = batch->solver_stats();
  if (!stats.ok()) {
    return stats.status();
  }
  const double world_steps = static_cast<double>(stats->batch().world_steps());
  std::cout << world_count << " worlds, " << world_steps / result->wall_seconds << " world-steps/s, converged "
            << 100.0 * static_cast<double>(stats->batch().converged()) / world_steps << " %\n"
            << "trunk height " << result->lowest << " .. " << result->highest << " m, travel " << result->mean_travel
            << " m\n";
  return result->lowest < kLowest ? absl::InternalError("a robot fell") : absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "clients/examples/models/quadruped.xml");
  const std::string scene((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || scene.empty()) {
    std::cerr << "usage: axion-example-walk FILE.xml [HOST:PORT [WORLDS [SECONDS]]]\n";
    return 2;
  }
  const std::string server = argc > 2 ? argv[2] : client::kDefaultTarget;
  const auto status = run(scene, server, argc > 3 ? std::atoi(argv[3]) : 64, argc > 4 ? std::atof(argv[4]) : 10.0);
  if (!status.ok()) {
    std::cerr << "axion-example-walk: " << status << "\n";
    return 1;
  }
  return 0;
}
