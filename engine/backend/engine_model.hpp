// EngineModel: a compiled model with its views in both precisions. The Model behind engine.hpp's interface.
//
// Immutable after compile_model, so any thread may read it; views point into it and live as long as it does.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "engine/engine.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/user_layout.hpp"

namespace axion::backend {

// Host arrays behind a UserLayout.
template <typename Real>
struct UserArrays {
  std::vector<int> external_body;
  std::vector<math::Vec3<Real>> p_BC;
  std::vector<math::Quat<Real>> q_BC;
  std::vector<model::UserJoint> joints;
  int position_count = 0, velocity_count = 0;
  model::UserLayout<Real> view() const;
};

template <typename Real>
UserArrays<Real> make_user_arrays(const model::CompiledModel& compiled);

class EngineModel final : public Model {
 public:
  // `scene` is what was compiled.
  EngineModel(model::CompiledModel compiled, const model::SceneSpec& scene);

  const ModelInfo& info() const override { return info_; }
  const model::CompiledModel& compiled() const { return compiled_; }
  // Of the pairs of shapes that may touch, in their order: worlds name contacts by their pair.
  std::uint64_t pairs_hash() const { return pairs_hash_; }

  template <typename Real>
  const model::ModelArrays<Real>& arrays() const {
    if constexpr (std::is_same_v<Real, double>) {
      return compiled_.arrays;
    } else {
      return arrays_float_;
    }
  }
  template <typename Real>
  const UserArrays<Real>& user() const {
    if constexpr (std::is_same_v<Real, double>) {
      return user_double_;
    } else {
      return user_float_;
    }
  }

 private:
  model::CompiledModel compiled_;
  model::ModelArrays<float> arrays_float_;
  UserArrays<float> user_float_;
  UserArrays<double> user_double_;
  ModelInfo info_;
  std::uint64_t pairs_hash_;
};

}  // namespace axion::backend
