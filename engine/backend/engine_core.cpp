#include "engine/backend/engine_core.hpp"

#include <array>
#include <cmath>
#include <new>
#include <set>
#include <utility>

#include "engine/backend/text.hpp"
#include "engine/model/batch_view.hpp"

namespace axion::backend {
namespace {

// What is wrong with one of several requests says with which.
Status of_request(const Status& status, std::size_t index, std::size_t count) {
  if (count == 1) return status;
  Error error = status.error();
  error.field = text("requests[", index, "].", error.field);
  return error;
}

}  // namespace

Error no_room_for_tables(std::int64_t bytes) {
  return Error{ErrorCode::kResourceExhausted, "parameters",
               text("The worlds' own numbers need ", bytes_text(bytes), ", which are not free on the device.")};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return text(std::round(10 * value) / 10, " ", kUnits[unit]);
}

Result<std::unique_ptr<Batch>> EngineCore::create_batch(const BatchSpec& spec) {
  if (Status status = check_spec(spec); !status.ok()) return status.error();
  auto model = std::dynamic_pointer_cast<const EngineModel>(spec.model);
  try {
    return spec.options.precision == model::Precision::kFloat32 ? make_batch<float>(spec, std::move(model))
                                                                : make_batch<double>(spec, std::move(model));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kResourceExhausted, "world_count",
                 text("The machine has no memory left for ", spec.world_count, " worlds.")};
  }
}

template <typename Real>
Result<std::unique_ptr<Batch>> EngineCore::make_batch(const BatchSpec& spec, std::shared_ptr<const EngineModel> model) {
  const world::WorldBytes bytes = world::world_bytes(model::batch_view(model->arrays<Real>().view(), spec.options));
  // At most 2^24 worlds of less than 2^37 bytes each: no overflow.
  const std::int64_t wanted = spec.world_count * (std::int64_t(bytes.world) + world_overhead_bytes());
  const std::int64_t growth = scratch_growth_bytes(bytes.scratch);
  const std::int64_t free_bytes = budget_->limit - budget_->used;
  if (wanted + growth > free_bytes) {
    return Error{ErrorCode::kResourceExhausted, "world_count",
                 text("world_count is ", spec.world_count, "; the batch needs ", bytes_text(wanted + growth), " and ",
                      bytes_text(free_bytes), " of ", bytes_text(budget_->limit), " are free on ", device().id, ".")};
  }
  Reservation reservation(budget_, wanted);
  const DType precision = sizeof(Real) == sizeof(float) ? DType::kFloat32 : DType::kFloat64;
  auto memory = allocate(model, precision, bytes, spec.world_count, std::move(reservation));
  if (!memory.ok()) return memory.error();
  budget_->used += growth;
  auto batch = std::make_unique<TypedBatch<Real>>(spec, std::move(model), std::move(memory).value(), this);
  if (spec.started) {
    const auto start = batch->prepare_start(spec.overrides);
    const Status started = start.ok() ? batch->make(*start.value(), 0, spec.world_count) : Status(start.error());
    if (!started.ok()) return started.error();
  }
  return std::unique_ptr<Batch>(std::move(batch));
}

Status EngineCore::check(std::span<const StepRequest> requests) const {
  std::set<const Batch*> seen;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string path = text("requests[", i, "]");
    const auto* batch = dynamic_cast<const EngineBatch*>(requests[i].batch);
    if (batch == nullptr || batch->engine() != this) {
      return invalid_argument(path + ".batch", path + ".batch is no batch of this engine.");
    }
    if (!seen.insert(requests[i].batch).second) {
      return invalid_argument(path + ".batch", path + ".batch has a request in this launch already.");
    }
    if (Status status = batch->check_step(requests[i]); !status.ok()) return of_request(status, i, requests.size());
  }
  return {};
}

Status EngineCore::take_inputs(std::span<StepRequest> requests) {
  const auto batch = [](const StepRequest& request) { return static_cast<const EngineBatch*>(request.batch); };
  std::size_t bytes = 0;
  for (const StepRequest& request : requests) bytes += batch(request)->input_bytes(request);
  const Result<InputRoom> room = input_room(bytes);
  if (!room.ok()) return room.error();
  std::byte* to = room.value().data;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t own = batch(requests[i])->input_bytes(requests[i]);
    const Status status = batch(requests[i])->take_inputs(requests[i], to, room.value().pool);
    if (!status.ok()) return of_request(status, i, requests.size());
    if (to != nullptr) to += own;
  }
  return {};
}

Result<StepStatistics> EngineCore::step(std::span<const StepRequest> asked) {
  if (Status status = check(asked); !status.ok()) return status.error();
  std::vector<StepRequest> requests(asked.begin(), asked.end());
  if (Status status = take_inputs(requests); !status.ok()) return status.error();
  Launch launch;
  for (const StepRequest& request : requests) {
    if (auto* batch = dynamic_cast<TypedBatch<float>*>(request.batch)) {
      launch.float32.push_back({batch->make_job(request), &batch->memory()});
    } else if (auto* wide = dynamic_cast<TypedBatch<double>*>(request.batch)) {
      launch.float64.push_back({wide->make_job(request), &wide->memory()});
    }
  }
  if (Status status = run(launch); !status.ok()) return status.error();
  StepStatistics total;
  for (const StepRequest& request : requests) {
    total.add(static_cast<EngineBatch*>(request.batch)->finish_step(request));
  }
  return total;
}

}  // namespace axion::backend
