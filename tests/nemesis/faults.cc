#include "nemesis/faults.h"

#include <csignal>
#include <memory>

namespace lockkeeper::nemesis {
namespace {

std::string both_ways(const Machine& machine) {
  return "ip saddr " + machine.address + " drop\nip daddr " + machine.address + " drop\n";
}

class Catalogue {
 public:
  Catalogue(World& world, std::mt19937_64& random) : world_(world), random_(random) {}

  std::vector<Fault> all() {
    add_network();
    add_ways();
    add_members();
    add_upkeep();
    add_ours();
    return std::move(faults_);
  }

 private:
  using Step = std::function<void()>;
  void add(const char* name, int least_ms, int most_ms, Step begin, Step end) {
    faults_.push_back({name, least_ms, most_ms, std::move(begin), std::move(end)});
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  Members& members() { return world_.members(); }
  Hubs& hubs() { return world_.hubs(); }
  // Nobody may lead at the moment.
  std::size_t leader() { return members().leader().value_or(below(Members::kCount)); }
  std::size_t follower() { return (leader() + 1 + below(2)) % Members::kCount; }
  std::size_t any_hub() { return below(hubs().size()); }
  void rules(const std::string& rules) { world_.network().set_rules(rules); }

  // What passes the bridge is lost.
  void add_network() {
    const auto heal = [this] { world_.network().heal(); };
    add(
        "partition of the leader", 1'000, 15'000,
        [this] { rules(both_ways(members().machine(leader()))); }, heal);
    add(
        "partition of a follower", 1'000, 15'000,
        [this] { rules(both_ways(members().machine(follower()))); }, heal);
    add(
        "partition of the leader in one direction", 1'000, 15'000,
        [this] {
          const char* const way = below(2) == 0 ? "ip saddr " : "ip daddr ";
          rules(way + members().machine(leader()).address + " drop\n");
        },
        heal);
    add(
        "partition of a hub from etcd", 1'000, 15'000,
        [this] {
          const std::string hub = hubs().machine(any_hub()).address;
          std::string all;
          for (std::size_t i = 0; i < Members::kCount; ++i) {
            const std::string& member = members().machine(i).address;
            all += "ip saddr " + hub + " ip daddr " + member + " drop\n";
            all += "ip saddr " + member + " ip daddr " + hub + " drop\n";
          }
          rules(all);
        },
        heal);
    add(
        "partition of a desk", 1'000, 15'000,
        [this] { rules(both_ways(world_.desks()[below(world_.desks().size())]->machine())); },
        heal);
    add(
        "30 % loss", 2'000, 15'000,
        [this] {
          const std::string& address = world_.any_machine(random_()).address;
          rules("ip saddr " + address + " numgen random mod 100 < 30 drop\nip daddr " + address +
                " numgen random mod 100 < 30 drop\n");
        },
        heal);
    add_resets();
  }

  void add_resets() {
    const auto at = std::make_shared<const Machine*>(nullptr);
    add(
        "resets", 2'000, 10'000,
        [this, at] {
          *at = &world_.any_machine(random_());
          set_rules_of(**at,
                       "iif eth0 tcp flags & rst == 0 numgen random mod 100 < 3 reject with tcp "
                       "reset\n",
                       "");
        },
        [at] { set_rules_of(**at, "", ""); });
  }

  // The way from a hub to etcd misbehaves, and both sides think that they are connected.
  void add_ways() {
    using etcd_testing::Proxy;
    const auto way = [this](const char* name, int most_ms, std::function<void(Proxy&)> begin,
                            std::function<void(Proxy&)> end) {
      const auto hub = std::make_shared<std::size_t>(0);
      add(
          name, 1'000, most_ms,
          [this, hub, begin] {
            *hub = any_hub();
            for (auto& proxy : hubs().through_proxies(*hub)) begin(*proxy);
          },
          [this, hub, end] {
            for (auto& proxy : hubs().proxies(*hub)) end(*proxy);
            hubs().direct(*hub);
          });
    };
    const auto heal = [](Proxy& proxy) { proxy.heal(); };
    way(
        "a slow way to etcd", 15'000,
        [this](Proxy& proxy) { proxy.delay(static_cast<int>(20 + below(500))); }, heal);
    way("half-open connections to etcd", 15'000, [](Proxy& proxy) { proxy.swallow(); }, heal);
    way("lost answers of etcd", 10'000, [](Proxy& proxy) { proxy.lose_answers(); }, heal);
    way(
        "requests that reach etcd late", 10'000, [](Proxy& proxy) { proxy.hold_requests(); },
        [](Proxy& proxy) { proxy.deliver_within(std::chrono::milliseconds(300)); });
  }

  void add_members() {
    const auto at = std::make_shared<std::size_t>(0);
    const auto start_all = [this] {
      for (std::size_t i = 0; i < Members::kCount; ++i) members().start(i);
    };
    add("kill -9 of the leader", 500, 20'000, [this] { members().kill(leader()); }, start_all);
    add(
        "a stopped leader", 1'000, 20'000, [this, at] { members().stop(*at = leader()); },
        [this, at] { members().go_on(*at); });
    add(
        "loss of quorum", 10'000, 10'000,
        [this, at] {
          *at = leader();
          members().kill(*at);
          members().stop((*at + 1) % Members::kCount);
        },
        [this, at, start_all] {
          members().go_on((*at + 1) % Members::kCount);
          start_all();
        });
    add(
        "a replaced member", 0, 2'000, [this] { members().replace(below(Members::kCount)); },
        start_all);
    add(
        "a full disk", 2'000, 15'000,
        [this, at] { members().fill_disk(*at = below(Members::kCount)); },
        [this, at, start_all] {
          members().free_disk(*at);
          start_all();
        });
  }

  void add_upkeep() {
    const auto nothing = [] {};
    add("another leader", 0, 1'000, [this] { members().move_leader(); }, nothing);
    add("a compaction", 0, 500, [this] { members().compact(); }, nothing);
    add(
        "a defragmentation", 0, 500,
        [this] {
          members().compact();
          for (std::size_t i = 0; i < Members::kCount; ++i) members().defragment(i);
        },
        nothing);
    add(
        "NOSPACE", 1'000, 8'000, [this] { members().use_up_quota(); },
        [this] { members().give_back_quota(); });
  }

  // Hubs, relays and those who ask.
  void add_ours() {
    const auto nothing = [] {};
    const auto hub = std::make_shared<std::size_t>(0);
    add("kill -9 of a hub", 0, 0, [this] { hubs().kill(any_hub()); }, nothing);
    add(
        "a hub that is down", 1'000, 15'000, [this, hub] { hubs().keep_down(*hub = any_hub()); },
        [this, hub] { hubs().let_up(*hub); });
    add(
        "a stopped hub", 1'000, 20'000, [this, hub] { hubs().stop(*hub = any_hub()); },
        [this, hub] { hubs().go_on(*hub); });
    const auto relay = std::make_shared<pid_t>(0);
    add(
        "kill -9 of a relay", 0, 0,
        [this] {
          const pid_t pid = world_.desks()[below(world_.desks().size())]->relay();
          if (pid > 0) ::kill(pid, SIGKILL);
        },
        nothing);
    add(
        "a stopped relay", 1'000, 15'000,
        [this, relay] {
          *relay = world_.desks()[below(world_.desks().size())]->relay();
          if (*relay > 0) ::kill(*relay, SIGSTOP);
        },
        [relay] {
          if (*relay > 0) ::kill(*relay, SIGCONT);
        });
    add("kill -9 of somebody who asks", 0, 0, [this] { world_.kill_worker(random_()); }, nothing);
  }

  World& world_;
  std::mt19937_64& random_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> all_faults(World& world, std::mt19937_64& random) {
  const auto catalogue = std::make_shared<Catalogue>(world, random);
  std::vector<Fault> all = catalogue->all();
  for (Fault& fault : all) {
    for (auto* const step : {&fault.begin, &fault.end}) {
      *step = [catalogue, once = std::move(*step)] { once(); };
    }
  }
  return all;
}

}  // namespace lockkeeper::nemesis
