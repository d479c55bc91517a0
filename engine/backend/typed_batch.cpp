// The part of a batch that knows its precision.
#include <algorithm>

#include "engine/backend/active_set.hpp"
#include "engine/backend/checks.hpp"
#include "engine/backend/engine_batch.hpp"
#include "engine/backend/queries.hpp"
#include "engine/backend/snapshot.hpp"
#include "engine/backend/world_block.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/team/serial_team.hpp"

namespace axion::backend {
namespace {

step::JobInput to_job(const InputView& view) {
  return {view.data, view.dtype == DType::kFloat64, view.world_stride, view.step_stride};
}

}  // namespace

template <typename Real>
DType TypedBatch<Real>::real_dtype() const {
  return sizeof(Real) == sizeof(float) ? DType::kFloat32 : DType::kFloat64;
}

template <typename Real>
step::StepJob<Real> TypedBatch<Real>::make_job(const StepRequest& request) const {
  step::StepJob<Real> job{};
  job.m = model::batch_view(model().template arrays<Real>().view(), spec().options);
  job.user = model().template user<Real>().view();
  if (variation_ != nullptr) job.own = variation_->tables();
  job.settings = model::make_step_settings<Real>(spec().options, spec().dt);
  model::suit_settings(job.m, job.settings);
  job.world_stride = layout_.bytes.world, job.layout = &layout_;
  job.world_indices = request.world_indices.empty() ? nullptr : request.world_indices.data();
  job.world_count = request.world_indices.empty() ? spec().world_count : static_cast<int>(request.world_indices.size());
  job.step_count = request.step_count;
  job.record_every = request.record_every;
  job.control = to_job(request.control);
  job.wrench = to_job(request.body_wrench), job.mocap = to_job(request.mocap_pose);
  for (const OutputView& out : request.outputs) {
    if (field_bytes(out.field) == 0) continue;
    job.outputs[job.output_count++] = {out.field, out.data, out.world_stride, out.record_stride};
  }
  return job;
}

template <typename Real>
void TypedBatch<Real>::start_world(const BatchOverrides& overrides, int row, std::byte* block) const {
  WorldBlock<Real> world(world_model(row), block);
  world.set_default_parameters();
  const model::WorldView<Real>& w = world.view();
  const auto read = [row](const InputView& view, int j) { return static_cast<Real>(read_input(view, row, 0, j)); };
  if (overrides.body_pose.data != nullptr) world.set_initial_poses(overrides.body_pose, row);
  const std::vector<int>& external = model().compiled().external_body;
  for (std::size_t b = 0; overrides.mass_scale.data != nullptr && b < external.size(); ++b) {
    w.mass_scale[b] = read(overrides.mass_scale, external[b]);
  }
  if (overrides.friction_scale.data != nullptr) w.friction_scale[0] = read(overrides.friction_scale, 0);
  const int nu = static_cast<int>(model().info().actuators.size());
  for (int i = 0; overrides.gain_scale.data != nullptr && i < nu; ++i) w.gain_scale[i] = read(overrides.gain_scale, i);
  world.reset(-1);
}

template <typename Real>
void TypedBatch<Real>::reset_world(int keyframe, const StateUpdate& state, int row, int world, std::byte* block) const {
  WorldBlock<Real> reset(world_model(world), block);
  reset.reset(keyframe);
  reset.set_state(state, row);
}

template <typename Real>
void TypedBatch<Real>::set_world(const StateUpdate& state, int row, int world, std::byte* block) const {
  WorldBlock<Real>(world_model(world), block).set_state(state, row);
}

template <typename Real>
void TypedBatch<Real>::get_world(std::span<const OutputView> out, int row, int world, std::byte* block) const {
  const WorldBlock<Real> state(world_model(world), block);
  const WorldModel<Real>& own = state.model();
  for (const OutputView& o : out) {
    if (field_bytes(o.field) == 0) continue;
    readout::write_field(team::SerialTeam{}, own.m, own.user, state.view(), o.field, o.data + row * o.world_stride);
  }
}

template <typename Real>
world::WorldLayout TypedBatch<Real>::lay_out() const {
  return world::world_layout(model::batch_view(model().template arrays<Real>().view(), spec().options));
}

template <typename Real>
WorldModel<Real> TypedBatch<Real>::world_model(int world) const {
  if (variation_ == nullptr) return WorldModel<Real>(model());
  WorldModel<Real> own = variation_->world(model(), world);
  if (common_ != nullptr) own.know(common_);
  return own;
}

template <typename Real>
struct TypedBatch<Real>::TypedRows : RowsChange {
  std::unique_ptr<Variation<Real>> first;  // of a batch that has none yet
  VariationChange change;
  std::optional<typename Variation<Real>::Tables> tables;
  bool move = false;
};

template <typename Real>
Result<std::unique_ptr<EngineBatch::RowsChange>> TypedBatch<Real>::prepare_rows(
    std::span<const std::int32_t> worlds, std::vector<std::vector<double>> rows,
    const std::function<std::string(std::size_t)>& name, bool move) const {
  auto prepared = std::make_unique<TypedRows>();
  if (variation_ == nullptr) {
    const bool is_soft = spec().options.contact_softness == model::ContactSoftness::kMjcf;
    prepared->first = std::make_unique<Variation<Real>>(model(), spec().world_count, is_soft);
  }
  const Variation<Real>& variation = variation_ == nullptr ? *prepared->first : *variation_;
  Result<VariationChange> change = variation.prepare(worlds, std::move(rows), name);
  if (!change.ok()) return change.error();
  prepared->change = std::move(change).value();
  prepared->tables = variation.grown_for(prepared->change);
  prepared->move = move;
  return std::unique_ptr<RowsChange>(std::move(prepared));
}

template <typename Real>
Status TypedBatch<Real>::make_room(RowsChange& change) {
  auto& rows = static_cast<TypedRows&>(change);
  const Variation<Real>& variation = variation_ == nullptr ? *rows.first : *variation_;
  const std::span<const std::byte> bytes = rows.tables ? rows.tables->bytes : variation.bytes();
  if (Status s = memory().keep_tables(bytes, variation.row_bytes()); !s.ok()) return s;
  if (variation_ == nullptr) variation_ = std::move(rows.first);
  if (rows.tables) variation_->take(*std::move(rows.tables));
  return {};
}

template <typename Real>
void TypedBatch<Real>::take_row(RowsChange& change, int row, std::byte* block) {
  auto& rows = static_cast<TypedRows&>(change);
  const int world = rows.change.worlds[static_cast<std::size_t>(row)];
  if (rows.move) {
    WorldBlock<Real>(world_model(world), block)
        .change_model(variation_->frames(world), variation_->frames_after(rows.change, row));
  }
  variation_->put(rows.change, static_cast<std::size_t>(row));
}

template <typename Real>
Status TypedBatch<Real>::copy_rows() {
  return memory().keep_tables(variation_->bytes(), variation_->row_bytes());
}

template <typename Real>
std::int64_t TypedBatch<Real>::most_variation_bytes() const {
  return Variation<Real>::most_bytes(model(), spec().world_count);
}

template <typename Real>
std::vector<double> TypedBatch<Real>::numbers(int world) const {
  return variation_ == nullptr ? model::parameter_values(model().compiled()) : variation_->numbers(world);
}

template <typename Real>
void TypedBatch<Real>::cast_rays_of(const RayQuery& query, int row, int world, std::byte* block,
                                    const RayHits& hits) const {
  const WorldBlock<Real> state(world_model(world), block);
  backend::cast_rays(state.model(), state.view(), query, row, hits);
}

template <typename Real>
void TypedBatch<Real>::distances_of(std::span<const ShapePairQuery> pairs, double max_distance, int row, int world,
                                    std::byte* block, const PairDistances& out) const {
  const WorldBlock<Real> state(world_model(world), block);
  measure_distances(state.model(), state.view(), pairs, max_distance, row, out);
}

template <typename Real>
void TypedBatch<Real>::dynamics_of(const DynamicsQuery& query, int row, int world, std::byte* block,
                                   const Dynamics& out) const {
  const WorldModel<Real> own = world_model(world);
  const WorldBlock<Real> state(own, block);
  const model::WorldView<Real>& w = state.view();
  const std::vector<double> scale(w.mass_scale.begin(), w.mass_scale + own.m.body_count);
  work_out_dynamics(own.compiled(), model().template user<double>(), state.bodies(),
                    state.read_reals(Field::kJointPosition, own.user.position_count),
                    state.read_reals(Field::kJointVelocity, own.user.velocity_count), scale, query, row, out);
}

template <typename Real>
void TypedBatch<Real>::keep_common_model() {
  common_ = nullptr;
  if (variation_->row(0).empty()) return;
  common_ = std::make_shared<const model::CompiledModel>(variation_->world(model(), 0).compiled());
}

template <typename Real>
std::vector<double> TypedBatch<Real>::scales_of(std::byte* block) const {
  const WorldBlock<Real> world(model(), block);
  const model::WorldView<Real>& w = world.view();
  const model::ModelView<Real>& m = world.model().m;
  std::vector<double> scales(w.mass_scale.begin(), w.mass_scale + m.body_count);
  scales.push_back(static_cast<double>(w.friction_scale[0]));
  scales.insert(scales.end(), w.gain_scale.begin(), w.gain_scale + m.control_count);
  return scales;
}

template <typename Real>
void TypedBatch<Real>::set_scales(std::span<const double> scales, std::byte* block) const {
  const WorldBlock<Real> world(model(), block);
  const model::WorldView<Real>& w = world.view();
  const auto bodies = static_cast<std::size_t>(world.model().m.body_count);
  const auto to_real = [](double scale) { return static_cast<Real>(scale); };
  std::transform(scales.begin(), scales.begin() + bodies, w.mass_scale.begin(), to_real);
  w.friction_scale[0] = to_real(scales[bodies]);
  std::transform(scales.begin() + bodies + 1, scales.end(), w.gain_scale.begin(), to_real);
}

template <typename Real>
std::uint64_t TypedBatch<Real>::active_set_of(int world, std::byte* block) const {
  const WorldBlock<Real> state(world_model(world), block);
  const model::StepSettings<Real> settings = model::make_step_settings<Real>(spec().options, spec().dt);
  return hash_of_active_set(model::batch_view(state.model().m, spec().options), state.view(), settings);
}

template <typename Real>
std::string TypedBatch<Real>::write_snapshot(int world, std::byte* block, const std::uint32_t* outcome) const {
  std::span<const double> row;
  if (variation_ != nullptr) row = variation_->row(world);
  return backend::write_snapshot<Real>(snapshot_header<Real>(model(), spec()), model(), block, outcome, row);
}

template <typename Real>
Status TypedBatch<Real>::check_snapshot(std::string_view snapshot, const std::string& name) const {
  return backend::check_snapshot<Real>(snapshot_header<Real>(model(), spec()), model(), snapshot, name);
}

template <typename Real>
std::int64_t TypedBatch<Real>::read_snapshot(std::string_view snapshot, std::byte* block) const {
  return backend::read_snapshot<Real>(model(), snapshot, block);
}

template <typename Real>
Result<std::vector<ContactInfo>> TypedBatch<Real>::contacts(int world) const {
  if (Status s = check_one_world(world); !s.ok()) return s.error();
  std::vector<ContactInfo> contacts;
  const std::int32_t index = world;
  const Status status = memory().visit({&index, 1}, Access::kRead, [&](int, std::byte* block) {
    contacts = WorldBlock<Real>(world_model(world), block).contacts();
  });
  if (!status.ok()) return status.error();
  return contacts;
}

template <typename Real>
Result<WorldStatistics> TypedBatch<Real>::statistics(int world) const {
  if (Status s = check_one_world(world); !s.ok()) return s.error();
  WorldStatistics statistics;
  const std::int32_t index = world;
  const Status status = memory().visit({&index, 1}, Access::kRead, [&](int, std::byte* block) {
    statistics = WorldBlock<Real>(model(), block).statistics();
  });
  if (!status.ok()) return status.error();
  return statistics;
}

template class TypedBatch<float>;
template class TypedBatch<double>;

}  // namespace axion::backend
