// A model is turned back into the scene that it came from, and a file's scene takes what the format has no words for.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/rpc/scene_conversion.hpp"
#include "tests/properties/random_scenes.hpp"
#include "tests/server/rpc/fixture.hpp"
#include "tests/support/convex_scenes.hpp"

namespace axion::server::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class SceneOfModel : public ServerTest {
 protected:
  v1::Model create(const std::function<void(v1::CreateModelRequest&)>& fill, grpc::Status* status = nullptr) {
    grpc::ClientContext context;
    v1::CreateModelRequest request;
    fill(request);
    v1::Model model;
    const grpc::Status done = stub->CreateModel(&context, request, &model);
    if (status != nullptr) *status = done;
    EXPECT_TRUE(status != nullptr || done.ok()) << done.error_message();
    return model;
  }
  v1::SceneSpec scene_of(const v1::Model& model) {
    grpc::ClientContext context;
    v1::GetModelRequest request;
    request.set_name(model.name());
    request.set_view(v1::MODEL_VIEW_FULL);
    v1::Model full;
    EXPECT_TRUE(stub->GetModel(&context, request, &full).ok());
    return full.scene();
  }
  // All that a world of the model carries after some steps in float64, its fingerprint among it.
  std::string trajectory(const v1::Model& model, int steps) {
    const v1::Batch batch = create_batch(model.name(), 1, [](v1::CreateBatchRequest& request) {
      request.set_dt(0.005);
      request.mutable_options()->set_precision(v1::PRECISION_FLOAT64);
    });
    v1::StepRequest request;
    request.set_batch(batch.name());
    request.set_step_count(steps);
    const int controls = model.control_count();
    fill(*request.mutable_control(), {1, controls}, std::vector<double>(static_cast<std::size_t>(controls), 0.1));
    v1::StepResponse stepped;
    EXPECT_TRUE(step(request, stepped).ok());
    grpc::ClientContext context;
    v1::GetStateRequest get;
    get.set_batch(batch.name());
    get.add_fields("snapshot");
    v1::GetStateResponse state;
    EXPECT_TRUE(stub->GetState(&context, get, &state).ok());
    return state.snapshot(0);
  }
  // The same model again from its own scene.
  void expect_the_same_again(const v1::Model& model, int steps) {
    const v1::SceneSpec scene = scene_of(model);
    const v1::Model again = create([&](v1::CreateModelRequest& request) { *request.mutable_scene() = scene; });
    EXPECT_EQ(again.fingerprint(), model.fingerprint());
    EXPECT_EQ(scene_of(again).SerializeAsString(), scene.SerializeAsString());
    EXPECT_EQ(trajectory(again, steps), trajectory(model, steps));
  }
};

TEST_F(SceneOfModel, every_published_model_is_made_again_from_its_scene) {
  start();
  int models = 0;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(AXION_MODELS_DIR, no_folder)) {
    if (entry.path().extension() != ".xml") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    grpc::Status status;
    const v1::Model model = create(
        [&](v1::CreateModelRequest& request) {
          request.set_mjcf(text.str());
          request.set_allow_unsupported(true);
        },
        &status);
    if (!status.ok()) continue;  // what the importer refuses is tested there
    SCOPED_TRACE(entry.path().string());
    expect_the_same_again(model, 40);
    ++models;
  }
  if (no_folder) GTEST_SKIP() << "no models at " << AXION_MODELS_DIR;
  EXPECT_GT(models, 0);
}

TEST_F(SceneOfModel, scenes_drawn_at_random_are_made_again_from_their_models) {
  start();
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const v1::SceneSpec scene = rpc::to_message(axion::testing::draw_scene(seed, axion::testing::Forces::kAll).scene);
    const v1::Model model = create([&](v1::CreateModelRequest& request) { *request.mutable_scene() = scene; });
    SCOPED_TRACE(seed);
    EXPECT_EQ(scene_of(model).SerializeAsString(), scene.SerializeAsString());
    expect_the_same_again(model, 25);
  }
}

// Every kind of law and transmission that actuators and joints have.
TEST_F(SceneOfModel, muscles_cranks_cones_and_suckers_are_made_again_from_their_model) {
  start();
  const v1::Model model = create([&](v1::CreateModelRequest& request) {
    request.set_mjcf(R"(<mujoco><worldbody><geom type='box' size='2 2 .1' pos='0 0 -1'/><site name='w' pos='.1 0 .2'/>
      <body><joint name='hip' axis='0 1 0' actuatorfrcrange='-9 8' range='-90 90'/><geom size='.05' pos='0 0 -.2'/>
        <site name='u' pos='.04 0 -.2'/>
        <body pos='0 0 -.4'><joint name='ball' type='ball' stiffness='.3' damping='.1' range='0 50'/>
          <geom type='capsule' fromto='0 0 0 0 0 -.2' size='.03'/><site name='l' pos='.05 0 -.1'/></body></body>
      <body name='s' pos='1 0 -.85'><joint type='free' stiffness='2' damping='.1'/><geom size='.05'/></body></worldbody>
      <tendon><spatial name='t'><site site='w'/><site site='u'/></spatial></tendon>
      <actuator><muscle tendon='t' lengthrange='.3 .6' force='9' tausmooth='.1'/><muscle joint='hip' force='2'/>
        <general joint='hip' gaintype='affine' gainprm='1 2 -1' biastype='affine' biasprm='.1 .2 .3' dyntype='filter'
          dynprm='.1' actearly='true'/><damper joint='hip' kv='1' ctrlrange='0 1'/><motor joint='ball' gear='.1 .2 .3'/>
        <motor cranksite='l' slidersite='w' cranklength='.6'/><adhesion body='s' gain='3' ctrlrange='0 2'/></actuator>
      </mujoco>)");
    request.set_allow_unsupported(true);  // of the range of motors beside a muscle
  });
  expect_the_same_again(model, 60);
  const v1::Model motors = create([&](v1::CreateModelRequest& request) {
    request.set_mjcf(R"(<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-1 2'/><geom size='.1' pos='.3 0 0'/>
      </body></worldbody><actuator><motor joint='j'/><motor joint='j' gear='40'/></actuator></mujoco>)");
  });
  EXPECT_EQ(scene_of(motors).joints(0).axes(0).motors().upper(), 2);
  expect_the_same_again(motors, 20);
}

model::SceneSpec heap_of_all_kinds() {
  using model::ShapeKind;
  return axion::testing::convex_heap(
      12, std::vector<ShapeKind>{ShapeKind::kMesh, ShapeKind::kCylinder, ShapeKind::kMesh, ShapeKind::kEllipsoid,
                                 ShapeKind::kMesh});
}

TEST_F(SceneOfModel, a_heap_of_meshes_is_made_again_from_its_model) {
  start();
  const v1::SceneSpec scene = rpc::to_message(heap_of_all_kinds());
  const v1::Model model = create([&](v1::CreateModelRequest& request) { *request.mutable_scene() = scene; });
  ASSERT_EQ(model.meshes_size(), 3);
  EXPECT_EQ(scene_of(model).SerializeAsString(), scene.SerializeAsString());
  expect_the_same_again(model, 60);
}

TEST_F(SceneOfModel, the_fingerprint_is_of_the_meshes_that_shapes_have) {
  start();
  const v1::SceneSpec scene = rpc::to_message(heap_of_all_kinds());
  const auto fingerprint = [&](const std::function<void(v1::SceneSpec&)>& change) {
    return create([&](v1::CreateModelRequest& request) {
             change(*(*request.mutable_scene() = scene, request.mutable_scene()));
           })
        .fingerprint();
  };
  const auto rename = [](v1::SceneSpec& s, const std::string& from, const std::string& to) {
    for (auto& mesh : *s.mutable_meshes()) {
      if (mesh.name() == from) mesh.set_name(to);
    }
    for (auto& shape : *s.mutable_shapes()) {
      if (shape.mesh() == from) shape.set_mesh(to);
    }
  };
  const std::string same = fingerprint([](v1::SceneSpec&) {});
  EXPECT_EQ(fingerprint([&](v1::SceneSpec& s) { rename(s, "hull0", "other"); }), same);
  EXPECT_EQ(fingerprint([](v1::SceneSpec& s) { s.mutable_meshes()->SwapElements(0, 2); }), same);
  EXPECT_EQ(fingerprint([](v1::SceneSpec& s) { (*s.add_meshes() = s.meshes(0)).set_name("of no shape"); }), same);
  EXPECT_NE(fingerprint([](v1::SceneSpec& s) { s.mutable_meshes(1)->mutable_vertices(3)->set_x(0.123); }), same);
  // Two meshes change places, but not the shapes that have them.
  EXPECT_NE(fingerprint([&](v1::SceneSpec& s) {
              s.mutable_meshes(0)->set_name("hull2"), s.mutable_meshes(2)->set_name("hull0");
            }),
            same);
  EXPECT_NE(fingerprint([](v1::SceneSpec& s) {
              for (auto& shape : *s.mutable_shapes()) {
                if (shape.kind() == v1::SHAPE_KIND_CYLINDER) shape.set_kind(v1::SHAPE_KIND_CAPSULE);
              }
            }),
            same);
}

TEST_F(SceneOfModel, is_left_out_unless_asked_for_and_welds_are_not_lost) {
  start();
  const v1::Model model = create([](v1::CreateModelRequest& request) {
    request.set_mjcf(R"(<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom type="sphere" size=".1"/>
      <body name="b" pos=".3 0 0"><geom type="sphere" size=".1"/></body></body></worldbody>
      <contact><exclude body1="a" body2="b"/></contact></mujoco>)");
  });
  EXPECT_EQ(model.bodies_size(), 1);
  EXPECT_FALSE(model.has_scene());
  const v1::SceneSpec scene = scene_of(model);
  ASSERT_EQ(scene.bodies_size(), 2);
  EXPECT_EQ(scene.joints(1).kind(), v1::JOINT_KIND_FIXED);
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_name(model.name());
  request.set_view(static_cast<v1::ModelView>(9));
  v1::Model none;
  const grpc::Status status = stub->GetModel(&context, request, &none);
  EXPECT_THAT(bad_fields(status), ::testing::ElementsAre("view"));
}

TEST_F(SceneOfModel, the_fingerprint_is_of_what_moves_and_not_of_names) {
  start();
  const v1::SceneSpec scene = scene_of(create_model());
  const auto fingerprint = [&](const std::function<void(v1::SceneSpec&)>& change) {
    return create([&](v1::CreateModelRequest& request) {
             change(*(*request.mutable_scene() = scene, request.mutable_scene()));
           })
        .fingerprint();
  };
  const std::string same = fingerprint([](v1::SceneSpec&) {});
  EXPECT_EQ(same.size(), 32u);
  EXPECT_EQ(fingerprint([](v1::SceneSpec& s) {
              s.set_name("other"), s.mutable_bodies(0)->set_name("x"), s.clear_keyframes(), s.set_timestep(0.1);
            }),
            same);
  EXPECT_NE(fingerprint([](v1::SceneSpec& s) { s.mutable_shapes(0)->set_friction(0.99); }), same);
  EXPECT_NE(fingerprint([](v1::SceneSpec& s) { s.mutable_gravity()->set_z(-9.8); }), same);
  EXPECT_NE(fingerprint([](v1::SceneSpec& s) { s.mutable_joints(1)->mutable_axes(0)->set_damping(0.11); }), same);
}

constexpr const char* kBall =
    R"(<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom name="ball" type="sphere" size=".1"/></body></worldbody></mujoco>)";

TEST_F(SceneOfModel, a_ball_of_a_file_bounces_as_the_override_says) {
  start();
  const auto height_after_a_second = [&](const std::function<void(v1::CreateModelRequest&)>& change) {
    const v1::Model model = create([&](v1::CreateModelRequest& request) { request.set_mjcf(kBall), change(request); });
    v1::StepRequest request;
    request.set_batch(create_batch(model.name(), 1).name());
    request.set_step_count(400);  // 0.43 s of fall; with restitution e then e of the speed
    request.add_outputs("body_pose");
    v1::StepResponse response;
    EXPECT_TRUE(step(request, response).ok());
    return values_of<float>(response.outputs().at("body_pose"))[2];
  };
  EXPECT_NEAR(height_after_a_second([](auto&) {}), 0.1, 1e-3);
  const auto named = [](v1::CreateModelRequest& r) {
    auto& change = *r.add_shape_overrides();
    change.set_name("ball");
    change.set_restitution(0.8);
  };
  const double t = 0.8 - std::sqrt(2 * 0.9 / 9.81), up = 0.8 * std::sqrt(2 * 0.9 * 9.81);
  EXPECT_NEAR(height_after_a_second(named), 0.1 + up * t - 9.81 * t * t / 2, 0.02);
  // Every shape first, then one alone: in order.
  EXPECT_NEAR(height_after_a_second([](v1::CreateModelRequest& r) {
                r.add_shape_overrides()->set_restitution(0.8);
                r.add_shape_overrides()->set_restitution(0);
              }),
              0.1, 1e-3);
}

TEST_F(SceneOfModel, softness_of_contacts_and_joints_reaches_the_scene) {
  start();
  const v1::Model model = create([](v1::CreateModelRequest& request) {
    request.set_mjcf(kHopper);
    auto& shape = *request.add_shape_overrides();
    shape.set_contact_stiffness(2e4), shape.set_contact_damping(30);
    auto& joint = *request.add_joint_overrides();
    joint.set_name("hip"), joint.set_lock_stiffness(1e5), joint.set_lock_damping(5);
  });
  for (const v1::ShapeSpec& shape : model.shapes()) EXPECT_EQ(shape.contact_stiffness(), 2e4) << shape.name();
  const v1::SceneSpec scene = scene_of(model);
  EXPECT_EQ(scene.joints(0).lock_stiffness(), 0);
  EXPECT_EQ(scene.joints(1).lock_stiffness(), 1e5);
  EXPECT_EQ(scene.joints(1).lock_damping(), 5);
  EXPECT_NE(model.fingerprint(), create_model().fingerprint());
}

TEST_F(SceneOfModel, overrides_that_are_wrong_name_themselves) {
  start();
  const auto refuse = [&](const std::function<void(v1::CreateModelRequest&)>& change, const char* field,
                          const char* words, StatusCode code = StatusCode::INVALID_ARGUMENT) {
    grpc::Status status;
    create([&](v1::CreateModelRequest& request) { request.set_mjcf(kHopper), change(request); }, &status);
    EXPECT_EQ(status.error_code(), code) << field;
    EXPECT_THAT(status.error_message(), HasSubstr(field));
    EXPECT_THAT(status.error_message(), HasSubstr(words));
  };
  refuse([](auto& r) { r.add_shape_overrides()->set_restitution(1.5); }, "shape_overrides[0].restitution", "1.5");
  refuse([](auto& r) { r.add_shape_overrides()->set_contact_stiffness(NAN); }, "shape_overrides[0].contact_stiffness",
         "nan");
  refuse([](auto& r) { r.add_shape_overrides()->set_contact_damping(1); }, "shape_overrides[0].contact_damping",
         "stiffness");
  refuse([](auto& r) { r.add_shape_overrides(), r.add_shape_overrides()->set_name("bal"); }, "shape_overrides[1].name",
         "there are floor, box, shank", StatusCode::NOT_FOUND);
  refuse([](auto& r) { r.add_joint_overrides()->set_lock_stiffness(-1); }, "joint_overrides[0].lock_stiffness", "-1");
  refuse([](auto& r) { r.add_joint_overrides()->set_name("knee"); }, "joint_overrides[0].name", "hip",
         StatusCode::NOT_FOUND);
}

TEST_F(SceneOfModel, a_robot_that_starts_outside_its_limits_is_a_warning_that_names_the_joints) {
  start();
  const std::string ankle = R"(<joint name="ankle" type="hinge" axis="0 1 0" range="30 100" limited="true"/>)";
  const std::string head = R"(<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="hip" type="hinge" range="-1 1"
      limited="true"/><geom type="sphere" size=".1"/><body name="b" pos=".3 0 0">)";
  const std::string tail = R"(<geom type="sphere" size=".1"/></body></body></worldbody></mujoco>)";
  const auto warnings = [&](const std::string& mjcf) { return create_model(mjcf).warnings(); };
  const auto outside = warnings(head + ankle + tail);
  ASSERT_EQ(outside.size(), 1);
  EXPECT_THAT(outside[0], HasSubstr("\"ankle\" at 0 (limits 0.5235"));
  EXPECT_THAT(outside[0], Not(HasSubstr("hip")));
  EXPECT_EQ(warnings(head + tail).size(), 0);
  EXPECT_EQ(warnings(head + ankle + tail).size(), 1) << "told to the next one too";
  v1::SceneSpec scene = scene_of(create_model(head + ankle + tail));
  const v1::Model again = create([&](v1::CreateModelRequest& request) { *request.mutable_scene() = scene; });
  EXPECT_EQ(again.warnings_size(), 1);
  scene.mutable_joints(1)->mutable_axes(0)->set_initial_position(0.6);
  EXPECT_EQ(create([&](v1::CreateModelRequest& request) { *request.mutable_scene() = scene; }).warnings_size(), 0);
}

TEST_F(SceneOfModel, names_that_there_are_not_come_with_those_that_there_are) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 1);
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.add_outputs("body_poses");
  v1::StepResponse response;
  EXPECT_THAT(step(request, response).error_message(), HasSubstr("there are body_pose, body_velocity"));
  grpc::ClientContext context, options;
  v1::ResetRequest reset;
  reset.set_batch(batch.name());
  reset.set_keyframe("down");
  v1::ResetResponse none;
  EXPECT_THAT(stub->Reset(&context, reset, &none).error_message(), HasSubstr("there are up"));
  v1::CreateBatchRequest create;
  create.set_model(batch.model());
  create.set_world_count(1);
  create.mutable_options()->set_tolerance(1e-13);
  v1::Batch no_batch;
  EXPECT_THAT(stub->CreateBatch(&options, create, &no_batch).error_message(),
              HasSubstr("1e-13, must be from 1e-12 to 1"));
}

}  // namespace
}  // namespace axion::server::testing
