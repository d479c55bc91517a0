#include "clients/cpp/assets.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/status.hpp"

namespace axion::client {
namespace {

constexpr std::size_t kInlineBytes = 512 << 10, kPieceBytes = 512 << 10;

}  // namespace

std::string digest_of(const std::string& content) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data());
  return absl::StrCat("sha256:", absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

AssetContents take_large_assets(v1::CreateModelRequest& request) {
  std::vector<std::pair<std::size_t, std::string>> files;
  for (const auto& [name, content] : request.assets()) {
    files.emplace_back(content.size(), name);
  }
  std::sort(files.begin(), files.end());
  AssetContents contents;
  std::size_t bytes = 0;
  for (const auto& [size, name] : files) {
    bytes += size;
    if (bytes <= kInlineBytes) {
      continue;
    }
    std::string content = std::move((*request.mutable_assets())[name]);
    request.mutable_assets()->erase(name);
    const std::string digest = digest_of(content);
    (*request.mutable_asset_digests())[name] = digest;
    contents.emplace(digest, std::move(content));
  }
  return contents;
}

absl::Status upload_assets(Connection& connection, const AssetContents& contents,
                           const std::vector<std::string>& digests) {
  grpc::ClientContext context;
  connection.prepare(context);
  v1::UploadAssetsResponse response;
  const auto stream = connection.stub().UploadAssets(&context, &response);
  bool open = true;
  for (auto digest = digests.begin(); open && digest != digests.end(); ++digest) {
    const std::string& content = contents.at(*digest);
    v1::UploadAssetsRequest piece;
    piece.set_digest(*digest);
    piece.set_size_bytes(static_cast<std::int64_t>(content.size()));
    std::size_t start = 0;
    do {
      piece.set_data(content.substr(start, kPieceBytes));
      open = stream->Write(piece);
      piece.Clear();
      start += kPieceBytes;
    } while (open && start < content.size());
  }
  stream->WritesDone();
  return from_grpc(stream->Finish());
}

}  // namespace axion::client
