#include "server/store/database.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace axion::server::store {
namespace {

// Snapshots of hundreds of megabytes pass through the log, which is cut again once its content has moved.
constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE;"  // one process; and the log's index is in memory that no full disk takes away
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA foreign_keys=ON;"
    "PRAGMA secure_delete=FAST;"  // a deletion that overwrites all wants as much of the disk as it frees
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

// Frames after which the log is moved into the file, as SQLite does by itself.
constexpr int kLogFrames = 1000;
constexpr std::int64_t kLogHeader = 32, kFrameHeader = 24;  // bytes, of SQLite's file format
// Left on the disk for what is small: settings, and deletions, which make room.
constexpr std::uint64_t kReserve = 1 << 20;
// Less than this is little: as much as the log may hold before it is moved, in the log and in the file.
constexpr std::uint64_t kTight = 8 << 20;

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
  database.watch_log();
  return database;
}

int Database::on_commit(void* log, sqlite3* connection, const char*, int count) {
  auto& frames = *static_cast<Log*>(log);
  frames = {.committed = count, .moved = 0};
  // Where the disk is full they stay in the log, which is as safe.
  if (count >= kLogFrames) move_log(connection, frames, SQLITE_CHECKPOINT_PASSIVE);
  return SQLITE_OK;
}

void Database::move_log(sqlite3* connection, Log& log, int mode) {
  int total = 0, moved = 0;
  const int result = sqlite3_wal_checkpoint_v2(connection, "main", mode, &total, &moved);
  if (result == SQLITE_OK && total >= 0) log = {.committed = total, .moved = moved};
}

void Database::watch_log() {
  sqlite3_wal_hook(connection_.get(), &Database::on_commit, log_.get());
  // What a process that was killed has left there.
  move_log(connection_.get(), *log_, SQLITE_CHECKPOINT_TRUNCATE);
}

void Database::cut_log() {
  const auto page = number("PRAGMA page_size");
  sqlite3_file* file = nullptr;
  if (log_->committed >= 0 && page.ok() &&
      sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&file)) ==
          SQLITE_OK &&
      file != nullptr && file->pMethods != nullptr) {
    // Behind the last commit nothing is ever read: frames that were rolled back.
    const sqlite3_int64 end = kLogHeader + log_->committed * (kFrameHeader + *page);
    sqlite3_int64 size = 0;
    if (file->pMethods->xFileSize(file, &size) == SQLITE_OK && size > end) file->pMethods->xTruncate(file, end);
  }
  move_log(connection_.get(), *log_, SQLITE_CHECKPOINT_TRUNCATE);
}

absl::StatusOr<std::int64_t> Database::number(const char* sql) {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const auto row = statement->next();
  if (!row.ok()) return row.status();
  return statement->integer(0);
}

absl::StatusOr<std::uint64_t> Database::growth(std::uint64_t bytes) {
  const std::string path = sqlite3_db_filename(connection_.get(), "main");
  const auto page = number("PRAGMA page_size"), pages = number("PRAGMA page_count"),
             unused = number("PRAGMA freelist_count");
  for (const auto& value : {page, pages, unused}) {
    if (!value.ok()) return value.status();
  }
  struct stat file {};
  struct stat log {};
  if (stat(path.c_str(), &file) != 0) file.st_size = 0;
  if (stat((path + "-wal").c_str(), &log) != 0) log.st_size = 0;
  // Pages and frames have headers, and rows an index.
  const std::int64_t written = static_cast<std::int64_t>(bytes + bytes / 32) + 64 * 1024;
  // The log begins anew once all of it is in the file.
  const std::int64_t held = log_->moved < log_->committed ? log_->committed * (kFrameHeader + *page) : 0;
  const std::int64_t log_growth = held + written - log.st_size;
  const std::int64_t file_growth = *pages * *page + std::max<std::int64_t>(written - *unused * *page, 0) - file.st_size;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(log_growth, 0) + std::max<std::int64_t>(file_growth, 0));
}

std::uint64_t Database::room() const {
  struct statvfs disk {};
  const char* path = sqlite3_db_filename(connection_.get(), "main");
  if (path == nullptr || statvfs(path, &disk) != 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

absl::Status Database::check_room(std::uint64_t bytes) {
  auto wanted = growth(bytes);
  if (!wanted.ok()) return wanted.status();
  if (*wanted == 0 || *wanted + kReserve <= room()) return absl::OkStatus();
  move_log(connection_.get(), *log_, SQLITE_CHECKPOINT_TRUNCATE);
  wanted = growth(bytes);
  if (!wanted.ok() || *wanted == 0 || *wanted + kReserve <= room()) return wanted.status();
  return absl::ResourceExhaustedError(absl::StrCat("it would take ", *wanted + kReserve, " bytes of ", room()));
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
  // What the log holds the file may want, too: where little is left, one transaction's at a time.
  if (log_->moved < log_->committed && room() < kTight) move_log(connection_.get(), *log_, SQLITE_CHECKPOINT_TRUNCATE);
  absl::Status status = attempt(work);
  if (status.code() != absl::StatusCode::kResourceExhausted) return status;
  cut_log();
  return attempt(work);
}

absl::Status Database::attempt(absl::FunctionRef<absl::Status()> work) {
  if (absl::Status status = run("BEGIN IMMEDIATE"); !status.ok()) return status;
  absl::Status status = work();
  if (status.ok()) status = run("COMMIT");
  if (status.ok()) return status;
  // Some errors have rolled back already.
  if (sqlite3_get_autocommit(connection_.get()) == 0) run("ROLLBACK").IgnoreError();
  return status;
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
