#include "server/rpc/asset_download.hpp"

#include <string>
#include <utility>

#include "axion/v1/asset.pb.h"

#include "server/rpc/asset_upload.hpp"
#include "server/rpc/call_report.hpp"
#include "server/rpc/status.hpp"
#include "server/rpc/wire_message.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

constexpr std::size_t kPieceBytes = 512 << 10;

}  // namespace

AssetDownload::AssetDownload(SimulationService& service, grpc::CallbackServerContext& context)
    : service_(service), context_(context), caller_(service.admission().admit(context, "DownloadAsset")) {}

void AssetDownload::start(grpc::ByteBuffer& request) {
  if (absl::Status status = begin(request); !status.ok()) return finish(status);
  go_on();
}

absl::Status AssetDownload::begin(grpc::ByteBuffer& request) {
  if (!caller_.ok()) return caller_.status();
  auto slot = take_slot(*caller_->tenant);
  if (!slot.ok()) return slot.status();
  slot_ = *std::move(slot);
  schedule::MemoryHold memory = service_.memory(*caller_->tenant);
  v1::DownloadAssetRequest message;
  if (absl::Status status = parse_message(request, message, memory); !status.ok()) return status;
  if (absl::Status status = check_digest("digest", message.digest()); !status.ok()) return status;
  asset_ = service_.find_asset(*caller_->tenant, message.digest());
  return asset_ == nullptr ? schedule::not_found("digest", message.digest()) : absl::OkStatus();
}

void AssetDownload::go_on() {
  if (sent_ == asset_->bytes.size()) return finish(absl::OkStatus());
  v1::DownloadAssetResponse piece;
  piece.set_data(asset_->bytes.substr(sent_, kPieceBytes));
  sent_ += piece.data().size();
  piece_.Clear();  // written into where it is empty
  const absl::Status status = schedule::guarded([&] { return write_message(piece, piece_); });
  if (!status.ok()) return finish(status);
  StartWrite(&piece_);
}

void AssetDownload::OnWriteDone(bool ok) {
  if (!ok) return finish(schedule::stream_ended());
  go_on();
}

void AssetDownload::finish(const absl::Status& status) {
  slot_.release();
  asset_ = nullptr;
  const std::string tenant = caller_.ok() ? caller_->tenant->name : "";
  report_call(service_.metrics(), "DownloadAsset", names_of(context_, tenant, nullptr), status, absl::Now() - start_);
  Finish(to_grpc(status));
}

}  // namespace axion::server::rpc
