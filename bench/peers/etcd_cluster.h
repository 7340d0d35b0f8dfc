// A newer etcd than Debian 12 has: three members on this machine, as a hub wants them, with their
// data on disk and synced.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

// The folder of its programs: LOCKKEEPER_ETCD, or where ./dev has put them. Empty: there is none.
std::string etcd_folder();

class EtcdCluster {
 public:
  // Three members that serve, or why there are none.
  static std::expected<std::unique_ptr<EtcdCluster>, std::string> start(const Setup& setup);

  // For --store, with that prefix.
  std::string url(const std::string& prefix) const;
  // How many transactions the members have answered since they began, for all their clients.
  double transactions() const;

 private:
  EtcdCluster() = default;
  std::vector<int> ports_;
  std::vector<std::unique_ptr<Server>> members_;
};

}  // namespace lockkeeper::bench
