// axion-gradients: how far exact linearisations of steps are from differences, and what both cost.
//
//   axion-gradients MODEL... [--dt DT] [--states N] [--difference D]
//
// Each MJCF file is stepped under random controls that hold for 50 ms, and linearised in N states on the way, on one
// thread: exactly, and by differences of fourth order, which are made of two of second. Prints one JSON object a model:
// the worst error of a column without a kink, of the greatest entry of its block (positions or rates by positions,
// rates or controls), how many columns had a kink by differences, how many states were linearised exactly and why
// others were not, and the least time of a linearisation either way. Exit codes: 0; 2 for a wrong command line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"

namespace {

using namespace axion;

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "axion-gradients: %s\n", why.c_str());
  std::exit(2);
}

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) refuse(result.error().field + ": " + result.error().message);
  return std::move(result).value();
}
void check(const Status& status) {
  if (!status.ok()) refuse(status.error().field + ": " + status.error().message);
}

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("'" + path + "' cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Matrices {
  std::vector<double> A, B;
  std::vector<std::int32_t> kink;
  LinearisationMethod method = {};
  LawWithoutDerivative law = {};
  double seconds = 0;
};

Matrices linearised(Engine& engine, const Batch& batch, const std::vector<double>& control, LinearisationMethod method,
                    double difference, int repeats) {
  const ModelInfo& info = batch.spec().model->info();
  const std::size_t nu = info.actuators.size(), x = state_coordinates(info).size();
  Matrices m;
  m.A.resize(x * x), m.B.resize(x * nu), m.kink.resize(x + nu);
  LinearisationOutput out;
  out.A = m.A, out.B = m.B, out.kink = m.kink, out.method = {&m.method, 1}, out.law = {&m.law, 1};
  LinearisationSpec spec;
  spec.method = method, spec.difference = difference;
  if (nu > 0) spec.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, nu * 8, 0};
  const auto linearisation = take(linearise(engine, batch, spec, out));
  const std::size_t items = linearisation_items(engine.device(), info, 1, 1);
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check(linearisation->run(0, items));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (i == 0 || seconds < m.seconds) m.seconds = seconds;
  }
  return m;
}

// The worst error of `found` against differences of fourth order, of the greatest entry of its block, over columns
// without a kink.
struct Error {
  double worst = 0;
  int kinks = 0, columns = 0;
  std::string where;
};

void compare(const Matrices& exact, const Matrices& one, const Matrices& two, std::size_t nv, std::size_t x,
             std::size_t nu, Error& error) {
  const auto at = [&](const Matrices& m, std::size_t r, std::size_t c) {
    return c < x ? m.A[r * x + c] : m.B[r * nu + c - x];
  };
  const auto differences = [&](std::size_t r, std::size_t c) { return (4 * at(one, r, c) - at(two, r, c)) / 3; };
  const std::size_t row_ends[] = {0, nv, 2 * nv, x}, column_ends[] = {0, nv, 2 * nv, x, x + nu};
  for (std::size_t c = 0; c < x + nu; ++c) ++error.columns, error.kinks += one.kink[c] | two.kink[c];
  for (int R = 0; R < 3; ++R) {
    for (int C = 0; C < 4; ++C) {
      double greatest = 0, off = 0;
      std::size_t worst_row = 0, worst_column = 0;
      for (std::size_t r = row_ends[R]; r < row_ends[R + 1]; ++r) {
        for (std::size_t c = column_ends[C]; c < column_ends[C + 1]; ++c) {
          if ((one.kink[c] | two.kink[c]) != 0) continue;
          greatest = std::max(greatest, std::abs(differences(r, c)));
          const double wrong = std::abs(differences(r, c) - at(exact, r, c));
          if (wrong > off) off = wrong, worst_row = r, worst_column = c;
        }
      }
      if (!(greatest > 0) || !(off / greatest > error.worst)) continue;
      error.worst = off / greatest;
      error.where = std::to_string(worst_row) + "," + std::to_string(worst_column) + ": " +
                    std::to_string(at(exact, worst_row, worst_column)) + " for " +
                    std::to_string(differences(worst_row, worst_column));
    }
  }
}

void measure(const std::string& path, double dt, int states, double difference) {
  const import::ImportedScene scene = take(import::import_mjcf(file_content(path)));
  const auto model = take(compile_model(scene.scene));
  EngineOptions options;
  options.threads = 1;
  const auto engine = take(create_engine(options));
  BatchSpec spec;
  spec.model = model, spec.world_count = 1, spec.dt = dt;
  spec.options.precision = model::Precision::kFloat64;
  const auto batch = take(engine->create_batch(spec));
  const ModelInfo& info = model->info();
  const std::size_t nu = info.actuators.size(), x = state_coordinates(info).size();
  const auto nv = static_cast<std::size_t>(info.joint_velocity_count);
  std::mt19937 random(1);
  Error error;
  std::map<std::string, int> laws;
  double exact_seconds = 1e9, difference_seconds = 1e9;
  int exact_states = 0;
  const int hold = std::max(1, static_cast<int>(0.05 / dt));
  for (int state = 0; state < states; ++state) {
    std::vector<double> control(nu);
    for (double& u : control) u = std::uniform_real_distribution<double>(-0.4, 0.4)(random);
    StepRequest request;
    request.batch = batch.get(), request.step_count = hold;
    if (nu > 0) request.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, nu * 8, 0};
    take(engine->step({&request, 1}));
    const Matrices exact = linearised(*engine, *batch, control, LinearisationMethod::kExact, 1e-6, 3);
    if (exact.method != LinearisationMethod::kExact) {
      ++laws[name_of(exact.law)];
      continue;
    }
    ++exact_states;
    const Matrices one = linearised(*engine, *batch, control, LinearisationMethod::kDifferences, difference, 1);
    const Matrices two = linearised(*engine, *batch, control, LinearisationMethod::kDifferences, 2 * difference, 1);
    exact_seconds = std::min(exact_seconds, exact.seconds);
    difference_seconds = std::min(difference_seconds, std::min(one.seconds, two.seconds));
    compare(exact, one, two, nv, x, nu, error);
  }
  std::printf(
      "{\"model\": \"%s\", \"dt\": %g, \"x\": %zu, \"u\": %zu, \"states\": %d, \"exact\": %d, \"worst_error\": %.3g, "
      "\"where\": \"%s\", \"columns\": %d, \"kinks\": %d, \"exact_us\": %.1f, \"differences_us\": %.1f, \"laws\": {",
      path.substr(path.rfind('/') + 1).c_str(), dt, x, nu, states, exact_states, error.worst, error.where.c_str(),
      error.columns, error.kinks, 1e6 * exact_seconds, 1e6 * difference_seconds);
  bool first = true;
  for (const auto& [law, count] : laws) {
    std::printf("%s\"%s\": %d", first ? "" : ", ", law.c_str(), count);
    first = false;
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> models;
  double dt = 0.02, difference = 1e-5;
  int states = 20;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!argument.starts_with("--")) {
      models.push_back(argument);
      continue;
    }
    if (i + 1 == argc) refuse(argument + " lacks its value");
    const double value = std::atof(argv[++i]);
    if (argument == "--dt" && value > 0) {
      dt = value;
    } else if (argument == "--difference" && value > 0) {
      difference = value;
    } else if (argument == "--states" && value >= 1) {
      states = static_cast<int>(value);
    } else {
      refuse(argument + " " + argv[i] + " is not understood");
    }
  }
  if (models.empty()) refuse("which model?");
  for (const std::string& model : models) measure(model, dt, states, difference);
}
