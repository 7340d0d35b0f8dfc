// Who has logged in at the page with a pass (people/passes.h). Their tokens are known to this hub
// alone and end with it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "hub/hub_realms.h"
#include "hub/people/person.h"

namespace lockkeeper::hub {

class Visitors {
 public:
  // `realms` must outlive it.
  explicit Visitors(HubRealms& realms) : realms_(realms) {}

  bool has_pass(std::string_view pass) const;
  struct Welcome {
    std::string token;
    Person person;  // with every role, in the realm of the pass
  };
  // nullopt: it is no pass, or no longer one.
  std::optional<Welcome> log_in(std::string_view pass);
  // Whose token it is.
  std::optional<Person> find(std::string_view token) const;

 private:
  struct Known {
    std::string digest;
    Person person;
  };
  HubRealms& realms_;
  mutable std::mutex mutex_;  // protects what is below; and one at a time takes a pass
  std::deque<Known> known_;
};

}  // namespace lockkeeper::hub
