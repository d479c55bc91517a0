#include "engine/backend/variation.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/backend/text.hpp"
#include "engine/base/stop.hpp"
#include "engine/world/world_layout.hpp"

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
  const void* base[model::kOwnTableCount];
  model::for_each_table(base_arrays, base_user, [&](int i, const auto& array) { base[i] = &array; });
  VariationChange::Patch patch;
  model::for_each_table(arrays, user, [&](int i, const auto& array) {
    if (array == *static_cast<decltype(&array)>(base[i])) return;
    const std::span<const std::byte> bytes = bytes_of(array);
    patch[i].assign(bytes.begin(), bytes.end());
  });
  return patch;
}

}  // namespace

template <typename Real>
Variation<Real>::Variation(const EngineModel& model, int world_count, bool is_soft)
    : arrays_(model.arrays<Real>()),
      user_(model.user<Real>()),
      variants_(model.compiled(), model.info().scene, is_soft),
      defaults_(model::parameter_values(model.compiled())),
      model_frames_(model.compiled()),
      rows_(static_cast<std::size_t>(world_count)),
      frames_(static_cast<std::size_t>(world_count)) {
  for (std::uint32_t& offset : tables_.offsets) offset = model::kModelsOwn;
}

template <typename Real>
std::int64_t Variation<Real>::most_bytes(const EngineModel& model, int world_count) {
  std::size_t bytes = 0;
  model::for_each_table(model.arrays<Real>(), model.user<Real>(), [&](int, const auto& array) {
    bytes += world::align_up(bytes_of(array).size(), model::kTableAlignment);
  });
  bytes = world::align_up(bytes, world::kFieldAlignment);
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
  if (tables_.data != nullptr) model::use_own_tables(tables_, world, views.m, views.user);
  return views;
}

template <typename Real>
Result<VariationChange> Variation<Real>::prepare(std::span<const std::int32_t> worlds,
                                                 std::vector<std::vector<double>> rows,
                                                 const std::function<std::string(std::size_t)>& name) const {
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
    stop_if_asked();
    const Result<model::CompiledModel> varied = variants_.vary(row);
    if (!varied.ok()) {
      return Error{varied.error().code, name(i), text(name(i), " of world ", worlds[i], ": ", varied.error().message)};
    }
    change.patches[i] = make_patch(arrays_, user_, varied.value());
    change.frames[i] = std::make_shared<const BodyFrames>(varied.value());
  }
  return change;
}

template <typename Real>
std::array<std::span<const std::byte>, model::kOwnTableCount> Variation<Real>::models_tables() const {
  std::array<std::span<const std::byte>, model::kOwnTableCount> tables;
  model::for_each_table(arrays_, user_,
                        [&](int i, const auto& array) { tables[static_cast<std::size_t>(i)] = bytes_of(array); });
  return tables;
}

template <typename Real>
std::optional<typename Variation<Real>::Tables> Variation<Real>::grown_for(const VariationChange& change) const {
  std::array<bool, model::kOwnTableCount> used{};
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = tables_.offsets[i] != model::kModelsOwn;
  const auto before = used;
  for (const auto& patch : change.patches) {
    for (const auto& table : patch) used[static_cast<std::size_t>(table.first)] = true;
  }
  if (used == before) return std::nullopt;
  const auto base = models_tables();
  Tables next;
  std::size_t end = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    next.layout.offsets[i] = used[i] ? static_cast<std::uint32_t>(end) : model::kModelsOwn;
    if (used[i]) end += world::align_up(base[i].size(), model::kTableAlignment);
  }
  next.layout.world_stride = world::align_up(end, world::kFieldAlignment);
  next.bytes.resize(next.layout.world_stride * rows_.size());
  for (std::size_t world = 0; world < rows_.size(); ++world) {
    stop_if_asked(world);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i] || base[i].empty()) continue;
      const std::byte* from =
          before[i] ? bytes_.data() + world * tables_.world_stride + tables_.offsets[i] : base[i].data();
      std::memcpy(next.bytes.data() + world * next.layout.world_stride + next.layout.offsets[i], from, base[i].size());
    }
  }
  return next;
}

template <typename Real>
void Variation<Real>::take(Tables tables) {
  bytes_ = std::move(tables.bytes), tables_ = tables.layout;
  tables_.data = bytes_.empty() ? nullptr : bytes_.data();
}

template <typename Real>
void Variation<Real>::put(VariationChange& change, std::size_t row) {
  const auto world = static_cast<std::size_t>(change.worlds[row]);
  const auto base = models_tables();
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (tables_.offsets[i] == model::kModelsOwn || base[i].empty()) continue;
    const auto own = change.patches[row].find(static_cast<int>(i));
    const std::byte* from = own == change.patches[row].end() ? base[i].data() : own->second.data();
    std::memcpy(bytes_.data() + world * tables_.world_stride + tables_.offsets[i], from, base[i].size());
  }
  rows_[world] = std::move(change.rows[row]);
  frames_[world] = std::move(change.frames[row]);
  change.patches[row] = {};
}

template class Variation<float>;
template class Variation<double>;

}  // namespace axion::backend
