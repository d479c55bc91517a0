#include "engine/backend/variation.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/backend/text.hpp"
#include "engine/step/world_layout.hpp"

namespace axion::backend {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& array) {
  return {reinterpret_cast<const std::byte*>(array.data()), array.size() * sizeof(T)};
}
template <typename Real>
std::span<const std::byte> bytes_of(const math::Vec3<Real>& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof(value)};
}

template <typename Real>
VariationChange::Patch make_patch(const model::ModelArrays<Real>& base_arrays, const UserArrays<Real>& base_user,
                                  const model::CompiledModel& varied) {
  model::ModelArrays<Real> arrays;
  if constexpr (std::is_same_v<Real, double>) {
    arrays = varied.arrays;
  } else {
    arrays = model::to_float(varied.arrays);
  }
  const UserArrays<Real> user = make_user_arrays<Real>(varied);
  const void* base[step::kOwnTableCount];
  step::for_each_table(base_arrays, base_user, [&](int i, const auto& array) { base[i] = &array; });
  VariationChange::Patch patch;
  step::for_each_table(arrays, user, [&](int i, const auto& array) {
    if (array == *static_cast<decltype(&array)>(base[i])) return;
    const std::span<const std::byte> bytes = bytes_of(array);
    patch[i].assign(bytes.begin(), bytes.end());
  });
  return patch;
}

}  // namespace

template <typename Real>
Variation<Real>::Variation(const EngineModel& model, int world_count)
    : arrays_(model.arrays<Real>()),
      user_(model.user<Real>()),
      variants_(model.compiled(), model.info().scene),
      defaults_(model::parameter_values(model.compiled())),
      model_frames_(model.compiled()),
      rows_(static_cast<std::size_t>(world_count)),
      frames_(static_cast<std::size_t>(world_count)) {
  for (std::uint32_t& offset : tables_.offsets) offset = step::kModelsOwn;
}

template <typename Real>
std::int64_t Variation<Real>::most_bytes(const EngineModel& model, int world_count) {
  std::size_t bytes = 0;
  step::for_each_table(model.arrays<Real>(), model.user<Real>(), [&](int, const auto& array) {
    bytes += step::align_up(bytes_of(array).size(), step::kTableAlignment);
  });
  bytes = step::align_up(bytes, step::kFieldAlignment);
  const auto numbers = static_cast<std::size_t>(model::parameter_count(model.compiled()));
  return std::int64_t(world_count) * (std::int64_t(bytes) + row_bytes(BodyFrames(model.compiled()), numbers));
}

template <typename Real>
std::int64_t Variation<Real>::row_bytes(const BodyFrames& frames, std::size_t numbers) {
  const auto of_body = static_cast<std::int64_t>(2 * sizeof(frames.x[0]) + 2 * sizeof(frames.q[0]));
  return std::int64_t(sizeof(frames)) + std::int64_t(frames.x.size()) * of_body +
         std::int64_t(numbers * sizeof(double));
}

template <typename Real>
std::vector<double> Variation<Real>::numbers(int world) const {
  return row(world).empty() ? defaults_ : row(world);
}

template <typename Real>
WorldModel<Real> Variation<Real>::world(const EngineModel& model, int world) const {
  WorldModel<Real> views(model, arrays_.view(), user_.view(), &variants_, &row(world));
  if (tables_.data != nullptr) step::use_own_tables(tables_, world, views.m, views.user);
  return views;
}

template <typename Real>
Result<VariationChange> Variation<Real>::prepare(std::span<const std::int32_t> worlds,
                                                 std::vector<std::vector<double>> rows, const std::string& name) const {
  VariationChange change{{worlds.begin(), worlds.end()}, std::move(rows), {}, {}};
  change.patches.resize(worlds.size()), change.frames.resize(worlds.size());
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    std::vector<double>& row = change.rows[i];
    if (row == defaults_) row.clear();
    if (row.empty()) continue;
    if (i > 0 && row == change.rows[i - 1]) {
      change.patches[i] = change.patches[i - 1], change.frames[i] = change.frames[i - 1];
      continue;
    }
    const Result<model::CompiledModel> varied = variants_.vary(row);
    if (!varied.ok()) {
      return Error{varied.error().code, name, text(name, " of world ", worlds[i], ": ", varied.error().message)};
    }
    change.patches[i] = make_patch(arrays_, user_, varied.value());
    change.frames[i] = std::make_shared<const BodyFrames>(varied.value());
  }
  return change;
}

template <typename Real>
typename Variation<Real>::Tables Variation<Real>::tables_with(const VariationChange& change) const {
  std::span<const std::byte> base[step::kOwnTableCount];
  step::for_each_table(arrays_, user_, [&](int i, const auto& array) { base[i] = bytes_of(array); });
  Tables next;
  std::size_t end = 0;
  for (int i = 0; i < step::kOwnTableCount; ++i) {
    bool used = tables_.offsets[i] != step::kModelsOwn;
    for (const auto& patch : change.patches) used = used || patch.contains(i);
    next.layout.offsets[i] = used ? static_cast<std::uint32_t>(end) : step::kModelsOwn;
    if (used) end += step::align_up(base[i].size(), step::kTableAlignment);
  }
  next.layout.world_stride = step::align_up(end, step::kFieldAlignment);
  next.bytes.resize(next.layout.world_stride * rows_.size());
  const auto put = [&](std::size_t world, int i, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(next.bytes.data() + world * next.layout.world_stride + next.layout.offsets[i], bytes.data(),
                bytes.size());
  };
  std::vector<const VariationChange::Patch*> patch_of(rows_.size(), nullptr);
  for (std::size_t k = 0; k < change.worlds.size(); ++k) {
    patch_of[static_cast<std::size_t>(change.worlds[k])] = &change.patches[k];
  }
  for (std::size_t world = 0; world < rows_.size(); ++world) {
    for (int i = 0; i < step::kOwnTableCount; ++i) {
      if (next.layout.offsets[i] == step::kModelsOwn) continue;
      std::span<const std::byte> bytes = base[i];
      if (patch_of[world] != nullptr) {
        const auto found = patch_of[world]->find(i);
        if (found != patch_of[world]->end()) bytes = found->second;
      } else if (tables_.offsets[i] != step::kModelsOwn) {
        bytes = {bytes_.data() + world * tables_.world_stride + tables_.offsets[i], base[i].size()};
      }
      put(world, i, bytes);
    }
  }
  return next;
}

template <typename Real>
void Variation<Real>::commit(VariationChange change, Tables tables) {
  for (std::size_t k = 0; k < change.worlds.size(); ++k) {
    rows_[static_cast<std::size_t>(change.worlds[k])] = std::move(change.rows[k]);
    frames_[static_cast<std::size_t>(change.worlds[k])] = std::move(change.frames[k]);
  }
  bytes_ = std::move(tables.bytes), tables_ = tables.layout;
  tables_.data = bytes_.empty() ? nullptr : bytes_.data();
}

template class Variation<float>;
template class Variation<double>;

}  // namespace axion::backend
