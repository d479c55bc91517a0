// What the methods do for a well-behaved client.
#include <cmath>
#include <map>
#include <set>

#include "server/rpc/request_hash.hpp"

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

using Service = ServerTest;

TEST_F(Service, says_what_it_is_and_serves) {
  start();
  grpc::ClientContext context;
  v1::ServerInfo info;
  ASSERT_TRUE(stub->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).kind(), "cpu");
  EXPECT_EQ(info.devices(0).threads(), 2);
  EXPECT_EQ(info.limits().max_worlds(), Config().limits.max_worlds);
  EXPECT_EQ(info.limits().max_streams(), Config().limits.max_streams);
  EXPECT_EQ(info.limits().max_batches(), 0);
  EXPECT_EQ(info.limits().max_watches(), Config().limits.max_watches);
  EXPECT_FALSE(info.version().empty());
  EXPECT_EQ(health(), 1);
  EXPECT_EQ(health("axion.v1.Simulation"), 1);
}

TEST_F(Service, is_found_by_reflection) {
  start();
  const std::string list_services("\x3a\x00", 2);  // ServerReflectionRequest.list_services, field 7, empty
  std::string response;
  const grpc::Status status =
      raw_call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", list_services, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(response.find("axion.v1.Simulation"), std::string::npos);
}

TEST_F(Service, a_model_names_everything_that_can_be_addressed) {
  start();
  const v1::Model model = create_model();
  EXPECT_EQ(model.display_name(), "hopper");
  ASSERT_EQ(model.bodies_size(), 2);
  EXPECT_EQ(model.bodies(0).name(), "trunk");
  EXPECT_DOUBLE_EQ(model.bodies(0).mass(), 2);
  ASSERT_EQ(model.joints_size(), 2);
  EXPECT_EQ(model.joints(1).name(), "hip");
  EXPECT_EQ(model.joints(1).kind(), v1::JOINT_KIND_AXES);
  EXPECT_EQ(model.joints(1).axes(0).kind(), v1::AXIS_KIND_HINGE);
  EXPECT_EQ(model.shapes_size(), 3);
  EXPECT_EQ(model.actuators(0).name(), "hip");
  EXPECT_DOUBLE_EQ(model.timestep(), 0.004);
  EXPECT_EQ(model.joint_position_count(), 8);
  EXPECT_EQ(model.joint_velocity_count(), 7);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& field : model.fields()) shapes[field.name()] = {field.shape().begin(), field.shape().end()};
  EXPECT_EQ(shapes["body_pose"], (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(shapes["control"], (std::vector<std::int64_t>{1}));
  EXPECT_EQ(shapes["time"], (std::vector<std::int64_t>{}));
}

TEST_F(Service, the_same_scene_is_the_same_model_and_a_batch_keeps_it) {
  start();
  const v1::Model first = create_model();
  EXPECT_EQ(create_model().SerializeAsString(), first.SerializeAsString());
  EXPECT_EQ(create_model(std::string("<!-- said otherwise -->") + kHopper).name(), first.name());
  const v1::Batch batch = create_batch(first.name(), 2);
  google::protobuf::Empty empty;
  grpc::ClientContext refused, batch_gone, gone;
  v1::DeleteModelRequest request;
  request.set_name(first.name());
  EXPECT_EQ(stub->DeleteModel(&refused, request, &empty).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::DeleteBatchRequest delete_batch;
  delete_batch.set_name(batch.name());
  ASSERT_TRUE(stub->DeleteBatch(&batch_gone, delete_batch, &empty).ok());
  EXPECT_TRUE(stub->DeleteModel(&gone, request, &empty).ok());
  grpc::ClientContext list;
  v1::ListModelsResponse models;
  ASSERT_TRUE(stub->ListModels(&list, {}, &models).ok());
  EXPECT_EQ(models.models_size(), 0);
}

TEST_F(Service, a_native_scene_makes_the_model_that_it_describes) {
  start();
  v1::CreateModelRequest request;
  auto& scene = *request.mutable_scene();
  scene.set_name("pendulum");
  auto& body = *scene.add_bodies();
  body.set_name("rod");
  body.set_mass(1);
  body.mutable_inertia()->set_xx(0.1);
  body.mutable_inertia()->set_yy(0.1);
  body.mutable_inertia()->set_zz(0.1);
  body.mutable_center_of_mass()->set_z(-0.5);
  auto& joint = *scene.add_joints();
  joint.set_name("pivot");
  joint.set_kind(v1::JOINT_KIND_AXES);
  auto& axis = *joint.add_axes();
  axis.set_name("pivot");
  axis.set_kind(v1::AXIS_KIND_HINGE);
  axis.mutable_axis()->set_y(2);  // not of unit length: the server normalises it
  axis.set_initial_position(0.5);
  grpc::ClientContext context;
  v1::Model model;
  const grpc::Status status = stub->CreateModel(&context, request, &model);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_DOUBLE_EQ(model.joints(0).axes(0).axis().y(), 1);
  const v1::Batch batch = create_batch(model.name(), 1);
  v1::StepRequest step_request;
  step_request.set_batch(batch.name());
  step_request.set_step_count(20);
  step_request.add_outputs("joint_position");
  v1::StepResponse response;
  ASSERT_TRUE(step(step_request, response).ok());
  const float angle = values_of<float>(response.outputs().at("joint_position"))[0];
  EXPECT_LT(angle, 0.5f);  // it swings back
  EXPECT_GT(angle, 0.3f);
}

TEST_F(Service, a_roll_out_gives_its_records_in_one_answer) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 3, [](v1::CreateBatchRequest& request) {
    request.set_dt(0.002);
    request.mutable_options()->set_precision(v1::PRECISION_FLOAT64);
  });
  EXPECT_EQ(batch.options().precision(), v1::PRECISION_FLOAT64);
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.add_world_indices(2);
  request.add_world_indices(0);
  request.set_step_count(6);
  request.set_record_every(2);
  fill(*request.mutable_control(), {2, 6, 1}, std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  for (const char* field : {"joint_position", "time", "control"}) request.add_outputs(field);
  v1::StepResponse response;
  const grpc::Status status = step(request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto& position = response.outputs().at("joint_position");
  EXPECT_EQ(position.dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ((std::vector<std::int64_t>{position.shape().begin(), position.shape().end()}),
            (std::vector<std::int64_t>{2, 3, 8}));
  const auto time = values_of<double>(response.outputs().at("time"));
  ASSERT_EQ(time.size(), 6u);
  for (std::size_t record = 0; record < 3; ++record) EXPECT_NEAR(time[record], 0.004 * double(record + 1), 1e-12);
  const auto control = values_of<double>(response.outputs().at("control"));
  EXPECT_EQ(control, (std::vector<double>{0, 0, 0, 1, 1, 1}));
  ASSERT_EQ(response.step_index_size(), 2);
  EXPECT_EQ(response.step_index(0), 6);
  EXPECT_NEAR(response.time(1), 0.012, 1e-12);
  EXPECT_EQ(response.outcome(0) & v1::OUTCOME_CONVERGED, v1::OUTCOME_CONVERGED);
  const auto q = values_of<double>(position);
  EXPECT_NE(q[2 * 8 + 7], q[5 * 8 + 7]);  // the last hip angles: one world was driven
}

TEST_F(Service, state_is_set_read_back_and_reset_to_a_keyframe) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 2);
  const std::string initial = state_of(batch.name());
  v1::SetStateRequest set;
  set.set_batch(batch.name());
  set.add_world_indices(1);
  fill(*set.mutable_state()->mutable_joint_position(), {1, 8}, std::vector<double>{1, 2, 3, 2, 0, 0, 0, 0.1});
  grpc::ClientContext set_context, get_context, key_context, reset_context;
  v1::SetStateResponse set_response;
  const grpc::Status status = stub->SetState(&set_context, set, &set_response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::GetStateRequest get;
  get.set_batch(batch.name());
  get.add_world_indices(1);
  get.add_fields("joint_position");
  v1::GetStateResponse state;
  ASSERT_TRUE(stub->GetState(&get_context, get, &state).ok());
  const auto q = values_of<float>(state.fields().at("joint_position"));
  EXPECT_NEAR(q[2], 3, 1e-6);
  EXPECT_NEAR(q[3], 1, 1e-6);  // normalised
  EXPECT_NEAR(q[7], 0.1, 1e-5);

  v1::ResetRequest reset;
  v1::ResetResponse done;
  reset.set_batch(batch.name());
  reset.set_keyframe("up");
  ASSERT_TRUE(stub->Reset(&key_context, reset, &done).ok());
  EXPECT_NE(state_of(batch.name()), initial);
  reset.clear_keyframe();
  ASSERT_TRUE(stub->Reset(&reset_context, reset, &done).ok());
  EXPECT_EQ(state_of(batch.name()), initial);
}

TEST_F(Service, contacts_and_solver_statistics_tell_of_the_last_step) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 2);
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.set_step_count(150);  // the leg comes down on the floor
  request.add_outputs("contact_count");
  v1::StepResponse response;
  ASSERT_TRUE(step(request, response).ok());
  grpc::ClientContext contacts_context, stats_context;
  v1::GetContactsRequest get;
  get.set_batch(batch.name());
  v1::GetContactsResponse contacts;
  ASSERT_TRUE(stub->GetContacts(&contacts_context, get, &contacts).ok());
  ASSERT_EQ(contacts.contact_count_size(), 2);
  ASSERT_GT(contacts.contact_count(0), 0);
  EXPECT_EQ(contacts.contact_count(0), values_of<std::int32_t>(response.outputs().at("contact_count"))[0]);
  EXPECT_EQ(contacts.shape_a_size(), contacts.contact_count(0) + contacts.contact_count(1));
  EXPECT_EQ(contacts.normal().shape(0), contacts.shape_a_size());
  EXPECT_NEAR(std::abs(values_of<double>(contacts.normal())[2]), 1, 1e-6);
  v1::GetSolverStatsRequest ask;
  ask.set_batch(batch.name());
  v1::GetSolverStatsResponse stats;
  ASSERT_TRUE(stub->GetSolverStats(&stats_context, ask, &stats).ok());
  EXPECT_EQ(stats.batch().world_steps(), 300);
  EXPECT_EQ(stats.worlds().world_indices_size(), 2);
  EXPECT_GT(stats.worlds().newton_iterations(0) + stats.worlds().sweep_rounds(0), 0);
  EXPECT_GE(stats.worlds().contact_sweeps(0), stats.worlds().sweep_rounds(0));
  EXPECT_EQ(stats.worlds().residual().shape(1), 5);
  EXPECT_EQ(stats.worlds().joint_mode(1), v1::JOINT_MODE_BLENDED);
  EXPECT_EQ(stats.batch().joint_modes().at("blended"), 300);
  EXPECT_EQ(stats.batch().joint_modes().at("current"), 0);
  std::int64_t counted = 0;
  for (std::int64_t count : stats.batch().newton_iterations().counts()) counted += count;
  EXPECT_EQ(counted, 300);
}

TEST_F(Service, initial_noise_moves_each_world_and_is_the_same_for_the_same_seed) {
  start();
  const auto noisy = [](v1::CreateBatchRequest& request) {
    request.set_seed(5);
    request.mutable_initial_noise()->set_joint_position(0.1);
  };
  const v1::Model model = create_model();
  const std::string a = state_of(create_batch(model.name(), 4, noisy).name());
  const std::string b = state_of(create_batch(model.name(), 4, noisy).name());
  const std::string c = state_of(create_batch(model.name(), 4).name());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST_F(Service, lists_come_in_pages) {
  start();
  const v1::Model model = create_model();
  for (int i = 0; i < 3; ++i) create_batch(model.name(), 1);
  v1::ListBatchesRequest request;
  request.set_page_size(2);
  grpc::ClientContext first_context, second_context;
  v1::ListBatchesResponse first, second;
  ASSERT_TRUE(stub->ListBatches(&first_context, request, &first).ok());
  EXPECT_EQ(first.batches_size(), 2);
  request.set_page_token(first.next_page_token());
  ASSERT_TRUE(stub->ListBatches(&second_context, request, &second).ok());
  EXPECT_EQ(second.batches_size(), 1);
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(Service, a_repeated_request_id_gets_the_same_answer_and_steps_nothing) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 1);
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.set_request_id("first");
  request.add_outputs("body_pose");
  v1::StepResponse first, again;
  ASSERT_TRUE(step(request, first).ok());
  ASSERT_TRUE(step(request, again).ok());
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  EXPECT_EQ(again.step_index(0), 1);
  request.set_request_id("second");
  ASSERT_TRUE(step(request, again).ok());
  EXPECT_EQ(again.step_index(0), 2);
}

TEST_F(Service, a_request_id_with_another_request_is_refused) {
  start();
  const v1::Model model = create_model();
  v1::CreateBatchRequest create;
  create.set_model(model.name());
  create.set_world_count(1);
  create.set_request_id("mine");
  const auto made = [&](v1::Batch& batch) {
    grpc::ClientContext context;
    return stub->CreateBatch(&context, create, &batch);
  };
  v1::Batch batch, again;
  ASSERT_TRUE(made(batch).ok());
  ASSERT_TRUE(made(again).ok());
  EXPECT_EQ(batch.name(), again.name());
  create.set_seed(1);
  const grpc::Status other = made(again);
  EXPECT_EQ(other.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(other.error_message().substr(0, 18), "request_id: \"mine\"");
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.set_request_id("step");
  v1::StepResponse response;
  ASSERT_TRUE(step(request, response).ok());
  request.set_expected_incarnation(17);  // a repetition may have found it out
  ASSERT_TRUE(step(request, response).ok());
  request.set_step_count(2);
  const grpc::Status refused = step(request, response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused.error_message().substr(0, 18), "request_id: \"step\"");
}

// Whatever a request asks for is in its hash, so that a field that comes later is not forgotten.
template <typename Request>
void expect_all_fields_in_hash() {
  Request plain;
  plain.set_request_id("id");
  const google::protobuf::Descriptor& type = *Request::descriptor();
  std::set<std::uint64_t> hashes{rpc::request_hash(plain)};
  EXPECT_NE(*hashes.begin(), 0u);
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.name() == "request_id") continue;
    Request request = plain;
    const google::protobuf::Reflection& reflection = *request.GetReflection();
    switch (field.cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        field.is_repeated() ? reflection.AddInt32(&request, &field, 3) : reflection.SetInt32(&request, &field, 3);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&request, &field, 3);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
        reflection.AddUInt64(&request, &field, 3);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        field.is_repeated() ? reflection.AddString(&request, &field, "x") : reflection.SetString(&request, &field, "x");
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE: {
        google::protobuf::Message& message = *reflection.MutableMessage(&request, &field);
        if (auto* tensor = dynamic_cast<v1::Tensor*>(&message)) {
          tensor->set_data(std::string(10000, 'x'));
        } else {
          dynamic_cast<v1::StateUpdate&>(message).mutable_time()->set_data(std::string(10000, 'x'));
        }
        break;
      }
      default:
        FAIL() << field.name() << " is of a type that this test does not know";
    }
    const bool apart = field.name() == "batch" || field.name() == "expected_incarnation";
    EXPECT_EQ(hashes.insert(rpc::request_hash(request)).second, !apart) << field.name();
    EXPECT_EQ(rpc::request_hash(request), rpc::request_hash(Request(request)));
  }
  EXPECT_EQ(rpc::request_hash(Request()), 0u) << "without an id nothing is remembered";
}

TEST(RequestHash, changes_with_every_field_but_where_it_is_made_and_what_incarnation_is_expected) {
  expect_all_fields_in_hash<v1::StepRequest>();
  expect_all_fields_in_hash<v1::ResetRequest>();
  expect_all_fields_in_hash<v1::SetStateRequest>();
  expect_all_fields_in_hash<v1::RestoreSnapshotRequest>();
  v1::ResetRequest reset;
  v1::SetStateRequest set;
  reset.set_request_id("id");
  set.set_request_id("id");
  EXPECT_NE(rpc::request_hash(reset), rpc::request_hash(set)) << "an id is one of all that is done to a batch";
}

TEST_F(Service, a_keep_alive_moves_the_end_of_the_lease) {
  start();
  const v1::Batch batch = create_batch(
      create_model().name(), 1, [](v1::CreateBatchRequest& request) { request.mutable_idle_ttl()->set_seconds(1000); });
  EXPECT_EQ(batch.expire_time().seconds() - batch.create_time().seconds(), 1000);
  v1::KeepAliveRequest request;
  request.set_name(batch.name());
  v1::KeepAliveResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->KeepAlive(&context, request, &response).ok());
  const auto nanos = [](const google::protobuf::Timestamp& t) { return t.seconds() * 1'000'000'000 + t.nanos(); };
  EXPECT_GT(nanos(response.expire_time()), nanos(batch.expire_time()));
}

TEST_F(Service, a_device_that_fails_is_unhealthy_and_the_server_asks_to_be_started_again) {
  Config config;
  config.advertise_address = "axion-0.axion:8470";
  start(config);
  const v1::Batch batch = create_batch(create_model().name(), 2);
  EXPECT_EQ(batch.server_address(), "axion-0.axion:8470");
  v1::StepRequest request;
  request.set_batch(batch.name());
  v1::StepResponse response;
  ASSERT_TRUE(step(request, response).ok());
  EXPECT_EQ(health(), 1);
  *device_failed = true;
  const grpc::Status status = step(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(detail_of<google::rpc::ErrorInfo>(status).reason(), "DEVICE_FAULT");
  EXPECT_EQ(health(), 2);
  EXPECT_EQ(step(request, response).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(times_given_up, 1);
}

}  // namespace
}  // namespace axion::server::testing
