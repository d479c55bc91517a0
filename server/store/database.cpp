#include "server/store/database.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace axion::server::store {
namespace {

// Snapshots of hundreds of megabytes pass through the log, which is cut again once its content has moved.
constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE;"  // one process; and the log's index is in memory that no full disk takes away
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA foreign_keys=ON;"
    "PRAGMA journal_size_limit=16777216;"
    "PRAGMA cache_size=-4096;"
    "PRAGMA temp_store=MEMORY;";

// Whether a write to the database may have failed because there is no room. SQLite knows of ENOSPC alone, and of
// another error the number may be lost until we hear of it.
bool may_not_grow(sqlite3* connection) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  struct statvfs disk {};
  const char* path = sqlite3_db_filename(connection, "main");
  constexpr std::uint64_t kLittle = 16 << 20;
  return path != nullptr && statvfs(path, &disk) == 0 &&
         static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize < kLittle;
}

absl::Status status_of(sqlite3* connection, int result) {
  const int primary = result & 0xFF;
  const int error = sqlite3_system_errno(connection);
  const std::string text =
      absl::StrCat(sqlite3_errstr(result), ": ", sqlite3_errmsg(connection),
                   primary == SQLITE_IOERR && error != 0 ? absl::StrCat(" (", std::strerror(error), ")") : "");
  const bool no_room = primary == SQLITE_IOERR && (error == ENOSPC || error == EFBIG || error == EDQUOT ||
                                                   (result == SQLITE_IOERR_WRITE && may_not_grow(connection)));
  if (primary == SQLITE_FULL || no_room) return absl::ResourceExhaustedError(text);
  if (primary == SQLITE_TOOBIG || primary == SQLITE_NOMEM) return absl::ResourceExhaustedError(text);
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) return absl::DataLossError(text);
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) return absl::UnavailableError(text);
  if (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY || primary == SQLITE_PERM) {
    return absl::FailedPreconditionError(text);
  }
  return absl::InternalError(text);
}

}  // namespace

absl::StatusOr<Database> Database::open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(connection);
  if (result != SQLITE_OK)
    return connection == nullptr ? absl::InternalError("out of memory") : status_of(connection, result);
  if (absl::Status status = database.run(kSettings); !status.ok()) return status;
  return database;
}

absl::Status Database::run(const char* sql) {
  const int result = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : status_of(connection_.get(), result);
}

absl::StatusOr<Statement> Database::prepare(absl::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (result != SQLITE_OK) return status_of(connection_.get(), result);
  return Statement(connection_.get(), statement);
}

absl::Status Database::transaction(absl::FunctionRef<absl::Status()> work) {
  if (absl::Status status = run("BEGIN IMMEDIATE"); !status.ok()) return status;
  auto undo = absl::MakeCleanup([this] {
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(connection_.get()) == 0) run("ROLLBACK").IgnoreError();
  });
  if (absl::Status status = work(); !status.ok()) return status;
  if (absl::Status status = run("COMMIT"); !status.ok()) return status;
  std::move(undo).Cancel();
  return absl::OkStatus();
}

Statement& Statement::bind(int index, std::int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), index, value);
  if (bind_error_ == SQLITE_OK) bind_error_ = result;
  return *this;
}

Statement& Statement::bind_text(int index, absl::string_view value) {
  const int result =
      sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (bind_error_ == SQLITE_OK) bind_error_ = result;
  return *this;
}

Statement& Statement::bind_blob(int index, absl::string_view value) {
  // A null pointer would be NULL.
  const int result =
      sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC);
  if (bind_error_ == SQLITE_OK) bind_error_ = result;
  return *this;
}

absl::StatusOr<bool> Statement::next() {
  if (bind_error_ != SQLITE_OK) return status_of(connection_, bind_error_);
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const absl::Status status = status_of(connection_, result);
  reset();
  return status;
}

absl::StatusOr<int> Statement::run() {
  const auto row = next();
  reset();
  if (!row.ok()) return row.status();
  return sqlite3_changes(connection_);
}

std::string Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

}  // namespace axion::server::store
