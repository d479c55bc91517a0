#include "server/schedule/batch_handle.hpp"

#include <algorithm>
#include <utility>

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {

const FieldShape* BatchInfo::find(Field field) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const FieldShape& f) { return f.field == field; });
  return it == fields.end() ? nullptr : &*it;
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::vector<FieldShape> field_shapes(const Batch& batch) {
  std::vector<FieldShape> shapes;
  for (int i = 0; i < kFieldCount; ++i) {
    const Field field = static_cast<Field>(i);
    FieldShape shape{.field = field, .dtype = batch.field_dtype(field), .shape = batch.field_shape(field)};
    shape.bytes = element_count(shape.shape) * size_of(shape.dtype);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void count_replays(BatchHandle& batch) {
  const auto bytes = static_cast<std::int64_t>(batch.replays.own_bytes());
  batch.kept.force(bytes - std::exchange(batch.replay_bytes, bytes));
}

absl::Status finish_task_step(BatchHandle& batch, const task::StepPlan& plan, std::span<const std::uint32_t> outcome,
                              task::StepAnswer& answer) {
  const Status status = batch.episodes->finish(*batch.engine, batch.changes, plan, outcome, answer);
  for (const std::int32_t row : answer.restarted_rows) {
    const auto world = static_cast<std::size_t>(plan.worlds[static_cast<std::size_t>(row)]);
    batch.carried_outcome[world] = kConverged;
  }
  return status.ok() ? absl::OkStatus() : from_engine(status.error(), "task");
}

}  // namespace axion::server::schedule
