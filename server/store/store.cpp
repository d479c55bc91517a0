#include "server/store/store.hpp"

#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"

namespace axion::server::store {
namespace {

constexpr std::int64_t kApplicationId = 0x4178696F;  // "Axio", so that file(1) and we know what it is

constexpr const char* kTables =
    "CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
    "CREATE TABLE items("
    "  sequence INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, name TEXT NOT NULL, tenant TEXT NOT NULL,"
    "  create_time INTEGER NOT NULL, summary BLOB NOT NULL, part_count INTEGER NOT NULL, checksum BLOB NOT NULL,"
    "  UNIQUE(kind, name)) STRICT;"
    "CREATE TABLE parts("
    "  item INTEGER NOT NULL REFERENCES items(sequence) ON DELETE CASCADE, number INTEGER NOT NULL,"
    "  bytes BLOB NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY(item, number)) STRICT;";

std::uint64_t random_key() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

// Whose a file or directory is, and who would use it; the nearest one that is there.
std::string whose(std::string path) {
  struct stat found {};
  while (stat(path.c_str(), &found) != 0) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos || path.size() == 1) return "";
    path.resize(std::max<std::size_t>(slash, 1));
  }
  std::string mode;  // in octal digits
  for (const int shift : {9, 6, 3, 0}) mode += static_cast<char>('0' + ((found.st_mode >> shift) & 7));
  return absl::StrCat("\"", path, "\" is a ", S_ISDIR(found.st_mode) ? "directory" : "file", " of user ", found.st_uid,
                      " and group ", found.st_gid, " with mode ", mode, ", and the server runs as user ", geteuid(),
                      " and group ", getegid());
}

absl::Status unusable(const std::string& directory, const std::string& path, const std::string& what) {
  const std::string of = whose(path);
  return absl::FailedPreconditionError(absl::StrCat("--state_dir=", directory, ": ", what, of.empty() ? "" : ": ", of));
}

// Made where it is absent; else the server reads and writes in it.
absl::Status prepare(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return unusable(directory, directory, absl::StrCat("cannot be made: ", std::strerror(errno)));
  }
  struct stat found {};
  if (stat(directory.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) {
    return unusable(directory, directory, "is no directory");
  }
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return unusable(directory, directory, absl::StrCat("cannot be written: ", std::strerror(errno)));
  }
  const std::string file = directory + "/axion.db";
  if (access(file.c_str(), F_OK) == 0 && access(file.c_str(), R_OK | W_OK) != 0) {
    return unusable(directory, file, absl::StrCat("its database cannot be written: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status explained(const std::string& directory, const absl::Status& status) {
  std::string what = std::string(status.message());
  if (status.code() == absl::StatusCode::kUnavailable) what = "another server uses it";
  if (status.code() == absl::StatusCode::kDataLoss) {
    absl::StrAppend(&what, "; the database is damaged: bring a copy back, or move it away to begin anew");
  }
  return absl::Status(status.code(), absl::StrCat("--state_dir=", directory, ": ", what));
}

// Of what the columns of an item say.
std::string item_checksum(const Item& item) {
  return checksum(absl::StrCat(static_cast<int>(item.kind), "\n", item.name, "\n", item.tenant, "\n",
                               absl::ToUnixNanos(item.create_time), "\n", item.parts.size(), "\n", item.summary));
}

absl::Status damaged(const Item& item) {
  return absl::DataLossError(absl::StrCat("\"", item.name, "\" is damaged: its checksum is not that of its bytes"));
}

Item item_of(const Statement& row) {
  Item item;
  item.sequence = row.integer(0);
  item.kind = static_cast<Kind>(row.integer(1));
  item.name = row.bytes(2);
  item.tenant = row.bytes(3);
  item.create_time = absl::FromUnixNanos(row.integer(4));
  item.summary = row.bytes(5);
  return item;
}

constexpr absl::string_view kColumns =
    "SELECT sequence, kind, name, tenant, create_time, summary, part_count, checksum ";

}  // namespace

std::string checksum(absl::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

absl::StatusOr<std::unique_ptr<Store>> Store::open(const std::string& directory) {
  if (absl::Status status = prepare(directory); !status.ok()) return status;
  const std::string path = directory + "/axion.db";
  auto database = Database::open(path);
  if (!database.ok()) return explained(directory, database.status());
  chmod(path.c_str(), 0600);
  std::unique_ptr<Store> store(new Store(*std::move(database)));
  absl::MutexLock lock(&store->mutex_);
  absl::Status status = store->check_schema();
  if (status.ok()) status = store->check_tables();
  if (status.ok()) status = store->count_run();
  if (!status.ok()) return explained(directory, status);
  return store;
}

absl::StatusOr<std::int64_t> Store::setting(const char* name) {
  auto find = database_.prepare("SELECT value FROM settings WHERE name = ?1");
  if (!find.ok()) return find.status();
  const auto found = find->bind_text(1, name).next();
  if (!found.ok()) return found.status();
  return *found ? find->integer(0) : 0;
}

absl::Status Store::set(const char* name, std::int64_t value) {
  auto put = database_.prepare("INSERT OR REPLACE INTO settings VALUES(?1, ?2)");
  if (!put.ok()) return put.status();
  return put->bind_text(1, name).bind(2, value).run().status();
}

absl::Status Store::check_schema() {
  auto pragma = [&](const char* sql) -> absl::StatusOr<std::int64_t> {
    auto statement = database_.prepare(sql);
    if (!statement.ok()) return statement.status();
    const auto row = statement->next();
    if (!row.ok()) return row.status();
    return statement->integer(0);
  };
  const auto version = pragma("PRAGMA user_version"), application = pragma("PRAGMA application_id"),
             tables = pragma("SELECT count(*) FROM sqlite_schema");
  for (const auto& value : {version, application, tables}) {
    if (!value.ok()) return value.status();
  }
  if (*tables > 0 && *application != kApplicationId) {
    return absl::FailedPreconditionError("axion.db is not the database of an axiond");
  }
  if (*version > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("was written by a newer server, with schema ", *version, "; this one knows ", kSchemaVersion));
  }
  if (*version == kSchemaVersion) return absl::OkStatus();
  return database_.transaction([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    absl::Status status = database_.run(kTables);
    status.Update(database_.run(absl::StrCat("PRAGMA application_id=", kApplicationId).c_str()));
    status.Update(database_.run(absl::StrCat("PRAGMA user_version=", kSchemaVersion).c_str()));
    if (status.ok()) status = set("key", static_cast<std::int64_t>(random_key()));
    if (status.ok()) status = set("ended_well", 1);
    return status;
  });
}

absl::Status Store::check_tables() {
  for (const absl::string_view sql :
       {"SELECT name, value FROM settings", "SELECT item, number, bytes, checksum FROM parts",
        "SELECT sequence, kind, name, tenant, create_time, summary, part_count, checksum FROM items"}) {
    const auto rows = database_.prepare(sql);
    if (!rows.ok()) return absl::DataLossError(rows.status().message());
  }
  return absl::OkStatus();
}

absl::Status Store::count_run() {
  const auto key = setting("key"), run = setting("run"), ended = setting("ended_well");
  for (const auto& value : {key, run, ended}) {
    if (!value.ok()) return value.status();
  }
  key_ = static_cast<std::uint64_t>(*key);
  run_ = static_cast<std::uint64_t>(*run) + 1;
  ended_well_ = *ended != 0;
  return database_.transaction(
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return set("run", static_cast<std::int64_t>(run_)); });
}

absl::Status Store::begin() {
  absl::MutexLock lock(&mutex_);
  return database_.transaction([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return set("ended_well", 0); });
}

absl::Status Store::end_well() {
  absl::MutexLock lock(&mutex_);
  return database_.transaction([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return set("ended_well", 1); });
}

absl::Status Store::check_bytes(const Item& item, std::int64_t most_bytes) {
  auto sum = database_.prepare(
      "SELECT coalesce(sum(length(parts.bytes)), 0) FROM items JOIN parts ON parts.item = items.sequence "
      "WHERE items.kind = ?1 AND items.tenant = ?2 AND items.name != ?3");
  if (!sum.ok()) return sum.status();
  const auto row = sum->bind(1, static_cast<int>(item.kind)).bind_text(2, item.tenant).bind_text(3, item.name).next();
  if (!row.ok()) return row.status();
  const std::int64_t kept = sum->integer(0);
  std::int64_t bytes = 0;
  for (const std::string& part : item.parts) bytes += static_cast<std::int64_t>(part.size());
  if (bytes <= most_bytes - kept) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(bytes, " bytes beside the ", kept, " that the tenant keeps"));
}

absl::Status Store::put(const Item& item, std::int64_t most_bytes, bool only_new) {
  absl::MutexLock lock(&mutex_);
  if (most_bytes > 0) {
    if (absl::Status fits = check_bytes(item, most_bytes); !fits.ok()) return fits;
  }
  std::uint64_t bytes = item.summary.size();
  for (const std::string& part : item.parts) bytes += part.size();
  if (absl::Status room = database_.check_room(bytes); !room.ok()) return room;
  return database_.transaction([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    // With its parts, by the foreign key.
    auto clear = database_.prepare("DELETE FROM items WHERE kind = ?1 AND name = ?2");
    if (!clear.ok()) return clear.status();
    const auto cleared = clear->bind(1, static_cast<int>(item.kind)).bind_text(2, item.name).run();
    if (!cleared.ok()) return cleared.status();
    if (only_new && *cleared > 0) return absl::AlreadyExistsError(absl::StrCat("\"", item.name, "\" is there"));
    auto insert = database_.prepare(
        "INSERT INTO items(kind, name, tenant, create_time, summary, part_count, checksum) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    if (!insert.ok()) return insert.status();
    const std::string sum = item_checksum(item);
    insert->bind(1, static_cast<int>(item.kind)).bind_text(2, item.name).bind_text(3, item.tenant);
    insert->bind(4, absl::ToUnixNanos(item.create_time)).bind_blob(5, item.summary);
    insert->bind(6, static_cast<std::int64_t>(item.parts.size())).bind_blob(7, sum);
    if (const auto inserted = insert->run(); !inserted.ok()) return inserted.status();
    const std::int64_t row = database_.last_row();
    auto part = database_.prepare("INSERT INTO parts VALUES(?1, ?2, ?3, ?4)");
    if (!part.ok()) return part.status();
    for (std::size_t i = 0; i < item.parts.size(); ++i) {
      const std::string part_sum = checksum(item.parts[i]);
      part->bind(1, row).bind(2, static_cast<std::int64_t>(i)).bind_blob(3, item.parts[i]).bind_blob(4, part_sum);
      if (const auto added = part->run(); !added.ok()) return added.status();
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Item> Store::get(Kind kind, absl::string_view tenant, absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  auto find = database_.prepare(absl::StrCat(kColumns, "FROM items WHERE kind = ?1 AND name = ?2 AND tenant = ?3"));
  if (!find.ok()) return find.status();
  const auto found = find->bind(1, static_cast<int>(kind)).bind_text(2, name).bind_text(3, tenant).next();
  if (!found.ok()) return found.status();
  if (!*found) return absl::NotFoundError(absl::StrCat("\"", name, "\" does not exist"));
  Item item = item_of(*find);
  const std::int64_t count = find->integer(6);
  const std::string sum = find->bytes(7);
  auto parts = database_.prepare("SELECT bytes, checksum FROM parts WHERE item = ?1 ORDER BY number");
  if (!parts.ok()) return parts.status();
  parts->bind(1, item.sequence);
  for (;;) {
    const auto row = parts->next();
    if (!row.ok()) return row.status();
    if (!*row) break;
    item.parts.push_back(parts->bytes(0));
    if (checksum(item.parts.back()) != parts->bytes(1)) return damaged(item);
  }
  if (static_cast<std::int64_t>(item.parts.size()) != count || item_checksum(item) != sum) return damaged(item);
  return item;
}

absl::StatusOr<std::int64_t> Store::size_of(Kind kind, absl::string_view tenant, absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  // A length is in the row's head: the bytes themselves are not read.
  auto sum = database_.prepare(
      "SELECT count(*), sum(length(bytes)) FROM parts WHERE item = "
      "(SELECT sequence FROM items WHERE kind = ?1 AND name = ?2 AND tenant = ?3)");
  if (!sum.ok()) return sum.status();
  const auto found = sum->bind(1, static_cast<int>(kind)).bind_text(2, name).bind_text(3, tenant).next();
  if (!found.ok()) return found.status();
  if (!*found || sum->integer(0) == 0) return absl::NotFoundError(absl::StrCat("\"", name, "\" does not exist"));
  return sum->integer(1);
}

absl::StatusOr<std::vector<Item>> Store::list(Kind kind, const std::string* tenant, std::int64_t after,
                                              std::size_t limit) const {
  absl::MutexLock lock(&mutex_);
  auto find = database_.prepare(absl::StrCat(kColumns,
                                             "FROM items WHERE kind = ?1 AND sequence > ?2 AND (?3 OR tenant = ?4) "
                                             "ORDER BY sequence LIMIT ?5"));
  if (!find.ok()) return find.status();
  find->bind(1, static_cast<int>(kind)).bind(2, after).bind(3, tenant == nullptr ? 1 : 0);
  find->bind_text(4, tenant == nullptr ? "" : absl::string_view(*tenant));
  find->bind(5, static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX)));
  std::vector<Item> items;
  for (;;) {
    const auto row = find->next();
    if (!row.ok()) return row.status();
    if (!*row) return items;
    items.push_back(item_of(*find));
  }
}

absl::Status Store::remove(Kind kind, absl::string_view tenant, absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  return database_.transaction([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    auto erase = database_.prepare("DELETE FROM items WHERE kind = ?1 AND name = ?2 AND tenant = ?3");
    if (!erase.ok()) return erase.status();
    const auto count = erase->bind(1, static_cast<int>(kind)).bind_text(2, name).bind_text(3, tenant).run();
    if (!count.ok()) return count.status();
    return *count > 0 ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("\"", name, "\" does not exist"));
  });
}

}  // namespace axion::server::store
