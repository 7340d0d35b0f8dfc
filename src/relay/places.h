// The places in the hub's queues of this machine's processes. When the last connection of a process
// closes, nobody is left who could take what it waits for, and the relay leaves the queue for it.
//
// Another process may go on with a request, by asking under the same request id. Then it has the
// place, and the lease if that was handed over; whoever had it before leaves nothing any more.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace lockkeeper::relay {

class Places {
 public:
  struct Waiting {
    std::string realm;
    Json caller;
    std::string request;  // which one it is; empty: nobody else can go on with it
  };
  // While it is held, nobody else asks for the same request, or leaves it.
  using Turn = std::unique_lock<std::mutex>;

  void joined(const std::string& process);
  // nullopt: it has other connections. Otherwise the ids that it waited under: they are leaving.
  std::optional<std::vector<std::string>> left(const std::string& process);

  // Before a call is sent. If it asks for a request, that is this process's from now on.
  Turn begin(const std::string& realm, const Json& call);
  // After it was answered.
  void note(const std::string& process, const std::string& realm, const Json& call,
            const std::string& reply);

  // Before the hub is told that it leaves. nullopt: another process has gone on with it.
  std::pair<Turn, std::optional<Waiting>> begin_to_leave(const std::string& id);
  void forget(const std::string& id);

 private:
  using Waits = std::map<std::string, Waiting>;  // by id
  struct Process {
    int connections = 0;
    Waits waits;
  };

  Turn turn_of(const std::string& request);
  std::optional<Waiting> leaving(const std::string& id);

  std::array<std::mutex, 64> turns_;
  std::mutex mutex_;  // protects what is below; taken after a turn
  std::map<std::string, Process> processes_;
  Waits leaving_;
};

}  // namespace lockkeeper::relay
