// A SQLite database in one file, and statements on it: what this server needs of them, with errors as statuses.
//
// Not thread safe. RESOURCE_EXHAUSTED where the disk is full or the file may not grow, DATA_LOSS where the file is
// damaged, UNAVAILABLE where another process has it, INTERNAL for what SQLite says besides.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace axion::server::store {

class Statement;

class Database {
 public:
  // Opens or makes the file, for this process alone: a write-ahead log, and a commit returns when it is on the disk.
  static absl::StatusOr<Database> open(const std::string& path);

  // Statements without values or results.
  absl::Status run(const char* sql);
  absl::StatusOr<Statement> prepare(absl::string_view sql);
  // All that `work` does, or nothing where it or the commit fails. Where the disk is full it gets back what the log has
  // taken, and the work is done again.
  absl::Status transaction(absl::FunctionRef<absl::Status()> work);
  // Whether the disk has room for so many bytes more, in the log and then in the file. Said before they are written,
  // since what the log has taken in vain nothing else can use meanwhile.
  absl::Status check_room(std::uint64_t bytes);
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close(connection); }
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}
  absl::Status attempt(absl::FunctionRef<absl::Status()> work);
  // Frames of the log: at the last commit, and how many of them are in the file. -1: not known yet.
  struct Log {
    int committed = -1, moved = 0;
  };
  // Counts the frames after each commit, and moves them into the file when there are many.
  static int on_commit(void* log, sqlite3* connection, const char* schema, int count);
  static void move_log(sqlite3* connection, Log& log, int mode);
  void watch_log();
  std::uint64_t room() const;  // bytes of the disk
  // By how many bytes log and file would grow.
  absl::StatusOr<std::uint64_t> growth(std::uint64_t bytes);
  // Ends the log's file after its last commit.
  void cut_log();
  absl::StatusOr<std::int64_t> number(const char* sql);

  std::unique_ptr<sqlite3, Close> connection_;
  std::unique_ptr<Log> log_ = std::make_unique<Log>();
};

// Texts and blobs that are bound outlive the statement's run; columns are valid until the next one.
class Statement {
 public:
  Statement& bind(int index, std::int64_t value);
  Statement& bind_text(int index, absl::string_view value);
  Statement& bind_blob(int index, absl::string_view value);
  // To the next row; false after the last.
  absl::StatusOr<bool> next();
  // For statements without rows. How many rows were changed.
  absl::StatusOr<int> run();
  // To the first row again, or for other values.
  void reset() { sqlite3_reset(statement_.get()); }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string bytes(int column) const;  // of a text or a blob

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3* connection, sqlite3_stmt* statement) : connection_(connection), statement_(statement) {}

  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = SQLITE_OK;
};

}  // namespace axion::server::store
