// ModelVariants: a compiled model with other numbers, as a world may have them of its own.
//
// The scene with the numbers put in is compiled as any scene is, so that all that follows from a number (principal
// frames, anchors in them, bounds of shapes, laws of pairs) follows from it here too; what has numbers that changed is
// validated as in any scene. What does not depend on the numbers is the model's: the order of bodies, rows, pairs,
// capacities, hulls, and how softly things give way where no mass changes. So the step runs a world with the arrays of
// its own numbers in place of the model's (own_tables.hpp).
//
// Bodies that are welded together are one. Where its mass changes, its parts' change in the same ratio, and with them
// what gravity compensation holds up; where its centre moves, all parts move with it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/parameters.hpp"

namespace axion::model {

// Bodies, axes, shapes or actuators of the model: how many of them the parameter has numbers for.
int item_count(const CompiledModel& model, ParameterOf of);

// Numbers of all parameters before `parameter`, and of all together.
int parameter_start(const CompiledModel& model, Parameter parameter);
int parameter_count(const CompiledModel& model);

// The model's own numbers, as a row.
std::vector<double> parameter_values(const CompiledModel& model);

// What varied models are made of.
class ModelVariants {
 public:
  // `source` is what the model was compiled from. Neither need live on. Where steps ask for no laws of soft contacts,
  // limits and friction (not `is_soft`), and the model has no lock that may be eased, these laws stay the model's.
  ModelVariants(const CompiledModel& model, const SceneSpec& source, bool is_soft = true);

  // The model without its hulls: what varied models are alike in.
  const CompiledModel& model() const { return *model_; }

  // `values` is a row of finite numbers. An error names the path of the number in the model ("bodies[3].mass"), also
  // where a number changes that the model has no use for, such as a limit of an axis without limits. Cost: that of
  // compiling the scene without its meshes and height fields, and of checking what the numbers are of; less where no
  // mass, armature or anchor changes.
  Result<CompiledModel> vary(std::span<const double> values) const;

 private:
  std::shared_ptr<const CompiledModel> model_;
  std::vector<BodySpec> read_;                    // bodies of model_ as they are read
  std::shared_ptr<const Mobilities> mobilities_;  // of model_
  SceneSpec source_;
  bool has_laws_;  // that follow from mobilities and that a step asks for
};

}  // namespace axion::model
