// Episodes of a task that the server computes: the actions of a fixed rule, the rewards and ends that come back.
// Usage: axion-example-task FILE.xml TASK.json [HOST:PORT [STEPS]]
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "clients/cpp/client.hpp"

namespace {

constexpr int kWorlds = 8;

std::string content_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "Usage: axion-example-task FILE.xml TASK.json [HOST:PORT [STEPS]]\n";
    return 2;
  }
  const auto client = axion::client::Client::connect(argc > 3 ? argv[3] : axion::client::kDefaultTarget);
  axion::v1::CreateBatchRequest request;
  request.set_model(client.create_model(content_of(argv[1])).value().name());
  request.set_world_count(kWorlds);
  *request.mutable_task() = axion::client::task_of_json(content_of(argv[2])).value();
  const auto batch = client.create_batch(request).value();
  std::vector<std::uint64_t> seeds(kWorlds);
  std::iota(seeds.begin(), seeds.end(), 1);
  batch.begin_episodes({.seeds = seeds}).value();

  const axion::v1::TaskInfo& task = batch.info().task();
  std::vector<double> action(static_cast<std::size_t>(kWorlds * task.action_size()));
  double total = 0;
  int ended = 0;
  const int steps = argc > 4 ? std::atoi(argv[4]) : 100;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < action.size(); ++i) {
      action[i] = 0.5 * static_cast<double>((static_cast<std::size_t>(step) + i) % 3) - 0.5;
    }
    const auto answer = batch.step_task({.action = action}).value();
    const auto rewards = answer.reward().value();
    for (const double reward : rewards) {
      total += reward;
    }
    for (int world = 0; world < kWorlds; ++world) {
      const auto i = static_cast<std::size_t>(world);
      ended += answer.terminated()[i] || answer.truncated()[i] ? 1 : 0;
    }
  }
  std::cout.precision(17);
  std::cout << "observation " << task.observation_size() << ", action " << task.action_size() << ", steps " << steps
            << ", reward " << total << ", episodes ended " << ended << "\n";
} catch (const absl::BadStatusOrAccess& error) {
  std::cerr << error.status() << "\n";
  return 1;
}
