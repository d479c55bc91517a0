#include "server/rpc/library_logs.hpp"

#include <grpc/support/log.h>

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/stubs/logging.h"
#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"

namespace axion::server::rpc {
namespace {

constexpr std::size_t kMaxShown = 512;  // their lines may hold what a client sent

void log_line(spdlog::level::level_enum level, const char* library, absl::string_view text) {
  spdlog::log(level, "event=library name={} message={}", library, observe::log_text(text.substr(0, kMaxShown)));
}

void log_grpc(gpr_log_func_args* line) {
  log_line(line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn : spdlog::level::debug, "grpc",
           line->message);
}

void log_protobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  log_line(level >= google::protobuf::LOGLEVEL_ERROR ? spdlog::level::warn : spdlog::level::debug, "protobuf", message);
}

}  // namespace

void take_library_logs() {
  gpr_set_log_function(log_grpc);
  google::protobuf::SetLogHandler(log_protobuf);
}

}  // namespace axion::server::rpc
