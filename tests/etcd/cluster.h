// A real etcd for tests: one member or several, on free ports of the loopback interface, with their
// data in a temporary folder. Members can be killed, stopped and started again. Nothing of it
// outlives the test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "kv/etcd/etcd_store.h"

namespace lockkeeper::etcd_testing {

// The folder of etcd and etcdctl 3.5.30, which ./dev fetches; that of Debian 12's own, which is too
// old. nullopt, with the reason for GTEST_SKIP in why_not(): it could not be had.
std::optional<std::string> programs();
std::optional<std::string> old_programs();
std::string why_not();

struct ClusterOptions {
  int members = 1;
  std::vector<std::string> arguments = {};  // further ones, of every member
  bool tls = false;                         // certificates made for it, clients must have one too
  bool old = false;                         // Debian 12's
};

class Cluster {
 public:
  // Waits until it serves. Fails the test if it does not.
  explicit Cluster(ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::size_t size() const { return members_.size(); }
  std::string endpoint(std::size_t member) const;  // "127.0.0.1:port"
  // With all members, or those named; `rest` is a prefix and parameters.
  std::string url(const std::string& rest = "") const;
  std::string url_of(const std::vector<std::size_t>& members, const std::string& rest = "") const;
  const std::string& folder() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_.file(name); }

  void kill(std::size_t member);        // SIGKILL, and waits for its end
  void start(std::size_t member);       // again, with its data
  void stop(std::size_t member) const;  // SIGSTOP
  void go_on(std::size_t member) const;
  void wait_until_it_serves() const;
  // Which member leads; asks until one does.
  std::size_t leader() const;

  // Runs etcdctl (or etcdutl) on the cluster and returns what it prints; fails the test if it
  // fails.
  std::string ctl(const std::vector<std::string>& arguments) const;
  std::string run(const std::string& program, const std::vector<std::string>& arguments) const;
  // From now on there are users: root ("Wurzel1"), and hub ("Geheim1"), which has /team/ alone.
  void enable_users() const;
  // Takes all data away and puts back what a snapshot held: the same cluster, in an older state.
  // REQUIRES: one member
  void restore(const std::string& snapshot);

 private:
  struct Member {
    std::string name;
    std::uint16_t client_port = 0;
    std::uint16_t peer_port = 0;
    pid_t pid = -1;
  };
  void launch(Member& member) const;
  void make_certificates() const;
  std::string initial_cluster() const;
  std::string scheme() const { return options_.tls ? "https://" : "http://"; }

  const ClusterOptions options_;
  TestFolder folder_;
  std::vector<Member> members_;
};

// One cluster for all tests of this process.
Cluster& shared_cluster();
// A prefix that no other test has.
std::string fresh_prefix();

// A store, open; fails the test if it is not.
std::unique_ptr<kv::EtcdStore> open_store(const std::string& url, const std::string& seen_file = "",
                                          kv::EtcdOptions options = {});

}  // namespace lockkeeper::etcd_testing
