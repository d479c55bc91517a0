// One channel to a server and how each call on it is made. For the other files of this room.
#pragma once

#include <grpcpp/client_context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "clients/cpp/status.hpp"

namespace axion::client {

class Connection {
 public:
  Connection(std::unique_ptr<v1::Simulation::StubInterface> stub, absl::Duration timeout)
      : stub_(std::move(stub)), timeout_(timeout) {}

  v1::Simulation::StubInterface& stub() { return *stub_; }

  // call<Response>(&StubInterface::GetModel, request)
  template <typename Response, typename Request>
  absl::StatusOr<Response> call(grpc::Status (v1::Simulation::StubInterface::*method)(grpc::ClientContext*,
                                                                                      const Request&, Response*),
                                const Request& request) {
    grpc::ClientContext context;
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
};

}  // namespace axion::client
