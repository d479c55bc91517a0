// Scenes and options survive the way to the engine and back, field by field. A field that one side gains and a
// conversion forgets fails here.
#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"

#include "server/rpc/options_conversion.hpp"
#include "server/rpc/scene_conversion.hpp"

namespace axion::server::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The number of fields of an aggregate: with how many values it can be made.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, std::size_t... I>
consteval bool is_made_of(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <typename T, std::size_t Count = 1>
consteval int field_count() {
  if constexpr (is_made_of<T>(std::make_index_sequence<Count + 1>{})) {
    return field_count<T, Count + 1>();
  } else {
    return static_cast<int>(Count);
  }
}

// How many numbers a repeated field has to have.
int numbers_in(std::string_view field) {
  if (field == "site_gear" || field == "gear") return 6;
  if (field == "solref") return 2;
  if (field == "gain" || field == "bias") return 3;
  return field == "solimp" ? 5 : 1;
}

// Sets every field of a message, repeated ones as often as they must be, each number to one that no other field has.
void fill_every_field(Message& message, int& counter) {
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const int value = ++counter;
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        fill_every_field(
            *(many ? reflection->AddMessage(&message, field) : reflection->MutableMessage(&message, field)), counter);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(&message, field, "name" + std::to_string(value));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        if (!many) reflection->SetDouble(&message, field, value);
        for (int k = 0; many && k < numbers_in(field->name()); ++k) {
          reflection->AddDouble(&message, field, value + 0.1 * k);
        }
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        if (many) {
          reflection->AddFloat(&message, field, static_cast<float>(value));
        } else {
          reflection->SetFloat(&message, field, static_cast<float>(value));
        }
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(&message, field, value);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(&message, field, static_cast<std::uint32_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(&message, field, field->name() != "filter_parent_child");  // not what is meant by absence
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, field, field->enum_type()->value(2)->number());
        break;
      default:
        FAIL() << field->full_name() << " has a type that this test does not know";
    }
  }
}

TEST(Conversion, every_field_of_a_scene_goes_to_the_engine_and_back) {
  v1::SceneSpec scene;
  int counter = 0;
  fill_every_field(scene, counter);
  for (v1::ShapeSpec& shape : *scene.mutable_shapes()) shape.clear_color();  // is kept beside the engine's scene
  const auto there = to_scene(scene);
  ASSERT_TRUE(there.ok()) << there.status();
  const v1::SceneSpec back = to_message(*there);
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(scene, back)) << difference;
}

TEST(Conversion, messages_have_a_field_for_each_of_the_engine_s) {
  EXPECT_EQ(v1::SceneSpec::descriptor()->field_count(), field_count<model::SceneSpec>());
  EXPECT_EQ(v1::BodySpec::descriptor()->field_count(), field_count<model::BodySpec>());
  EXPECT_EQ(v1::FluidEllipsoid::descriptor()->field_count(), field_count<model::FluidEllipsoidSpec>());
  // A message knows whether held_pose is there; the engine has holds_pose beside X_PC. Likewise ball_limited beside
  // ball_upper, and is_soft beside the softness of locks.
  EXPECT_EQ(v1::JointSpec::descriptor()->field_count() + 3, field_count<model::JointSpec>());
  EXPECT_EQ(v1::AxisSpec::descriptor()->field_count(), field_count<model::AxisSpec>());
  EXPECT_EQ(v1::TendonSpec::descriptor()->field_count(), field_count<model::TendonSpec>());
  EXPECT_EQ(v1::TendonPoint::descriptor()->field_count() + 1, field_count<model::TendonPointSpec>());  // has_side
  EXPECT_EQ(v1::TendonTerm::descriptor()->field_count(), field_count<model::TendonTermSpec>());
  EXPECT_EQ(v1::Coordinate::descriptor()->field_count(), field_count<model::CoordinateSpec>());
  // Likewise with second and softness.
  EXPECT_EQ(v1::EqualitySpec::descriptor()->field_count() + 2, field_count<model::EqualitySpec>());
  EXPECT_EQ(v1::ShapeSpec::descriptor()->field_count() - 1, field_count<model::ShapeSpec>());  // color
  EXPECT_EQ(v1::MeshSpec::descriptor()->field_count(), field_count<model::MeshSpec>());
  EXPECT_EQ(v1::HeightFieldSpec::descriptor()->field_count(), field_count<model::HeightFieldSpec>());
  // Likewise with site, site_reference and adhesive_body.
  EXPECT_EQ(v1::ActuatorSpec::descriptor()->field_count() + 3, field_count<model::ActuatorSpec>());
  EXPECT_EQ(v1::Muscle::descriptor()->field_count(), field_count<model::MuscleSpec>());
  EXPECT_EQ(v1::ContactExcludeSpec::descriptor()->field_count(), field_count<model::ContactExcludeSpec>());
  EXPECT_EQ(v1::FrameSpec::descriptor()->field_count(), field_count<model::FrameSpec>());
  EXPECT_EQ(v1::SensorSpec::descriptor()->field_count() + 1, field_count<model::SensorSpec>());  // has_reference
  EXPECT_EQ(v1::ImageSpec::descriptor()->field_count(), field_count<model::ImageSpec>());
  EXPECT_EQ(v1::ContactSide::descriptor()->field_count(), field_count<model::ContactSideSpec>());
  // The engine has one field for all that a slot may hold.
  EXPECT_EQ(v1::ContactSensorSpec::descriptor()->field_count(),
            field_count<model::ContactSensorSpec>() - 1 + model::kContactDatumCount);
  EXPECT_EQ(v1::SensorInfo::descriptor()->field_count(), field_count<SensorInfo>());
  EXPECT_EQ(v1::KeyframeSpec::descriptor()->field_count(), field_count<model::KeyframeSpec>());
  EXPECT_EQ(v1::JointInfo::descriptor()->field_count(), field_count<JointInfo>());
  EXPECT_EQ(v1::SolverOptions::descriptor()->field_count(), field_count<model::SolverOptions>());
}

TEST(Conversion, what_a_scene_leaves_out_is_what_the_engine_s_defaults_say) {
  v1::SceneSpec scene;
  scene.add_bodies()->add_fluid_ellipsoids();
  scene.add_joints()->set_kind(v1::JOINT_KIND_AXES);
  scene.mutable_joints(0)->add_axes()->set_kind(v1::AXIS_KIND_HINGE);
  scene.add_shapes()->set_kind(v1::SHAPE_KIND_SPHERE);
  scene.add_actuators()->set_kind(v1::ACTUATOR_KIND_MOTOR);
  scene.add_sensors()->set_kind(v1::SENSOR_KIND_CLOCK);
  const auto there = to_scene(scene);
  ASSERT_TRUE(there.ok()) << there.status();
  model::SceneSpec expected;
  expected.bodies.resize(1);
  expected.bodies[0].fluid_ellipsoids.resize(1);
  expected.joints.resize(1);
  expected.joints[0].kind = model::JointKind::kAxes;
  expected.joints[0].axes.resize(1);
  expected.shapes.resize(1);
  expected.actuators.resize(1);
  expected.sensors.resize(1);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(to_message(*there), to_message(expected)))
      << to_message(*there).DebugString();
}

// Options under which every other choice has a meaning, but for the pairs below.
v1::SolverOptions permissive() {
  v1::SolverOptions options;
  options.set_joint_mode(v1::JOINT_MODE_CURRENT);
  options.set_friction_model(v1::FRICTION_MODEL_SCALAR_FIXED_POINT);
  options.set_linear_solver(v1::LINEAR_SOLVER_TREE_DIRECT);
  return options;
}

void expect_kept(const v1::SolverOptions& options, const FieldDescriptor* field) {
  const auto there = to_options(options);
  ASSERT_TRUE(there.ok()) << field->name() << ": " << there.status();
  v1::SolverOptions back;
  fill_options(*there, back);
  const auto text = [&](const v1::SolverOptions& of) {
    std::string out;
    google::protobuf::TextFormat::PrintFieldValueToString(of, field, -1, &out);
    return out;
  };
  EXPECT_EQ(text(options), text(back)) << field->name();
}

TEST(Conversion, every_choice_of_every_option_goes_to_the_engine_and_back) {
  const auto* descriptor = v1::SolverOptions::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) continue;
    for (int v = 1; v < field->enum_type()->value_count(); ++v) {
      v1::SolverOptions options = permissive();
      options.GetReflection()->SetEnum(&options, field, field->enum_type()->value(v));
      const bool velocity =
          options.preset() == v1::SOLVER_PRESET_VELOCITY || options.constraint_level() == v1::CONSTRAINT_LEVEL_VELOCITY;
      if (velocity) options.set_joint_mode(v1::JOINT_MODE_PREVIOUS);
      expect_kept(options, field);
    }
  }
}

TEST(Conversion, every_number_of_the_options_goes_to_the_engine_and_back) {
  const auto* descriptor = v1::SolverOptions::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) continue;
    v1::SolverOptions presets_own;
    fill_options(model::SolverOptions{}, presets_own);
    const auto* reflection = presets_own.GetReflection();
    ASSERT_TRUE(reflection->HasField(presets_own, field)) << field->name() << " is not said";
    v1::SolverOptions options = permissive();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(&options, field, 0.5 + reflection->GetDouble(presets_own, field) / 4);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(&options, field, reflection->GetInt32(presets_own, field) + 3);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(&options, field, !reflection->GetBool(presets_own, field));
        break;
      default:
        FAIL() << field->name() << " has a type that this test does not know";
    }
    expect_kept(options, field);
  }
}

TEST(Conversion, a_preset_fills_what_the_request_leaves_out) {
  for (const auto& [wire, preset] : {std::pair{v1::SOLVER_PRESET_UNSPECIFIED, model::Preset::kDefault},
                                     std::pair{v1::SOLVER_PRESET_DEFAULT, model::Preset::kDefault},
                                     std::pair{v1::SOLVER_PRESET_AXION_SEED, model::Preset::kAxionSeed},
                                     std::pair{v1::SOLVER_PRESET_VELOCITY, model::Preset::kVelocity}}) {
    v1::SolverOptions request, filled, expected;
    request.set_preset(wire);
    const auto options = to_options(request);
    ASSERT_TRUE(options.ok()) << options.status();
    fill_options(*options, filled);
    fill_options(model::make_options(preset), expected);
    EXPECT_EQ(filled.DebugString(), expected.DebugString());
  }
}

}  // namespace
}  // namespace axion::server::rpc
