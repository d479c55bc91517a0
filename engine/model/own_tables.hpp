// Tables of numbers that worlds have of their own, in place of the model's.
//
// Where worlds of a batch differ in masses, gains, limits and the like (model/vary.hpp), each has its own copy of those
// arrays of the model that differ anywhere in the batch, one after the other in a block; `offsets` says where in a
// block. A step points its view of the model at its world's tables; all else is the same for all worlds. In a batch
// without variation there are no tables, and nothing is done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/model_data.hpp"
#include "engine/model/user_layout.hpp"

namespace axion::model {

inline constexpr int kOwnTableCount = 21;
inline constexpr std::uint32_t kModelsOwn = 0xffffffffu;  // offset of an array that is the model's for all worlds
inline constexpr std::size_t kTableAlignment = 16;

// Calls f(index, array) for each array of numbers of `m` and `user` that a world may have of its own, with the pointer
// by reference; gravity is a single number of three parts.
template <typename Model, typename User, typename F>
AXION_HD inline void for_each_table(Model& m, User& user, F&& f) {
  f(0, m.bodies), f(1, m.body_forces), f(2, m.fluid_parts), f(3, m.site_motors), f(4, m.joints), f(5, m.axes);
  f(6, m.actuators), f(7, m.efforts), f(8, m.tendons), f(9, m.tendon_spans), f(10, m.shapes), f(11, m.shape_contacts);
  f(12, m.pairs), f(13, m.sensors.list), f(14, m.sensors.parts), f(15, user.p_BC), f(16, user.q_BC), f(17, m.gravity);
  f(18, m.pair_impedances), f(19, m.limit_impedance), f(20, m.lock_softness);
}

struct OwnTables {
  const std::byte* data = nullptr;  // of world 0; null: no world has tables
  std::size_t world_stride = 0;     // bytes
  std::uint32_t offsets[kOwnTableCount] = {};
};

template <typename T>
AXION_HD inline void point_at(const T*& array, const std::byte* table) {
  array = reinterpret_cast<const T*>(table);
}
template <typename Real>
AXION_HD inline void point_at(math::Vec3<Real>& value, const std::byte* table) {
  value = *reinterpret_cast<const math::Vec3<Real>*>(table);
}

// Points the views at the tables of a world, which must be there.
template <typename Real>
AXION_HD inline void use_own_tables(const OwnTables& tables, int world, model::ModelView<Real>& m,
                                    model::UserLayout<Real>& user) {
  const std::byte* block = tables.data + world * tables.world_stride;
  for_each_table(m, user, [&](int i, auto& array) {
    if (tables.offsets[i] != kModelsOwn) point_at(array, block + tables.offsets[i]);
  });
}

}  // namespace axion::model
