// Locks in an etcd of three members: what the hub adds to the two transactions that it must send,
// beside etcd's own lock API and PostgreSQL; and sixteen clients at once.
#include <algorithm>
#include <atomic>
#include <thread>

#include "bench/peers/etcd_cluster.h"
#include "bench/peers/etcd_raw.h"
#include "bench/peers/ours.h"
#include "bench/peers/peers.h"
#include "bench/peers/rest.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kAtOnce = 16;
constexpr int kPathsHeld = 100;
constexpr const char* kEtcdHubName = "POST /v1/acquire, /v1/release, on etcd";
constexpr const char* kOneSessionName = "the same, all of one session";
constexpr const char* kRawName = "etcd, two transactions of the same shape";
constexpr const char* kLockApiName = "etcd's lock API, lock + unlock";

// A hub on three members, with some leases in it.
struct EtcdHub {
  std::unique_ptr<EtcdCluster> cluster;
  std::unique_ptr<Inside> inside;
  std::unique_ptr<OurServer> hub;
  PairShape shape;
};

std::optional<EtcdHub> start_hub(const Setup& setup, const std::string& name, Answer& answer) {
  if (!has_program(setup, answer)) return std::nullopt;
  setup.progress->say("starting three members");
  EtcdHub all;
  auto cluster = EtcdCluster::start(setup);
  if (!cluster) {
    answer.skipped.push_back(cluster.error());
    return std::nullopt;
  }
  all.cluster = std::move(*cluster);
  const std::string folder = setup.fresh(name);
  Place(folder, Kept::kProcess);
  all.shape = shape_of_pair(setup);
  all.inside = std::make_unique<Inside>(folder);
  const Words store = {"--store", all.cluster->url("/bench")};
  all.hub.reset(new OurServer(hub_over(setup, folder, store)));  // it cannot be moved
  if (!all.hub->ready) {
    answer.skipped.push_back("the hub did not begin");
    return std::nullopt;
  }
  RestClient held(all.hub->port, "held");
  for (int i = 0; i < std::min(setup.held, kPathsHeld); ++i) {
    held.start("acquire", held_path(i));
    while (!held.hear()) {
    }
  }
  return all;
}

std::string shape_text(const PairShape& shape) {
  const auto one = [](const CommitShape& commit) {
    return std::to_string(commit.guards) + " guards and " + std::to_string(commit.writes.size()) +
           " writes";
  };
  return "an acquire has " + one(shape.acquire) + ", a release " + one(shape.release) +
         "; the store adds three compares and a write to each";
}

// Each with a connection of its own.
Row raw_crowd(const Setup& setup, const EtcdHub& all) {
  std::vector<std::unique_ptr<RawPairs>> clients;
  for (int i = 0; i < kAtOnce; ++i) {
    clients.push_back(std::make_unique<RawPairs>(all.cluster->url("/raw"), all.shape, 100 + i));
    clients.back()->pair(0);
  }
  Row row{kRawName, "full", {}, ""};
  std::vector<Samples> samples(kAtOnce);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 1; turn == 1 || passed() < setup.seconds; ++turn) {
          samples[i].add(timed([&] { clients[i]->pair(turn); }));
        }
      });
    }
  }
  const double seconds = passed();
  for (const Samples& some : samples) {
    for (const double one : some.micros) row.samples.add(one);
  }
  row.per_second = static_cast<double>(row.samples.count()) / seconds;
  return row;
}

}  // namespace

void ask_etcd(const Setup& setup, Answer& answer) {
  const auto all = start_hub(setup, "etcd-hub", answer);
  if (!all) return;
  RestClient rest(all->hub->port, "bench");
  RawPairs raw(all->cluster->url("/raw"), all->shape, 1);
  LockApi locks(all->cluster->url("/"));
  std::unique_ptr<Client> postgres_client;
  auto postgres = make_postgres(setup, Kept::kFull);
  if (postgres) postgres_client = (*postgres)->connect();
  if (!postgres) answer.skipped.push_back(postgres.error());
  setup.progress->say("measuring");
  int turn = 0;
  std::vector<Once> sides = {[&] { return timed([&] { rest.pair(path_at(0, turn++)); }); },
                             [&] { return timed([&] { raw.pair(turn++); }); },
                             [&] { return timed([&] { locks.pair(path_at(1, turn++)); }); }};
  if (postgres_client) {
    sides.emplace_back([&] { return postgres_client->timed_pair(path_at(2, turn++)); });
  }
  std::vector<Samples> samples = alternate(sides, setup.seconds, kPairsLeast);
  answer.rows.push_back({kEtcdHubName, "full", std::move(samples[0]), ""});
  answer.rows.push_back({kRawName, "full", std::move(samples[1]), "everything but the commits"});
  answer.rows.push_back({kLockApiName, "full", std::move(samples[2]),
                         "subtrees, globs, modes, all or nothing, names in a refusal"});
  if (postgres_client) {
    answer.rows.push_back({(*postgres)->name(), (*postgres)->durability(), std::move(samples[3]),
                           (*postgres)->lacks() + ", a second machine"});
  }
  answer.ratio(kEtcdHubName, kRawName, {.what = kRawName, .must = 1.5});
  answer.ratio(kEtcdHubName, kLockApiName, {.what = kLockApiName});
  answer.notes.push_back("three members on this machine, each commit synced by two of them; " +
                         shape_text(all->shape));
}

void ask_etcd_load(const Setup& setup, Answer& answer) {
  const auto all = start_hub(setup, "etcd-load", answer);
  if (!all) return;
  setup.progress->say("measuring " + std::to_string(kAtOnce) + " clients");
  const auto own_session = [](int i) { return core::Owner{"bench", std::to_string(i)}; };
  const auto one_session = [](int) { return core::Owner{"bench", "all"}; };
  const double before = all->cluster->transactions();
  Row ours = crowd_row(setup, kEtcdHubName, all->hub->port, kAtOnce, own_session);
  const double sent = all->cluster->transactions() - before;
  Row crowded = crowd_row(setup, kOneSessionName, all->hub->port, kAtOnce, one_session);
  crowded.durability = "full";
  const auto commits = 2 * static_cast<double>(ours.samples.count());
  ours.durability = "full";
  Row raw = raw_crowd(setup, *all);
  answer.targets.push_back({.what = "of etcd's own throughput",
                            .value = ours.per_second / raw.per_second,
                            .unit = "×",
                            .better = Target::Better::kMore,
                            .must = 0.7});
  answer.targets.push_back({.what = "transactions for each commit",
                            .value = commits > 0 ? sent / commits : 0,
                            .unit = "",
                            .must = 1.1});
  answer.rows.push_back(std::move(ours));
  answer.rows.push_back(std::move(raw));
  answer.rows.push_back(std::move(crowded));
  answer.notes.push_back(
      "each client with one request on its way; etcd's own: " + std::to_string(kAtOnce) +
      " threads, each with a connection. Transactions are those that the members "
      "have counted, also those that only confirm a read. An owner's claims are counted in one "
      "row, "
      "which its requests change one after the other: so 16 clients that share a session wait for "
      "each other");
}

}  // namespace lockkeeper::bench
