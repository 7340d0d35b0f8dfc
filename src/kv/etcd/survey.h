// What can be learnt of an etcd without changing a row of it: of each endpoint of an address, and
// of the cluster behind them. Asks also those that a hub would pass over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/client.h"
#include "kv/etcd/messages.h"
#include "kv/etcd/tls.h"

namespace lockkeeper::kv::etcd {

// One endpoint of the address.
struct Asked {
  Endpoint endpoint;
  std::optional<Error> error;    // it does not answer, or refuses this client
  std::optional<Status> status;  // none: see `error`, or the user may not see it
  std::string version;           // empty: not known
  std::uint64_t quota = 0;       // of the database, in bytes; 0: not known
};

struct Survey {
  std::vector<Asked> asked;  // in the order of the address
  // Empty: none of them told.
  std::vector<Member> members;
  std::optional<std::vector<Alarm>> alarms;
  bool hidden = false;  // the user may not see members or alarms

  // The row of the epoch as a quorum has it, or why it was not read.
  Result<std::optional<std::string>> epoch = std::nullopt;
  Header header;  // of that answer
  // How long a commit takes: the middle of kCommits that were asked for and could not happen,
  // because what they compare never holds. Members write those to their logs like any other. Or
  // why they refuse. REQUIRES: `epoch` was read
  Result<double> commit_ms = 0;
};
inline constexpr int kCommits = 9;

Survey survey(const Address& address, std::shared_ptr<const TlsFiles> files,
              const Patience& patience = {});

}  // namespace lockkeeper::kv::etcd
