#include "tests/bench/bench_engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "engine/import/mjcf.hpp"

namespace axion::bench {
namespace {

std::string file_content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "--model '%s' cannot be read\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// The MJCF files beside the model come with it, as <include> and <attach> may name them.
std::shared_ptr<const Model> load_model(const BenchOptions& options) {
  const std::string text = file_content(options.model);
  import::ImportOptions with;
  const std::filesystem::path folder = std::filesystem::absolute(options.model).parent_path();
  std::error_code unreadable;  // then there are none
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    if (entry.path().extension() != ".xml" || !entry.is_regular_file()) continue;
    with.assets[entry.path().filename().string()] = file_content(entry.path());
  }
  const import::ImportedScene imported = take("import", import::import_mjcf(text, with));
  for (const std::string& warning : imported.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  return take("compile", compile_model(imported.scene));
}

}  // namespace

void fail(const std::string& what, const Error& error) {
  std::fprintf(stderr, "%s: %s%s%s\n", what.c_str(), error.field.c_str(), error.field.empty() ? "" : ": ",
               error.message.c_str());
  std::exit(1);
}

BatchSpec make_spec(const BenchOptions& options) {
  BatchSpec spec;
  spec.model = load_model(options);
  const ModelInfo& model = spec.model->info();
  if (options.keyframe >= static_cast<int>(model.keyframes.size())) {
    std::fprintf(stderr, "--keyframe is %d, the model has %zu\n", options.keyframe, model.keyframes.size());
    std::exit(2);
  }
  spec.world_count = options.worlds;
  spec.dt = options.dt > 0 ? options.dt : model.timestep;
  using model::Preset;
  spec.options = model::make_options(options.preset == "axion_seed" ? Preset::kAxionSeed
                                     : options.preset == "velocity" ? Preset::kVelocity
                                                                    : Preset::kDefault);
  spec.options.precision = options.precision == "float64" ? model::Precision::kFloat64 : model::Precision::kFloat32;
  return spec;
}

std::unique_ptr<Batch> make_batch(Engine& engine, const BatchSpec& spec, const BenchOptions& options) {
  std::unique_ptr<Batch> batch = take("create_batch", engine.create_batch(spec));
  ResetRequest start;
  start.keyframe = options.keyframe;
  if (const Status status = batch->reset(start); !status.ok()) fail("reset", status.error());
  return batch;
}

std::vector<ControlRange> control_ranges(const ModelInfo& model, const BenchOptions& options) {
  std::vector<ControlRange> ranges;
  for (const model::ActuatorSpec& actuator : model.actuators) {
    ControlRange range;
    if (actuator.control_limited) range = {0, actuator.control_lower, actuator.control_upper};
    if (actuator.kind == model::ActuatorKind::kPosition && actuator.tendon < 0 && !actuator.on_site) {
      const JointInfo& joint = model.joints[actuator.joint];
      const double start = options.keyframe < 0
                               ? joint.axes[actuator.axis].initial_position
                               : model.keyframes[options.keyframe].joint_position[joint.position_start + actuator.axis];
      range.centre = actuator.gear * start;
    }
    if (!std::isnan(options.control_centre)) range.centre = options.control_centre;
    range.centre = std::clamp(range.centre, range.lower, range.upper);
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<float> draw_controls(const BenchOptions& options, const std::vector<ControlRange>& ranges, int first_step,
                                 int step_count) {
  std::vector<float> control;
  const int actuator_count = static_cast<int>(ranges.size());
  for (int world = 0; world < options.worlds; ++world) {
    for (int step = first_step; step < first_step + step_count; ++step) {
      for (int a = 0; a < actuator_count; ++a) {
        control.push_back(static_cast<float>(random_control(options, ranges[a], world, step, a)));
      }
    }
  }
  return control;
}

StepRequest step_request(Batch& batch, const std::vector<ControlRange>& ranges, const std::vector<float>& control,
                         int step_count) {
  StepRequest request;
  request.batch = &batch;
  request.step_count = step_count;
  if (!ranges.empty()) {
    const std::size_t row = sizeof(float) * ranges.size();
    request.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat32, row * step_count, row};
  }
  return request;
}

}  // namespace axion::bench
