// One channel to a server and how each call on it is made. For the other files of this room.
#pragma once

#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "clients/cpp/status.hpp"

namespace axion::client {

// Different for every call.
inline std::string new_request_id() {
  thread_local absl::BitGen random;
  return absl::StrCat(absl::Hex(absl::Uniform<std::uint64_t>(random), absl::kZeroPad16),
                      absl::Hex(absl::Uniform<std::uint64_t>(random), absl::kZeroPad16));
}

class Connection {
 public:
  // With a `fault` no call is made: each ends with it.
  Connection(std::unique_ptr<v1::Simulation::StubInterface> stub, absl::Duration timeout, absl::Duration retry,
             const std::string& token = "", absl::Status fault = absl::OkStatus())
      : stub_(std::move(stub)),
        timeout_(timeout),
        retry_(retry),
        authorization_(token.empty() ? "" : "Bearer " + token),
        fault_(std::move(fault)) {}

  v1::Simulation::StubInterface& stub() { return *stub_; }
  const absl::Status& fault() const { return fault_; }

  // Who calls, to be sent with a call.
  void authorize(grpc::ClientContext& context) const {
    if (!authorization_.empty()) {
      context.AddMetadata("authorization", authorization_);
    }
  }

  // A call that ends at the deadline of one that begins now.
  void prepare(grpc::ClientContext& context) const {
    authorize(context);
    if (timeout_ != absl::InfiniteDuration()) {
      context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
    }
  }

  bool tries_again() const { return retry_ > absl::ZeroDuration(); }
  // The server has answered: from now on it is waited for where it is away.
  void heard() { answered_ = true; }

  // It was waited for in vain: nothing waits for it again, nor does what cleans up, until it has answered.
  void gave_up() { answered_ = false; }

  // Of one call: waits that double, of random length so that many clients do not come back at once.
  struct Attempts {
    // No attempt is made after `end`, which the deadline of the call may have brought before that of all patience.
    Attempts(absl::Time end, absl::Time end_of_patience) : end(end), end_of_patience(end_of_patience) {}
    bool is_out_of_patience() const { return end == end_of_patience; }
    bool another() {
      thread_local absl::BitGen random;
      const absl::Duration pause = absl::Uniform(random, 0.5, 1.0) * wait;
      if (absl::Now() + pause >= end) {
        return false;
      }
      absl::SleepFor(pause);
      wait = std::min(2 * wait, absl::Seconds(2));
      ++count;
      return true;
    }
    absl::Time end, end_of_patience;
    absl::Duration wait = absl::Milliseconds(50);
    int count = 1;
  };
  Attempts attempts(bool repeatable, absl::Time deadline) const {
    const bool tries = repeatable && answered_.load();
    const absl::Time end = absl::Now() + retry_;
    return {tries ? std::min(end, deadline) : absl::InfinitePast(), end};
  }

  // A call that is to be made once however often it is sent.
  template <typename Response, typename Request>
  absl::StatusOr<Response> call_once(grpc::Status (v1::Simulation::StubInterface::*method)(grpc::ClientContext*,
                                                                                           const Request&, Response*),
                                     Request& request) {
    if (request.request_id().empty() && tries_again()) {
      request.set_request_id(new_request_id());
    }
    return call(method, request, !request.request_id().empty());
  }

  // call<Response>(&StubInterface::GetModel, request). Made again while the server is UNAVAILABLE, if it was there once
  // and a repetition does no harm.
  template <typename Response, typename Request>
  absl::StatusOr<Response> call(grpc::Status (v1::Simulation::StubInterface::*method)(grpc::ClientContext*,
                                                                                      const Request&, Response*),
                                const Request& request, bool repeatable = true) {
    if (!fault_.ok()) {
      return fault_;
    }
    const absl::Time deadline = absl::Now() + timeout_;
    Attempts attempts = this->attempts(repeatable, deadline);
    while (true) {
      grpc::ClientContext context;
      authorize(context);
      if (deadline != absl::InfiniteFuture()) {
        context.set_deadline(absl::ToChronoTime(deadline));
      }
      Response response;
      const grpc::Status status = ((*stub_).*method)(&context, request, &response);
      if (status.ok()) {
        answered_ = true;
        return response;
      }
      if (status.error_code() == grpc::StatusCode::NOT_FOUND && attempts.count > 1 &&
          std::is_same_v<Response, google::protobuf::Empty>) {
        return response;  // a deletion that the first attempt has done, and whose answer was lost
      }
      // CANCELLED, which is not asked for here, is what gRPC gives a call that comes to a server as it shuts down.
      const bool is_away =
          status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::CANCELLED;
      if (!is_away || !attempts.another()) {
        if (is_away && attempts.is_out_of_patience()) {
          gave_up();
        }
        return from_grpc(status);
      }
    }
  }

 private:
  std::unique_ptr<v1::Simulation::StubInterface> stub_;
  absl::Duration timeout_, retry_;
  std::atomic<bool> answered_{false};  // the server was there once
  std::string authorization_;
  absl::Status fault_;
};

}  // namespace axion::client
