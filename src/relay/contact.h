// The relay's contact with the hubs: the link with the token as it is now, and the beats that say
// who lives here. Each address hears a beat before anything that is about somebody who lives here:
// another hub then knows the session. Where there are several, it hears one before any call: what
// the former one does with a call that it has not answered is void from then on.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "realm/environment.h"
#include "realm/server.h"
#include "relay/hub_link.h"
#include "relay/tenants.h"

namespace lockkeeper::relay {

struct Beaten {
  std::uint64_t mark = 0;
  std::string person;
  std::vector<std::uint64_t> lost;
  bool lost_session = false;
  std::size_t at = 0;  // which address has answered
};
struct BeatCall {
  std::int64_t at_ms = 0;  // when it was written, by the clock of this machine
  int ms = 0;
  std::optional<std::size_t> only = {};  // that address alone
};
Result<Beaten> send_beat(HubLink& link, const std::string& version, const Tenants::Report& report,
                         const BeatCall& call);

Result<realm::Login> login_for(const std::string& url, const realm::Environment& env);

class Contact {
 public:
  // `tenants` must outlive it. The time of the last answered beat goes to `beat_file`.
  Contact(realm::ServerUrls urls, realm::Environment env, std::string version, Tenants& tenants,
          Fd beat_file);

  bool has_several() const { return urls_.size() > 1; }  // addresses
  // Has a beat ever been answered?
  bool ever() const { return last_ms_ >= 0; }
  // The hub has given away what was attached here.
  bool is_over() const;
  std::uint64_t mark() const { return mark_; }  // of the person, in numbers

  Result<void> beat();
  // Before somebody is attached: whoever keeps a lease counts from the last answered beat.
  Result<void> keep();
  // `about_tenants`: it brings the number of somebody who lives here.
  Result<std::string> post(HubCall call, bool about_tenants);

 private:
  struct Link {
    Link(const realm::ServerUrls& urls, const realm::Login& login)
        : hubs(urls, login), meeting(urls.size()) {}
    HubLink hubs;
    std::atomic<std::size_t> met = SIZE_MAX;  // the address that has answered the last beat
    std::deque<std::timed_mutex> meeting;     // by address: one beat at a time
  };

  Result<std::shared_ptr<Link>> link();
  Result<void> beat_to(Link& link, const std::optional<std::size_t>& only, int ms);
  Result<bool> try_beat(Link& link, const std::optional<std::size_t>& only, int ms);
  void note_contact(std::int64_t sent_ms);
  Result<void> meet(Link& link, std::size_t at, int ms);

  const realm::ServerUrls urls_;
  const realm::Environment env_;
  const std::string version_;
  Tenants& tenants_;
  const Fd beat_file_;
  const std::int64_t begun_ms_;

  std::mutex beat_mutex_;                   // one beat at a time that goes to whoever answers
  std::atomic<std::int64_t> last_ms_ = -1;  // when the last answered beat was sent; -1: never
  std::atomic<std::uint64_t> mark_ = 0;

  std::mutex mutex_;            // protects what is below
  std::uint64_t logins_ = 0;    // what they looked like when
  std::shared_ptr<Link> link_;  // was made
};

}  // namespace lockkeeper::relay
