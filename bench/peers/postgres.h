// A PostgreSQL server with the `file_locks` table of agent-coordinator in it.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "bench/child.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {

struct PostgresServer {
  std::unique_ptr<Server> server;
  std::string folder;  // of its Unix socket
};
// With `setup.held` rows. Why not: as Made.
std::expected<PostgresServer, std::string> start_postgres(const Setup& setup, Kept kept);

}  // namespace lockkeeper::bench
