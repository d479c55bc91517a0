// Each wrong or hostile request is a clear error with field and value, and leaves every other batch as it was.
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class BadInput : public ServerTest {
 protected:
  void SetUp() override {
    Config config;
    config.limits.max_worlds = 100'000;
    config.limits.max_message_bytes = 1 << 20;
    start(config, {}, 64 << 20);
    model = create_model().name();
    batch = create_batch(model, 3).name();
    v1::StepRequest request;
    request.set_batch(batch);
    request.set_step_count(5);
    v1::StepResponse response;
    ASSERT_TRUE(step(request, response).ok());
    before = state_of(batch);
  }
  void TearDown() override { EXPECT_EQ(state_of(batch), before) << "the batch beside it has changed"; }

  void expect(const grpc::Status& status, StatusCode code, const std::string& field, const std::string& value) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(value));
    if (code == StatusCode::INVALID_ARGUMENT && !field.empty()) {
      EXPECT_EQ(bad_fields(status), std::vector<std::string>{field}) << status.error_message();
    }
    EXPECT_EQ(detail_of<google::rpc::ErrorInfo>(status).domain(), "axion.v1");
  }

  grpc::Status create(const std::string& mjcf, const std::map<std::string, std::string>& assets = {}) {
    grpc::ClientContext context;
    v1::CreateModelRequest request;
    request.set_mjcf(mjcf);
    for (const auto& [name, bytes] : assets) (*request.mutable_assets())[name] = bytes;
    v1::Model response;
    return stub->CreateModel(&context, request, &response);
  }
  grpc::Status create_worlds(const std::function<void(v1::CreateBatchRequest&)>& change) {
    grpc::ClientContext context;
    v1::CreateBatchRequest request;
    request.set_model(model);
    request.set_world_count(2);
    change(request);
    v1::Batch response;
    return stub->CreateBatch(&context, request, &response);
  }
  grpc::Status bad_step(const std::function<void(v1::StepRequest&)>& change) {
    v1::StepRequest request;
    request.set_batch(batch);
    change(request);
    v1::StepResponse response;
    return step(request, response);
  }
  static std::string with_body(const std::string& body) {
    return "<mujoco><worldbody><body name=\"b\"><freejoint/>" + body + "</body></worldbody></mujoco>";
  }

  std::string model, batch, before;
};

TEST_F(BadInput, a_malformed_or_hostile_mjcf_is_refused) {
  const auto refused = [&](const std::string& mjcf, const std::string& part,
                           const std::map<std::string, std::string>& assets = {}) {
    expect(create(mjcf, assets), StatusCode::INVALID_ARGUMENT, "", part);
  };
  refused("", "");
  refused("<mujoco><worldbody>", "");
  refused("not xml at all", "");
  refused("<mujoco><include file=\"a.xml\"/></mujoco>", "a.xml",
          {{"a.xml", "<mujoco><include file=\"b.xml\"/></mujoco>"},
           {"b.xml", "<mujoco><include file=\"a.xml\"/></mujoco>"}});
  refused("<mujoco><include file=\"/etc/passwd\"/></mujoco>", "/etc/passwd");
  refused(with_body("<geom type=\"sphere\" size=\"0.1\" mass=\"-1\"/>"), "-1");
  refused(with_body("<geom type=\"sphere\" size=\"0.1\" mass=\"nan\"/>"), "nan");
  refused(with_body("<geom type=\"sphere\" size=\"inf\"/>"), "inf");
  refused(with_body("<geom type=\"sphere\" size=\"0.1\" mass=\"0\"/>"), "");
  refused(with_body("<geom type=\"sphere\" size=\"0.1\"/><wormhole radius=\"3\"/>"), "wormhole");
  refused("<!DOCTYPE m [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]><mujoco model=\"&b;\"/>", "");
  std::string deep = "<mujoco><worldbody>";
  for (int i = 0; i < 500; ++i) deep += "<body>";
  refused(deep, "");
}

TEST_F(BadInput, a_scene_without_source_or_with_an_unknown_kind_is_refused) {
  v1::CreateModelRequest request;
  v1::Model response;
  grpc::ClientContext first, second, third;
  expect(stub->CreateModel(&first, request, &response), StatusCode::INVALID_ARGUMENT, "source", "absent");
  request.mutable_scene()->add_shapes()->set_name("s");
  expect(stub->CreateModel(&second, request, &response), StatusCode::INVALID_ARGUMENT, "scene.shapes[0].kind", "0");
  request.mutable_scene()->clear_shapes();
  auto& body = *request.mutable_scene()->add_bodies();
  body.set_name("b");
  body.set_mass(-3);
  expect(stub->CreateModel(&third, request, &response), StatusCode::INVALID_ARGUMENT, "scene.bodies[0].mass", "-3");
}

// Half a megabyte, of which 64 MiB could not hold the bodies.
TEST_F(BadInput, a_scene_of_too_many_parts_is_refused_before_they_are_made) {
  v1::CreateModelRequest request;
  for (int i = 0; i < 250'000; ++i) request.mutable_scene()->add_bodies();
  grpc::ClientContext context;
  v1::Model response;
  expect(stub->CreateModel(&context, request, &response), StatusCode::INVALID_ARGUMENT, "scene.bodies",
         "may have at most 4096 entries; it has more");
}

TEST_F(BadInput, a_scene_with_a_rebound_of_more_than_all_or_a_spring_along_a_loop_is_refused) {
  v1::CreateModelRequest request;
  auto& scene = *request.mutable_scene();
  for (const char* name : {"a", "b"}) {
    auto& body = *scene.add_bodies();
    body.set_name(name);
    body.set_mass(1);
    body.mutable_inertia()->set_xx(1);
    body.mutable_inertia()->set_yy(1);
    body.mutable_inertia()->set_zz(1);
  }
  for (const int child : {0, 1, 1}) {
    auto& joint = *scene.add_joints();
    joint.set_name("joint" + std::to_string(scene.joints_size()));
    joint.set_kind(v1::JOINT_KIND_BALL);
    joint.set_parent(scene.joints_size() == 2 ? 0 : -1);
    joint.set_child(child);
  }
  auto& shape = *scene.add_shapes();
  shape.set_name("s");
  shape.set_kind(v1::SHAPE_KIND_SPHERE);
  shape.mutable_size()->set_x(0.1);
  v1::Model response;
  const auto create_scene = [&] {
    grpc::ClientContext context;
    return stub->CreateModel(&context, request, &response);
  };
  EXPECT_TRUE(create_scene().ok());
  EXPECT_TRUE(response.joints(2).closes_loop());
  EXPECT_EQ(response.joints(2).position_count(), 0);
  EXPECT_EQ(response.joint_position_count(), 8);
  shape.set_restitution(2);
  expect(create_scene(), StatusCode::INVALID_ARGUMENT, "scene.shapes[0].restitution", "2");
  shape.set_restitution(1);
  shape.set_kind(v1::SHAPE_KIND_MESH);
  shape.set_mesh("hull");
  expect(create_scene(), StatusCode::INVALID_ARGUMENT, "scene.shapes[0].mesh", "hull");
  auto& mesh = *scene.add_meshes();
  mesh.set_name("hull");
  for (int i = 0; i < 4; ++i) mesh.add_vertices()->set_x(i);
  expect(create_scene(), StatusCode::INVALID_ARGUMENT, "scene.meshes[0].vertices", "span a volume");
  mesh.mutable_vertices(1)->set_y(1);
  mesh.mutable_vertices(2)->set_z(1);
  EXPECT_TRUE(create_scene().ok());
  EXPECT_EQ(response.meshes(0).vertices_size(), 4);
  EXPECT_EQ(response.shapes(0).mesh(), "hull");
  shape.set_kind(v1::SHAPE_KIND_SPHERE);
  shape.clear_mesh();
  scene.mutable_joints(2)->set_ball_damping(0.5);
  expect(create_scene(), StatusCode::INVALID_ARGUMENT, "scene.joints[2].ball_damping", "0.5");
}

TEST_F(BadInput, a_wrong_tensor_is_refused_by_field_and_value) {
  const auto control = [&](const std::function<void(v1::Tensor&)>& make) {
    return bad_step([&](v1::StepRequest& request) { make(*request.mutable_control()); });
  };
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 2}, std::vector<float>(6));
         }),
         StatusCode::INVALID_ARGUMENT, "control.shape", "[3, 2]");
  expect(control([](v1::Tensor& t) { fill(t, {3}, std::vector<float>(3)); }), StatusCode::INVALID_ARGUMENT,
         "control.shape", "[3]");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 2, 1}, std::vector<float>(6));
         }),
         StatusCode::INVALID_ARGUMENT, "control.shape", "[3, 2, 1]");
  expect(control([](v1::Tensor& t) {
           fill(t, {-3, -1}, std::vector<float>(3));
         }),
         StatusCode::INVALID_ARGUMENT, "control.shape", "[-3, -1]");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 1}, std::vector<float>(2));
         }),
         StatusCode::INVALID_ARGUMENT, "control.data", "8 bytes");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 1}, std::vector<float>(3));
           t.set_dtype(v1::DTYPE_INT32);
         }),
         StatusCode::INVALID_ARGUMENT, "control.dtype", "DTYPE_INT32");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 1}, std::vector<float>(3));
           t.set_dtype(v1::DType(77));
         }),
         StatusCode::INVALID_ARGUMENT, "control.dtype", "77");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 1}, std::vector<float>{0, NAN, 0});
         }),
         StatusCode::INVALID_ARGUMENT, "control", "[1, 0] is nan");
  expect(control([](v1::Tensor& t) {
           fill(t, {3, 1}, std::vector<double>{0, 0, -INFINITY});
         }),
         StatusCode::INVALID_ARGUMENT, "control", "[2, 0] is -inf");
  expect(bad_step([](v1::StepRequest& r) {
           fill(*r.mutable_body_wrench(), {3, 2, 5}, std::vector<float>(30));
         }),
         StatusCode::INVALID_ARGUMENT, "body_wrench.shape", "[3, 2, 5]");
}

TEST_F(BadInput, wrong_worlds_counts_and_names_are_refused) {
  expect(bad_step([](v1::StepRequest& r) {
           r.add_world_indices(0);
           r.add_world_indices(3);
         }),
         StatusCode::INVALID_ARGUMENT, "world_indices[1]", "3");
  expect(bad_step([](v1::StepRequest& r) { r.add_world_indices(-1); }), StatusCode::INVALID_ARGUMENT,
         "world_indices[0]", "-1");
  expect(bad_step([](v1::StepRequest& r) {
           r.add_world_indices(1);
           r.add_world_indices(1);
         }),
         StatusCode::INVALID_ARGUMENT, "world_indices[1]", "1");
  expect(bad_step([](v1::StepRequest& r) { r.set_step_count(0); }), StatusCode::INVALID_ARGUMENT, "step_count", "0");
  expect(bad_step([](v1::StepRequest& r) { r.set_step_count(-5); }), StatusCode::INVALID_ARGUMENT, "step_count", "-5");
  expect(bad_step([](v1::StepRequest& r) { r.set_step_count(2'000'000); }), StatusCode::INVALID_ARGUMENT, "step_count",
         "2000000");
  expect(bad_step([](v1::StepRequest& r) {
           r.set_step_count(10);
           r.set_record_every(3);
         }),
         StatusCode::INVALID_ARGUMENT, "record_every", "3");
  expect(bad_step([](v1::StepRequest& r) { r.set_record_every(-1); }), StatusCode::INVALID_ARGUMENT, "record_every",
         "-1");
  expect(bad_step([](v1::StepRequest& r) {
           r.add_outputs("time");
           r.add_outputs("body_posse");
         }),
         StatusCode::INVALID_ARGUMENT, "outputs[1]", "body_posse");
  expect(bad_step([](v1::StepRequest& r) {
           r.add_outputs("time");
           r.add_outputs("time");
         }),
         StatusCode::INVALID_ARGUMENT, "outputs[1]", "time");
  expect(bad_step([](v1::StepRequest& r) { r.set_request_id(std::string(200, 'x')); }), StatusCode::INVALID_ARGUMENT,
         "request_id", "has 200 bytes");
  std::string accents;
  for (int i = 0; i < 65; ++i) accents += "\u00e9";  // of two bytes
  expect(bad_step([&](v1::StepRequest& r) { r.set_request_id(accents); }), StatusCode::INVALID_ARGUMENT, "request_id",
         "has 130 bytes; at most 128");
  expect(bad_step([](v1::StepRequest& r) { r.set_expected_step(4); }), StatusCode::ABORTED, "", "is at step 5");
}

TEST_F(BadInput, an_unknown_resource_is_not_found) {
  expect(bad_step([](v1::StepRequest& r) { r.set_batch("batches/0123456789abcdef"); }), StatusCode::NOT_FOUND, "",
         "batches/0123456789abcdef");
  expect(bad_step([](v1::StepRequest& r) { r.set_batch(""); }), StatusCode::NOT_FOUND, "", "batch");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.set_model("models/nothing"); }), StatusCode::NOT_FOUND, "",
         "models/nothing");
  v1::ResetRequest reset;
  reset.set_batch(batch);
  reset.set_keyframe("sideways");
  v1::ResetResponse done;
  grpc::ClientContext context;
  expect(stub->Reset(&context, reset, &done), StatusCode::INVALID_ARGUMENT, "keyframe", "sideways");
}

TEST_F(BadInput, a_batch_that_makes_no_sense_is_refused) {
  for (const double dt : {0.0, -0.01, std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::ostringstream text;
    text << dt;
    expect(create_worlds([&](v1::CreateBatchRequest& r) { r.set_dt(dt); }), StatusCode::INVALID_ARGUMENT, "dt",
           text.str());
  }
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.set_world_count(0); }), StatusCode::INVALID_ARGUMENT,
         "world_count", "0");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.set_world_count(-7); }), StatusCode::INVALID_ARGUMENT,
         "world_count", "-7");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_options()->set_tolerance(-1); }),
         StatusCode::INVALID_ARGUMENT, "options.tolerance", "-1");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_options()->set_joint_mode(v1::JointMode(9)); }),
         StatusCode::INVALID_ARGUMENT, "options.joint_mode", "9");
  expect(create_worlds([](v1::CreateBatchRequest& r) {
           r.mutable_options()->set_preset(v1::SOLVER_PRESET_VELOCITY);
           r.mutable_options()->set_joint_mode(v1::JOINT_MODE_BLENDED);
         }),
         StatusCode::INVALID_ARGUMENT, "options.joint_mode", "must be PREVIOUS");
  expect(create_worlds([](v1::CreateBatchRequest& r) {
           r.mutable_options()->set_joint_mode(v1::JOINT_MODE_CURRENT);
           r.mutable_options()->set_linear_solver(v1::LINEAR_SOLVER_PCR_TREE);
         }),
         StatusCode::INVALID_ARGUMENT, "options.linear_solver", "NATURAL_MAP");
  for (const int gone_or_unknown : {4, 8}) {
    expect(create_worlds([=](v1::CreateBatchRequest& r) {
             r.mutable_options()->set_linear_solver(v1::LinearSolver(gone_or_unknown));
           }),
           StatusCode::INVALID_ARGUMENT, "options.linear_solver", absl::StrCat(gone_or_unknown));
  }
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_options()->set_baumgarte(1.5); }),
         StatusCode::INVALID_ARGUMENT, "options.baumgarte", "1.5");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_options()->set_limit_recovery_time(-0.5); }),
         StatusCode::INVALID_ARGUMENT, "options.limit_recovery_time", "-0.5");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_options()->set_equality_pull(0.5); }),
         StatusCode::INVALID_ARGUMENT, "options.equality_pull", "0.5");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_idle_ttl()->set_seconds(-1); }),
         StatusCode::INVALID_ARGUMENT, "idle_ttl", "-1s");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_stream_ttl()->set_seconds(-1); }),
         StatusCode::INVALID_ARGUMENT, "stream_ttl", "-1s");
  expect(create_worlds([](v1::CreateBatchRequest& r) { r.mutable_initial_noise()->set_joint_position(-2); }),
         StatusCode::INVALID_ARGUMENT, "initial_noise.joint_position", "-2");
  expect(create_worlds([](v1::CreateBatchRequest& r) {
           fill(*r.mutable_overrides()->mutable_mass_scale(), {2, 2}, std::vector<float>{1, 1, 1, -4});
         }),
         StatusCode::INVALID_ARGUMENT, "overrides.mass_scale[1,1]", "-4");
}

TEST_F(BadInput, what_passes_a_limit_is_refused_with_the_limit) {
  const grpc::Status worlds = create_worlds([](v1::CreateBatchRequest& r) { r.set_world_count(100'001); });
  expect(worlds, StatusCode::RESOURCE_EXHAUSTED, "", "100000");
  EXPECT_EQ(detail_of<google::rpc::QuotaFailure>(worlds).violations(0).subject(), "max_worlds");

  const grpc::Status memory = create_worlds([](v1::CreateBatchRequest& r) { r.set_world_count(99'000); });
  expect(memory, StatusCode::RESOURCE_EXHAUSTED, "", "");
  EXPECT_EQ(detail_of<google::rpc::QuotaFailure>(memory).violations_size(), 1);
  // What was reserved for it is free again.
  EXPECT_TRUE(create_worlds([](v1::CreateBatchRequest& r) { r.set_world_count(5); }).ok());

  const grpc::Status answer = bad_step([](v1::StepRequest& r) {
    r.set_step_count(20'000);
    r.set_record_every(1);
    r.add_outputs("body_pose");
  });
  expect(answer, StatusCode::RESOURCE_EXHAUSTED, "", "max_message_bytes");

  // The transport refuses a message before we see it: its status has no details of ours.
  const grpc::Status message = create(std::string(2 << 20, ' '));
  EXPECT_EQ(message.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(message.error_message(), HasSubstr("1048576"));
}

TEST_F(BadInput, a_state_that_is_none_is_refused) {
  const auto set = [&](const std::function<void(v1::StateUpdate&)>& change) {
    grpc::ClientContext context;
    v1::SetStateRequest request;
    request.set_batch(batch);
    change(*request.mutable_state());
    v1::SetStateResponse response;
    return stub->SetState(&context, request, &response);
  };
  std::vector<double> q(3 * 8, 0.0);
  expect(set([&](v1::StateUpdate& s) {
           fill(*s.mutable_joint_position(), {3, 8}, q);
         }),
         StatusCode::INVALID_ARGUMENT, "", "state.joint_position");
  q[10] = NAN;
  expect(set([&](v1::StateUpdate& s) {
           fill(*s.mutable_joint_position(), {3, 8}, q);
         }),
         StatusCode::INVALID_ARGUMENT, "state.joint_position", "[1, 2] is nan");
  expect(set([&](v1::StateUpdate& s) {
           fill(*s.mutable_joint_velocity(), {3, 7}, std::vector<double>(21));
           fill(*s.mutable_body_velocity(), {3, 2, 6}, std::vector<double>(36));
         }),
         StatusCode::INVALID_ARGUMENT, "", "");
}

}  // namespace
}  // namespace axion::server::testing
