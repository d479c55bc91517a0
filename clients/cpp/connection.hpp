// One channel to a server and how each call on it is made. For the other files of this room.
#pragma once

#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "clients/cpp/status.hpp"

namespace axion::client {

class Connection {
 public:
  // With a `fault` no call is made: each ends with it.
  Connection(std::unique_ptr<v1::Simulation::StubInterface> stub, absl::Duration timeout, const std::string& token = "",
             absl::Status fault = absl::OkStatus())
      : stub_(std::move(stub)),
        timeout_(timeout),
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

  // call<Response>(&StubInterface::GetModel, request)
  template <typename Response, typename Request>
  absl::StatusOr<Response> call(grpc::Status (v1::Simulation::StubInterface::*method)(grpc::ClientContext*,
                                                                                      const Request&, Response*),
                                const Request& request) {
    if (!fault_.ok()) {
      return fault_;
    }
    grpc::ClientContext context;
    authorize(context);
    if (timeout_ != absl::InfiniteDuration()) {
      context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
    }
    Response response;
    if (const grpc::Status status = ((*stub_).*method)(&context, request, &response); !status.ok()) {
      return from_grpc(status);
    }
    return response;
  }

 private:
  std::unique_ptr<v1::Simulation::StubInterface> stub_;
  absl::Duration timeout_;
  std::string authorization_;
  absl::Status fault_;
};

}  // namespace axion::client
