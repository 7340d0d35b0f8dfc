#include "nemesis/hubs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

namespace lockkeeper::nemesis {

using stage::Words;

Hubs::Hubs(Network& network, const Members& members, std::size_t count, const std::string& prefix)
    : members_(members), store_(members.url(prefix)) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    Hub hub{network.add("h" + std::to_string(i)), std::make_unique<stage::Stage>(), {}, {}, false};
    names += (names.empty() ? "IP:" : ",IP:") + hub.machine.address;
    all_.push_back(std::move(hub));
  }
  certificate_ = all_[0].home->path("hub.pem");
  key_ = all_[0].home->path("hub.key");
  must({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=hub", "-addext", "subjectAltName=" + names, "-keyout",
        key_, "-out", certificate_});
  ::chmod(key_.c_str(), 0600);
  token("first");  // without one, a hub that others can reach does not start
  wait_until_ready();
}

Hubs::~Hubs() {
  for (Hub& hub : all_) hub.process.reset();
}

std::string Hubs::token(const std::string& person) {
  return proof::add_token(*all_[0].home, person);
}

void Hubs::start(Hub& hub) {
  const std::string tokens = all_[0].home->path("home") + "/.config/lockkeeper/hub-tokens";
  const std::string& address = hub.machine.address;
  const Stay stay(hub.machine);
  hub.process = std::make_unique<stage::Process>(
      hub.home->launch("", {"serve", "--realm", "app=" + hub.home->repo(), "--listen",
                            address + ":7420", "--host", address, "--tls-cert", certificate_,
                            "--tls-key", key_, "--token-file", tokens, "--store", store_}));
}

void Hubs::tend() {
  if (resting_) return;
  for (Hub& hub : all_) {
    if (!hub.down && (hub.process == nullptr || !hub.process->running())) start(hub);
  }
}

void Hubs::wait_until_ready() {
  const bool ready = stage::eventually([&] {
    tend();
    return std::ranges::all_of(all_, [&](const Hub& hub) {
      const Words words = {
          "curl", "-s",       "-f",         "-m",
          "2",    "--cacert", certificate_, "https://" + hub.machine.address + ":7420/readyz"};
      return run(words).status == 0;
    });
  });
  EXPECT_TRUE(ready) << words_of(0);
}

void Hubs::kill(std::size_t i) {
  all_[i].process->signal(SIGKILL);
  all_[i].process->wait();
}

void Hubs::keep_down(std::size_t i) {
  all_[i].down = true;
  kill(i);
}

void Hubs::let_up(std::size_t i) {
  all_[i].down = false;
  tend();
}

void Hubs::stop(std::size_t i) const {
  all_[i].process->signal(SIGSTOP);
}

void Hubs::go_on(std::size_t i) const {
  all_[i].process->signal(SIGCONT);
}

void Hubs::shut_down() {
  resting_ = true;
  for (Hub& hub : all_) {
    if (hub.process == nullptr) continue;
    hub.process->signal(SIGTERM);
    hub.process->wait();
    hub.process.reset();
  }
}

stage::Answer Hubs::doctor(const Words& words) {
  Words all = {"doctor", "--store", store_};
  all.insert(all.end(), words.begin(), words.end());
  const Stay stay(all_[0].machine);
  return all_[0].home->json("", all);
}

std::string Hubs::words_of(std::size_t i) const {
  return all_[i].process == nullptr ? "" : all_[i].process->err();
}

std::vector<std::unique_ptr<etcd_testing::Proxy>>& Hubs::through_proxies(std::size_t i) {
  Hub& hub = all_[i];
  std::string redirected;
  std::string reset;
  {
    const Stay stay(hub.machine);  // so are their threads
    for (std::size_t member = 0; member < Members::kCount; ++member) {
      hub.proxies.push_back(std::make_unique<etcd_testing::Proxy>(members_.back_door(member)));
      const std::string& address = members_.machine(member).address;
      redirected += "ip daddr " + address +
                    " tcp dport 2379 redirect to :" + std::to_string(hub.proxies.back()->port()) +
                    "\n";
      reset += "iif eth0 ip saddr " + address +
               " tcp sport 2379 tcp flags & rst == 0 reject with tcp reset\n";
    }
  }
  // What comes on an old connection is answered with a reset, and so is what the hub says next.
  set_rules_of(hub.machine, reset, redirected);
  return hub.proxies;
}

void Hubs::direct(std::size_t i) {
  set_rules_of(all_[i].machine, "", "");
  all_[i].proxies.clear();
}

std::string Hubs::urls(std::size_t first) const {
  std::string all;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    all += (all.empty() ? "" : ",") + url((first + i) % all_.size());
  }
  return all;
}

Desk::Desk(Network& network, Hubs& hubs, const std::string& name) : machine_(network.add(name)) {
  const std::size_t hub = hubs.next_for_a_desk();
  const Stay stay(machine_);
  stage::Answer answer;
  const std::string token = hubs.token(name);
  EXPECT_TRUE(stage::eventually([&] {
    answer = stage_.login(hubs.urls(hub), token, {"--ca-file", hubs.certificate()});
    return answer.status == 0;
  })) << answer.all()
      << hubs.words_of(hub);
  stage_.env["LOCKKEEPER_SERVER"] = hubs.urls(hub);
}

}  // namespace lockkeeper::nemesis
