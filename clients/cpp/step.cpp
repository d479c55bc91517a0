#include "clients/cpp/step.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "clients/cpp/connection.hpp"
#include "clients/cpp/status.hpp"

namespace axion::client {
namespace {

std::int64_t field_size(const v1::Batch& batch, std::string_view name) {
  for (const v1::FieldInfo& field : batch.fields()) {
    if (field.name() == name) {
      std::int64_t size = 1;
      for (const std::int64_t extent : field.shape()) {
        size *= extent;
      }
      return size;
    }
  }
  return 0;
}

template <typename T>
v1::Tensor repeat_rows(std::span<const T> row, std::int64_t count) {
  v1::Tensor tensor;
  tensor.set_dtype(dtype_of<T>());
  tensor.add_shape(count);
  tensor.add_shape(static_cast<std::int64_t>(row.size()));
  std::string& data = *tensor.mutable_data();
  data.reserve(static_cast<std::size_t>(count) * row.size_bytes());
  for (std::int64_t i = 0; i < count; ++i) {
    data.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  }
  return tensor;
}

absl::StatusOr<v1::Tensor> control_tensor(const RealSpan& control, std::int64_t n, std::int64_t k, std::int64_t nu) {
  const auto size = static_cast<std::int64_t>(control.size());
  if (size == nu && n > 1) {
    auto row = control.tensor({nu}, "control");
    if (!row.ok()) {
      return row.status();
    }
    return row->dtype() == v1::DTYPE_FLOAT32 ? repeat_rows(*view<float>(*row), n) : repeat_rows(*view<double>(*row), n);
  }
  if (size == n * nu) {
    return control.tensor({n, nu}, "control");
  }
  if (size == n * k * nu) {
    return control.tensor({n, k, nu}, "control");
  }
  return absl::InvalidArgumentError(absl::StrCat("control: has ", size, " values; wants [", nu, "], [", n, ", ", nu,
                                                 "] or [", n, ", ", k, ", ", nu, "]"));
}

}  // namespace

std::size_t RealSpan::size() const {
  return std::visit([](const auto& values) { return values.size(); }, values_);
}

absl::StatusOr<v1::Tensor> RealSpan::tensor(std::initializer_list<std::int64_t> shape, const char* name) const {
  return std::visit([&](const auto& values) { return make_tensor(values, shape, name); }, values_);
}

absl::StatusOr<v1::StepRequest> make_step_request(const v1::Batch& batch, const StepArguments& arguments) {
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.mutable_world_indices()->Add(arguments.worlds.begin(), arguments.worlds.end());
  request.set_step_count(arguments.step_count);
  request.set_record_every(arguments.record_every);
  request.mutable_outputs()->Add(arguments.outputs.begin(), arguments.outputs.end());
  request.set_request_id(arguments.request_id);
  request.set_expected_incarnation(batch.incarnation());
  if (arguments.expected_step) {
    request.set_expected_step(*arguments.expected_step);
  }
  const std::int64_t n = arguments.worlds.empty() ? batch.world_count() : std::ssize(arguments.worlds);
  if (arguments.control.size() > 0) {
    auto tensor = control_tensor(arguments.control, n, arguments.step_count, field_size(batch, "control"));
    if (!tensor.ok()) {
      return tensor.status();
    }
    *request.mutable_control() = *std::move(tensor);
  }
  if (arguments.body_wrench.size() > 0) {
    const std::int64_t body_count = field_size(batch, "body_velocity") / 6;
    auto tensor = arguments.body_wrench.tensor({n, body_count, 6}, "body_wrench");
    if (!tensor.ok()) {
      return tensor.status();
    }
    *request.mutable_body_wrench() = *std::move(tensor);
  }
  if (arguments.mocap_pose.size() > 0) {
    auto tensor = arguments.mocap_pose.tensor({n, field_size(batch, "mocap_pose") / 7, 7}, "mocap_pose");
    if (!tensor.ok()) {
      return tensor.status();
    }
    *request.mutable_mocap_pose() = *std::move(tensor);
  }
  return request;
}

const v1::Tensor* StepResult::tensor(const std::string& name) const {
  const auto found = response_.outputs().find(name);
  return found == response_.outputs().end() ? nullptr : &found->second;
}

int StepResult::worlds_with(v1::Outcome bit) const {
  return static_cast<int>(std::count_if(response_.outcome().begin(), response_.outcome().end(),
                                        [bit](std::uint32_t outcome) { return (outcome & bit) != 0; }));
}

StepStream::StepStream(v1::Simulation::StubInterface& stub, const v1::Batch& batch,
                       std::unique_ptr<grpc::ClientContext> context)
    : context_(std::move(context)), call_(stub.StepStream(context_.get())), batch_(batch) {}

StepStream::StepStream(std::shared_ptr<Connection> connection, const v1::Batch& batch)
    : connection_(std::move(connection)), batch_(batch) {
  open();
}

StepStream::~StepStream() {
  if (call_ == nullptr || finished_) {
    return;  // moved from, or ended
  }
  if (!unanswered_.empty()) {
    context_->TryCancel();
  }
  finish().IgnoreError();
}

void StepStream::open() {
  call_.reset();
  context_ = std::make_unique<grpc::ClientContext>();
  connection_->authorize(*context_);
  call_ = connection_->stub().StepStream(context_.get());
  finished_ = false;
  for (const v1::StepRequest& request : unanswered_) {
    call_->Write(request);
  }
}

absl::Status StepStream::send(const StepArguments& arguments) {
  auto request = make_step_request(batch_, arguments);
  if (!request.ok()) {
    return request.status();
  }
  if (finished_) {
    return absl::FailedPreconditionError("the stream has ended");
  }
  if (request->request_id().empty() && connection_ != nullptr && connection_->tries_again()) {
    request->set_request_id(new_request_id());
  }
  // A failed write means that the call is over; the answers before, then its status, come from receive().
  call_->Write(*request);
  unanswered_.push_back(*std::move(request));
  return absl::OkStatus();
}

absl::StatusOr<StepResult> StepStream::receive() {
  if (unanswered_.empty()) {
    return absl::FailedPreconditionError("no step waits for its answer");
  }
  const bool repeatable =
      connection_ != nullptr && std::all_of(unanswered_.begin(), unanswered_.end(),
                                            [](const auto& request) { return !request.request_id().empty(); });
  std::optional<Connection::Attempts> attempts;
  while (true) {
    v1::StepResponse response;
    if (call_->Read(&response)) {
      unanswered_.pop_front();
      if (connection_ != nullptr) {
        connection_->heard();
      }
      return StepResult(std::move(response));
    }
    absl::Status status = finish();
    if (status.ok()) {
      status = absl::UnavailableError("the server ended the stream before it answered");
    }
    if (!attempts && connection_ != nullptr) {
      attempts = connection_->attempts(repeatable, absl::InfiniteFuture());
    }
    if (!absl::IsUnavailable(status) || !attempts || !attempts->another()) {
      if (absl::IsUnavailable(status) && attempts && attempts->is_out_of_patience()) {
        connection_->gave_up();
      }
      unanswered_.clear();
      return status;
    }
    open();
  }
}

absl::Status StepStream::finish() {
  if (finished_) {
    return absl::OkStatus();
  }
  finished_ = true;
  call_->WritesDone();
  v1::StepResponse unread;
  while (call_->Read(&unread)) {
  }
  return from_grpc(call_->Finish());
}

}  // namespace axion::client
