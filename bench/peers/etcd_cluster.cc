#include "bench/peers/etcd_cluster.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "base/parse.h"
#include "kv/etcd/client.h"

namespace lockkeeper::bench {
namespace {

constexpr int kMembers = 3;

std::string at(int port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

bool serves(const std::string& url) {
  const auto address = kv::etcd::parse_address(url);
  return address && kv::etcd::Client::open(*address);
}

// The sum of one counter's lines whose labels have that text.
double counted_in(const std::string& page, std::string_view counter, std::string_view label) {
  double sum = 0;
  for (const std::string& line : words_in(page, "\n")) {
    if (!line.starts_with(counter) || line.find(label) == std::string::npos) continue;
    sum += std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return sum;
}

std::string metrics_of(int port) {
  const Fd fd = connect_loopback(port);
  const std::string ask = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
  static_cast<void>(::send(fd.get(), ask.data(), ask.size(), MSG_NOSIGNAL));
  std::string page;
  char block[16384];
  for (ssize_t n = 0; (n = ::read(fd.get(), block, sizeof block)) > 0;) {
    page.append(block, static_cast<std::size_t>(n));
  }
  return page;
}

}  // namespace

std::string etcd_folder() {
  const char* const named = std::getenv("LOCKKEEPER_ETCD");
  const std::string folder = named != nullptr ? named : LOCKKEEPER_BENCH_ETCD;
  return ::access((folder + "/etcd").c_str(), X_OK) == 0 ? folder : "";
}

std::expected<std::unique_ptr<EtcdCluster>, std::string> EtcdCluster::start(const Setup& setup) {
  const std::string folder = etcd_folder();
  if (folder.empty()) return std::unexpected("etcd 3.5.28 or newer: not in build/etcd");
  std::unique_ptr<EtcdCluster> cluster(new EtcdCluster());
  std::vector<int> peers;
  std::string all;
  for (int i = 0; i < kMembers; ++i) {
    cluster->ports_.push_back(free_port());
    peers.push_back(free_port());
    all += (i == 0 ? "m" : ",m") + std::to_string(i) + "=" + at(peers.back());
  }
  for (int i = 0; i < kMembers; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::string client = at(cluster->ports_[index]);
    const std::string place = setup.fresh("etcd-m" + std::to_string(i));
    cluster->members_.push_back(std::make_unique<Server>(Server::Launch{
        {folder + "/etcd", "--name", "m" + std::to_string(i), "--data-dir", place + "/data",
         "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls",
         at(peers[index]), "--initial-advertise-peer-urls", at(peers[index]), "--initial-cluster",
         all, "--log-level", "error"},
        place + "/log",
        std::nullopt,
        {},
        SIGTERM}));
  }
  for (const auto& member : cluster->members_) {
    if (!member->wait_until([&] { return serves(cluster->url("/")); })) {
      return std::unexpected("etcd: three members did not begin to serve");
    }
  }
  return cluster;
}

std::string EtcdCluster::url(const std::string& prefix) const {
  std::string url;
  for (const int port : ports_) {
    url += (url.empty() ? "etcd://127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return url + prefix;
}

double EtcdCluster::transactions() const {
  double sum = 0;
  for (const int port : ports_) {
    sum += counted_in(metrics_of(port), "grpc_server_handled_total", "grpc_method=\"Txn\"");
  }
  return sum;
}

}  // namespace lockkeeper::bench
