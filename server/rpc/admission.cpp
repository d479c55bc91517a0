#include "server/rpc/admission.hpp"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.pb.h"
#include "google/protobuf/descriptor.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

struct Group {
  const char* name;
  std::vector<const char*> methods;
};

const std::vector<Group>& groups() {
  static const auto* const all = new std::vector<Group>{
      {"info", {"GetServerInfo"}},
      {"models", {"CreateModel", "GetModel", "ListModels", "DeleteModel", "UploadAssets", "DownloadAsset"}},
      {"batches", {"CreateBatch", "GetBatch", "ListBatches", "DeleteBatch", "KeepAlive"}},
      {"steps", {"Step", "StepStream"}},
      {"state",
       {"Reset", "GetState", "SetState", "GetContacts", "GetSolverStats", "CastRays", "GetDistances", "GetDynamics",
        "Linearize", "StepGradient", "Watch"}},
      {"snapshots", {"SaveSnapshot", "RestoreSnapshot", "ListSnapshots", "DeleteSnapshot"}}};
  return *all;
}

// How soon a tenant at its own limit may try again: about as long as a launch lasts when others wait.
constexpr absl::Duration kRetryDelay = absl::Milliseconds(10);

absl::Status unauthenticated(absl::string_view reason, absl::string_view message) {
  return schedule::make_failure(absl::StatusCode::kUnauthenticated, message, {.reason = std::string(reason)});
}

absl::Status revoked() {
  return unauthenticated(schedule::reason::kTokenUnknown,
                         "authorization: the token is unknown here, or was taken back");
}

// The token of a call's metadata.
absl::StatusOr<absl::string_view> token_of(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range("authorization");
  if (first == last) {
    return unauthenticated(
        schedule::reason::kTokenMissing,
        "authorization: is absent; this server wants a token in the metadata \"authorization: Bearer TOKEN\" "
        "(the clients of Axion take it from AXION_TOKEN)");
  }
  if (std::next(first) != last) {
    return unauthenticated(schedule::reason::kTokenMalformed, "authorization: is given more than once");
  }
  absl::string_view value(first->second.data(), first->second.size());
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(value, kScheme)) {
    return unauthenticated(schedule::reason::kTokenMalformed, "authorization: is not \"Bearer TOKEN\"");
  }
  value.remove_prefix(kScheme.size());
  return absl::StripAsciiWhitespace(value);
}

}  // namespace

absl::StatusOr<Admission> Admission::create(const access::Credentials& credentials,
                                            const std::vector<std::string>& disabled) {
  Admission admission(credentials);
  const auto* service = v1::StepRequest::descriptor()->file()->FindServiceByName("Simulation");
  for (const std::string& name : disabled) {
    bool known = service->FindMethodByName(name) != nullptr;
    if (known) admission.disabled_.insert(name);
    for (const Group& group : groups()) {
      if (name != group.name) continue;
      known = true;
      admission.disabled_.insert(group.methods.begin(), group.methods.end());
    }
    if (known) continue;
    std::vector<std::string> names;
    for (const Group& group : groups()) names.push_back(group.name);
    for (int i = 0; i < service->method_count(); ++i) names.push_back(service->method(i)->name());
    return absl::InvalidArgumentError(absl::StrCat(
        "--disable_methods=", name, ": is neither a group nor a method; there are ", absl::StrJoin(names, ", ")));
  }
  return admission;
}

absl::StatusOr<Caller> Admission::admit(const grpc::CallbackServerContext& context, absl::string_view method) const {
  absl::StatusOr<Caller> caller = Caller{.tenant = everyone_, .digest = {}, .table = nullptr};
  if (credentials_->asks_for_tokens()) {
    const auto token = token_of(context);
    if (!token.ok()) return token.status();
    caller->digest = access::digest_of(*token);
    caller->table = credentials_->tokens();
    caller->tenant = caller->table->find(caller->digest);
    if (caller->tenant == nullptr) return revoked();
  }
  if (disabled_.contains(method)) {
    return schedule::make_failure(absl::StatusCode::kUnimplemented,
                                  absl::StrCat(method, " is switched off on this server (--disable_methods)"),
                                  {.reason = std::string(schedule::reason::kDisabled)});
  }
  return caller;
}

absl::Status Admission::renew(Caller& caller) const {
  if (caller.table == nullptr) return absl::OkStatus();
  auto now = credentials_->tokens();
  if (now == caller.table) return absl::OkStatus();
  auto tenant = now->find(caller.digest);
  if (tenant == nullptr) return revoked();
  caller.tenant = std::move(tenant);
  caller.table = std::move(now);
  return absl::OkStatus();
}

absl::StatusOr<schedule::RequestSlot> take_slot(const schedule::Tenant& tenant) {
  const std::int64_t limit = tenant.quota.max_queue;
  if (limit == 0) return schedule::RequestSlot();
  schedule::RequestSlot slot(tenant.load);
  if (tenant.load->requests.fetch_add(1, std::memory_order_relaxed) < limit) return slot;
  return schedule::limit_reached(
      "max_queue",
      absl::StrCat("max_queue: the tenant has ", limit, " requests under way, its quota; try again in ",
                   absl::FormatDuration(kRetryDelay)),
      kRetryDelay);
}

}  // namespace axion::server::rpc
