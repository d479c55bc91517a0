// One DownloadAsset: an asset in pieces, the next when the one before has gone.
//
// Writes do not overlap, and a download whose client takes nothing ends (IdleLimit).
#pragma once

#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "server/rpc/admission.hpp"
#include "server/rpc/idle_limit.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/schedule/asset_store.hpp"

namespace axion::server::rpc {

class AssetDownload final : public WatchStream {
 public:
  AssetDownload(SimulationService& service, grpc::CallbackServerContext& context);
  // NOT_FOUND where the caller's tenant has no such asset.
  void start(grpc::ByteBuffer& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  absl::Status begin(grpc::ByteBuffer& request);
  // Makes the next piece. False: there is none.
  absl::StatusOr<bool> next();
  void write();
  void finish(const absl::Status& status);

  SimulationService& service_;
  grpc::CallbackServerContext& context_;
  const absl::Time start_ = absl::Now();
  absl::StatusOr<Caller> caller_;
  schedule::RequestSlot slot_;
  std::shared_ptr<const schedule::Asset> asset_;
  std::size_t sent_ = 0;
  grpc::ByteBuffer piece_;
  IdleLimit idle_;
};

}  // namespace axion::server::rpc
