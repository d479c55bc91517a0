// Clients that step at once share launches, and each gets the bits that it gets alone.
#include <cmath>
#include <thread>

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

constexpr int kCalls = 30;
constexpr int kSteps = 4;

class SharedLaunch : public ServerTest {
 protected:
  // Steps a fresh batch through a fixed roll-out; returns every answer's outputs, in order.
  std::vector<std::string> roll_out(const std::string& model, int worlds, double phase) {
    const auto own = connect();
    grpc::ClientContext create_context;
    v1::CreateBatchRequest create;
    create.set_model(model);
    create.set_world_count(worlds);
    create.set_seed(3);
    create.mutable_initial_noise()->set_joint_position(0.2);
    v1::Batch batch;
    EXPECT_TRUE(own->CreateBatch(&create_context, create, &batch).ok());
    ready.Block();
    std::vector<std::string> answers;
    for (int i = 0; i < kCalls; ++i) {
      v1::StepRequest request;
      request.set_batch(batch.name());
      request.set_step_count(kSteps);
      request.set_record_every(2);
      for (const char* field : {"body_pose", "body_velocity", "joint_impulse", "outcome"}) request.add_outputs(field);
      std::vector<float> control;
      for (int w = 0; w < worlds * kSteps; ++w) control.push_back(static_cast<float>(std::sin(phase + i + 0.1 * w)));
      fill(*request.mutable_control(), {worlds, kSteps, 1}, control);
      v1::StepResponse response;
      grpc::ClientContext context;
      EXPECT_TRUE(own->Step(&context, request, &response).ok());
      std::string bytes;
      for (const auto& field : request.outputs()) bytes += response.outputs().at(field).data();
      answers.push_back(bytes);
    }
    return answers;
  }

  // Worlds in all launches, and the launches that had more worlds than `count`, which is a bound of the metric's.
  struct Launches {
    double worlds = 0;
    std::uint64_t larger = 0;
  };
  Launches launches_larger_than(double count) {
    for (const auto& family : server->metrics().registry()->Collect()) {
      if (family.name != "axion_launch_worlds") continue;
      const auto& histogram = family.metric[0].histogram;
      for (const auto& bucket : histogram.bucket) {
        if (bucket.upper_bound == count)
          return {histogram.sample_sum, histogram.sample_count - bucket.cumulative_count};
      }
    }
    ADD_FAILURE() << "axion_launch_worlds has no bucket that ends at " << count;
    return {};
  }

  // Starts the clients' steps together.
  struct Barrier {
    absl::Mutex mutex;
    int missing = 0;
    void Block() {
      absl::MutexLock lock(&mutex);
      --missing;
      mutex.Await(absl::Condition(
          +[](int* count) { return *count <= 0; }, &missing));
    }
  } ready;
};

TEST_F(SharedLaunch, clients_that_step_at_once_share_launches_and_get_the_bits_they_get_alone) {
  Config config;
  config.max_batch_delay = absl::Milliseconds(200);  // both are always awaited, so every launch is shared
  start(config);
  const std::string model = create_model().name();
  std::vector<std::string> first, second;
  ready.missing = 2;
  std::thread other([&] { second = roll_out(model, 7, 1.0); });
  first = roll_out(model, 5, 0.0);
  other.join();
  // More worlds where a launch makes a step of some worlds at a time: a batch's first, and what a slow machine makes.
  const Launches launches = launches_larger_than(8);
  EXPECT_GE(launches.worlds, (5 + 7) * kCalls);
  EXPECT_GT(launches.larger, 0u) << "no launch had more worlds than either batch";

  // Alone: a server of its own for each.
  start();
  ready.missing = 1;
  EXPECT_EQ(roll_out(create_model().name(), 5, 0.0), first);
  start();
  ready.missing = 1;
  EXPECT_EQ(roll_out(create_model().name(), 7, 1.0), second);
}

TEST_F(SharedLaunch, one_long_request_gives_the_bits_of_many_short_ones) {
  start();
  const std::string model = create_model().name();
  constexpr int kWorlds = 3, kLong = 120;
  std::vector<double> control;
  for (int i = 0; i < kWorlds * kLong; ++i) control.push_back(std::sin(0.37 * i));
  const std::string whole = create_batch(model, kWorlds).name(), pieces = create_batch(model, kWorlds).name();
  v1::StepRequest request;
  request.set_batch(whole);
  request.set_step_count(kLong);
  request.set_record_every(1);
  request.add_outputs("body_pose");
  fill(*request.mutable_control(), {kWorlds, kLong, 1}, control);
  v1::StepResponse at_once;
  ASSERT_TRUE(step(request, at_once).ok());
  const auto records = values_of<float>(at_once.outputs().at("body_pose"));
  std::uint32_t converged = v1::OUTCOME_CONVERGED;
  for (int i = 0; i < kLong; ++i) {
    request.set_batch(pieces);
    request.set_step_count(1);
    request.set_record_every(0);
    std::vector<double> now;
    for (int w = 0; w < kWorlds; ++w) now.push_back(control[std::size_t(w * kLong + i)]);
    fill(*request.mutable_control(), {kWorlds, 1}, now);
    v1::StepResponse one;
    ASSERT_TRUE(step(request, one).ok());
    converged &= one.outcome(1);
    const auto pose = values_of<float>(one.outputs().at("body_pose"));
    for (int w = 0; w < kWorlds; ++w) {
      const float* recorded = records.data() + (w * kLong + i) * 14;
      ASSERT_EQ(std::memcmp(recorded, pose.data() + w * 14, 14 * sizeof(float)), 0) << "step " << i << " world " << w;
    }
  }
  EXPECT_EQ(at_once.outcome(1) & v1::OUTCOME_CONVERGED, converged);
}

}  // namespace
}  // namespace axion::server::testing
