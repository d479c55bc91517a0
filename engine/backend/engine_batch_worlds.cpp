// What linearisations read of a batch, and give the worlds of their own (engine_batch.hpp).
#include <utility>

#include "engine/backend/checks.hpp"
#include "engine/backend/engine_batch.hpp"

namespace axion::backend {

Result<std::vector<double>> EngineBatch::read_doubles(Field field, int world) const {
  const auto bytes = static_cast<std::size_t>(field_bytes(field));
  std::vector<std::byte> raw(bytes);
  const std::int32_t index = world;
  const OutputView view{field, raw.data(), bytes, 0};
  if (Status s = get({&index, 1}, {&view, 1}); !s.ok()) return s.error();
  const InputView values{raw.data(), field_dtype(field), 0, 0};
  std::vector<double> doubles(bytes / size_of(values.dtype));
  for (std::size_t i = 0; i < doubles.size(); ++i) doubles[i] = read_input(values, 0, 0, static_cast<int>(i));
  return doubles;
}

Result<std::vector<double>> EngineBatch::read_scales(int world) const {
  std::vector<double> scales;
  const std::int32_t index = world;
  const Status status =
      memory_->visit({&index, 1}, Access::kRead, [&](int, std::byte* block) { scales = scales_of(block); });
  if (!status.ok()) return status.error();
  return scales;
}

Status EngineBatch::write_scales(std::span<const double> scales) {
  return memory_->visit(all_worlds_, Access::kReadWrite, [&](int, std::byte* block) { set_scales(scales, block); });
}

std::vector<double> EngineBatch::own_numbers(int world) const {
  return has_own_numbers() ? numbers(world) : std::vector<double>();
}

Status EngineBatch::give_numbers(const std::vector<double>& row) {
  std::vector<std::vector<double>> rows(all_worlds_.size(), row);
  const auto name = [](std::size_t) { return std::string("parameters"); };
  const auto prepared = prepare_rows(all_worlds_, std::move(rows), name, false);
  if (!prepared.ok()) return prepared.error();
  RowsChange& change = *prepared.value();
  if (Status s = make_room(change); !s.ok()) return s;
  const auto take = [&](int i, std::byte* block) { take_row(change, i, block); };
  if (Status s = memory_->visit(all_worlds_, Access::kReadWrite, take); !s.ok()) return s;
  keep_common_model();
  return copy_rows();
}

Result<std::vector<std::uint64_t>> EngineBatch::active_sets(std::span<const std::int32_t> worlds) const {
  std::vector<std::uint64_t> sets(worlds.size());
  const auto look = [&](int i, std::byte* block) {
    sets[static_cast<std::size_t>(i)] = active_set_of(worlds[static_cast<std::size_t>(i)], block);
  };
  const Status status = memory_->visit(worlds, Access::kRead, look);
  if (!status.ok()) return status.error();
  return sets;
}

}  // namespace axion::backend
