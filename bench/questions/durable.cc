// What was granted survives a power cut: everything is synced before it is answered.
#include "bench/peers/compare.h"
#include "bench/peers/etcd.h"
#include "bench/peers/peers.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr double kGatewayShare = 0.25;  // of the time of a row
constexpr std::size_t kReadsLeast = 20;

// A call to etcd that commits nothing costs what the way to it costs.
void measure_gateway(const Setup& setup, Peer& etcd, Answer& answer) {
  const std::unique_ptr<Client> client = etcd.connect();
  auto& reads = dynamic_cast<EtcdLike&>(*client);
  const std::vector<Samples> samples =
      alternate({[&] { return timed([&] { reads.read_twice(held_path(1)); }); }},
                setup.seconds * kGatewayShare, kReadsLeast);
  answer.rows.push_back({"etcd, two reads the same way", "-", samples[0],
                         "a commit: the share of its JSON gateway, which gRPC would lessen"});
}

}  // namespace

void ask_durable(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " locks in each");
  std::vector<Made> made;
  made.push_back(make_ours(setup, Kept::kFull));
  made.push_back(make_bare_lmdb(setup, Kept::kFull));
  made.push_back(make_sqlite(setup, Synchronous::kFull));
  made.push_back(make_postgres(setup, Kept::kFull));
  made.push_back(make_etcd(setup));
  const auto peers = present(std::move(made), answer);
  compare(setup, peers, answer);
  for (const auto& peer : peers) {
    if (peer->name() == kEtcdName) measure_gateway(setup, *peer, answer);
  }
  answer.ratio(kOursName, kSqliteFullName,
               {.what = "SQLite WAL with synchronous=FULL", .must = 3.5, .aim = 2});
  answer.ratio(kEtcdName, kOursName,
               {.what = "as fast as etcd", .better = Target::Better::kMore, .must = 4});
}

}  // namespace lockkeeper::bench
