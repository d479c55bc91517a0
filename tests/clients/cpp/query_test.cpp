// What queries of the C++ client send, against a service in the test's own process.
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clients/cpp/client.hpp"

namespace axion::client {
namespace {

// A batch of 4 worlds; keeps the last query as text.
class AskedSimulation final : public v1::Simulation::Service {
 public:
  grpc::Status CreateBatch(grpc::ServerContext*, const v1::CreateBatchRequest*, v1::Batch* batch) override {
    batch->set_name("batches/b");
    batch->set_world_count(4);
    for (const char* name : {"control", "joint_position"}) {
      v1::FieldInfo* field = batch->add_fields();
      field->set_name(name);
      field->add_shape(3);
    }
    return grpc::Status::OK;
  }
  grpc::Status DeleteBatch(grpc::ServerContext*, const v1::DeleteBatchRequest*, google::protobuf::Empty*) override {
    return grpc::Status::OK;
  }
  grpc::Status CastRays(grpc::ServerContext*, const v1::CastRaysRequest* request, v1::CastRaysResponse*) override {
    return keep(*request);
  }
  grpc::Status GetDistances(grpc::ServerContext*, const v1::GetDistancesRequest* request,
                            v1::GetDistancesResponse*) override {
    return keep(*request);
  }
  grpc::Status GetDynamics(grpc::ServerContext*, const v1::GetDynamicsRequest* request,
                           v1::GetDynamicsResponse*) override {
    return keep(*request);
  }

  grpc::Status Linearize(grpc::ServerContext*, const v1::LinearizeRequest* request, v1::LinearizeResponse*) override {
    return keep(*request);
  }

  grpc::Status StepGradient(grpc::ServerContext*, const v1::StepGradientRequest* request,
                            v1::StepGradientResponse*) override {
    return keep(*request);
  }

  std::string query;

 private:
  grpc::Status keep(const google::protobuf::Message& request) {
    query = request.ShortDebugString();
    return grpc::Status::OK;
  }
};

class QueryTest : public testing::Test {
 protected:
  QueryTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&simulation_);
    server_ = builder.BuildAndStart();
  }
  Client client() const { return Client::connect("127.0.0.1:" + std::to_string(port_)); }

  AskedSimulation simulation_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(QueryTest, queries_ask_for_what_they_are_told) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const std::vector<double> origin(12, 1.0), down(12, -1.0);
  const std::vector<std::int32_t> worlds{1, 3}, ignored{-1, 0};
  ASSERT_TRUE(batch->cast_rays({origin, down}).ok());
  EXPECT_NE(simulation_.query.find("origin { dtype: DTYPE_FLOAT64 shape: 4 shape: 3 data:"), std::string::npos);
  EXPECT_EQ(simulation_.query.find("max_distance"), std::string::npos) << simulation_.query;
  RayArguments rays{origin, down};
  rays.is_per_world = rays.heading_only = true;
  rays.body = 0, rays.max_distance = 2.5, rays.ignored_bodies = ignored;
  ASSERT_TRUE(batch->cast_rays(rays, worlds).ok());
  for (const char* part :
       {"world_indices: 1 world_indices: 3", "direction { dtype: DTYPE_FLOAT64 shape: 2 shape: 2 shape: 3",
        "body: 0 heading_only: true max_distance: 2.5 ignored_bodies: -1 ignored_bodies: 0"}) {
    EXPECT_NE(simulation_.query.find(part), std::string::npos) << simulation_.query;
  }
  EXPECT_EQ(batch->cast_rays({std::span(origin).first(11), down}).status().code(), absl::StatusCode::kInvalidArgument);

  const std::vector<std::pair<std::int32_t, std::int32_t>> pairs{{0, 2}, {1, 2}};
  ASSERT_TRUE(batch->distances(pairs, 0.5, worlds).ok());
  EXPECT_NE(simulation_.query.find("pairs { shape_b: 2 } pairs { shape_a: 1 shape_b: 2 } max_distance: 0.5"),
            std::string::npos)
      << simulation_.query;

  std::vector<v1::FrameSpec> frames(1);
  frames[0].set_body(0);
  ASSERT_TRUE(batch->dynamics({frames, true, false}).ok());
  EXPECT_NE(simulation_.query.find("frames { body: 0 } mass_matrix: true"), std::string::npos) << simulation_.query;
  EXPECT_EQ(simulation_.query.find("bias_force"), std::string::npos) << simulation_.query;
}

TEST_F(QueryTest, linearisations_ask_for_what_they_are_told) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  ASSERT_TRUE(batch->linearize().ok());
  EXPECT_EQ(simulation_.query, "batch: \"batches/b\" sensors: true");
  const std::vector<double> control(12, 0.5), position(6, 1.0);
  const std::vector<std::int32_t> worlds{1, 3};
  LinearizeArguments asked;
  asked.control = control, asked.step_count = 2, asked.sensors = false, asked.difference = 1e-5;
  asked.by_differences = true;
  asked.start.joint_position = position;
  ASSERT_TRUE(batch->linearize(asked, worlds).ok());
  for (const char* part :
       {"world_indices: 1 world_indices: 3", "start { joint_position { dtype: DTYPE_FLOAT64 shape: 2 shape: 3",
        "control { dtype: DTYPE_FLOAT64 shape: 2 shape: 2 shape: 3", "difference: 1e-05",
        "method: LINEARIZE_METHOD_DIFFERENCES"}) {
    EXPECT_NE(simulation_.query.find(part), std::string::npos) << simulation_.query;
  }
  EXPECT_EQ(simulation_.query.find("sensors"), std::string::npos) << simulation_.query;
  asked.step_count = 3;
  EXPECT_EQ(batch->linearize(asked, worlds).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryTest, gradients_ask_for_what_they_are_told) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const std::vector<double> control(12, 0.5), of_position(24, 1.0);
  const std::vector<std::int32_t> worlds{1, 3};
  StepGradientArguments asked;
  asked.control = control, asked.step_count = 2, asked.record_every = 1;
  asked.output_gradients = {{"joint_position", std::span(of_position).first(12)}};
  asked.inputs = {"gravity"}, asked.outputs = {"joint_velocity"};
  ASSERT_TRUE(batch->step_gradient(asked, worlds).ok());
  for (const char* part :
       {"world_indices: 1 world_indices: 3", "control { dtype: DTYPE_FLOAT64 shape: 2 shape: 2 shape: 3",
        "step_count: 2", "record_every: 1",
        "key: \"joint_position\" value { dtype: DTYPE_FLOAT64 shape: 2 shape: 2 shape: 3", "inputs: \"gravity\"",
        "outputs: \"joint_velocity\""}) {
    EXPECT_NE(simulation_.query.find(part), std::string::npos) << simulation_.query;
  }
  asked.control = std::span(control).first(6);
  ASSERT_TRUE(batch->step_gradient(asked, worlds).ok());
  EXPECT_NE(simulation_.query.find("control { dtype: DTYPE_FLOAT64 shape: 2 shape: 3"), std::string::npos);
  asked.output_gradients = {{"joint_position", of_position}};
  EXPECT_EQ(batch->step_gradient(asked, worlds).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace axion::client
