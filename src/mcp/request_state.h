// The state that a server gets back when a client retries a call with requested input. It is
// sealed, because the client holds it meanwhile: a state that was changed, is too old, or belongs
// to another call or server is refused.
//
// The seal does not make it secret, and does not limit it to one use.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "mcp/call.h"
#include "mcp/catalogue.h"

namespace lockkeeper::mcp {

class RequestState {
 public:
  using Key = std::array<std::uint8_t, 32>;
  static constexpr std::int64_t kLifetimeMs = 600'000;  // a person may have to think

  // `clock` must outlive it. Each process has its own key.
  RequestState(const Key& key, const Clock& clock, std::int64_t lifetime_ms = kLifetimeMs)
      : key_(key), clock_(clock), lifetime_ms_(lifetime_ms) {}

  static Key new_key(Random& random);

  // For `requestState`: valid only for this method, name (or URI) and arguments.
  std::string seal(const Call& call, const Json& state) const;

  struct Opened {
    bool given = false;         // the call carries a state
    std::optional<Json> state;  // what was sealed; nullopt: nothing, or an invalid seal
    bool bad() const { return given && !state; }
  };
  Opened open(const Call& call) const;
  // The answer to an invalid state.
  static Answer refusal();

 private:
  std::string sign(const Call& call, const std::string& payload) const;

  const Key key_;
  const Clock& clock_;
  const std::int64_t lifetime_ms_;
};

}  // namespace lockkeeper::mcp
