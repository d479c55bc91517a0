// EngineBatch: the Batch behind engine.hpp's interface, the same for every backend.
//
// It checks requests, turns step requests into jobs, and reads and writes worlds through its BatchMemory. Used by one
// thread at a time, as its engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/engine_model.hpp"
#include "engine/backend/input_pass.hpp"
#include "engine/backend/memory.hpp"
#include "engine/backend/variation.hpp"
#include "engine/engine.hpp"
#include "engine/step/run_steps.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::backend {

class EngineBatch : public Batch {
 public:
  EngineBatch(const BatchSpec& spec, std::shared_ptr<const EngineModel> model, std::unique_ptr<BatchMemory> memory,
              const void* engine);

  const BatchSpec& spec() const final { return spec_; }
  std::int64_t memory_bytes() const final { return memory_->bytes(); }
  std::int64_t memory_bound() const final { return memory_bytes() + most_variation_bytes(); }
  std::int64_t step_index(int world) const final { return step_index_[world]; }
  std::vector<std::int64_t> field_shape(Field field) const final;
  DType field_dtype(Field field) const final;
  Status get(std::span<const std::int32_t> worlds, std::span<const OutputView> out) const final;
  Result<std::vector<std::string>> snapshots(std::span<const std::int32_t> worlds,
                                             std::span<const std::uint32_t> outcomes) const final;
  Result<std::unique_ptr<StateChange>> prepare(std::span<const std::int32_t> worlds, const StateUpdate& state,
                                               std::optional<int> keyframe) const final;
  Result<std::unique_ptr<StateChange>> prepare_start(const BatchOverrides& overrides) const final;
  Status make(StateChange& change, int first, int last) final;
  Status set_state(std::span<const std::int32_t> worlds, const StateUpdate& state) final;
  Status parameters(std::span<const std::int32_t> worlds, Parameter parameter, std::span<double> out) const final;
  Status check(std::span<const std::int32_t> worlds, const RayQuery& query) const final;
  Status check(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs,
               double max_distance) const final;
  Status check(std::span<const std::int32_t> worlds, const DynamicsQuery& query) const final;
  Status cast_rays(std::span<const std::int32_t> worlds, const RayQuery& query, const RayHits& hits) const final;
  Status distances(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs, double max_distance,
                   const PairDistances& out) const final;
  Status dynamics(std::span<const std::int32_t> worlds, const DynamicsQuery& query, const Dynamics& out) const final;
  Status reset(const ResetRequest& request) final;
  BatchStatistics statistics() const final { return {cumulative_, memory_bytes()}; }

  // Which engine made it; requests to another are refused.
  const void* engine() const { return engine_; }
  const EngineModel& model() const { return *model_; }
  BatchMemory& memory() const { return *memory_; }
  // Checks all of a step request to this batch but the values of its inputs.
  Status check_step(const StepRequest& request) const;
  // Bytes of its inputs where they are packed (input_pass.hpp). check_step has passed.
  std::size_t input_bytes(const StepRequest& request) const;
  // Checks the values of its inputs, which are made to point to a packed copy where `to` is not nullptr.
  Status take_inputs(StepRequest& request, std::byte* to, ThreadPool* pool) const;
  // Takes in what a launch did to the worlds of a request.
  StepStatistics finish_step(const StepRequest& request);
  std::int64_t field_bytes(Field field) const;

  // ---- For linearisations (linearise.cpp) ----
  // A real field of one world as doubles.
  Result<std::vector<double>> read_doubles(Field field, int world) const;
  // Scales of a world's masses, friction and gains, one after the other; and all worlds with these.
  Result<std::vector<double>> read_scales(int world) const;
  Status write_scales(std::span<const double> scales);
  // The row of a world with the model's numbers filled in, or none where no world of the batch has numbers of its own;
  // and all worlds with these numbers, whose states are to be set anew.
  std::vector<double> own_numbers(int world) const;
  Status give_numbers(const std::vector<double>& row);
  // The model as all worlds have it that were given such numbers, else the batch's.
  virtual const model::CompiledModel& common_model() const = 0;
  // What stands for the active set of each world's last step, the first after a reset (active_set.hpp).
  Result<std::vector<std::uint64_t>> active_sets(std::span<const std::int32_t> worlds) const;

 protected:
  // `row` of the request is `world` of the batch.
  virtual void start_world(const BatchOverrides& overrides, int row, std::byte* block) const = 0;
  virtual void reset_world(int keyframe, const StateUpdate& state, int row, int world, std::byte* block) const = 0;
  virtual void set_world(const StateUpdate& state, int row, int world, std::byte* block) const = 0;
  virtual void get_world(std::span<const OutputView> out, int row, int world, std::byte* block) const = 0;
  // Numbers of the worlds' own from some time on: rows of all parameters, empty where they are the model's. A row is
  // taken in three parts: room, which may not be there and is made before anything changes; each row, for its world;
  // and the device's copy. `move` has the states follow; without it they are to be set anew.
  struct RowsChange {
    virtual ~RowsChange() = default;
  };
  virtual Result<std::unique_ptr<RowsChange>> prepare_rows(std::span<const std::int32_t> worlds,
                                                           std::vector<std::vector<double>> rows,
                                                           const std::function<std::string(std::size_t)>& name,
                                                           bool move) const = 0;
  virtual Status make_room(RowsChange& change) = 0;
  virtual void take_row(RowsChange& change, int row, std::byte* block) = 0;
  virtual Status copy_rows() = 0;
  virtual bool has_own_numbers() const = 0;
  virtual std::int64_t most_variation_bytes() const = 0;
  // The row of a world with the model's numbers filled in.
  virtual std::vector<double> numbers(int world) const = 0;
  virtual void cast_rays_of(const RayQuery& query, int row, int world, std::byte* block, const RayHits& hits) const = 0;
  virtual void distances_of(std::span<const ShapePairQuery> pairs, double max_distance, int row, int world,
                            std::byte* block, const PairDistances& out) const = 0;
  virtual void dynamics_of(const DynamicsQuery& query, int row, int world, std::byte* block,
                           const Dynamics& out) const = 0;
  virtual std::vector<double> scales_of(std::byte* block) const = 0;
  virtual void set_scales(std::span<const double> scales, std::byte* block) const = 0;
  // All worlds have been given the same numbers.
  virtual void keep_common_model() = 0;
  virtual std::uint64_t active_set_of(int world, std::byte* block) const = 0;
  virtual std::string write_snapshot(int world, std::byte* block, const std::uint32_t* outcome) const = 0;
  virtual Status check_snapshot(std::string_view snapshot, const std::string& name) const = 0;
  virtual std::int64_t read_snapshot(std::string_view snapshot, std::byte* block) const = 0;

  Status check_one_world(int world) const;

 private:
  struct Change;
  Status check_state(const StateUpdate& state, int rows) const;
  Status check_snapshots(const StateUpdate& state, int rows) const;
  // What gives worlds numbers of their own; none where nothing does.
  using Rows = Result<std::unique_ptr<RowsChange>>;
  Rows rows_of_parameters(std::span<const std::int32_t> worlds, const std::vector<ParameterInput>& parameters,
                          const std::string& path, bool move) const;
  Rows rows_of_snapshots(std::span<const std::int32_t> worlds, std::span<const std::string_view> snapshots) const;
  int parameter_numbers(Parameter parameter) const;  // for one world
  Status check_outputs(std::span<const OutputView> out, int rows, int records) const;
  int row_count(std::span<const std::int32_t> worlds) const;
  InputShape control_shape(const StepRequest& request) const;
  InputShape wrench_shape(const StepRequest& request) const;
  InputShape mocap_shape(int rows) const;
  // `worlds`, or all of them if it is empty.
  std::span<const std::int32_t> resolve(std::span<const std::int32_t> worlds) const;

  BatchSpec spec_;
  std::shared_ptr<const EngineModel> model_;
  std::unique_ptr<BatchMemory> memory_;
  const void* engine_;
  std::vector<std::int32_t> all_worlds_;
  std::vector<std::int64_t> step_index_;
  StepStatistics cumulative_;
};

// A batch in one precision.
template <typename Real>
class TypedBatch final : public EngineBatch {
 public:
  using EngineBatch::EngineBatch;
  DType real_dtype() const override;
  const model::CompiledModel& common_model() const override {
    return common_ == nullptr ? model().compiled() : *common_;
  }
  Result<std::vector<ContactInfo>> contacts(int world) const override;
  Result<WorldStatistics> statistics(int world) const override;
  using EngineBatch::statistics;

  // The request as plain data over host memory; `worlds`, `statistics` and `step_index` are the backend's to fill.
  step::StepJob<Real> make_job(const StepRequest& request) const;

 private:
  void start_world(const BatchOverrides& overrides, int row, std::byte* block) const override;
  void reset_world(int keyframe, const StateUpdate& state, int row, int world, std::byte* block) const override;
  void set_world(const StateUpdate& state, int row, int world, std::byte* block) const override;
  void get_world(std::span<const OutputView> out, int row, int world, std::byte* block) const override;
  Result<std::unique_ptr<RowsChange>> prepare_rows(std::span<const std::int32_t> worlds,
                                                   std::vector<std::vector<double>> rows,
                                                   const std::function<std::string(std::size_t)>& name,
                                                   bool move) const override;
  Status make_room(RowsChange& change) override;
  void take_row(RowsChange& change, int row, std::byte* block) override;
  Status copy_rows() override;
  bool has_own_numbers() const override { return variation_ != nullptr; }
  std::int64_t most_variation_bytes() const override;
  std::vector<double> numbers(int world) const override;
  void cast_rays_of(const RayQuery& query, int row, int world, std::byte* block, const RayHits& hits) const override;
  void distances_of(std::span<const ShapePairQuery> pairs, double max_distance, int row, int world, std::byte* block,
                    const PairDistances& out) const override;
  void dynamics_of(const DynamicsQuery& query, int row, int world, std::byte* block,
                   const Dynamics& out) const override;
  std::vector<double> scales_of(std::byte* block) const override;
  void set_scales(std::span<const double> scales, std::byte* block) const override;
  void keep_common_model() override;
  std::uint64_t active_set_of(int world, std::byte* block) const override;
  std::string write_snapshot(int world, std::byte* block, const std::uint32_t* outcome) const override;
  Status check_snapshot(std::string_view snapshot, const std::string& name) const override;
  std::int64_t read_snapshot(std::string_view snapshot, std::byte* block) const override;
  WorldModel<Real> world_model(int world) const;
  world::WorldLayout lay_out() const;
  struct TypedRows;

  const world::WorldLayout layout_ = lay_out();
  std::unique_ptr<Variation<Real>> variation_;          // null until a world has numbers of its own
  std::shared_ptr<const model::CompiledModel> common_;  // of all worlds, where give_numbers was the last to give any
};

extern template class TypedBatch<float>;
extern template class TypedBatch<double>;

// Checks a BatchSpec: model, counts, dt, options and overrides.
Status check_spec(const BatchSpec& spec);

}  // namespace axion::backend
