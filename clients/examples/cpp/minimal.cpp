// Worlds of the quadruped in ten lines: they stand for a second. Usage: axion-example-minimal FILE.xml [HOST:PORT]
#include <fstream>
#include <iostream>
#include <iterator>

#include "clients/cpp/client.hpp"

int main(int argc, char** argv) try {
  std::ifstream scene(argc > 1 ? argv[1] : "clients/examples/models/quadruped.xml");
  const auto client = axion::client::Client::connect(argc > 2 ? argv[2] : "127.0.0.1:8470");
  const auto model = client.create_model({std::istreambuf_iterator<char>(scene), {}}).value();
  const auto batch = client.create_batch(model.name(), /*world_count=*/256).value();
  const auto control = axion::client::hold_control(model, "stand").value();
  const auto result = batch.step({.control = control, .step_count = 200, .outputs = {"body_pose"}}).value();
  std::cout << "trunk height of world 0 after 1 s: " << result.output<float>("body_pose").value()[2] << " m\n";
} catch (const absl::BadStatusOrAccess& error) {
  std::cerr << error.status() << "\n";
  return 1;
}
