// Numbers that worlds have of their own: each is checked, and numbers that are kept are equal to numbers that are
// worked out anew.
#include "engine/model/vary.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/model/mobilities.hpp"
#include "engine/model/validate_scene.hpp"
#include "tests/engine/model/scene_builder.hpp"

namespace axion::model::testing {
namespace {

// A robot with everything that numbers are of: limits, dry friction, springs, drives, and shapes that are soft.
SceneSpec varied_robot() {
  SceneSpec scene = robot();
  scene.joints[1].axes[0].limited = true, scene.joints[1].axes[0].lower = -1, scene.joints[1].axes[0].upper = 1;
  scene.joints[3].axes[0].friction_loss = 0.3, scene.joints[3].axes[0].stiffness = 2;
  scene.joints[5].axes[0].armature = 0.1;
  scene.actuators[0].kind = ActuatorKind::kPosition, scene.actuators[0].kp = 20, scene.actuators[0].kd = 1;
  scene.shapes[0].softness.solref = {0.03, 0.9};
  scene.shapes[0].friction = 0.7;
  return scene;
}

std::size_t count_of(const CompiledModel& model, Parameter parameter) {
  const auto& description = description_of(parameter);
  return static_cast<std::size_t>(item_count(model, description.of) * description.width);
}

class EachNumber : public ::testing::TestWithParam<int> {
 protected:
  const Parameter parameter = static_cast<Parameter>(GetParam());
};

TEST_P(EachNumber, is_refused_where_it_is_beyond_all_bounds) {
  for (const SceneSpec& scene : {varied_robot(), four_bar()}) {
    const CompiledModel model = compile(scene).value();
    const ModelVariants variants(model, scene);
    const std::vector<double> own = parameter_values(model);
    const auto first = static_cast<std::size_t>(parameter_start(model, parameter));
    for (std::size_t i = first; i < first + count_of(model, parameter); ++i) {
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> values = own;
        values[i] = sign * 2 * kMaxMagnitude;
        const Result<CompiledModel> varied = variants.vary(values);
        ASSERT_FALSE(varied.ok()) << description_of(parameter).name << " number " << i - first << " of " << scene.name;
        EXPECT_FALSE(varied.error().field.empty());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vary, EachNumber, ::testing::Range(0, kParameterCount),
                         [](const auto& number) { return description_of(static_cast<Parameter>(number.param)).name; });

// A model with its own mobilities: what follows from its numbers. Masses have all of it worked out anew.
TEST(Vary, gives_the_arrays_that_it_gives_where_everything_is_worked_out_anew) {
  for (const SceneSpec& scene : {varied_robot(), four_bar()}) {
    const CompiledModel model = compile(scene).value();
    const ModelVariants variants(model, scene);
    for (int p = 0; p < kParameterCount; ++p) {
      const auto parameter = static_cast<Parameter>(p);
      if (description_of(parameter).of == ParameterOf::kBodies) continue;
      std::vector<double> values = parameter_values(model);
      const auto first = static_cast<std::size_t>(parameter_start(model, parameter));
      for (std::size_t i = first; i < first + count_of(model, parameter); ++i) {
        const double number = values[i];
        values[i] = 1.01 * number + 0.01;
        if (const auto varied = variants.vary(values); !varied.ok()) values[i] = number;  // it has no use
      }
      const CompiledModel varied = variants.vary(values).value();
      const ModelArrays<double> anew = recompile(variants.model(), scene, varied.welded, nullptr).arrays;
      SCOPED_TRACE(description_of(parameter).name);
      EXPECT_EQ(varied.arrays.bodies, anew.bodies);
      EXPECT_EQ(varied.arrays.joints, anew.joints);
      EXPECT_EQ(varied.arrays.efforts, anew.efforts);
      EXPECT_EQ(varied.arrays.pairs, anew.pairs);
      EXPECT_EQ(varied.arrays.shape_softness, anew.shape_softness);
      EXPECT_EQ(varied.arrays.pair_impedances, anew.pair_impedances);
      EXPECT_EQ(varied.arrays.limit_impedance, anew.limit_impedance);
      EXPECT_EQ(varied.arrays.lock_softness, anew.lock_softness);
    }
  }
}

// Mobilities of thousands of worlds are a fifth of what it takes to vary their masses.
TEST(Vary, works_out_laws_of_soft_things_only_where_steps_ask_for_them) {
  for (const SceneSpec& scene : {varied_robot(), four_bar()}) {
    const CompiledModel model = compile(scene).value();
    const bool has_loops = !model.arrays.lock_softness.empty();
    std::vector<double> values = parameter_values(model);
    const auto first = static_cast<std::size_t>(parameter_start(model, Parameter::kBodyMass));
    for (std::size_t i = first; i < first + count_of(model, Parameter::kBodyMass); ++i) values[i] *= 1.25;
    const CompiledModel soft = ModelVariants(model, scene).vary(values).value();
    const CompiledModel rigid = ModelVariants(model, scene, false).vary(values).value();
    SCOPED_TRACE(scene.name);
    EXPECT_NE(rigid.arrays.bodies, model.arrays.bodies);
    EXPECT_EQ(rigid.arrays.bodies, soft.arrays.bodies);
    EXPECT_EQ(rigid.arrays.joints, soft.arrays.joints);
    EXPECT_EQ(rigid.arrays.axes, soft.arrays.axes);
    EXPECT_EQ(rigid.arrays.pairs, soft.arrays.pairs);
    EXPECT_EQ(rigid.arrays.lock_softness, soft.arrays.lock_softness);
    if (has_loops) {  // whose locks may be eased in rigid batches, too
      EXPECT_NE(rigid.arrays.lock_softness, model.arrays.lock_softness);
    } else {
      EXPECT_NE(soft.arrays.shape_softness, model.arrays.shape_softness);
      EXPECT_EQ(rigid.arrays.shape_softness, model.arrays.shape_softness);
    }
  }
}

TEST(Vary, refuses_a_body_that_no_force_could_move_alone) {
  const SceneSpec scene = varied_robot();
  const CompiledModel model = compile(scene).value();
  const ModelVariants variants(model, scene);
  for (const Parameter parameter : {Parameter::kBodyMass, Parameter::kBodyInertia}) {
    std::vector<double> values = parameter_values(model);
    const auto first = static_cast<std::size_t>(parameter_start(model, parameter));
    for (int i = 0; i < description_of(parameter).width; ++i) values[first + static_cast<std::size_t>(i)] = 0;
    const Result<CompiledModel> varied = variants.vary(values);
    ASSERT_FALSE(varied.ok()) << description_of(parameter).name;
    EXPECT_EQ(varied.error().field.rfind("bodies[0].", 0), 0u) << varied.error().field;
  }
}

}  // namespace
}  // namespace axion::model::testing
