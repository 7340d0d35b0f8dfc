// Ours: the table on the embedded store, and the verbs on top of it.
#include <filesystem>

#include "base/assert.h"
#include "base/random.h"
#include "bench.h"
#include "ours.h"

namespace lockkeeper::bench {
namespace {

using service::LockTable;

core::AcquireRequest request(const std::string& path, const std::string& agent) {
  core::AcquireRequest wanted;
  wanted.owner = {agent, ""};
  auto parsed = key::parse(path, {});
  LOCKKEEPER_ASSERT(parsed);
  wanted.claims = {{parsed->resource, core::Mode::kExclusive, 0}};
  wanted.ttl_ms = 3'600'000;
  return wanted;
}

void prefill(Ours& ours, int held) {
  int next = 0;
  while (next < held) {
    // One agent for each 5,000, as the quota asks; a thousand leases in one commit, to be quick.
    auto txn = ours.store->begin(kv::Access::kWrite);
    LOCKKEEPER_ASSERT(txn);
    for (int i = 0; i < 1000 && next < held; ++i, ++next) {
      core::Context context;
      context.now = ours.clock.now();
      context.epoch = ours.store->epoch();
      context.ticket = static_cast<std::uint64_t>(next) + 1;
      context.prober = &ours.prober;
      core::Table table(**txn, context);
      const std::string agent = "held" + std::to_string(next / 5000);
      const auto reply = table.acquire(request(held_path(next), agent));
      LOCKKEEPER_ASSERT(reply && reply->outcome == core::Outcome::kGranted);
    }
    LOCKKEEPER_ASSERT((*txn)->commit());
  }
}

void pair(LockTable& table, const core::AcquireRequest& wanted) {
  core::LeaseId id;
  LOCKKEEPER_ASSERT(table.write([&](core::Table& rows) -> Result<bool> {
    LK_ASSIGN(const core::AcquireReply reply, rows.acquire(wanted));
    LOCKKEEPER_ASSERT(reply.outcome == core::Outcome::kGranted);
    id = reply.lease.id;
    return false;
  }));
  LOCKKEEPER_ASSERT(table.write([&](core::Table& rows) -> Result<bool> {
    LK_CHECK(rows.release_leases(wanted.owner, {id}));
    return false;
  }));
}

}  // namespace

void lock_table(const Setup& setup, Report& report) {
  struct Kind {
    const char* what;
    kv::Durability durability;
    int held;
  };
  const std::string ours_name = "lockkeeper: acquire + release, one path";
  for (const Kind& kind :
       {Kind{"lockkeeper: acquire + release, one path", kv::Durability::kProcess, setup.held},
        Kind{"lockkeeper: the same, 100 held", kv::Durability::kProcess, 100},
        Kind{"lockkeeper: the same, durable", kv::Durability::kFull, setup.held}}) {
    Ours ours(setup.folder + "/ours", kind.durability);
    prefill(ours, kind.held);
    LockTable& table = ours.table();
    int i = 0;
    const bool full = kind.durability == kv::Durability::kFull;
    Samples samples =
        measure(setup.seconds, 200, [&] { pair(table, request(path_at(7, i++), "b")); });
    report.rows.push_back({kind.what, full ? "full" : "process", std::move(samples), ""});
    if (kind.what != ours_name) continue;
    service::Locks locks(table, {"verbs", ""});
    report.rows.push_back({"lockkeeper: through the verbs, paths resolved on disk", "process",
                           measure(setup.seconds, 200,
                                   [&] {
                                     service::AcquireCommand acquire;
                                     acquire.wanted.texts = {path_at(8, i++)};
                                     const auto got = locks.acquire(acquire);
                                     LOCKKEEPER_ASSERT(got &&
                                                       got->outcome == service::Ended::kGranted);
                                     service::ReleaseCommand release;
                                     release.wanted = acquire.wanted;
                                     LOCKKEEPER_ASSERT(locks.release(release));
                                   }),
                           ""});
  }
}

}  // namespace lockkeeper::bench
