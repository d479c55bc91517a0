// A step of a batch's task: between the action of a request and the TaskAnswer of its response.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "axion/v1/simulation.pb.h"
#include "axion/v1/state.pb.h"

#include "server/rpc/step_exchange.hpp"
#include "server/schedule/job.hpp"

namespace axion::server::rpc {

// What the answer about `count` worlds takes, and what a step needs besides.
double task_answer_bytes(const task::Task& task, std::int64_t count);

// First observations of worlds, for Reset. The device's owner only.
void fill_first_observations(const schedule::BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                             v1::TaskAnswer& answer);

// The sink of a step of the task: says which worlds are stepped with which control, and adds the task's part to what
// another sink answers.
class TaskResponder final : public schedule::StepSink {
 public:
  TaskResponder(v1::StepResponse& response, std::unique_ptr<StepResponder> responder)
      : response_(response), responder_(std::move(responder)) {}

  absl::StatusOr<bool> prepare(schedule::BatchHandle& batch, schedule::StepWork& work) override;
  std::shared_ptr<const schedule::StepMemory> succeed(schedule::StepAnswer answer, bool remember) override;
  void replay(const schedule::StepMemory& memory) override { responder_->replay(memory); }
  void fail(const absl::Status& status) override { responder_->fail(status); }

 private:
  absl::Status complete(schedule::StepAnswer& answer);
  // Rows of what was stepped, one after the other, become rows of the worlds asked for.
  void spread_rows(schedule::StepAnswer& answer) const;
  // Wrenches and mocap poses of the request by rows of what is stepped, and pushes added to the wrenches.
  void take_inputs(schedule::StepWork& work);
  // Worlds in which an episode has begun are answered as they stand now.
  absl::Status read_restarted(const std::vector<std::int32_t>& rows, schedule::StepAnswer& answer) const;
  void fill(const task::StepAnswer& answer);

  v1::StepResponse& response_;
  const std::unique_ptr<StepResponder> responder_;
  schedule::BatchHandle* batch_ = nullptr;
  task::StepPlan plan_;
  std::vector<OutputView> outputs_;        // that the request asked for
  InputView wrench_, mocap_pose_;          // that it gave
  std::vector<double> wrenches_, mocaps_;  // for what is stepped
};

}  // namespace axion::server::rpc
