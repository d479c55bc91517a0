// A world's trajectory is a function of its own inputs alone.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/backend/engine_batch.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/team/serial_team.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/support/compiled_step.hpp"

namespace axion::testing::steps_test {
namespace {

using model::Precision;

// The bytes of all worlds after `steps` steps with noisy controls.
std::vector<std::string> run(Engine& engine, const BatchSpec& spec, int steps) {
  auto batch = take(engine.create_batch(spec));
  scatter_worlds(*batch);
  const int nu = static_cast<int>(batch->field_shape(Field::kControl)[0]);
  step(engine, *batch, steps, noise(spec.world_count * nu, 0.5, 3));
  std::vector<std::string> worlds;
  for (int i = 0; i < spec.world_count; ++i) worlds.push_back(state_bytes(*batch, i));
  return worlds;
}

TEST(Steps, world_result_does_not_depend_on_the_number_of_threads) {
  const auto model = compile_scene(quadruped());
  const auto one = cpu_engine(1), two = cpu_engine(2), five = cpu_engine(5);
  const auto expected = run(*one, batch_spec(model, 37), 10);
  EXPECT_EQ(run(*two, batch_spec(model, 37), 10), expected);
  EXPECT_EQ(run(*five, batch_spec(model, 37), 10), expected);
  EXPECT_NE(expected[0], expected[1]);
}

TEST(Steps, world_result_does_not_depend_on_its_batch) {
  const auto model = compile_scene(all_joints());
  const auto engine = cpu_engine(2);
  const auto many = take(engine->create_batch(batch_spec(model, 5, Precision::kFloat32)));
  const auto alone = take(engine->create_batch(batch_spec(model, 1, Precision::kFloat32)));
  scatter_worlds(*many);
  const std::vector<double> velocity = read(*many, Field::kBodyVelocity, {3});
  StateUpdate state;
  state.body_velocity = input(velocity, static_cast<int>(velocity.size()));
  check(alone->set_state({}, state));
  const std::vector<double> control = noise(10, 0.5, 9);
  step(*engine, *many, 50, control);
  step(*engine, *alone, 50, {control[6], control[7]});
  EXPECT_EQ(state_bytes(*many, 3), state_bytes(*alone, 0));
}

TEST(Steps, world_result_does_not_depend_on_what_else_is_in_the_launch) {
  const auto engine = cpu_engine(2);
  const auto quad = compile_scene(quadruped()), joints = compile_scene(all_joints());
  const auto make = [&](const auto& model, int n, Precision p) {
    return take(engine->create_batch(batch_spec(model, n, p)));
  };
  const auto shared_a = make(quad, 3, Precision::kFloat32), alone_a = make(quad, 3, Precision::kFloat32);
  const auto shared_b = make(joints, 7, Precision::kFloat64), alone_b = make(joints, 7, Precision::kFloat64);
  for (Batch* batch : {shared_a.get(), alone_a.get(), shared_b.get(), alone_b.get()}) scatter_worlds(*batch);
  StepRequest requests[2];
  requests[0].batch = shared_a.get(), requests[0].step_count = 20;
  requests[1].batch = shared_b.get(), requests[1].step_count = 30;
  const StepStatistics statistics = take(engine->step(requests));
  EXPECT_EQ(statistics.world_steps, 3 * 20 + 7 * 30);
  step(*engine, *alone_a, 20);
  step(*engine, *alone_b, 30);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(state_bytes(*shared_a, i), state_bytes(*alone_a, i));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(state_bytes(*shared_b, i), state_bytes(*alone_b, i));
}

TEST(Steps, order_of_world_indices_decides_rows_and_not_results) {
  const auto engine = cpu_engine(2);
  const auto model = compile_scene(all_joints());
  const auto a = take(engine->create_batch(batch_spec(model, 4))), b = take(engine->create_batch(batch_spec(model, 4)));
  scatter_worlds(*a), scatter_worlds(*b);
  const std::vector<std::int32_t> indices{2, 0, 3};
  const std::vector<double> control{0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  std::vector<double> position(3 * 15);
  const OutputView out{Field::kJointPosition, reinterpret_cast<std::byte*>(position.data()), 15 * sizeof(double), 0};
  StepRequest request;
  request.batch = a.get(), request.world_indices = indices, request.step_count = 10;
  request.control = input(control, 2), request.outputs = {&out, 1};
  take(engine->step({&request, 1}));
  EXPECT_EQ(position, read(*a, Field::kJointPosition, indices));
  EXPECT_EQ(a->step_index(1), 0);
  EXPECT_EQ(a->step_index(2), 10);
  EXPECT_EQ(state_bytes(*a, 1), state_bytes(*b, 1));
  step(*engine, *b, 10, {0.3, 0.4, 0, 0, 0.1, 0.2, 0.5, 0.6});
  for (const int i : indices) EXPECT_EQ(state_bytes(*a, i), state_bytes(*b, i));
}

TEST(Steps, a_sequence_of_controls_equals_repeated_held_ones) {
  const auto engine = cpu_engine();
  const auto model = compile_scene(all_joints());
  const auto a = take(engine->create_batch(batch_spec(model, 2))), b = take(engine->create_batch(batch_spec(model, 2)));
  const int steps = 12, nu = 2;
  const std::vector<double> control = noise(2 * steps * nu, 1.5, 4);
  StepRequest request;
  request.batch = a.get(), request.step_count = steps;
  request.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, steps * nu * sizeof(double),
                     nu * sizeof(double)};
  take(engine->step({&request, 1}));
  for (int t = 0; t < steps; ++t) {
    const double* first = control.data() + t * nu;
    const double* second = first + steps * nu;
    step(*engine, *b, 1, {first[0], first[1], second[0], second[1]});
  }
  EXPECT_EQ(read(*a, Field::kBodyPose), read(*b, Field::kBodyPose));
  EXPECT_EQ(read(*a, Field::kBodyVelocity), read(*b, Field::kBodyVelocity));
  EXPECT_EQ(read(*a, Field::kControl), read(*b, Field::kControl));
}

// Rows, steps and wrenches with gaps, both precisions in one launch: the bits of inputs that lie packed.
TEST(Steps, inputs_with_gaps_step_as_packed_ones) {
  const auto engine = cpu_engine(2);
  const auto model = compile_scene(all_joints());
  const int n = 3, steps = 4, nu = static_cast<int>(model->info().actuators.size());
  const int wrench = 6 * static_cast<int>(model->info().bodies.size());
  const auto packed_control = noise(n * steps * nu, 1, 3), packed_wrench = noise(n * wrench, 2, 4);
  std::vector<std::string> states[2];
  for (const int gap : {0, 3}) {
    const int step_stride = nu + gap, row_stride = steps * step_stride + gap, wrench_stride = wrench + gap;
    std::vector<double> control(n * row_stride, std::nan("")), wrenches(n * wrench_stride, std::nan(""));
    for (int i = 0; i < n; ++i) {
      for (int t = 0; t < steps; ++t) {
        std::copy_n(&packed_control[(i * steps + t) * nu], nu, &control[i * row_stride + t * step_stride]);
      }
      std::copy_n(&packed_wrench[i * wrench], wrench, &wrenches[i * wrench_stride]);
    }
    const auto view = [](const std::vector<double>& values, int row, int step) {
      return InputView{reinterpret_cast<const std::byte*>(values.data()), DType::kFloat64, row * sizeof(double),
                       step * sizeof(double)};
    };
    std::unique_ptr<Batch> batches[2];
    StepRequest requests[2];
    for (int k = 0; k < 2; ++k) {
      batches[k] = take(
          engine->create_batch(batch_spec(model, n, k == 0 ? model::Precision::kFloat32 : model::Precision::kFloat64)));
      requests[k].batch = batches[k].get(), requests[k].step_count = steps;
      requests[k].control = view(control, row_stride, step_stride),
      requests[k].body_wrench = view(wrenches, wrench_stride, 0);
    }
    take(engine->step(requests));
    for (const auto& batch : batches) {
      for (int i = 0; i < n; ++i) states[gap > 0].push_back(state_bytes(*batch, i));
    }
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_NE(states[0][0], states[0][1]) << "worlds have controls of their own";
}

TEST(Steps, an_absent_control_keeps_the_last_one) {
  const auto engine = cpu_engine();
  const auto model = compile_scene(all_joints());
  const auto a = take(engine->create_batch(batch_spec(model, 1))), b = take(engine->create_batch(batch_spec(model, 1)));
  step(*engine, *a, 5, {0.4, 0.2});
  step(*engine, *a, 5);
  step(*engine, *b, 10, {0.4, 0.2});
  EXPECT_EQ(read(*a, Field::kBodyPose), read(*b, Field::kBodyPose));
}

TEST(Steps, records_are_the_states_that_separate_calls_would_see) {
  const auto engine = cpu_engine();
  const auto model = compile_scene(box_and_sphere());
  const auto a = take(engine->create_batch(batch_spec(model, 3, Precision::kFloat32)));
  const auto b = take(engine->create_batch(batch_spec(model, 3, Precision::kFloat32)));
  scatter_worlds(*a), scatter_worlds(*b);
  std::vector<float> poses(3 * 4 * 14);
  std::vector<double> times(3 * 4);
  const OutputView outputs[2] = {
      {Field::kBodyPose, reinterpret_cast<std::byte*>(poses.data()), 4 * 14 * sizeof(float), 14 * sizeof(float)},
      {Field::kTime, reinterpret_cast<std::byte*>(times.data()), 4 * sizeof(double), sizeof(double)}};
  StepRequest request;
  request.batch = a.get(), request.step_count = 20, request.record_every = 5, request.outputs = outputs;
  take(engine->step({&request, 1}));
  for (int r = 0; r < 4; ++r) {
    step(*engine, *b, 5);
    const std::vector<double> pose = read(*b, Field::kBodyPose), time = read(*b, Field::kTime);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(times[i * 4 + r], time[i]);
      for (int k = 0; k < 14; ++k)
        EXPECT_EQ(poses[(i * 4 + r) * 14 + k], pose[i * 14 + k]) << i << " " << r << " " << k;
    }
  }
}

TEST(Steps, a_wrench_accelerates_the_body_it_names) {
  model::SceneSpec scene = all_joints();
  scene.joints.resize(1);  // all bodies are free
  scene.actuators.clear(), scene.keyframes.clear();
  scene.gravity = {0, 0, 0};
  const auto engine = cpu_engine();
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(scene), 1)));
  std::vector<double> wrench(4 * 6);
  wrench[2 * 6 + 1] = 4;    // body 2: 4 N along y, mass 1
  wrench[3 * 6 + 5] = 0.1;  // body 3: 0.1 N m about z, I_zz = 0.02
  StepRequest request;
  request.batch = batch.get(), request.step_count = 10, request.body_wrench = input(wrench, 24);
  take(engine->step({&request, 1}));
  const std::vector<double> velocity = read(*batch, Field::kBodyVelocity);
  for (int i = 0; i < 24; ++i) {
    const double expected = i == 13 ? 4 * 0.05 : (i == 23 ? 0.1 * 0.05 / 0.02 : 0);
    EXPECT_NEAR(velocity[i], expected, 1e-12) << i;
  }
}

// Runs rows of a job with teams whose loops run in other orders.
template <typename Real, typename Team>
std::vector<std::byte> run_with(const Model& model, const BatchSpec& spec, int steps) {
  const auto& engine_model = dynamic_cast<const backend::EngineModel&>(model);
  step::StepJob<Real> job{};
  job.m = engine_model.arrays<Real>().view();
  job.user = engine_model.user<Real>().view();
  job.settings = model::make_step_settings<Real>(spec.options, spec.dt);
  const world::WorldBytes bytes = world::world_bytes(job.m);
  std::vector<std::byte> world(bytes.world), scratch(bytes.scratch);
  backend::WorldBlock<Real> block(engine_model, world.data());
  block.set_default_parameters();
  block.reset(-1);
  for (int b = 0; b < job.m.body_count; ++b) block.view().omega[b] = {Real(0.3), Real(-0.2), Real(0.1)};
  StepStatistics statistics;
  job.worlds = world.data(), job.world_count = 1, job.step_count = steps, job.statistics = &statistics;
  run_row_of(testing::compiled_team(Team{}), job, 0, scratch.data());
  EXPECT_EQ(statistics.world_steps, steps);
  return world;
}

template <typename Real>
void expect_same_bits_in_any_order(const model::SceneSpec& scene, model::Preset preset) {
  const auto model = compile_scene(scene);
  BatchSpec spec;
  spec.options = model::make_options(preset);
  const auto forward = run_with<Real, team::SerialTeam>(*model, spec, 60);
  EXPECT_EQ((run_with<Real, team::ReversedTeam>(*model, spec, 60)), forward);
  EXPECT_EQ((run_with<Real, team::ShuffledTeam>(*model, spec, 60)), forward);
}

TEST(Steps, reversed_and_shuffled_teams_give_the_same_bits) {
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kAxionSeed}) {
    for (const model::SceneSpec& scene :
         {box_and_sphere(), all_joints(), quadruped(), with_sensors(all_joints()), with_sensors(quadruped())}) {
      expect_same_bits_in_any_order<float>(scene, preset);
      expect_same_bits_in_any_order<double>(scene, preset);
    }
  }
}

TEST(Steps, every_instruction_set_gives_the_same_bits) {
  for (const model::SceneSpec& scene : {box_and_sphere(), all_joints(), quadruped()}) {
    const auto model = compile_scene(scene);
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      std::vector<double> first;
      for (const char* name : {"", "x86-64", "x86-64-v3", "x86-64-v4"}) {
        const auto engine = create_engine({.device = "cpu", .threads = 1, .instruction_set = name});
        if (!engine.ok()) continue;  // this machine has not got it
        const auto batch = take(engine.value()->create_batch(batch_spec(model, 3, precision)));
        scatter_worlds(*batch);
        step(*engine.value(), *batch, 60);
        const std::vector<double> poses = read(*batch, Field::kBodyPose);
        if (first.empty()) first = poses;
        EXPECT_EQ(poses, first) << name;
      }
    }
  }
}

TEST(Steps, statistics_count_every_world_step_once) {
  const auto engine = cpu_engine(3);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 70)));
  const StepStatistics s = step(*engine, *batch, 30);
  EXPECT_EQ(s.world_steps, 70 * 30);
  const auto total = [](const auto& binned) {
    std::int64_t sum = 0;
    for (const std::int64_t count : binned.counts) sum += count;
    return sum;
  };
  EXPECT_EQ(total(s.newton_iterations), s.world_steps);
  EXPECT_EQ(total(s.linear_iterations), s.world_steps);
  EXPECT_EQ(total(s.line_search_steps), s.world_steps);
  EXPECT_EQ(total(s.contacts), s.world_steps);
  for (const auto& block : s.residual) EXPECT_EQ(total(block), s.world_steps);
  EXPECT_EQ(s.converged + s.max_iterations + s.non_finite, s.world_steps);
  step(*engine, *batch, 5);
  EXPECT_EQ(batch->statistics().steps.world_steps, 70 * 35);
  const WorldStatistics world = take(batch->statistics(3));
  EXPECT_EQ(world.contact_count, read(*batch, Field::kContactCount, {3})[0]);
}

TEST(Steps, a_bin_holds_what_is_above_its_lower_bound_up_to_its_own) {
  BinnedCounts<3> bins;
  const std::array<double, 3> bounds{0, 1, 10};
  for (const double value : {0.0, 0.5, 1.0, 1.5, 10.0, 11.0}) bins.count(bounds, value);
  EXPECT_EQ(bins.counts, (std::array<std::int64_t, 4>{1, 2, 2, 1}));
  EXPECT_EQ(bins.sum, 24);
}

}  // namespace
}  // namespace axion::testing::steps_test
