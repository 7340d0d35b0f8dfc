// agent-coordinator's way: PostgreSQL behind an HTTP server in Python (coordinator.py), as Debian
// has them.
#include <signal.h>

#include "base/assert.h"
#include "bench/peers/http_lane.h"
#include "bench/peers/postgres.h"

namespace lockkeeper::bench {
namespace {

class CoordinatorClient final : public Client {
 public:
  explicit CoordinatorClient(int port) : http_(port, "") {}

  void pair(const std::string& path) override {
    const std::string who = R"({"file_path":")" + path + R"(","agent_id":"agent")";
    call("/locks/acquire", who + R"(,"agent_type":"bench","session_id":"s","reason":"bench"})");
    call("/locks/release", who + "}");
  }

 private:
  void call(const std::string& target, const std::string& body) {
    LOCKKEEPER_ASSERT(http_.post(target, body).find(R"("success":true)") != std::string::npos);
  }

  HttpLane http_;
};

class Coordinator final : public Peer {
 public:
  Coordinator(PostgresServer postgres, std::unique_ptr<Server> server, int port)
      : Peer(kCoordinatorName, "server",
             "subtrees, globs, modes, queue, history, fences, dead holders, all or nothing"),
        postgres_(std::move(postgres)),
        server_(std::move(server)),
        port_(port) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<CoordinatorClient>(port_); }

 private:
  const PostgresServer postgres_;
  const std::unique_ptr<Server> server_;  // stops first
  const int port_;
};

}  // namespace

Made make_coordinator(const Setup& setup) {
  const std::string python = find_program("python3");
  if (python.empty()) return std::unexpected("agent-coordinator's way: python3 is not installed");
  if (run_quietly({python, "-c", "import fastapi, asyncpg, uvicorn"}) != 0) {
    return std::unexpected("agent-coordinator's way: FastAPI, asyncpg or uvicorn is not installed");
  }
  auto postgres = start_postgres(setup, Kept::kProcess);
  if (!postgres) return std::unexpected(postgres.error());
  const int port = free_port();
  auto server = std::make_unique<Server>(Server::Launch{
      {python, LOCKKEEPER_BENCH_PEERS "/coordinator.py", postgres->folder, std::to_string(port)},
      postgres->folder + ".http.log",
      std::nullopt,
      {},
      SIGTERM});
  if (!server->wait_until([&] { return static_cast<bool>(connect_loopback(port)); })) {
    return std::unexpected("agent-coordinator's way: the HTTP server did not start");
  }
  return std::make_unique<Coordinator>(std::move(*postgres), std::move(server), port);
}

}  // namespace lockkeeper::bench
