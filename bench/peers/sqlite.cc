// SQLite in WAL mode: one table, one transaction for each call, with the same look at ancestors and
// at what lies below. Built in if the library was there when the benchmark was built.
#include "bench/peers/peers.h"

#if LOCKKEEPER_BENCH_SQLITE

#include <sqlite3.h>
#include <unistd.h>

#include "base/assert.h"

namespace lockkeeper::bench {
namespace {

constexpr int kDepthMost = 8;
constexpr int kPatienceMs = 10'000;

const char* name_of(Synchronous synchronous) {
  switch (synchronous) {
    case Synchronous::kOff:
      return "OFF";
    case Synchronous::kNormal:
      return "NORMAL";
    case Synchronous::kFull:
      return "FULL";
  }
  return "FULL";
}

class SqliteClient final : public Client {
 public:
  SqliteClient(const std::string& file, Synchronous synchronous) {
    LOCKKEEPER_ASSERT(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
    sqlite3_busy_timeout(db_, kPatienceMs);
    execute("PRAGMA journal_mode=WAL");
    execute(std::string("PRAGMA synchronous=") + name_of(synchronous));
    execute(
        "CREATE TABLE IF NOT EXISTS locks (path TEXT PRIMARY KEY, agent TEXT NOT NULL,"
        " session TEXT, taken INTEGER NOT NULL, until INTEGER NOT NULL, reason TEXT) WITHOUT "
        "ROWID");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    look_ = prepare(
        "SELECT 1 FROM locks WHERE path IN (?,?,?,?,?,?,?,?)"
        " UNION ALL SELECT 1 FROM locks WHERE path > ? AND path < ? LIMIT 1");
    insert_ = prepare("INSERT INTO locks VALUES (?, 'agent', '', 1700000000, 1700003600, '')");
    erase_ = prepare("DELETE FROM locks WHERE path = ? AND agent = 'agent'");
  }
  ~SqliteClient() override {
    for (sqlite3_stmt* statement : {begin_, commit_, look_, insert_, erase_}) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(db_);
  }
  SqliteClient(const SqliteClient&) = delete;
  SqliteClient& operator=(const SqliteClient&) = delete;

  void hold(int count) {
    step(begin_);
    for (int i = 0; i < count; ++i) insert(held_path(i));
    step(commit_);
  }

  void pair(const std::string& path) override {
    step(begin_);
    LOCKKEEPER_ASSERT(is_free(path));
    insert(path);
    step(commit_);
    step(begin_);
    bind(erase_, 1, path);
    step(erase_);
    step(commit_);
  }

 private:
  void execute(const std::string& text) {
    LOCKKEEPER_ASSERT(sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    LOCKKEEPER_ASSERT(sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  static void bind(sqlite3_stmt* statement, int index, const std::string& text) {
    sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  static void step(sqlite3_stmt* statement) {
    LOCKKEEPER_ASSERT(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_reset(statement);
  }
  void insert(const std::string& path) {
    bind(insert_, 1, path);
    step(insert_);
  }
  bool is_free(const std::string& path) {
    int index = 1;
    for (std::size_t slash = path.find('/'); slash != std::string::npos && index < kDepthMost;
         slash = path.find('/', slash + 1)) {
      bind(look_, index++, path.substr(0, slash));
    }
    while (index <= kDepthMost) bind(look_, index++, path);
    bind(look_, index++, path + "/");
    bind(look_, index, path + "0");  // the character after '/'
    const bool free = sqlite3_step(look_) == SQLITE_DONE;
    sqlite3_reset(look_);
    return free;
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_stmt* look_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
};

class Sqlite final : public Peer {
 public:
  Sqlite(std::string file, Synchronous synchronous)
      : Peer(std::string("SQLite WAL, synchronous=") + name_of(synchronous),
             synchronous == Synchronous::kFull ? "full" : "process",
             "globs, modes, queue, history, fences, dead holders"),
        file_(std::move(file)),
        synchronous_(synchronous) {}
  std::unique_ptr<Client> connect() override {
    return std::make_unique<SqliteClient>(file_, synchronous_);
  }

 private:
  const std::string file_;
  const Synchronous synchronous_;
};

}  // namespace

std::string sqlite_version() {
  return sqlite3_libversion();
}

Made make_sqlite(const Setup& setup, Synchronous synchronous) {
  const std::string file =
      setup.fresh(std::string("sqlite-") + name_of(synchronous)) + "/locks.sqlite";
  SqliteClient(file, synchronous).hold(setup.held);
  return std::make_unique<Sqlite>(file, synchronous);
}

}  // namespace lockkeeper::bench

#else

namespace lockkeeper::bench {

std::string sqlite_version() {
  return "";
}

Made make_sqlite(const Setup&, Synchronous) {
  return std::unexpected("SQLite: libsqlite3-dev was not there when the benchmark was built");
}

}  // namespace lockkeeper::bench

#endif
