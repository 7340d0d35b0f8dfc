// A process's line to the relay of this machine, which talks to the hub. Starts the relay if nobody
// is there.
//
// One request is two lines, "PROCESS REALM" and the call; one answer is one line. PROCESS is drawn
// at random by each process: when the last connection with it closes, the relay leaves the queues
// in which it waits.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "realm/server.h"

namespace lockkeeper::remote {

inline constexpr const char* kRelaySocket = "relay.sock";  // in the relay's folder

class RelayLine {
 public:
  // Longer than the relay takes for any call (relay.h), shorter than a command may run on without
  // the hub: whoever keeps a lease must not hang here.
  static constexpr int kAnswerMs = 9'000;

  // `program` becomes the relay; empty: `lockkeeper`, found by PATH.
  RelayLine(realm::Server server, std::string program, realm::Environment env, Random& random,
            int answer_ms = kAnswerMs);

  // store_unavailable: the relay cannot be started. unknown: the answer was lost. An answer may be
  // an error of the relay, such as that the hub cannot be reached.
  Result<std::string> ask(const std::string& request);

 private:
  Result<Fd> connect();
  Result<Fd> try_connect() const;
  Result<void> start_relay() const;
  Result<std::string> exchange(const Fd& socket, const std::string& request) const;
  void give_up(Fd socket);

  const realm::Server server_;
  const std::string program_;
  const realm::Environment env_;
  const std::string process_;
  const int answer_ms_;
  std::mutex mutex_;  // protects what is below
  std::vector<Fd> idle_;
  Fd given_up_;  // open, but what comes on it is the answer to an earlier request
};

}  // namespace lockkeeper::remote
