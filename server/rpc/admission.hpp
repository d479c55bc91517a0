// Who may call what: method groups that are switched on, tokens, and what a tenant may have under way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server_context.h>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/access/credentials.hpp"
#include "server/schedule/tenant.hpp"

namespace axion::server::rpc {

// Who calls. Without tokens that is the tenant without a name.
struct Caller {
  std::shared_ptr<const schedule::Tenant> tenant;
  access::Digest digest{};                          // of its token
  std::shared_ptr<const access::TokenTable> table;  // that knew it
};

class Admission {
 public:
  // `disabled` are names of methods and of groups (info, models, batches, steps, state,
  // snapshots). INVALID_ARGUMENT lists what
  // there is. `credentials` outlives the result.
  static absl::StatusOr<Admission> create(const access::Credentials& credentials,
                                          const std::vector<std::string>& disabled);

  // UNIMPLEMENTED for a method that is switched off; UNAUTHENTICATED says what is wrong with the token.
  absl::StatusOr<Caller> admit(const grpc::CallbackServerContext& context, absl::string_view method) const;
  // For one who was admitted before and still calls: UNAUTHENTICATED once the token has been taken back.
  absl::Status renew(Caller& caller) const;

 private:
  explicit Admission(const access::Credentials& credentials) : credentials_(&credentials) {}

  const access::Credentials* credentials_;
  absl::flat_hash_set<std::string> disabled_;  // methods
  std::shared_ptr<const schedule::Tenant> everyone_ = std::make_shared<const schedule::Tenant>();
};

// RESOURCE_EXHAUSTED when as many requests of the tenant are under way as its quota allows.
absl::StatusOr<schedule::RequestSlot> take_slot(const schedule::Tenant& tenant);

}  // namespace axion::server::rpc
