// axion token: tokens of tenants and their lines for the server's file. Made here; no server is asked.
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"

namespace axion::cli {
namespace {

// As the server's file of tokens takes it.
bool is_tenant_name(const std::string& name) {
  return !name.empty() && name.size() <= 63 && absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

absl::Status run_token(const Invocation& invocation) {
  if (invocation.words != std::vector<std::string>{"new"}) {
    return usage_error("token takes one word: new");
  }
  const std::string tenant = absl::GetFlag(FLAGS_tenant);
  if (!is_tenant_name(tenant)) {
    return usage_error(
        "--tenant=" + tenant +
        " is no name of a tenant: 1 to 63 letters, digits, '-', '_' or '.', the first a letter or digit");
  }
  std::array<unsigned char, 32> secret;
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return absl::InternalError("this machine has no random numbers to give");
  }
  // What it begins with is for people and for programs that look for secrets where none should be.
  const std::string token =
      absl::StrCat("axion_", absl::WebSafeBase64Escape({reinterpret_cast<const char*>(secret.data()), secret.size()}));
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  const std::string line = absl::StrCat(
      tenant, " sha256:", absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()}));
  if (invocation.json) {
    print_json({{"tenant", tenant}, {"token", token}, {"line", line}});
  } else {
    absl::PrintF(
        "token, for the client (AXION_TOKEN); it is shown this once:\n%s\nline, for the server's --token_file:\n%s\n",
        token, line);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
