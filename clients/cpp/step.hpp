// Steps: what is asked, what comes back, and the stream that carries many of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "clients/cpp/tensor.hpp"

namespace axion::client {

// Reals of either precision, not owned.
class RealSpan {
 public:
  RealSpan() = default;
  template <typename Container>
  RealSpan(const Container& values) : values_(std::span(values)) {}  // NOLINT(google-explicit-constructor)
  RealSpan(std::span<const float> values) : values_(values) {}       // NOLINT(google-explicit-constructor)
  RealSpan(std::span<const double> values) : values_(values) {}      // NOLINT(google-explicit-constructor)
  std::size_t size() const;
  absl::StatusOr<v1::Tensor> tensor(std::initializer_list<std::int64_t> shape, const char* name) const;

 private:
  std::variant<std::span<const float>, std::span<const double>> values_;
};

struct StepArguments {
  // [nu] for every world alike, [n, nu] held over the steps or [n, k, nu] one row a step: the number of values tells.
  // Empty keeps the last control (zero at first).
  RealSpan control = {};
  int step_count = 1;                              // k
  std::vector<std::string> outputs = {};           // names of fields
  int record_every = 0;                            // 0: one record, after the last step
  std::vector<std::int32_t> worlds = {};           // empty: all
  std::optional<std::int64_t> expected_step = {};  // every world must be at this step index, else ABORTED
  RealSpan body_wrench = {};                       // [n, nb, 6] force, then torque, world frame, held
  RealSpan mocap_pose = {};                        // [n, mocap bodies, 7] where they stand from the first step on
  std::string request_id = {};                     // a repeated one gets the first answer again; empty: one is made
};

// The answer to a step. Views are valid as long as the result is.
class StepResult {
 public:
  explicit StepResult(v1::StepResponse response) : response_(std::move(response)) {}

  // Elements of an output as [n, ...] or, with record_every, [n, records, ...]. NOT_FOUND if it was not asked for,
  // INVALID_ARGUMENT if its elements are not T (reals have the precision of the batch).
  template <typename T>
  absl::StatusOr<std::span<const T>> output(const std::string& name) const {
    const v1::Tensor* found = tensor(name);
    if (found == nullptr) {
      return absl::NotFoundError(absl::StrCat("output '", name, "' was not asked for"));
    }
    return view<T>(*found);
  }
  const v1::Tensor* tensor(const std::string& name) const;  // nullptr if it was not asked for

  int world_count() const { return response_.time_size(); }
  std::span<const double> time() const { return {response_.time().data(), size(response_.time())}; }  // [n], s
  std::span<const std::int64_t> step_index() const {                                                  // [n]
    return {response_.step_index().data(), size(response_.step_index())};
  }
  std::span<const std::uint32_t> outcome() const {  // [n], bits of v1::Outcome
    return {response_.outcome().data(), size(response_.outcome())};
  }
  // Worlds whose outcome has the bit.
  int worlds_with(v1::Outcome bit) const;
  const v1::StepResponse& message() const { return response_; }

 private:
  template <typename Repeated>
  static std::size_t size(const Repeated& values) {
    return static_cast<std::size_t>(values.size());
  }
  v1::StepResponse response_;
};

// The message of a step of `batch`. INVALID_ARGUMENT if the number of controls or wrenches fits no shape.
absl::StatusOr<v1::StepRequest> make_step_request(const v1::Batch& batch, const StepArguments& arguments);

class Connection;

// A StepStream call. Not thread-safe. Destroying it with answers pending cancels the call.
class StepStream {
 public:
  // As Batch::stream() makes it: what was not answered when the server went away is sent again when it is back, for as
  // long as the client tries calls again.
  StepStream(std::shared_ptr<Connection> connection, const v1::Batch& batch);
  // One call, never made again. `context` has what is sent with it besides: a token, a deadline.
  StepStream(v1::Simulation::StubInterface& stub, const v1::Batch& batch,
             std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>());
  ~StepStream();
  StepStream(StepStream&&) noexcept = default;
  StepStream& operator=(StepStream&&) = delete;

  // Sends a step without waiting for its answer.
  absl::Status send(const StepArguments& arguments);
  // The answer of the oldest unanswered step; waits for it. FAILED_PRECONDITION if nothing is pending. When the server
  // refused that step, its status; the stream has then ended.
  absl::StatusOr<StepResult> receive();
  // Says that no more steps come and waits for the end of the call; answers not yet received are lost.
  absl::Status finish();
  int pending() const { return static_cast<int>(unanswered_.size()); }

 private:
  // A call that sends what has not been answered.
  void open();

  std::shared_ptr<Connection> connection_;  // none: the call is not made again
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriterInterface<v1::StepRequest, v1::StepResponse>> call_;
  v1::Batch batch_;
  std::deque<v1::StepRequest> unanswered_;
  bool finished_ = false;
};

}  // namespace axion::client
