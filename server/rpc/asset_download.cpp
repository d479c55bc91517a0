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
    : service_(service),
      context_(context),
      caller_(service.admission().admit(context, "DownloadAsset")),
      idle_(service.asset_idle_timeout(), [this](const absl::Status& status) { finish(status); }) {}

void AssetDownload::start(grpc::ByteBuffer& request) {
  const absl::Status status = begin(request);
  const absl::StatusOr<bool> more = status.ok() ? next() : status;
  if (!more.ok() || !*more) return finish(more.status());
  write();
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

absl::StatusOr<bool> AssetDownload::next() {
  if (sent_ == asset_->bytes.size()) return false;
  piece_.Clear();  // written into where it is empty
  const absl::Status status = schedule::guarded([this] {
    v1::DownloadAssetResponse piece;
    piece.set_data(asset_->bytes.substr(sent_, kPieceBytes));
    sent_ += piece.data().size();
    return write_message(piece, piece_);
  });
  if (!status.ok()) return status;
  return true;
}

void AssetDownload::write() {
  idle_.wait([this] { StartWrite(&piece_); });
}

void AssetDownload::OnWriteDone(bool ok) {
  if (!idle_.take_up()) return;
  if (!ok) return idle_.end(schedule::stream_ended());
  const absl::StatusOr<bool> more = next();
  return more.ok() && *more ? write() : idle_.end(more.status());
}

void AssetDownload::finish(const absl::Status& status) {
  slot_.release();
  asset_ = nullptr;
  const std::string tenant = caller_.ok() ? caller_->tenant->name : "";
  report_call(service_.metrics(), "DownloadAsset", names_of(context_, tenant, nullptr), status, absl::Now() - start_);
  // The status would wait behind what its client does not take.
  if (absl::IsDeadlineExceeded(status)) context_.TryCancel();
  Finish(to_grpc(status));
}

}  // namespace axion::server::rpc
