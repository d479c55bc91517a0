// A snapshot is the world: the same bits follow from it wherever it is set, and bytes that are no sound snapshot change
// nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "engine/backend/snapshot.hpp"
#include "engine/import/mjcf.hpp"
#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::snapshot_test {
namespace {

using model::Precision;

// Boxes and spheres that fall into a heap.
model::SceneSpec heap() {
  model::SceneSpec scene = box_and_sphere();
  for (int i = 0; i < 10; ++i) {
    model::BodySpec body = scene.bodies[i % 2];
    body.name += std::to_string(i);
    body.X_WB.position = {0.13 * (i % 3), 0.11 * (i % 2), 0.8 + 0.32 * i};
    model::ShapeSpec shape = scene.shapes[1 + i % 2];
    shape.name += std::to_string(i), shape.body = static_cast<int>(scene.bodies.size());
    scene.bodies.push_back(body);
    scene.shapes.push_back(shape);
  }
  return scene;
}

// Spheres side by side on the floor, each a little lower than it stands: more than ninety, whose near pairs cells find.
model::SceneSpec many_spheres() {
  model::SceneSpec scene = box_and_sphere();
  const model::BodySpec body = scene.bodies[1];
  const model::ShapeSpec shape = scene.shapes[2];
  for (int i = 0; i < 110; ++i) {
    scene.bodies.push_back(body);
    scene.bodies.back().name += std::to_string(i);
    scene.bodies.back().X_WB.position = {2 + 0.39 * (i % 11), 0.39 * (i / 11), 0.21};
    scene.shapes.push_back(shape);
    scene.shapes.back().name += std::to_string(i), scene.shapes.back().body = i + 2;
  }
  return scene;
}

model::SceneSpec humanoid() {
  std::ifstream file(AXION_MODELS_DIR "/humanoid.xml");
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().empty()) return {};
  return take(import::import_mjcf(text.str(), {})).scene;
}

StateUpdate from(const std::string& snapshot) {
  StateUpdate state;
  state.snapshots = {snapshot};
  return state;
}

std::string snapshot_of(const Batch& batch, std::int32_t world) {
  return take(batch.snapshots({&world, 1}, {})).front();
}

Status set(Batch& batch, std::int32_t world, const std::string& snapshot) {
  return batch.set_state({&world, 1}, from(snapshot));
}

model::SceneSpec rolling_heap() {
  model::SceneSpec scene = heap();
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.cone_dimension = 6, shape.torsional_friction = 0.01, shape.rolling_friction = 0.003;
  }
  return scene;
}

std::string contact_text(const Batch& batch, int world) {
  std::ostringstream out;
  out.precision(17);
  for (const ContactInfo& c : take(batch.contacts(world))) {
    out << c.shape_a << ' ' << c.shape_b << ' ' << c.body_a << ' ' << c.body_b << ' ' << c.point[0] << ' '
        << c.normal[2] << ' ' << c.gap << ' ' << c.normal_impulse << ' ' << c.friction_impulse[1] << ' '
        << c.moment_impulse[0] << '\n';
  }
  return out.str();
}

// All that can be seen of a world, and its arrays.
std::string everything(const Batch& batch, int world) {
  return state_bytes(batch, world) + contact_text(batch, world) + snapshot_of(batch, world);
}

void step_all(Engine& engine, Batch& batch, int steps, double push) {
  const std::size_t controls = batch.spec().model->info().actuators.size();
  step(engine, batch, steps, std::vector<double>(batch.spec().world_count * controls, push));
}

bool emulated() { return cpu_engine()->device().kind == "cuda"; }

void expect_the_same_bits(const model::SceneSpec& scene, Precision precision, int before, int after) {
  const auto engine = cpu_engine(1), other_engine = cpu_engine(3);
  const auto model = compile_scene(scene), other_model = compile_scene(scene);
  const auto batch = take(engine->create_batch(batch_spec(model, 3, precision)));
  const auto other = take(other_engine->create_batch(batch_spec(other_model, 5, precision)));
  scatter_worlds(*batch);
  scatter_worlds(*other);
  step_all(*engine, *batch, before, 0.3);
  step_all(*other_engine, *other, before / 2, -0.2);
  ASSERT_FALSE(take(batch->contacts(1)).empty()) << "nothing touches: the test would not see impulses that are lost";
  const std::string taken = snapshot_of(*batch, 1), beside = everything(*other, 2);
  const std::string now = everything(*batch, 1);
  check(set(*other, 3, taken));
  check(set(*batch, 0, taken));  // another world of its own batch
  EXPECT_EQ(everything(*other, 3), now);
  EXPECT_EQ(everything(*other, 2), beside) << "the world beside it changed";
  EXPECT_EQ(other->step_index(3), batch->step_index(1));
  step_all(*engine, *batch, after, -0.4);
  const std::string later = everything(*batch, 1);
  EXPECT_NE(later, now);
  EXPECT_EQ(everything(*batch, 0), later);
  step_all(*other_engine, *other, after, -0.4);
  EXPECT_EQ(everything(*other, 3), later);
  // And from the start again: a world that was rolled back.
  check(set(*batch, 1, taken));
  step_all(*engine, *batch, after, -0.4);
  EXPECT_EQ(everything(*batch, 1), later);
}

TEST(Snapshot, a_quadruped_goes_on_with_the_same_bits_anywhere) {
  if (emulated()) GTEST_SKIP() << "an emulated GPU would take long until it lands";
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    expect_the_same_bits(quadruped(), precision, 150, 200);
  }
}

TEST(Snapshot, a_heap_goes_on_with_the_same_bits_anywhere) {
  const model::SceneSpec scene = emulated() ? box_and_sphere() : heap();  // it lands soon
  const int before = emulated() ? 60 : 300, after = emulated() ? 5 : 200;
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    expect_the_same_bits(scene, precision, before, after);
  }
}

// Without the moments that contacts were kept with, the next step would start from others.
TEST(Snapshot, a_heap_with_torsional_and_rolling_friction_goes_on_with_the_same_bits) {
  if (emulated()) GTEST_SKIP() << "an emulated GPU would take long until it lands";
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    expect_the_same_bits(rolling_heap(), precision, 120, 60);
  }
}

TEST(Snapshot, a_scene_of_many_shapes_goes_on_with_the_same_bits) {
  if (emulated()) GTEST_SKIP() << "an emulated GPU would take long";
  const auto engine = cpu_engine(2);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(many_spheres()), 2, Precision::kFloat32)));
  step(*engine, *batch, 40);
  ASSERT_GT(take(batch->contacts(0)).size(), 100u) << "with the floor, after they pushed each other apart";
  const std::string taken = snapshot_of(*batch, 0);
  step(*engine, *batch, 20);
  const std::string later = everything(*batch, 0);
  check(set(*batch, 1, taken));
  step(*engine, *batch, 20);
  EXPECT_EQ(everything(*batch, 1), later);
}

TEST(Snapshot, a_humanoid_goes_on_with_the_same_bits_anywhere) {
  if (emulated() || humanoid().bodies.empty())
    GTEST_SKIP() << "no humanoid.xml, or an emulated GPU, which would take long";
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    expect_the_same_bits(humanoid(), precision, 250, 200);
  }
}

TEST(Snapshot, a_world_goes_from_a_cpu_to_a_gpu_and_back) {
  if (!emulated()) GTEST_SKIP() << "this is where the CPU is tested";
  const auto cpu = take(create_engine({.device = "cpu", .threads = 1})), gpu = cpu_engine();
  const auto model = compile_scene(box_and_sphere());
  const auto here = take(cpu->create_batch(batch_spec(model, 2, Precision::kFloat32)));
  const auto there = take(gpu->create_batch(batch_spec(model, 2, Precision::kFloat32)));
  step(*cpu, *here, 60);
  check(set(*there, 1, snapshot_of(*here, 0)));
  step(*cpu, *here, 5);
  step(*gpu, *there, 5);
  EXPECT_EQ(state_bytes(*there, 1), state_bytes(*here, 0));
  check(set(*here, 1, snapshot_of(*there, 1)));
  step(*cpu, *here, 5);
  EXPECT_EQ(state_bytes(*here, 1), state_bytes(*here, 0));
}

TEST(Snapshot, one_snapshot_branches_into_all_worlds_and_resets_them) {
  const auto engine = cpu_engine(2);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(quadruped()), 4)));
  scatter_worlds(*batch);
  const int steps = emulated() ? 4 : 40;
  step_all(*engine, *batch, steps, 0.1);
  const std::string taken = snapshot_of(*batch, 2), now = everything(*batch, 2);
  check(batch->set_state({}, from(taken)));
  for (int world = 0; world < 4; ++world) EXPECT_EQ(everything(*batch, world), now);
  step_all(*engine, *batch, 5, 0.1);
  ResetRequest reset;
  reset.state = from(taken);
  check(batch->reset(reset));
  for (int world = 0; world < 4; ++world) EXPECT_EQ(everything(*batch, world), now);
  EXPECT_EQ(batch->step_index(3), steps);
}

TEST(Snapshot, scales_and_initial_poses_travel_with_the_world) {
  const auto engine = cpu_engine();
  const auto model = compile_scene(quadruped());
  BatchSpec spec = batch_spec(model, 2);
  const int nb = static_cast<int>(model->info().bodies.size()), nu = static_cast<int>(model->info().actuators.size());
  const std::vector<double> mass(2 * nb, 1.5), friction{0.4, 0.4}, gain(2 * nu, 0.7);
  spec.overrides.mass_scale = input(mass, nb), spec.overrides.friction_scale = input(friction, 1);
  spec.overrides.gain_scale = input(gain, nu);
  const auto heavy = take(engine->create_batch(spec));
  const auto plain = take(engine->create_batch(batch_spec(model, 2)));
  check(set(*plain, 1, snapshot_of(*heavy, 0)));
  const int steps = emulated() ? 5 : 60;
  step_all(*engine, *heavy, steps, 0.2);
  step_all(*engine, *plain, steps, 0.2);
  EXPECT_EQ(everything(*plain, 1), everything(*heavy, 0));
  EXPECT_NE(everything(*plain, 0), everything(*heavy, 0));
  check(heavy->reset({}));
  check(plain->reset({}));
  EXPECT_EQ(everything(*plain, 1), everything(*heavy, 0));
}

TEST(Snapshot, the_outcome_of_a_request_that_took_several_launches_is_kept) {
  const auto engine = cpu_engine();
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 2)));
  step(*engine, *batch, 3);
  const std::uint32_t outcome = kMaxIterations | kFallback;
  const std::int32_t world = 0;
  check(set(*batch, 1, take(batch->snapshots({&world, 1}, {&outcome, 1})).front()));
  EXPECT_EQ(read(*batch, Field::kOutcome, {1})[0], outcome);
  EXPECT_EQ(read(*batch, Field::kOutcome, {0})[0], double(kConverged));
}

TEST(Snapshot, a_frozen_world_is_a_snapshot_too_and_one_revives_it) {
  const auto engine = cpu_engine();
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 2)));
  step(*engine, *batch, 10);
  const std::string alive = snapshot_of(*batch, 0);
  StepRequest request;
  request.batch = batch.get();
  const std::int32_t world = 1;
  request.world_indices = {&world, 1};
  std::vector<double> wrench(12, 1e308);
  request.body_wrench = input(wrench, 12);
  take(engine->step({&request, 1}));
  ASSERT_TRUE(static_cast<std::uint32_t>(read(*batch, Field::kOutcome, {1})[0]) & kNonFinite);
  const std::string frozen = snapshot_of(*batch, 1);
  check(set(*batch, 1, alive));
  EXPECT_EQ(everything(*batch, 1), everything(*batch, 0));
  check(set(*batch, 1, frozen));
  step(*engine, *batch, 5);
  EXPECT_TRUE(static_cast<std::uint32_t>(read(*batch, Field::kOutcome, {1})[0]) & kNonFinite);
}

struct Refusal {
  std::unique_ptr<Engine> engine = cpu_engine();
  std::unique_ptr<Batch> batch;
  std::string before;

  explicit Refusal(const model::SceneSpec& scene = quadruped()) {
    batch = take(engine->create_batch(batch_spec(compile_scene(scene), 2)));
    step_all(*engine, *batch, emulated() ? 3 : 30, 0.1);
    before = everything(*batch, 0) + everything(*batch, 1);
  }
  void expect(const Status& status, const std::string& field, const std::string& words) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().field, field);
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
    EXPECT_EQ(everything(*batch, 0) + everything(*batch, 1), before);
  }
};

TEST(Snapshot, of_another_model_precision_dt_or_choice_is_refused) {
  Refusal f;
  const auto taken = [&](const model::SceneSpec& scene, const auto& change) {
    BatchSpec spec = batch_spec(compile_scene(scene), 1);
    change(spec);
    return snapshot_of(*take(f.engine->create_batch(spec)), 0);
  };
  const auto expect = [&](const std::string& snapshot, const std::string& words) {
    f.expect(set(*f.batch, 1, snapshot), "snapshot[0]", words);
  };
  const auto keep = [](BatchSpec&) {};
  check(set(*f.batch, 1, taken(quadruped(), keep)));
  f.before = everything(*f.batch, 0) + everything(*f.batch, 1);
  model::SceneSpec heavier = quadruped();
  heavier.bodies[1].mass *= 1.0000001;
  expect(taken(heavier, keep), "another model");
  expect(taken(box_and_sphere(), keep), "another model");
  expect(taken(quadruped(), [](BatchSpec& s) { s.options.precision = Precision::kFloat32; }), "float32");
  expect(taken(quadruped(), [](BatchSpec& s) { s.dt = 0.004; }), "dt 0.004");
  expect(taken(quadruped(), [](BatchSpec& s) { s.options.joint_mode = model::JointMode::kCurrent; }), "joint_mode");
  expect(taken(quadruped(), [](BatchSpec& s) { s.options.half_step_start = false; }), "half_step_start");
  // Names do not move anything, and these choices only say how the next step is solved.
  model::SceneSpec renamed = quadruped();
  renamed.bodies[0].name = "another", renamed.keyframes.clear();
  check(set(*f.batch, 0, taken(renamed, keep)));
  check(set(*f.batch, 0, taken(quadruped(), [](BatchSpec& s) { s.options.tolerance = 1e-5; })));
}

TEST(Snapshot, beside_other_parts_or_of_a_wrong_number_is_refused_and_names_its_row) {
  Refusal f;
  const std::string good = snapshot_of(*f.batch, 0);
  StateUpdate state = from(good);
  const std::vector<double> time{1, 2};
  state.time = input(time, 1);
  f.expect(f.batch->set_state({}, state), "snapshot", "alone");
  state = {};
  state.snapshots = {good, good, good};
  f.expect(f.batch->set_state({}, state), "snapshot", "3 values for 2 worlds");
  state.snapshots = {good, std::string_view(good).substr(0, 100)};
  f.expect(f.batch->set_state({}, state), "snapshot[1]", "100 bytes");
  ResetRequest reset;
  reset.keyframe = 0, reset.state = from(good);
  f.expect(f.batch->reset(reset), "keyframe", "not at both");
}

TEST(Snapshot, no_single_bit_may_flip_and_no_byte_be_missing) {
  Refusal f;
  const std::string good = snapshot_of(*f.batch, 0);
  int accepted = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += emulated() ? 97 : 1) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const Status status = set(*f.batch, 1, bytes);
    accepted += status.ok() ? 1 : 0;
    if (status.ok()) continue;
    EXPECT_EQ(status.error().field, "snapshot[0]");
  }
  EXPECT_EQ(accepted, 0);
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 16)
    EXPECT_FALSE(set(*f.batch, 1, good.substr(0, size)).ok());
  EXPECT_FALSE(set(*f.batch, 1, good + 'Z').ok());
  EXPECT_EQ(everything(*f.batch, 0) + everything(*f.batch, 1), f.before);
}

// Whoever signs what they changed gets a strange world at worst: no index leads out of it, no neighbour sees it.
TEST(Snapshot, bytes_changed_on_purpose_harm_their_own_world_at_most) {
  for (const model::SceneSpec& scene : {all_joints(), heap(), rolling_heap()}) {
    Refusal f(scene);
    if (!emulated()) step_all(*f.engine, *f.batch, 200, 0.1);
    const std::string good = snapshot_of(*f.batch, 0), neighbour = snapshot_of(*f.batch, 1);
    check(set(*f.batch, 1, neighbour));
    step_all(*f.engine, *f.batch, 1, 0.1);
    const std::string expected = everything(*f.batch, 1);
    unsigned draw = 7;
    int taken = 0;
    for (int i = 0; i < (emulated() ? 8 : 1000); ++i) {
      std::string bytes = good;
      for (int k = 0; k <= i % 3; ++k) {
        draw = draw * 1664525u + 1013904223u;
        const std::size_t at =
            sizeof(backend::SnapshotHeader) + (draw >> 8) % (bytes.size() - sizeof(backend::SnapshotHeader) - 9);
        bytes[at] = static_cast<char>(i % 5 == 0 ? 0xff : bytes[at] ^ (1 << (draw & 7)));
      }
      check(set(*f.batch, 1, neighbour));
      if (!set(*f.batch, 0, signed_again(bytes)).ok()) continue;
      ++taken;
      step_all(*f.engine, *f.batch, 1, 0.1);
      ASSERT_EQ(everything(*f.batch, 1), expected) << "change " << i;
      take(f.batch->contacts(0));
      take(f.batch->statistics(0));
    }
    EXPECT_GT(taken, 0) << "no change was taken: the test shows nothing";
  }
}

TEST(Snapshot, counts_indices_and_numbers_that_lead_astray_are_refused) {
  Refusal f(heap());
  if (emulated()) GTEST_SKIP() << "the checks are the host's, whatever the device";
  step_all(*f.engine, *f.batch, 300, 0);
  f.before = everything(*f.batch, 0) + everything(*f.batch, 1);
  const std::string good = snapshot_of(*f.batch, 0);
  ASSERT_TRUE(set(*f.batch, 0, signed_again(good)).ok());
  const auto expect = [&](std::size_t at, const auto& value, const std::string& words) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    f.expect(set(*f.batch, 1, signed_again(bytes)), "snapshot[0]", words);
  };
  for (const std::uint32_t count : {0u, 1u, 1000u, 0xffffffffu}) {
    expect(offsetof(backend::SnapshotHeader, warm_count), count, "contacts");
    expect(offsetof(backend::SnapshotHeader, contact_count), count, "contacts");
  }
  const std::size_t nb = f.batch->spec().model->info().bodies.size(), x = sizeof(backend::SnapshotHeader);
  expect(x, std::numeric_limits<double>::quiet_NaN(), "finite");
  expect(x + 24 * nb, 0.2, "rotation");  // of the first body
  // What a step that diverges leaves has a vector part, and turns too fast.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t number = 0; number < 4; ++number) expect(x + 24 * nb + 8 * number, kNan, "rotation");
  expect(x + 24 * nb, std::array{kNan, kNan, kNan, kNan}, "rotation");
  expect(x + 24 * nb + 32 * nb, std::numeric_limits<double>::infinity(), "finite");
}

// Whatever stands in the four or eight bytes of an integer, the world that takes it is one that the step can walk.
TEST(Snapshot, extremes_in_every_word_are_refused_or_harmless) {
  if (emulated()) GTEST_SKIP() << "the checks are the host's, whatever the device";
  Refusal f(all_joints());
  const std::string good = snapshot_of(*f.batch, 0), neighbour = snapshot_of(*f.batch, 1);
  step_all(*f.engine, *f.batch, 1, 0.1);
  const std::string expected = everything(*f.batch, 1);
  int taken = 0;
  for (const std::int32_t extreme :
       {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), -2}) {
    for (std::size_t at = sizeof(backend::SnapshotHeader); at + 9 + 4 <= good.size(); at += 4) {
      std::string bytes = good;
      std::memcpy(bytes.data() + at, &extreme, sizeof(extreme));
      check(set(*f.batch, 1, neighbour));
      if (!set(*f.batch, 0, signed_again(bytes)).ok()) continue;
      ++taken;
      step_all(*f.engine, *f.batch, 1, 0.1);
      ASSERT_EQ(everything(*f.batch, 1), expected) << "byte " << at;
      take(f.batch->contacts(0));
    }
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace axion::testing::snapshot_test
