// Hubs with their locks in etcd, and the machines of their clients: all on one bridge, with TLS and
// tokens.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "etcd/proxy.h"
#include "nemesis/apart.h"
#include "nemesis/members.h"
#include "remote/machine.h"

namespace lockkeeper::nemesis {

// What starts a hub again when it has ended, as a service manager does, is tend().
class Hubs {
 public:
  // `count` hubs for one prefix, each on a machine of its own.
  Hubs(Network& network, const Members& members, std::size_t count, const std::string& prefix);
  ~Hubs();
  Hubs(const Hubs&) = delete;
  Hubs& operator=(const Hubs&) = delete;

  std::size_t size() const { return all_.size(); }
  const Machine& machine(std::size_t i) const { return all_[i].machine; }
  std::string url(std::size_t i) const { return "https://" + all_[i].machine.address + ":7420"; }
  const std::string& certificate() const { return certificate_; }
  const std::string& store() const { return store_; }
  std::string token(const std::string& person);
  // All addresses, that one first: where a relay asks, in this order.
  std::string urls(std::size_t first) const;
  // Desks are spread over the hubs.
  std::size_t next_for_a_desk() { return desks_++ % all_.size(); }

  // Starts whoever has ended.
  void tend();
  // Until each answers its clients.
  void wait_until_ready();
  void kill(std::size_t i);
  void keep_down(std::size_t i);  // kill -9, and nobody starts it until
  void let_up(std::size_t i);
  void stop(std::size_t i) const;  // SIGSTOP
  void go_on(std::size_t i) const;
  // SIGTERM to all, waits for their ends, and starts none until start().
  void shut_down();
  void start() { resting_ = false; }
  // `doctor --store …` with these words, on the first one's machine.
  stage::Answer doctor(const stage::Words& words);
  std::string words_of(std::size_t i) const;  // what it has written

  // From now on, the hub's connections to etcd go through proxies of its own, one for each member;
  // those that it has are reset. Until direct().
  std::vector<std::unique_ptr<etcd_testing::Proxy>>& through_proxies(std::size_t i);
  std::vector<std::unique_ptr<etcd_testing::Proxy>>& proxies(std::size_t i) {
    return all_[i].proxies;
  }
  void direct(std::size_t i);

 private:
  struct Hub {
    Machine machine;
    std::unique_ptr<stage::Stage> home;
    std::unique_ptr<stage::Process> process;
    std::vector<std::unique_ptr<etcd_testing::Proxy>> proxies;
    bool down = false;
  };
  void start(Hub& hub);

  const Members& members_;
  const std::string store_;
  std::string certificate_, key_;
  std::vector<Hub> all_;
  std::size_t desks_ = 0;
  bool resting_ = false;
};

// A machine on which agents work: with a clone of the repository, a token of its own and a relay.
class Desk {
 public:
  Desk(Network& network, Hubs& hubs, const std::string& name);
  const Machine& machine() const { return machine_; }
  proof::Machine& stage() { return stage_; }
  pid_t relay() const { return stage_.relay(); }

 private:
  Machine machine_;
  proof::Machine stage_;
};

}  // namespace lockkeeper::nemesis
