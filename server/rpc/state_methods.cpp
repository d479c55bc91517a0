// State of worlds: reset, get, set, contacts, solver statistics.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/rpc/options_conversion.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/request_hash.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/step_exchange.hpp"
#include "server/rpc/task_exchange.hpp"
#include "server/rpc/world_reports.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

using schedule::BatchHandle;
using schedule::invalid_field;

// -1 for no name.
absl::StatusOr<int> keyframe_of(const std::string& name, const ModelInfo& model) {
  if (name.empty()) return -1;
  for (std::size_t i = 0; i < model.keyframes.size(); ++i) {
    if (model.keyframes[i].name == name) return static_cast<int>(i);
  }
  std::vector<std::string> names;
  for (const auto& keyframe : model.keyframes) names.push_back(keyframe.name);
  return invalid_field(
      "keyframe", absl::StrCat("\"", schedule::shown(name), "\" is not a keyframe of the model; ", known_names(names)));
}

// A world starts as a snapshot says, or otherwise.
absl::Status check_snapshots(const v1::ResetRequest& request) {
  if (request.state().snapshot().empty()) return absl::OkStatus();
  if (!request.keyframe().empty())
    return invalid_field("keyframe", "is given beside state.snapshot; a world starts at one of them");
  if (!request.seeds().empty())
    return invalid_field("seeds", "are given beside state.snapshot, which no noise is added to");
  return absl::OkStatus();
}

// As far as an answer can hold them.
absl::Status fill_snapshots(const BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                            const schedule::Limits& limits, v1::GetStateResponse& response) {
  auto bytes = static_cast<double>(response.ByteSizeLong());
  return schedule::read_snapshots(batch, worlds, [&](std::string snapshot) {
    bytes += static_cast<double>(snapshot.size()) + 8;  // its tag and length
    *response.add_snapshot() = std::move(snapshot);
    return check_answer_bytes(bytes, limits);
  });
}

absl::Status check_seeds(const v1::ResetRequest& request, const BatchHandle& batch, std::int64_t count) {
  if (request.seeds().empty()) return absl::OkStatus();
  if (!batch.info.noise.present() && batch.info.task == nullptr) {
    return invalid_field("seeds", "are given, but the batch has no initial_noise and no task");
  }
  if (request.seeds_size() != count) {
    return invalid_field("seeds", absl::StrCat("has ", request.seeds_size(), " values for ", count, " worlds"));
  }
  return absl::OkStatus();
}

// Episodes begin where the task says, and are answered with what is observed first.
absl::Status check_task_reset(const BatchHandle& batch, std::int64_t count, int keyframe,
                              const schedule::Limits& limits, schedule::MemoryHold& memory) {
  if (batch.info.task == nullptr) return absl::OkStatus();
  if (keyframe >= 0) return invalid_field("keyframe", "is given, but the batch has a task, which says where it begins");
  const double bytes = task_answer_bytes(*batch.info.task, count);
  if (absl::Status fits = check_answer_bytes(bytes, limits); !fits.ok()) return fits;
  return memory.grow(2 * static_cast<std::int64_t>(bytes), "the answer");
}

}  // namespace

void SimulationService::Reset(UnaryCall* call, const v1::ResetRequest* request, v1::ResetResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    if (absl::Status id = check_request_id(request->request_id()); !id.ok()) return id;
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const std::int64_t count = count_of(*worlds, *batch);
    const auto keyframe = keyframe_of(request->keyframe(), batch->info.model->info());
    if (!keyframe.ok()) return keyframe.status();
    const auto state = to_state(request->state(), batch->info, count);
    if (!state.ok()) return state.status();
    if (absl::Status snapshots = check_snapshots(*request); !snapshots.ok()) return snapshots;
    if (absl::Status seeds = check_seeds(*request, *batch, count); !seeds.ok()) return seeds;
    if (absl::Status answer = check_task_reset(*batch, count, *keyframe, parts_.limits, call->memory()); !answer.ok())
      return answer;
    Work work = schedule::change_passes(
        batch, {.worlds = *worlds,
                .state = *state,
                .keyframe = *keyframe,
                .seeds = std::vector<std::uint64_t>(request->seeds().begin(), request->seeds().end())});
    if (batch->info.task != nullptr) {
      work.push_back(schedule::whole([response, batch, worlds = *std::move(worlds)](Engine&) {
        fill_first_observations(*batch, worlds, *response->mutable_task());
        return absl::OkStatus();
      }));
    }
    return made_once(batch, {request->request_id(), request_hash(*request)}, call->memory().another(), response,
                     std::move(work));
  };
  with_batch(call, request->batch(), schedule::Effect::kChanges, prepare);
}

void SimulationService::GetState(UnaryCall* call, const v1::GetStateRequest* request, v1::GetStateResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const auto count = static_cast<std::size_t>(count_of(*worlds, *batch));
    auto reading =
        to_reading(*request, batch->info, static_cast<std::int64_t>(count), parts_.limits, call->memory(), *response);
    if (!reading.ok()) return reading.status();
    const auto read = [this, batch, count, worlds = *std::move(worlds), reading = *std::move(reading), response](
                          Engine&, std::size_t first, std::size_t last) {
      const auto group = schedule::group_of(worlds, first, last);
      absl::Status status = schedule::read_fields(*batch, group, schedule::after(reading.views, first));
      for (const ParameterReading& parameter : reading.parameters) {
        if (!status.ok()) break;
        const std::size_t size = parameter.out.size() / count;
        const Status got = batch->engine->parameters(group, parameter.parameter,
                                                     parameter.out.subspan(first * size, group.size() * size));
        if (!got.ok()) status = schedule::from_engine(got.error());
      }
      if (status.ok() && reading.snapshot) status = fill_snapshots(*batch, group, parts_.limits, *response);
      return status;
    };
    return Work{{.count = count, .run = read}};
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

void SimulationService::SetState(UnaryCall* call, const v1::SetStateRequest* request, v1::SetStateResponse*) {
  const auto prepare = [call, request](const auto& batch) -> absl::StatusOr<Work> {
    if (absl::Status id = check_request_id(request->request_id()); !id.ok()) return id;
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const auto state = to_state(request->state(), batch->info, count_of(*worlds, *batch));
    if (!state.ok()) return state.status();
    return made_once(batch, {request->request_id(), request_hash(*request)}, call->memory().another(), nullptr,
                     schedule::change_passes(batch, {.worlds = *std::move(worlds), .state = *state}));
  };
  with_batch(call, request->batch(), schedule::Effect::kChanges, prepare);
}

void SimulationService::GetContacts(UnaryCall* call, const v1::GetContactsRequest* request,
                                    v1::GetContactsResponse* response) {
  with_batch(call, request->batch(), schedule::Effect::kReads,
             [this, request, response](const auto& batch) -> absl::StatusOr<Work> {
               auto worlds = worlds_of(request->world_indices(), batch->info);
               if (!worlds.ok()) return worlds.status();
               const auto contacts = std::make_shared<ContactReading>(*batch, *std::move(worlds), *response);
               return Work{{.count = contacts->world_count(),
                            .run = [contacts](Engine&, std::size_t first,
                                              std::size_t last) { return contacts->add(first, last); }},
                           schedule::whole([this, contacts](Engine&) { return contacts->finish(parts_.limits); })};
             });
}

void SimulationService::GetSolverStats(UnaryCall* call, const v1::GetSolverStatsRequest* request,
                                       v1::GetSolverStatsResponse* response) {
  const auto prepare = [this, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    Work work{schedule::whole([batch, response](Engine&) {
      fill_statistics(batch->engine->statistics().steps, *response->mutable_batch());
      return absl::OkStatus();
    })};
    if (request->batch_only()) return work;
    const auto statistics =
        std::make_shared<StatisticsReading>(*batch, *std::move(worlds), *response->mutable_worlds());
    work.push_back(
        {.count = statistics->world_count(),
         .run = [statistics](Engine&, std::size_t first, std::size_t last) { return statistics->add(first, last); }});
    work.push_back(schedule::whole([this, response, statistics](Engine&) {
      statistics->finish();
      return check_answer_bytes(static_cast<double>(response->ByteSizeLong()), parts_.limits);
    }));
    return work;
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

}  // namespace axion::server::rpc
