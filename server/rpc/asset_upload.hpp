// One UploadAssets: assets in pieces, kept together when the stream ends, or none of them.
//
// An asset's memory is held from its first piece on, which says its size. Bytes are hashed as they come, so that no
// thread is busy for long. Reads do not overlap, and an upload whose client sends nothing ends (IdleLimit).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <openssl/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "axion/v1/asset.pb.h"

#include "server/rpc/admission.hpp"
#include "server/rpc/idle_limit.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/schedule/asset_store.hpp"

namespace axion::server::rpc {

// INVALID_ARGUMENT for what is no digest; `field` is where the request has it.
absl::Status check_digest(absl::string_view field, absl::string_view digest);

// "sha256:" and the hexadecimal digits of the SHA-256 of these bytes.
std::string digest_of(absl::string_view content);

class AssetUpload final : public UploadStream {
 public:
  // A caller who is not admitted is told so, and nothing is read. `answer` is gRPC's, as long as the call.
  AssetUpload(SimulationService& service, grpc::CallbackServerContext& context, grpc::ByteBuffer& answer);
  void start();

 private:
  struct FreeHash {
    void operator()(EVP_MD_CTX* context) const;
  };

  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  absl::Status admit();
  // Waits for a piece.
  void read();
  // One piece.
  absl::Status take();
  absl::Status begin(const v1::UploadAssetsRequest& piece);
  absl::Status append(const std::string& data);
  // That no asset is left unfinished.
  absl::Status check_whole() const;
  // Keeps what came, and answers.
  absl::Status keep();
  void finish(const absl::Status& status);

  SimulationService& service_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& answer_;
  const absl::Time start_ = absl::Now();
  absl::StatusOr<Caller> caller_;
  schedule::RequestSlot slot_;
  grpc::ByteBuffer piece_;
  const std::unique_ptr<EVP_MD_CTX, FreeHash> hash_;  // of the last of `assets_`, as far as that has come
  std::vector<schedule::Asset> assets_;
  std::size_t size_ = 0;  // that the last is to have
  IdleLimit idle_;
};

}  // namespace axion::server::rpc
