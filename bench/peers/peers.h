// The makers. Each gives a peer with `setup.held` locks held in it, or says why there is none.
#pragma once

#include "bench/peers/peer.h"

namespace lockkeeper::bench {

// Ours: the lock table as a server process of ours uses it, and the verbs on top of it, which also
// resolve every path on disk.
enum class Kept { kProcess, kFull };  // survives: the process's death; power loss
Made make_ours(const Setup& setup, Kept kept);
Made make_ours_verbs(const Setup& setup, Kept kept);

// LMDB alone with the same hierarchical check and as many rows.
Made make_bare_lmdb(const Setup& setup, Kept kept);
// The same, writing through the map.
Made make_bare_lmdb_map(const Setup& setup);

enum class Synchronous { kOff, kNormal, kFull };
Made make_sqlite(const Setup& setup, Synchronous synchronous);
std::string sqlite_version();  // empty: not built in

Made make_redis(const Setup& setup);  // on a Unix socket
Made make_redis_over_tcp(const Setup& setup);
Made make_postgres(const Setup& setup, Kept kept);
Made make_coordinator(const Setup& setup);  // PostgreSQL behind HTTP
Made make_etcd(const Setup& setup);
Made make_folders(const Setup& setup);          // mkdir and an owner file
Made make_exclusive_files(const Setup& setup);  // open with O_EXCL
Made make_proper_lockfile(const Setup& setup);  // npm's

// As the peers that are not ours name themselves, for targets.
inline constexpr const char* kOursName = "lockkeeper";
inline constexpr const char* kBareName = "bare LMDB, the same check";
inline constexpr const char* kBareMapName = "bare LMDB, through the map";
inline constexpr const char* kRedisName = "Redis SET NX PX + DEL";
inline constexpr const char* kRedisTcpName = "Redis SET NX PX + DEL, over TCP";
inline constexpr const char* kSqliteFullName = "SQLite WAL, synchronous=FULL";
inline constexpr const char* kCoordinatorName = "agent-coordinator's way: PostgreSQL behind HTTP";
inline constexpr const char* kEtcdName = "etcd txn + delete";

}  // namespace lockkeeper::bench
