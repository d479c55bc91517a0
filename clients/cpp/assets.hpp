// Files of a scene that go to a server by their content: named by their digests, and sent where the server lacks them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "axion/v1/simulation.pb.h"
#include "clients/cpp/connection.hpp"

namespace axion::client {

// "sha256:" and the hexadecimal digits of the SHA-256 of these bytes.
std::string digest_of(const std::string& content);

// By digest.
using AssetContents = std::map<std::string, std::string>;

// Leaves half a megabyte of the request's files in it, the smallest first, and has the request name the others by
// digest, which it returns.
AssetContents take_large_assets(v1::CreateModelRequest& request);

// Sends these to the server, in pieces.
absl::Status upload_assets(Connection& connection, const AssetContents& contents,
                           const std::vector<std::string>& digests);

}  // namespace axion::client
