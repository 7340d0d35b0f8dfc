// PostgreSQL on a Unix socket with the `file_locks` table of agent-coordinator, and its INSERT … ON
// CONFLICT: one prepared statement to acquire, one to release. (The coordinator itself also deletes
// expired rows at every acquire, and calls through HTTP.) Built in if libpq was there when the
// benchmark was built.
#include "bench/peers/postgres.h"

#if LOCKKEEPER_BENCH_POSTGRES

#include <glob.h>
#include <libpq-fe.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/assert.h"

namespace lockkeeper::bench {
namespace {

constexpr const char* kTable = R"(
  CREATE TABLE file_locks (
    file_path TEXT PRIMARY KEY,
    locked_by TEXT NOT NULL,
    agent_type TEXT NOT NULL,
    session_id TEXT,
    locked_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    expires_at TIMESTAMPTZ NOT NULL,
    reason TEXT,
    metadata JSONB DEFAULT '{}');
  CREATE INDEX ON file_locks (locked_by);
  CREATE INDEX ON file_locks (expires_at);
  CREATE INDEX ON file_locks (session_id);)";

constexpr const char* kAcquire = R"(
  INSERT INTO file_locks (file_path, locked_by, agent_type, session_id, expires_at, reason)
  VALUES ($1, 'agent', 'bench', 'session', now() + interval '2 hours', 'bench')
  ON CONFLICT (file_path) DO NOTHING)";

constexpr const char* kRelease =
    "DELETE FROM file_locks WHERE file_path = $1 AND locked_by = 'agent'";

class PostgresClient final : public Client {
 public:
  PostgresClient(const std::string& folder, Kept kept)
      : connection_(PQconnectdb(
            ("host=" + folder + " user=postgres dbname=postgres connect_timeout=5").c_str())) {
    if (!connected()) return;
    execute(kept == Kept::kFull ? "SET synchronous_commit=on" : "SET synchronous_commit=off");
  }
  ~PostgresClient() override { PQfinish(connection_); }
  PostgresClient(const PostgresClient&) = delete;
  PostgresClient& operator=(const PostgresClient&) = delete;

  bool connected() const { return PQstatus(connection_) == CONNECTION_OK; }

  void execute(const std::string& text) {
    PGresult* result = PQexec(connection_, text.c_str());
    const ExecStatusType status = PQresultStatus(result);
    LOCKKEEPER_ASSERT(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    PQclear(result);
  }

  void hold(int count) {
    execute("BEGIN");
    for (int next = 0; next < count;) {
      std::string text =
          "INSERT INTO file_locks (file_path, locked_by, agent_type, session_id, expires_at) "
          "VALUES ";
      for (int i = 0; i < 1000 && next < count; ++i) {
        text += i == 0 ? "" : ",";
        text += "('" + held_path(next++) + "', 'held', 'bench', 's', now() + interval '10 hours')";
      }
      execute(text);
    }
    execute("COMMIT");
    execute("VACUUM ANALYZE file_locks");
  }

  void pair(const std::string& path) override {
    if (!prepared_) prepare();
    run("acquire", path);
    run("release", path);
  }

 private:
  void prepare() {
    for (const auto& [name, text] : {std::pair{"acquire", kAcquire}, {"release", kRelease}}) {
      PGresult* result = PQprepare(connection_, name, text, 1, nullptr);
      LOCKKEEPER_ASSERT(PQresultStatus(result) == PGRES_COMMAND_OK);
      PQclear(result);
    }
    prepared_ = true;
  }
  void run(const char* statement, const std::string& path) {
    const char* values[] = {path.c_str()};
    PGresult* result = PQexecPrepared(connection_, statement, 1, values, nullptr, nullptr, 0);
    LOCKKEEPER_ASSERT(PQresultStatus(result) == PGRES_COMMAND_OK);
    LOCKKEEPER_ASSERT(std::string_view(PQcmdTuples(result)) == "1");
    PQclear(result);
  }

  PGconn* connection_;
  bool prepared_ = false;
};

class Postgres final : public Peer {
 public:
  Postgres(PostgresServer postgres, Kept kept)
      : Peer("PostgreSQL INSERT … ON CONFLICT", kept == Kept::kFull ? "full" : "server",
             "subtrees, globs, modes, queue, history, fences, dead holders, all or nothing"),
        postgres_(std::move(postgres)),
        kept_(kept) {}
  std::unique_ptr<Client> connect() override {
    auto client = std::make_unique<PostgresClient>(postgres_.folder, kept_);
    LOCKKEEPER_ASSERT(client->connected());
    return client;
  }

 private:
  const PostgresServer postgres_;
  const Kept kept_;
};

// Debian keeps the programs of each version in a folder of its own.
std::string newest(const std::string& program) {
  std::string found = find_program(program);
  glob_t matches{};
  if (::glob(("/usr/lib/postgresql/*/bin/" + program).c_str(), 0, nullptr, &matches) == 0) {
    found = matches.gl_pathv[matches.gl_pathc - 1];
  }
  ::globfree(&matches);
  return found;
}

}  // namespace

std::expected<PostgresServer, std::string> start_postgres(const Setup& setup, Kept kept) {
  const std::string initdb = newest("initdb");
  const std::string program = newest("postgres");
  if (initdb.empty() || program.empty()) {
    return std::unexpected("PostgreSQL: the server is not installed");
  }
  const std::string folder = setup.fresh("postgres");
  const std::string data = folder + "/data";
  const std::string log = folder + "/log";
  const std::optional<User> user = plain_user();  // it refuses root
  if (user && ::chown(folder.c_str(), user->uid, user->gid) != 0) {
    return std::unexpected("PostgreSQL: cannot give it a folder of its own");
  }
  Server({{initdb, "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
           "--locale=C", "--pgdata=" + data},
          log,
          user,
          {},
          SIGTERM})
      .wait_until_ended();
  auto server = std::make_unique<Server>(
      Server::Launch{{program, "-D", data, "-c", "listen_addresses=", "-c",
                      "unix_socket_directories=" + folder, "-c", "autovacuum=on"},
                     log,
                     user,
                     {},
                     SIGINT});
  const auto ready = [&] { return PostgresClient(folder, kept).connected(); };
  if (!server->wait_until(ready)) {
    return std::unexpected("PostgreSQL: the server did not start as a user without privileges");
  }
  {
    PostgresClient client(folder, kept);
    client.execute(kTable);
    client.hold(setup.held);
  }
  return PostgresServer{std::move(server), folder};
}

Made make_postgres(const Setup& setup, Kept kept) {
  auto postgres = start_postgres(setup, kept);
  if (!postgres) return std::unexpected(postgres.error());
  return std::make_unique<Postgres>(std::move(*postgres), kept);
}

}  // namespace lockkeeper::bench

#else

namespace lockkeeper::bench {

std::expected<PostgresServer, std::string> start_postgres(const Setup&, Kept) {
  return std::unexpected("PostgreSQL: libpq-dev was not there when the benchmark was built");
}

Made make_postgres(const Setup& setup, Kept kept) {
  return std::unexpected(start_postgres(setup, kept).error());
}

}  // namespace lockkeeper::bench

#endif
