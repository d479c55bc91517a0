#include "server/rpc/asset_upload.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "server/rpc/call_report.hpp"
#include "server/rpc/status.hpp"
#include "server/rpc/wire_message.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

constexpr absl::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kDigestBytes = kDigestPrefix.size() + 64;

// Of an asset that is not what its first piece said.
absl::Status spoilt(absl::string_view digest, absl::string_view what) {
  return schedule::make_failure(absl::StatusCode::kInvalidArgument, absl::StrCat("the asset ", digest, " ", what),
                                {.reason = std::string(schedule::reason::kDamaged), .field = "data"});
}

}  // namespace

absl::Status check_digest(absl::string_view field, absl::string_view digest) {
  const absl::string_view digits = digest.substr(std::min(kDigestPrefix.size(), digest.size()));
  if (absl::StartsWith(digest, kDigestPrefix) && digest.size() == kDigestBytes &&
      digits.find_first_not_of("0123456789abcdef") == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return schedule::invalid_field(
      field, absl::StrCat("\"", schedule::shown(digest), "\" is not sha256: and 64 small hexadecimal digits"));
}

std::string digest_of(absl::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(content.data(), content.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return absl::StrCat(kDigestPrefix, absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), 32}));
}

void AssetUpload::FreeHash::operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }

AssetUpload::AssetUpload(SimulationService& service, grpc::CallbackServerContext& context, grpc::ByteBuffer& answer)
    : service_(service),
      context_(context),
      answer_(answer),
      caller_(service.admission().admit(context, "UploadAssets")),
      hash_(EVP_MD_CTX_new()),
      idle_(service.asset_idle_timeout(), [this](const absl::Status& status) { finish(status); }) {}

void AssetUpload::start() {
  if (absl::Status status = admit(); !status.ok()) return finish(status);
  read();
}

void AssetUpload::read() {
  idle_.wait([this] { StartRead(&piece_); });
}

absl::Status AssetUpload::admit() {
  if (!caller_.ok()) return caller_.status();
  auto slot = take_slot(*caller_->tenant);
  if (slot.ok()) slot_ = *std::move(slot);
  return slot.status();
}

void AssetUpload::OnReadDone(bool ok) {
  if (!idle_.take_up()) return;
  if (ok) {
    absl::Status status = service_.admission().renew(*caller_);
    if (status.ok()) status = schedule::guarded([this] { return take(); });
    return status.ok() ? read() : idle_.end(status);
  }
  if (context_.IsCancelled()) return idle_.end(schedule::stream_ended());
  absl::Status status = check_whole();
  idle_.end(status.ok() ? keep() : status);
}

absl::Status AssetUpload::take() {
  schedule::MemoryHold memory = service_.memory(*caller_->tenant);
  v1::UploadAssetsRequest piece;
  if (absl::Status status = parse_message(piece_, piece, memory); !status.ok()) return status;
  if (piece.digest().empty() && assets_.empty()) {
    return schedule::invalid_field("digest", "is absent; the first piece of an asset says whose it is");
  }
  if (piece.digest().empty()) return piece.data().empty() ? absl::OkStatus() : append(piece.data());
  absl::Status status = check_whole();
  status.Update(begin(piece));
  return status.ok() ? append(piece.data()) : status;
}

absl::Status AssetUpload::check_whole() const {
  if (assets_.empty() || assets_.back().bytes.size() == size_) return absl::OkStatus();
  const schedule::Asset& asset = assets_.back();
  return spoilt(asset.digest, absl::StrCat("is incomplete: ", asset.bytes.size(), " of its ", size_, " bytes came"));
}

absl::Status AssetUpload::begin(const v1::UploadAssetsRequest& piece) {
  if (absl::Status status = check_digest("digest", piece.digest()); !status.ok()) return status;
  if (piece.size_bytes() < 0) {
    return schedule::invalid_field("size_bytes", absl::StrCat("is ", piece.size_bytes(), "; it must not be negative"));
  }
  schedule::MemoryHold memory = service_.memory(*caller_->tenant);
  const std::int64_t size = std::min(piece.size_bytes(), service_.memory_limit());  // the sum would not fit a number
  const absl::Status fits = memory.grow(size + schedule::kAssetOverhead, absl::StrCat("the asset ", piece.digest()));
  if (!fits.ok()) return fits;
  memory.shrink(size);  // what would have no room is not sent in vain; from here on what comes is counted
  size_ = static_cast<std::size_t>(piece.size_bytes());
  assets_.push_back({.digest = piece.digest(), .bytes = {}, .memory = std::move(memory)});
  EVP_DigestInit_ex(hash_.get(), EVP_sha256(), nullptr);
  return absl::OkStatus();
}

absl::Status AssetUpload::append(const std::string& data) {
  schedule::Asset& asset = assets_.back();
  if (data.size() > size_ - asset.bytes.size()) {
    return spoilt(asset.digest, absl::StrCat("has more than the ", size_, " bytes of its size_bytes"));
  }
  // An upload holds what has come of it, so that one which stands still keeps no room from others.
  absl::Status fits =
      asset.memory.grow(static_cast<std::int64_t>(data.size()), absl::StrCat("the asset ", asset.digest));
  if (!fits.ok()) return fits;
  // At most twice what has come: a size alone takes no memory, nor room in the address space.
  std::size_t room = size_;
  while (room / 2 > asset.bytes.size() + data.size()) room -= room / 2;
  asset.bytes.reserve(room);
  asset.bytes += data;
  EVP_DigestUpdate(hash_.get(), data.data(), data.size());
  if (asset.bytes.size() < size_) return absl::OkStatus();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_DigestFinal_ex(hash_.get(), digest.data(), nullptr);
  const std::string found =
      absl::StrCat(kDigestPrefix, absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), 32}));
  if (found == asset.digest) return absl::OkStatus();
  return spoilt(asset.digest, absl::StrCat("has bytes of another: ", found));
}

absl::Status AssetUpload::keep() {
  v1::UploadAssetsResponse response;
  response.set_asset_count(static_cast<std::int32_t>(assets_.size()));
  std::int64_t bytes = 0;
  for (const schedule::Asset& asset : assets_) bytes += static_cast<std::int64_t>(asset.bytes.size());
  response.set_byte_count(bytes);
  if (absl::Status status = write_message(response, answer_); !status.ok()) return status;
  service_.keep_assets(*caller_->tenant, std::move(assets_));
  return absl::OkStatus();
}

void AssetUpload::finish(const absl::Status& status) {
  slot_.release();
  assets_.clear();  // before its client knows: what was refused is given back
  const std::string tenant = caller_.ok() ? caller_->tenant->name : "";
  report_call(service_.metrics(), "UploadAssets", names_of(context_, tenant, nullptr), status, absl::Now() - start_);
  Finish(to_grpc(status));
}

}  // namespace axion::server::rpc
