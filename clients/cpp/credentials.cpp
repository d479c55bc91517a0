#include "clients/cpp/credentials.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace axion::client {
namespace {

std::string given_or_environment(const std::string& given, const char* variable) {
  if (!given.empty()) {
    return given;
  }
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

absl::Status wrong(absl::string_view option, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", rule));
}

absl::StatusOr<std::string> read(absl::string_view option, const std::string& path) {
  if (path.empty()) {
    return std::string();
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();  // of a folder it reads nothing, where an iterator would throw
  const std::string text = content.str();
  if (text.empty()) {
    return wrong(option, absl::StrCat("\"", path, "\" cannot be read, or is empty"));
  }
  return text;
}

// "127.0.0.1:8470"; a name may begin with the same digits.
bool is_v4_loopback(absl::string_view target) {
  return absl::StartsWith(target, "127.") && std::all_of(target.begin(), target.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || c == '.' || c == ':';
         });
}

bool is_loopback(absl::string_view target) {
  for (const absl::string_view prefix : {"dns:", "///", "ipv4:", "ipv6:"}) {
    if (absl::StartsWith(target, prefix)) {
      target.remove_prefix(prefix.size());
    }
  }
  return absl::StartsWith(target, "unix:") || absl::StartsWith(target, "localhost:") || target == "localhost" ||
         is_v4_loopback(target) || absl::StartsWith(target, "[::1]");
}

absl::StatusOr<bool> wants_tls(const ConnectOptions& options, bool has_files) {
  if (options.tls) {
    return *options.tls;
  }
  const std::string value = absl::AsciiStrToLower(given_or_environment("", "AXION_TLS"));
  for (const char* no : {"", "0", "false", "no", "off"}) {
    if (value == no) {
      return has_files;
    }
  }
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (value == yes) {
      return true;
    }
  }
  return wrong("AXION_TLS", absl::StrCat("\"", value, "\" is neither 1 nor 0"));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> channel_of(const ConnectOptions& options) {
  if (options.credentials) {
    return options.credentials;
  }
  const std::string ca = given_or_environment(options.tls_ca, "AXION_TLS_CA");
  const std::string cert = given_or_environment(options.tls_cert, "AXION_TLS_CERT");
  const std::string key = given_or_environment(options.tls_key, "AXION_TLS_KEY");
  if (cert.empty() != key.empty()) {
    return wrong("tls_cert and tls_key", "give both, or none (AXION_TLS_CERT, AXION_TLS_KEY)");
  }
  const auto tls = wants_tls(options, !ca.empty() || !cert.empty());
  if (!tls.ok()) {
    return tls.status();
  }
  if (!*tls) {
    return std::shared_ptr<grpc::ChannelCredentials>();
  }
  grpc::SslCredentialsOptions made;
  for (const auto& [option, path, text] :
       {std::tuple{"tls_ca", &ca, &made.pem_root_certs}, std::tuple{"tls_cert", &cert, &made.pem_cert_chain},
        std::tuple{"tls_key", &key, &made.pem_private_key}}) {
    auto content = read(option, *path);
    if (!content.ok()) {
      return content.status();
    }
    *text = *std::move(content);
  }
  return grpc::SslCredentials(made);
}

}  // namespace

absl::StatusOr<Credentials> resolve_credentials(const std::string& target, const ConnectOptions& options) {
  auto channel = channel_of(options);
  if (!channel.ok()) {
    return channel.status();
  }
  const bool plain = *channel == nullptr;
  Credentials found{*std::move(channel),
                    std::string(absl::StripAsciiWhitespace(given_or_environment(options.token, "AXION_TOKEN"))),
                    given_or_environment(options.tls_server_name, "AXION_TLS_SERVER_NAME")};
  if (!std::all_of(found.token.begin(), found.token.end(), [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return wrong("token", "has characters that no token has; a file may have been read with more than its one line");
  }
  if (plain && !found.token.empty() && !options.insecure_token && !is_loopback(target)) {
    return wrong("token",
                 absl::StrCat("would travel to ", target, " for anybody to read; give tls_ca, or AXION_TLS=1 for the ",
                              "system's authorities"));
  }
  if (plain) {
    found.channel = grpc::InsecureChannelCredentials();
    found.server_name.clear();
  }
  return found;
}

std::string connection_hint(const std::string& message) {
  const auto says = [&](absl::string_view text) { return absl::StrContains(message, text); };
  if (says("CERTIFICATE_VERIFY_FAILED") || says("certificate verify failed")) {
    return "the server's certificate is not of the authority given (tls_ca, AXION_TLS_CA), or has expired";
  }
  if (says("Hostname Verification Check failed") || says("not in peer certificate")) {
    return "the server's certificate is for another name; connect by that name, or give it as tls_server_name";
  }
  if (says("WRONG_VERSION_NUMBER") || says("wrong version number")) {
    return "the server does not speak TLS here";
  }
  if (says("failed to connect") && (says("Socket closed") || says("Connection reset"))) {
    return "the server closed the connection at once: it may want TLS (tls_ca, AXION_TLS_CA), or a certificate of its "
           "clients' "
           "authority (tls_cert, tls_key)";
  }
  if (says("Connection refused")) {
    return "nothing listens there: is axiond running, and does it listen at this address (its --listen)?";
  }
  if (says("DNS resolution failed")) {
    return "this name is not known; an address is HOST:PORT, for example 127.0.0.1:8470";
  }
  return "";
}

}  // namespace axion::client
