// A store on etcd as this machine's hub has it: the folder with what it knows of it (what it has
// seen, who waits, its name among hubs), and how it is opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hub/presence.h"
#include "realm/environment.h"
#include "service/runtime.h"

namespace lockkeeper::app {

// Where hubs of this user keep what is theirs.
Result<std::string> hub_folder(const realm::Environment& env);
// Where they keep what they know of that store; it need not be there.
Result<std::string> etcd_folder(const std::string& url, const realm::Environment& env);
// The addresses of the stores that hubs of this user serve now, on this machine.
Result<std::vector<std::string>> served_etcd(const realm::Environment& env);
// The file in it that says what was seen of the cluster.
std::string seen_file(const std::string& etcd_folder);

// The store of one hub. Two of them on one machine never share a folder: HubRealm::take().
class EtcdPlace {
 public:
  // `clock` must outlive it, and the runtime that it is put into.
  EtcdPlace(std::string url, std::string folder, const Clock& clock)
      : url_(std::move(url)), folder_(std::move(folder)), clock_(clock) {}

  // From then on the realm with this folder as its store has the store on etcd.
  void put_into(service::Runtime& runtime);
  // store_unavailable: this hub has not reached the store for so long that the rows of its sessions
  // could go while their relays still rely on them.
  Result<void> may_vouch() const;
  // Once the store is open: which hub this is.
  hub::KnownHub self() const;

  // From now on it is told which rows have changed, by whatever hub; empty: nobody is any more. It
  // is called on any thread, which must not be kept waiting.
  using Listener = std::function<void(const std::vector<std::string>& keys)>;
  void listen(Listener listener);

 private:
  Result<std::unique_ptr<kv::Store>> open();

  const std::string url_;
  const std::string folder_;
  const Clock& clock_;
  const std::shared_ptr<std::atomic<std::int64_t>> kept_ms_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  std::mutex mutex_;  // protects the listener
  Listener listener_;
  std::atomic<std::uint64_t> hub_ = 0;
  std::atomic<std::uint64_t> clock_name_ = 0;
};

}  // namespace lockkeeper::app
