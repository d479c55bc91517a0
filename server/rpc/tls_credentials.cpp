#include "server/rpc/tls_credentials.hpp"

#include <string>

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/version_info.h>

namespace axion::server::rpc {
namespace {

// What gRPC was given last. It asks under a lock of its own, and one server asks.
struct Fetcher {
  const access::Credentials& credentials;
  std::shared_ptr<const access::Certificates> given;
};

grpc_ssl_certificate_config_reload_status fetch(void* user_data, grpc_ssl_server_certificate_config** config) {
  auto& fetcher = *static_cast<Fetcher*>(user_data);
  auto now = fetcher.credentials.certificates();
  if (now == fetcher.given) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair{now->key.c_str(), now->chain.c_str()};
  // gRPC insists on authorities of clients even where no client is asked for a certificate; they are then not looked
  // at.
  const std::string& authorities = now->client_ca.empty() ? now->chain : now->client_ca;
  *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
  fetcher.given = std::move(now);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

grpc_server_credentials* make(Fetcher& fetcher) {
  const auto asks = fetcher.credentials.asks_for_certificates()
                        ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                        : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
  return grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(asks, fetch, &fetcher));
}

// gRPC's C++ classes have certificates that are given once, and an experimental watcher of files, which takes what it
// finds; the C library's fetcher is asked at each handshake and is given what has been checked.
struct FetcherHolder {
  explicit FetcherHolder(const access::Credentials& credentials) : fetcher{credentials, nullptr} {}
  Fetcher fetcher;
};

// Until 1.55 the class was an interface to be implemented, since then it holds the C library's object.
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 55
class FetchedCredentials final : private FetcherHolder, public grpc::ServerCredentials {
 public:
  explicit FetchedCredentials(const access::Credentials& credentials)
      : FetcherHolder(credentials), made_(make(FetcherHolder::fetcher)) {}
  ~FetchedCredentials() override { grpc_server_credentials_release(made_); }
  // Tokens are looked at by the service itself, with and without TLS.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), made_);
  }
  grpc_server_credentials* made_;
};
#else
class FetchedCredentials final : private FetcherHolder, public grpc::ServerCredentials {
 public:
  explicit FetchedCredentials(const access::Credentials& credentials)
      : FetcherHolder(credentials), grpc::ServerCredentials(make(FetcherHolder::fetcher)) {}
};
#endif

}  // namespace

std::shared_ptr<grpc::ServerCredentials> tls_credentials(const access::Credentials& credentials) {
  return std::make_shared<FetchedCredentials>(credentials);
}

}  // namespace axion::server::rpc
