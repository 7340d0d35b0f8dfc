// The relay's kept connections to the hubs of one table, with its token. As many as there are calls
// at once; each is used again. With several addresses, a call asks the one that answered last, then
// the others (rotation.h).
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/client.h"
#include "realm/server.h"
#include "relay/rotation.h"

namespace lockkeeper::relay {

// Of an object that somebody else wrote; empty or null: it is not there, or of another kind.
std::string text_at(const Json& json, const char* name);
const Json& object_at(const Json& json, const char* name);

// What may be another hub's to answer: nobody has, or it cannot use its store.
inline bool is_silence(Code code) {
  return code == Code::kStoreUnavailable || code == Code::kUnknown;
}

// A call must be harmless if repeated, also by another hub: it is, when a connection breaks.
struct HubCall {
  std::string target;
  std::string body;  // JSON
  int ms = 0;        // for all tries together
  int held_ms = 0;   // of these: the hub may hold its answer back so long
  // The header Lockkeeper-Relay, made for each try. Without it: none.
  std::function<std::string()> relay = {};
  // Called before each try, with its address and time. A failure is that address's failure.
  std::function<Result<void>(std::size_t at, int ms)> before = {};
  std::function<void(std::size_t at)> failed = {};  // called after each try without an answer
  std::optional<std::size_t> only = {};             // one try, at that address
};

class HubLink {
 public:
  // REQUIRES: there is an address
  HubLink(const realm::ServerUrls& urls, const realm::Login& login);
  ~HubLink();
  HubLink(const HubLink&) = delete;
  HubLink& operator=(const HubLink&) = delete;

  struct Answer {
    std::string body;
    std::size_t at = 0;  // whose answer it is
  };
  // POST. Errors: store_unavailable (nobody has done it), unknown (somebody may have),
  // operation_not_permitted (the certificate or the token), or what the hub says.
  Result<Answer> post(const HubCall& call);

 private:
  struct Address {
    std::string name;
    http::Endpoint endpoint;
    std::vector<std::unique_ptr<http::Client>> idle;  // protected by mutex_
  };
  using Clock = std::chrono::steady_clock;
  struct Try;
  struct Tries;

  std::unique_ptr<http::Client> take(std::size_t at);
  void keep(std::size_t at, std::unique_ptr<http::Client> client);
  void failed(std::size_t at);
  Try read(std::size_t at, http::Answered answered) const;
  Try ask(std::size_t at, const HubCall& call, int ms, Clock::time_point until);
  std::optional<Result<Answer>> ask_around(const HubCall& call, Tries& tries);
  Result<Answer> nobody(const Tries& tries) const;

  const std::string login_;  // as `login` takes them
  const std::string names_;  // for people
  const std::string token_;
  Rotation rotation_;
  std::mutex mutex_;
  std::vector<Address> all_;
};

}  // namespace lockkeeper::relay
