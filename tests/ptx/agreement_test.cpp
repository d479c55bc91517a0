// The CUDA backend on the emulated GPU against the CPU: the same requests give the same bits, and no threads race.
//
// AXION_PTX_SCENES in the environment draws another number of random scenes, for longer searches by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "tests/bench/robustness_scenes.hpp"
#include "tests/engine/backend/linearising.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/properties/random_scenes.hpp"
#include "tools/ptx/profile/profile.hpp"
#include "tools/ptx/runtime/runtime.hpp"

namespace axion::testing {
namespace {

using model::LinearSolver;
using model::Precision;

const bool kLooksForRaces = ptx::runtime_options().races = true;

std::unique_ptr<Engine> gpu_engine(int block_threads, std::int64_t near_bytes = -1) {
  return take(create_engine({.device = "cuda:0",
                             .threads = 0,
                             .memory_limit_bytes = std::int64_t(1) << 30,
                             .instruction_set = "",
                             .block_threads = block_threads,
                             .near_bytes = near_bytes}));
}

// The name of the first field of a world that differs; empty when all are the same.
std::string difference(const Batch& a, const Batch& b) {
  for (int w = 0; w < a.spec().world_count; ++w) {
    if (state_bytes(a, w) == state_bytes(b, w)) continue;
    for (int f = 0; f < kFieldCount; ++f) {
      const Field field = static_cast<Field>(f);
      const std::vector<double> x = read(a, field, {w}), y = read(b, field, {w});
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] == y[i]) continue;
        return "world " + std::to_string(w) + ", " + std::string(field_name(field)) + "[" + std::to_string(i) +
               "]: " + std::to_string(x[i]) + " and " + std::to_string(y[i]);
      }
    }
    return "world " + std::to_string(w) + ": bits of what compares equal";
  }
  return "";
}

struct Pair {
  Pair(const BatchSpec& spec, int block_threads, std::int64_t near_bytes = -1)
      : cpu(cpu_engine_on("cpu")),
        gpu(gpu_engine(block_threads, near_bytes)),
        left(take(cpu->create_batch(spec))),
        right(take(gpu->create_batch(spec))) {}

  static std::unique_ptr<Engine> cpu_engine_on(const std::string& device) {
    return take(create_engine({.device = device, .threads = 1}));
  }
  template <typename F>
  void both(F&& f) {
    f(*cpu, *left);
    f(*gpu, *right);
  }
  // Steps both in launches; says what differs first.
  std::string run(int launches, int steps, const std::vector<double>& control = {}) {
    for (int k = 0; k < launches; ++k) {
      both([&](Engine& engine, Batch& batch) { step(engine, batch, steps, control); });
      if (const std::string text = difference(*left, *right); !text.empty()) {
        return "launch " + std::to_string(k) + ", " + text;
      }
    }
    return "";
  }

  std::unique_ptr<Engine> cpu, gpu;
  std::unique_ptr<Batch> left, right;
};

TEST(Agreement, scenes_drawn_at_random) {
  const char* wanted = std::getenv("AXION_PTX_SCENES");
  const int count = wanted == nullptr ? 9 : std::atoi(wanted);
  constexpr int kThreads[] = {32, 64, 128};
  constexpr std::int64_t kNear[] = {-1, 0, 4096};
  for (int seed = 0; seed < count; ++seed) {
    const RandomScene drawn = draw_scene(seed, Forces::kAll);
    const Precision precision = seed % 2 == 0 ? Precision::kFloat32 : Precision::kFloat64;
    BatchSpec spec = batch_spec(compile_scene(drawn.scene), 2, precision);
    spec.dt = drawn.dt;
    Pair pair(spec, kThreads[seed % 3], kNear[seed / 3 % 3]);
    pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
    std::vector<double> control = drawn.control;
    control.insert(control.end(), drawn.control.begin(), drawn.control.end());
    ASSERT_EQ(pair.run(3, 8, control), "") << "seed " << seed;
  }
}

// Their readings are fields, and what they keep of a step is state.
TEST(Agreement, sensors_of_every_kind) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const model::SceneSpec& scene : {with_sensors(all_joints()), with_sensors(quadruped())}) {
      Pair pair(batch_spec(compile_scene(scene), 2, precision), 64);
      pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
      ASSERT_EQ(pair.run(3, 8), "");
      // In the launch, as records.
      std::vector<std::vector<std::byte>> records;
      pair.both([&](Engine& engine, Batch& batch) {
        const std::size_t bytes =
            static_cast<std::size_t>(batch.field_shape(Field::kSensorData)[0]) * size_of(batch.real_dtype());
        std::vector<std::byte>& to = records.emplace_back(2 * 4 * bytes);
        const OutputView out{Field::kSensorData, to.data(), 4 * bytes, bytes};
        StepRequest request;
        request.batch = &batch, request.step_count = 8, request.record_every = 2, request.outputs = {&out, 1};
        take(engine.step({&request, 1}));
      });
      EXPECT_EQ(records[0], records[1]);
    }
  }
}

// A launch of another precision and other options than the batch's, in worlds that the device gets for it.
TEST(Agreement, linearisations) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Pair pair(batch_spec(compile_scene(four_bar()), 2, precision), 32);
    pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
    std::vector<Answer> answers;
    pair.both([&](Engine& engine, Batch& batch) { answers.push_back(linearised(engine, batch, {})); });
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_EQ(difference(*pair.left, *pair.right), "");
  }
}

TEST(Agreement, every_linear_solver) {
  constexpr LinearSolver kSolvers[] = {LinearSolver::kAutomatic, LinearSolver::kPcrJacobi,  LinearSolver::kTreeDirect,
                                       LinearSolver::kPcrTree,   LinearSolver::kTreeKrylov, LinearSolver::kDenseDirect};
  for (const LinearSolver solver : kSolvers) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      for (const model::SceneSpec& scene : {four_bar(), mixed_scene()}) {
        BatchSpec spec = batch_spec(compile_scene(scene), 2, precision);
        spec.options = model::make_options(model::Preset::kAxionSeed);
        spec.options.precision = precision;
        spec.options.linear_solver = solver;
        Pair pair(spec, 64);
        ASSERT_EQ(pair.run(1, 3), "") << "solver " << int(solver) << ", " << int(precision);
      }
    }
  }
}

TEST(Agreement, every_preset) {
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kAxionSeed, model::Preset::kVelocity}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      BatchSpec spec = batch_spec(compile_scene(all_joints()), 2, precision);
      spec.options = model::make_options(preset);
      spec.options.precision = precision;
      Pair pair(spec, 32);
      pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
      ASSERT_EQ(pair.run(3, 5), "") << int(preset) << ", " << int(precision);
    }
  }
}

TEST(Agreement, soft_contacts_and_limits) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (model::SceneSpec scene : {quadruped(), all_joints()}) {
      for (std::size_t i = 0; i < scene.shapes.size(); ++i) {
        scene.shapes[i].softness.solimp = {0.5, 0.9, 0.02, 0.4, 1.0 + 0.7 * static_cast<double>(i % 4)};
        scene.shapes[i].softness.margin = 0.01 * static_cast<double>(i % 2);
      }
      BatchSpec spec = batch_spec(compile_scene(scene), 2, precision);
      spec.options.contact_softness = model::ContactSoftness::kMjcf;
      Pair pair(spec, 64);
      pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
      ASSERT_EQ(pair.run(3, 8), "") << scene.name << ", " << int(precision);
    }
  }
}

// A hand whose target is out of reach, a drum that stands in the floor, links that lie in each other.
TEST(Agreement, what_no_motion_meets) {
  const std::string xml = R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><site name="goal" pos="0.9 0.2 0.8"/>
    <body pos="0 0 0.5"><joint axis="0 0 1"/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/>
      <body pos="0.3 0 0"><joint axis="0 1 0" range="-100 100"/><geom type="box" size="0.1 0.03 0.03" pos="0.15 0 0"
        mass="0.6"/><site name="tip" pos="0.3 0 0"/></body></body>
    <body pos="2 0 0.13"><joint axis="0 0 1" damping="0.1"/><geom type="capsule" size="0.07" fromto="0 0 -0.1 0 0 0"
      mass="3"/></body>
    <body pos="0 2 0.2"><joint axis="1 0 0"/><geom type="box" size="0.04 0.04 0.1" mass="1"/>
      <body pos="0 0 0.1"><joint axis="0 1 0"/><geom type="box" size="0.03 0.03 0.1" pos="0 0 -0.1" mass="0.5"/>
        <body pos="0 0 -0.2"><joint axis="0 1 0"/><geom type="box" size="0.03 0.03 0.08" pos="0 0 0.08" mass="0.3"/>
    </body></body></body></worldbody><equality><weld site1="tip" site2="goal"/></equality></mujoco>)";
  const model::SceneSpec scene = take(import::import_mjcf(xml, {})).scene;
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const auto softness : {model::ContactSoftness::kRigid, model::ContactSoftness::kMjcf}) {
      BatchSpec spec = batch_spec(compile_scene(scene), 1, precision);
      spec.options.contact_softness = softness;
      Pair pair(spec, 64);
      ASSERT_EQ(pair.run(2, 3), "") << int(precision) << ", " << int(softness);
      const auto said = static_cast<std::uint32_t>(read(*pair.left, Field::kOutcome)[0]);
      EXPECT_EQ(said & (kEased | kOverlap), kEased | kOverlap) << "the test shows nothing";
    }
  }
}

TEST(Agreement, torsional_and_rolling_friction) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (model::SceneSpec scene : {quadruped(), mixed_scene()}) {
      for (model::ShapeSpec& shape : scene.shapes) {
        shape.cone_dimension = 6, shape.torsional_friction = 0.02, shape.rolling_friction = 0.005;
      }
      Pair pair(batch_spec(compile_scene(scene), 2, precision), 64);
      pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
      ASSERT_EQ(pair.run(2, 4), "") << scene.name << ", " << int(precision);
    }
  }
}

// Belts and turntables beneath robots, and on them, with torsional friction that feels how they turn.
TEST(Agreement, surfaces_that_move) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const auto softness : {model::ContactSoftness::kRigid, model::ContactSoftness::kMjcf}) {
      for (model::SceneSpec scene : {quadruped(), mixed_scene()}) {
        for (std::size_t i = 0; i < scene.shapes.size(); ++i) {
          const double n = static_cast<double>(i % 3);
          scene.shapes[i].surface_velocity = {1 - n, 0.5 * n, 0.1};
          scene.shapes[i].surface_angular_velocity = {0, 0.3 * n, 2 - n};
          scene.shapes[i].cone_dimension = 4, scene.shapes[i].torsional_friction = 0.01;
        }
        BatchSpec spec = batch_spec(compile_scene(scene), 2, precision);
        spec.options.contact_softness = softness;
        Pair pair(spec, 64);
        pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
        ASSERT_EQ(pair.run(2, 4), "") << scene.name << ", " << int(precision) << ", " << int(softness);
      }
    }
  }
}

TEST(Agreement, many_springs_that_are_condensed_into_their_bodies) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Pair pair(batch_spec(compile_scene(strung_scene(8, false)), 2, precision), 64);
    pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
    ASSERT_EQ(pair.run(3, 6), "") << int(precision);
  }
}

TEST(Agreement, break_limits_and_ellipsoids_in_a_fluid) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    model::SceneSpec scene = all_joints();
    scene.medium.density = 1000, scene.medium.viscosity = 0.1;
    for (model::JointSpec& joint : scene.joints) {
      if (joint.kind == model::JointKind::kAxes) joint.break_force = 10, joint.break_torque = 1;
    }
    for (model::BodySpec& body : scene.bodies) body.fluid_ellipsoids.emplace_back().radii = {0.1, 0.05, 0.02};
    Pair pair(batch_spec(compile_scene(scene), 2, precision), 64);
    pair.both([](Engine&, Batch& batch) { scatter_worlds(batch); });
    ASSERT_EQ(pair.run(3, 6), "") << int(precision);
  }
}

TEST(Agreement, scenes_that_are_hard_to_solve) {
  for (const bench::RobustnessScene& scene : bench::robustness_scenes()) {
    if (!scene.model.empty()) continue;  // robots of files: axion-agreement-emulated
    const model::SceneSpec spec = bench::build_scene(scene, "", 1);
    Pair pair(batch_spec(compile_scene(spec), 1, Precision::kFloat32), 64);
    ASSERT_EQ(pair.run(2, 2, bench::constant_controls(scene, spec, 1)), "") << scene.name;
  }
}

TEST(Agreement, batches_of_both_precisions_in_one_launch) {
  const auto cpu = Pair::cpu_engine_on("cpu"), gpu = gpu_engine(0);
  const auto quad = compile_scene(quadruped()), joints = compile_scene(all_joints());
  std::vector<std::unique_ptr<Batch>> left, right;
  for (const auto& [engine, batches] : {std::pair{cpu.get(), &left}, std::pair{gpu.get(), &right}}) {
    batches->push_back(take(engine->create_batch(batch_spec(quad, 3, Precision::kFloat32))));
    batches->push_back(take(engine->create_batch(batch_spec(joints, 2, Precision::kFloat64))));
    batches->push_back(take(engine->create_batch(batch_spec(joints, 5, Precision::kFloat32))));
    for (const auto& batch : *batches) scatter_worlds(*batch);
    const std::vector<std::int32_t> some{4, 0, 2};
    std::vector<StepRequest> requests(3);
    for (int k = 0; k < 3; ++k) requests[k].batch = (*batches)[k].get(), requests[k].step_count = 3 + 2 * k;
    requests[2].world_indices = some;
    for (int round = 0; round < 2; ++round) take(engine->step(requests));
    ResetRequest reset;
    const std::vector<std::int32_t> one{1};
    reset.world_indices = one;
    check((*batches)[0]->reset(reset));
    take(engine->step(requests));
  }
  for (int k = 0; k < 3; ++k) EXPECT_EQ(difference(*left[k], *right[k]), "") << k;
}

TEST(Agreement, a_world_that_is_not_finite_freezes_alone) {
  BatchSpec spec = batch_spec(compile_scene(all_joints()), 2, Precision::kFloat32);
  Pair pair(spec, 64);
  pair.both([](Engine& engine, Batch& batch) {
    const std::vector<double> velocity(batch.field_shape(Field::kBodyVelocity)[0] * 6, 1e30);
    StateUpdate state;
    state.body_velocity = input(velocity, static_cast<int>(velocity.size()));
    const std::int32_t world = 1;
    check(batch.set_state({&world, 1}, state));
    step(engine, batch, 5);
  });
  EXPECT_EQ(read(*pair.left, Field::kOutcome), read(*pair.right, Field::kOutcome));
  EXPECT_EQ(state_bytes(*pair.left, 0), state_bytes(*pair.right, 0));
}

}  // namespace
}  // namespace axion::testing
