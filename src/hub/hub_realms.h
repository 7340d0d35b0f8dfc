// The realms of a hub, by name: folders that it was given, and those that it keeps itself.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "hub/pace.h"
#include "hub/people/person.h"
#include "hub/presence.h"
#include "service/site.h"

namespace lockkeeper::hub {

// Never goes away while the hub runs.
struct HubRealm {
  HubRealm(std::string named, const service::Runtime& runtime, realm::Realm realm,
           realm::Settings settings)
      : name(std::move(named)), site(runtime, std::move(realm), std::move(settings)) {}

  // Only one hub can judge the clients that wait in a table. store_busy: another one has it.
  Result<void> take();
  // Its table is one that other hubs serve, too. REQUIRES: the table is open; before any request.
  void share(std::unique_ptr<Presence> presence) { presence_ = std::move(presence); }
  Presence* presence() const { return presence_.get(); }  // null: no other hub serves it
  // So that `lockkeeper open` finds the hub.
  Result<void> tell_place(const std::string& address, bool asks);
  // Its rows among those of other hubs are there; see Presence::keep_up().
  Result<void> keep_presence() { return presence_ ? presence_->keep_up(address_) : Result<void>(); }
  // The settings as they are now, or were a moment ago: looking costs as much as a lock.
  Result<void> follow_settings();

  const std::string name;
  service::Site site;
  Pace pace;
  std::atomic<bool> is_kept_up = false;  // a thread is at it: see keep_up()

 private:
  std::atomic<std::int64_t> followed_ms_ = 0;
  std::optional<Fd> taken_;
  std::unique_ptr<Presence> presence_;
  std::string address_;  // as clients of this machine call it
};

// Segments of letters, digits, '.', '_' and '-' with '/' between, at most 120 characters: what
// `github.com/org/repo` looks like. invalid_input names the rule.
Result<void> check_realm_name(std::string_view name);

class HubRealms {
 public:
  // `runtime` must outlive it. `folder`: where it keeps its own realms. `every`: a realm that
  // somebody names is created.
  HubRealms(const service::Runtime& runtime, std::string folder, bool every)
      : runtime_(runtime), folder_(std::move(folder)), every_(every) {}

  // The realm of that folder, under this name; `store`: as --store.
  Result<void> add(const std::string& name, const std::string& folder, const std::string& store);
  // What earlier runs have created. Returns those that another hub serves.
  Result<std::vector<std::string>> open_created();
  // Creates one in the hub's own folder; the same one if it is there.
  Result<HubRealm*> create(const std::string& name);

  // The realm that a person names; "": the one that it may enter. operation_not_permitted: it may
  // not. not_found: there is none. limit_exceeded: there are too many to create another.
  Result<HubRealm*> find(const std::string& name, const Person& person);
  // The same, if it is known already, whoever asks; null: not known.
  HubRealm* known(const std::string& name) const;
  std::vector<HubRealm*> all() const;

 private:
  Result<HubRealm*> put(const std::string& name, realm::Realm realm);

  const service::Runtime& runtime_;
  const std::string folder_;
  const bool every_;
  mutable std::mutex mutex_;  // protects what is below
  std::map<std::string, std::unique_ptr<HubRealm>> realms_;
};

}  // namespace lockkeeper::hub
