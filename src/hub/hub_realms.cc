#include "hub/hub_realms.h"

#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/folder.h"
#include "base/parse.h"
#include "base/text.h"
#include "host/file_ops.h"
#include "hub/people/passes.h"
#include "layout/make_store.h"
#include "layout/registry.h"
#include "realm/server.h"
#include "realm/store_url.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kRealmsMost = 1'000;

// Not on anybody's disk but the hub's: a root without files, and the store beside.
realm::Realm own_realm(const std::string& name, const std::string& folder,
                       const realm::Environment& env) {
  realm::Realm realm;
  realm.root = folder;
  realm.store_folder = folder + "/" + std::string(realm::kPlainStoreName);
  realm.name = name;
  realm.epoch_copy = realm::epoch_copy_for(realm.store_folder, env);
  return realm;
}

}  // namespace

Result<void> HubRealm::take() {
  LK_CHECK(layout::create_store_folder(site.realm()));
  const std::string& store = site.realm().store_folder;
  LK_ASSIGN(const Folder folder, Folder::open(store, "", Folder::Kind::kPrivate));
  LK_ASSIGN(taken_, host::try_lock(folder, kHubLockName));
  if (taken_) folder.share(taken_->get());  // its other users' hubs look at it, too
  // What an earlier hub said of itself is not true of this one.
  if (taken_ && ::ftruncate(taken_->get(), 0) == 0) return {};
  if (taken_) return fail(errno_error(errno, folder.path_of(kHubLockName), Code::kFailed));
  return fail(Code::kStoreBusy, "another hub serves the locks in " + quote(store),
              "stop that one, or serve another realm");
}

Result<void> HubRealm::tell_place(const std::string& address, bool asks) {
  address_ = address;
  const std::string line = to_line(HubPlace{address, name, asks, ::geteuid()});
  if (::ftruncate(taken_->get(), 0) == 0 && write_all(taken_->get(), line)) return {};
  return fail(errno_error(errno, site.realm().store_folder + "/" + kHubLockName, Code::kFailed));
}

Result<void> HubRealm::follow_settings() {
  constexpr std::int64_t kMomentMs = 100;
  const std::int64_t now = site.now().mono_ms;
  if (followed_ms_ != 0 && now - followed_ms_ < kMomentMs) return {};
  LK_CHECK(site.table().follow_settings());
  followed_ms_ = now;
  return {};
}

Result<void> check_realm_name(std::string_view name) {
  if (realm::is_hub_name(name)) return {};
  return fail(Code::kInvalidInput, quote(name) + " is not the name of a realm",
              "letters, digits, '.', '_', '-' and '/' between, at most 120, as in "
              "github.com/org/repo");
}

Result<HubRealm*> HubRealms::put(const std::string& name, realm::Realm realm) {
  LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime_, realm, nullptr));
  auto made = std::make_unique<HubRealm>(name, runtime_, std::move(realm), std::move(settings));
  const std::lock_guard hold(mutex_);
  const auto known = realms_.find(name);
  if (known != realms_.end()) return known->second.get();  // another thread was first
  if (realms_.size() >= kRealmsMost) {
    return fail(Code::kLimitExceeded, "the hub has " + std::to_string(kRealmsMost) + " realms",
                "use one of them, or ask whoever runs the hub to remove some");
  }
  LK_CHECK(made->take());
  return (realms_[name] = std::move(made)).get();
}

Result<void> HubRealms::add(const std::string& name, const std::string& folder,
                            const std::string& store) {
  LK_CHECK(check_realm_name(name));
  realm::FindRealm request;
  request.explicit_dir = folder;
  request.env = runtime_.env;
  LK_ASSIGN(realm::Realm realm, realm::find_realm(request));
  LK_CHECK(realm::choose_store(realm, store, runtime_.env));
  LK_CHECK(put(name, std::move(realm)));
  return {};
}

Result<std::vector<std::string>> HubRealms::open_created() {
  std::vector<std::string> busy;
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(folder_));
  if (!folder) return busy;
  LK_ASSIGN(const std::vector<std::string> names, folder->names());
  for (const std::string& escaped : names) {
    const std::string name = unescape_sign(escaped, '/');
    if (!check_realm_name(name)) continue;
    const auto created = create(name);
    if (!created && created.error().code != Code::kStoreBusy) return fail(created.error());
    if (!created) busy.push_back(name);
  }
  return busy;
}

Result<HubRealm*> HubRealms::create(const std::string& name) {
  LK_CHECK(check_realm_name(name));
  const std::string folder = folder_ + "/" + escape_sign(name, '/');
  LK_CHECK(make_folders(folder));
  return put(name, own_realm(name, folder, runtime_.env));
}

Result<HubRealm*> HubRealms::find(const std::string& name, const Person& person) {
  if (name.empty()) {
    std::vector<HubRealm*> open = all();
    std::erase_if(open, [&](const HubRealm* each) { return !person.may_enter(each->name); });
    if (open.size() == 1) return open.front();
    return fail(Code::kUsage, "the hub has " + counted(open.size(), "realm") + " for you",
                open.empty() ? "name one, or ask whoever runs the hub to create one"
                             : "name one, for example ?realm=" + open.front()->name);
  }
  if (!person.may_enter(name)) {
    return fail(Code::kOperationNotPermitted,
                person.name + " may not use the realm " + quote(name) + " of this hub",
                "ask whoever runs the hub for it");
  }
  if (HubRealm* const realm = known(name)) return realm;
  if (every_ && person.has(Role::kLock)) return create(name);
  return fail(Code::kNotFound, "the hub has no realm " + quote(name),
              "an admin creates it: POST /v1/realms");
}

HubRealm* HubRealms::known(const std::string& name) const {
  const std::lock_guard hold(mutex_);
  if (name.empty()) return realms_.size() == 1 ? realms_.begin()->second.get() : nullptr;
  const auto found = realms_.find(name);
  return found == realms_.end() ? nullptr : found->second.get();
}

std::vector<HubRealm*> HubRealms::all() const {
  std::vector<HubRealm*> all;
  const std::lock_guard hold(mutex_);
  for (const auto& [name, realm] : realms_) all.push_back(realm.get());
  return all;
}

}  // namespace lockkeeper::hub
