// Sessions of relays: who on other machines keeps leases here, and lives.
//
// A relay answers for the processes of its machine. It gives each a number (core::Attachment::
// remote), which belongs to its session from the first call that brings it. It beats; a session
// lasts a minute from when a beat came. After that its numbers are dead for good, also if the relay
// comes back, because somebody may have seen them as free. The first minute after a start belongs
// to those who come back: the hub takes over the numbers of sessions that it does not know.
//
// A number begins with its person's mark, so that nobody can speak for another's.
//
// Thread safety: all methods may be called from any thread. None blocks.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "core/hold.h"

namespace lockkeeper::hub {

class Sessions {
 public:
  explicit Sessions(const Clock& clock) : clock_(clock), started_ms_(clock.now().mono_ms) {}

  // How many bits of a number are its own; above them is the mark.
  static constexpr int kOwnBits = 48;
  static std::uint64_t mark_of(const std::string& person);
  // invalid_input: it is not one of this person's.
  static Result<void> check_mark(const std::string& person, std::uint64_t number);
  // Of what attach() gets as `relay`.
  static std::string session_in(const std::string& relay);
  // Does that relay beat at another hub before it asks that one? (realm::kMeetsFirst)
  static bool meets_first(const std::string& relay);

  struct Beat {
    std::string person;
    std::string session;  // 32 hexadecimal digits, of the relay's choice
    std::vector<std::uint64_t> living;
    std::vector<std::uint64_t> gone;
    std::int64_t at_ms = 0;  // by the clock of the relay's machine, when it was written
    // The store says that this hub keeps the session (presence.h), so all who live are known.
    bool kept = false;
  };
  // Returns those of `living` that are dead here. Who is missing there twice in a row is gone,
  // unless the beat is older than the call that brought the number: it may come late.
  // invalid_input: not a session. limit_exceeded: too many.
  Result<std::vector<std::uint64_t>> beat(const Beat& beat);

  // The session is over: so the store says.
  void lose(const std::string& person, const std::string& session);

  // From now on the number is one of that session. `relay`: the session, '@' and the time by the
  // relay's clock. invalid_input: it is not one of this person's,
  // or of another session. lost: it is dead.
  Result<void> attach(const std::string& person, const std::string& relay, const std::string& realm,
                      std::uint64_t number);

  // Where somebody has died since the last call: what it kept is over, and nobody may be looking.
  struct Deaths {
    std::set<std::string> realms;
    bool anywhere = false;  // of an earlier life of the hub: nobody knows where
    bool any() const { return anywhere || !realms.empty(); }
  };
  Deaths take_deaths();

  // nullopt: it is of no session that is known.
  std::optional<core::Alive> alive(std::uint64_t number) const;

  std::size_t count() const;

 private:
  struct Session {
    std::int64_t beat_ms = 0;
    struct Number {
      int missed = 0;             // so many beats in a row have left it out
      std::int64_t since_ms = 0;  // by the relay's clock
      std::set<std::string> realms;
    };
    std::map<std::uint64_t, Number> numbers;
  };
  using All = std::map<std::string, Session>;

  std::int64_t now_ms() const { return clock_.now().mono_ms; }
  bool is_first_minute(std::int64_t now) const;
  // Alive from now on; what it had is dropped if it was over.
  Result<All::iterator> open(const std::string& person, const std::string& session,
                             std::int64_t now);
  void drop(All::iterator session);
  void note_death(const Session::Number& number);
  void forget_over(std::int64_t now);
  bool may_take(const std::string& person, std::uint64_t number) const;

  const Clock& clock_;
  const std::int64_t started_ms_;
  mutable std::mutex mutex_;                     // protects all below
  All all_;                                      // by person and session
  std::map<std::uint64_t, std::string> owners_;  // the session of each number
  // The dead, and until when they are remembered: what they asked for may come after the news.
  std::map<std::uint64_t, std::int64_t> gone_;
  Deaths deaths_;
};

}  // namespace lockkeeper::hub
