// rpc_bench: what a step costs through the server, beside the engine alone and an empty call, in one run.
//
// Starts axiond as a child on the loopback and an engine of its own with the same model, controls, dt and threads. For
// each number of worlds the two step in turns: the server through Step (and StepStream for one world), the engine in
// process. Both must end in the same bits, or the program fails. Latencies are of the calls, in microseconds. Exit
// codes: 0; 1 when something is refused or the bits differ; 2 for a wrong command line.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "clients/cpp/client.hpp"
#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/support/server_process.hpp"

namespace {

struct Options {
  std::string axiond, model;
  std::vector<int> worlds = {1, 256, 4096};
  int repeat = 30;  // calls of each kind for each number of worlds; one world: twenty times as many
  int threads = 0;  // of the server and of the engine; 0: as many as it may run on
};

[[noreturn]] void fail(int code, const std::string& message) {
  std::fprintf(stderr, "rpc_bench: %s\n", message.c_str());
  std::exit(code);
}

int parse_int(const std::string& flag, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 1'000'000) {
    fail(2, flag + " is '" + text + "', must be a whole number from 0 to 1000000");
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--help") {
      std::printf("rpc_bench --axiond PROGRAM --model MJCF [--worlds N]... [--repeat N] [--threads N]\n");
      std::exit(0);
    }
    if (i + 1 == argc) fail(2, flag + " lacks its value");
    const std::string text = argv[++i];
    static bool worlds_given = false;
    if (flag == "--axiond") {
      options.axiond = text;
    } else if (flag == "--model") {
      options.model = text;
    } else if (flag == "--worlds") {
      if (!std::exchange(worlds_given, true)) options.worlds.clear();
      options.worlds.push_back(std::max(1, parse_int(flag, text)));
    } else if (flag == "--repeat") {
      options.repeat = std::max(1, parse_int(flag, text));
    } else if (flag == "--threads") {
      options.threads = parse_int(flag, text);
    } else {
      fail(2, "there is no flag " + flag);
    }
  }
  if (options.axiond.empty() || options.model.empty()) fail(2, "--axiond and --model are required");
  return options;
}

template <typename T>
T take(const char* what, axion::Result<T> result) {
  if (!result.ok()) fail(1, std::string(what) + ": " + result.error().message);
  return std::move(result).value();
}
template <typename T>
T take(const char* what, absl::StatusOr<T> result) {
  if (!result.ok()) fail(1, std::string(what) + ": " + std::string(result.status().message()));
  return *std::move(result);
}

class Latencies {
 public:
  void time(const std::function<void()>& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    micros_.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  double quantile(double q) {
    std::sort(micros_.begin(), micros_.end());
    return micros_[std::min(micros_.size() - 1, static_cast<std::size_t>(q * static_cast<double>(micros_.size())))];
  }

 private:
  std::vector<double> micros_;
};

struct Sides {
  axion::Engine& engine;
  const axion::client::Client& client;
  const std::shared_ptr<const axion::Model>& model;
  const std::string& model_name;
  axion::v1::Simulation::Stub& stub;
};

std::vector<float> controls(int worlds, int actuators, int step) {
  std::vector<float> control;
  for (int w = 0; w < worlds; ++w) {
    for (int a = 0; a < actuators; ++a) control.push_back(static_cast<float>(0.1 * axion::bench::noise(1, w, step, a)));
  }
  return control;
}

// Steps both sides `calls` times, in turns, and prints one row a way of calling.
void measure(const Sides& sides, int worlds, int calls) {
  axion::BatchSpec spec;
  spec.model = sides.model, spec.world_count = worlds, spec.dt = sides.model->info().timestep;
  const auto local = take("engine", sides.engine.create_batch(spec));
  axion::client::Batch remote = take("CreateBatch", sides.client.create_batch(sides.model_name, worlds));
  axion::client::StepStream stream = remote.stream();
  const int actuators = static_cast<int>(sides.model->info().actuators.size());
  const std::size_t pose_bytes = 7 * sides.model->info().bodies.size() * sizeof(float);
  std::vector<std::byte> pose(pose_bytes * worlds);
  Latencies engine_time, unary_time, stream_time, empty_time;
  axion::v1::KeepAliveRequest keep_alive;
  keep_alive.set_name(remote.name());
  for (int call = 0; call < 2 * calls; ++call) {
    const std::vector<float> control = controls(worlds, actuators, call);
    const axion::OutputView output{axion::Field::kBodyPose, pose.data(), pose_bytes, 0};
    axion::StepRequest request;
    request.batch = local.get();
    request.outputs = {&output, 1};
    if (actuators > 0) {
      request.control = {reinterpret_cast<const std::byte*>(control.data()), axion::DType::kFloat32,
                         sizeof(float) * actuators, 0};
    }
    engine_time.time([&] { take("engine step", sides.engine.step({&request, 1})); });
    const axion::client::StepArguments arguments{.control = control, .outputs = {"body_pose"}};
    axion::v1::StepResponse answer;
    if (call % 2 == 0) {
      unary_time.time([&] { answer = take("Step", remote.step(arguments)).message(); });
    } else {
      stream_time.time([&] {
        if (const absl::Status sent = stream.send(arguments); !sent.ok()) fail(1, std::string(sent.message()));
        answer = take("StepStream", stream.receive()).message();
      });
    }
    const std::string& bytes = answer.outputs().at("body_pose").data();
    if (bytes.size() != pose.size() || std::memcmp(bytes.data(), pose.data(), pose.size()) != 0) {
      fail(1, "the server's poses differ from the engine's after step " + std::to_string(call + 1));
    }
    grpc::ClientContext context;
    axion::v1::KeepAliveResponse alive;
    empty_time.time([&] {
      if (!sides.stub.KeepAlive(&context, keep_alive, &alive).ok()) fail(1, "KeepAlive was refused");
    });
  }
  const double engine = engine_time.quantile(0.5), empty = empty_time.quantile(0.5);
  const auto row = [&](const char* way, Latencies& latencies) {
    const double p50 = latencies.quantile(0.5);
    std::printf("| %d | %s | %.0f | %.0f | %.2f | %.0f |\n", worlds, way, p50, latencies.quantile(0.99), p50 / engine,
                p50 - engine - empty);
  };
  row("engine in process", engine_time);
  row("Step", unary_time);
  row("StepStream", stream_time);
  row("KeepAlive, an empty call", empty_time);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::ifstream file(options.model, std::ios::binary);
  if (!file) fail(2, "--model '" + options.model + "' cannot be read");
  const std::string mjcf{std::istreambuf_iterator<char>(file), {}};
  const axion::import::ImportedScene imported = take("import", axion::import::import_mjcf(mjcf));
  const auto model = take("compile", axion::compile_model(imported.scene));
  const auto engine = take("engine", axion::create_engine({.device = "cpu", .threads = options.threads}));
  const axion::testing::ServerProcess server(options.axiond, {"--threads=" + std::to_string(options.threads)});
  const auto client = axion::client::Client::connect(server.address());
  const std::string name = take("CreateModel", client.create_model(mjcf)).name();
  const auto stub =
      axion::v1::Simulation::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  std::printf("| worlds | way | p50 us | p99 us | p50 / engine | p50 - engine - empty call, us |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const int worlds : options.worlds) {
    measure({*engine, client, model, name, *stub}, worlds, worlds == 1 ? 20 * options.repeat : options.repeat);
  }
  return 0;
}
