// Variation: the numbers that worlds of a batch have in place of the model's, and the tables that steps read them from.
//
// Of each world a row of all parameters (model/parameters.hpp), empty where it has the model's numbers. What a row
// makes of the model's arrays is a patch; the arrays that any patch changes are the tables of all worlds
// (model/own_tables.hpp), so that the tables of worlds that differ in gravity alone are three numbers each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/world_model.hpp"
#include "engine/model/own_tables.hpp"

namespace axion::backend {

// New rows of some worlds, checked and compiled, and the tables with them.
struct VariationChange {
  using Patch = std::map<int, std::vector<std::byte>>;  // table -> its bytes
  std::vector<std::int32_t> worlds;
  std::vector<std::vector<double>> rows;
  std::vector<Patch> patches;
  std::vector<std::shared_ptr<const BodyFrames>> frames;  // none: the model's
};

template <typename Real>
class Variation {
 public:
  // `is_soft`: steps ask for laws of soft contacts, limits and friction.
  Variation(const EngineModel& model, int world_count, bool is_soft);

  // The row of a world; empty: the model's numbers.
  const std::vector<double>& row(int world) const { return rows_[static_cast<std::size_t>(world)]; }
  // The same with the model's numbers filled in.
  std::vector<double> numbers(int world) const;
  const std::vector<double>& defaults() const { return defaults_; }
  WorldModel<Real> world(const EngineModel& model, int world) const;
  // Where a world's bodies are in its compiled model, and in the one of the change's row of this number.
  const BodyFrames& frames(int world) const { return *or_models(frames_[static_cast<std::size_t>(world)]); }
  const BodyFrames& frames_after(const VariationChange& change, int row) const {
    return *or_models(change.frames[static_cast<std::size_t>(row)]);
  }

  // INVALID_ARGUMENT, naming name(row), unless every row can be compiled. Rows are of finite numbers, or empty.
  // Changes nothing; stops if no caller waits any more (base/stop.hpp).
  Result<VariationChange> prepare(std::span<const std::int32_t> worlds, std::vector<std::vector<double>> rows,
                                  const std::function<std::string(std::size_t)>& name) const;
  // The tables with room for a change, of the numbers that worlds have now; none where there is room.
  struct Tables {
    model::OwnTables layout;  // without data
    std::vector<std::byte> bytes;
  };
  std::optional<Tables> grown_for(const VariationChange& change) const;
  void take(Tables tables);
  // Gives a world the numbers of the change's row of this number, which are gone from there afterwards.
  void put(VariationChange& change, std::size_t row);

  // Of rows for all worlds; and of these and tables of all arrays, which is the most that variation takes.
  std::int64_t row_bytes() const { return std::int64_t(rows_.size()) * row_bytes(model_frames_, defaults_.size()); }
  static std::int64_t most_bytes(const EngineModel& model, int world_count);

  // Where steps on the host find the tables; a device keeps a copy.
  const model::OwnTables& tables() const { return tables_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static std::int64_t row_bytes(const BodyFrames& frames, std::size_t numbers);
  std::array<std::span<const std::byte>, model::kOwnTableCount> models_tables() const;
  const BodyFrames* or_models(const std::shared_ptr<const BodyFrames>& own) const {
    return own == nullptr ? &model_frames_ : own.get();
  }

  const model::ModelArrays<Real>& arrays_;
  const UserArrays<Real>& user_;
  model::ModelVariants variants_;
  std::vector<double> defaults_;
  BodyFrames model_frames_;
  std::vector<std::vector<double>> rows_;                  // [world]
  std::vector<std::shared_ptr<const BodyFrames>> frames_;  // [world]; none: the model's
  model::OwnTables tables_;
  std::vector<std::byte> bytes_;
};

extern template class Variation<float>;
extern template class Variation<double>;

}  // namespace axion::backend
