#include "app/etcd_place.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/text.h"
#include "host/file_ops.h"
#include "host/process.h"
#include "hub/people/passes.h"
#include "realm/server.h"
#include "wiring/etcd/etcd_store.h"

namespace lockkeeper::app {
namespace {

constexpr std::size_t kIdDigits = 16;

// Drawn once, and kept: a hub that starts again need not wait for what it was before.
Result<std::uint64_t> hub_id(const std::string& folder, Random& random) {
  const std::string path = folder + "/hub-id";
  const auto known = read_file(path, kIdDigits + 1);
  const std::string bytes = known ? from_hex(*known) : std::string();
  if (bytes.size() == sizeof(std::uint64_t)) return read_be64(bytes);
  std::string drawn;
  append_be64(drawn, random.next() | 1);
  LK_CHECK(replace_file_durably(path, to_hex(drawn)));
  return read_be64(drawn);
}

// What the doctor reads. It has names of files, and no secret.
constexpr const char* kAddressName = "address";
constexpr std::size_t kAddressBytesMax = 64U << 10;

std::string machine_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "?";
}

}  // namespace

Result<std::string> hub_folder(const realm::Environment& env) {
  const auto state = realm::xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  if (state) return *state + "/lockkeeper/hub";
  return fail(Code::kFailed, "neither XDG_STATE_HOME nor HOME is set", "set XDG_STATE_HOME");
}

Result<std::string> etcd_folder(const std::string& url, const realm::Environment& env) {
  LK_ASSIGN(const std::string hub, hub_folder(env));
  std::string number;
  append_be64(number, hash64(wiring::shown_etcd(url)));
  return hub + "-etcd/" + to_hex(number);
}

Result<std::vector<std::string>> served_etcd(const realm::Environment& env) {
  std::vector<std::string> urls;
  const auto hub = hub_folder(env);
  if (!hub) return urls;
  LK_ASSIGN(const auto all, Folder::find(*hub + "-etcd"));
  if (!all) return urls;
  LK_ASSIGN(const auto names, all->names());
  for (const std::string& name : names) {
    LK_ASSIGN(const auto folder, all->folder_if_any(name));
    if (!folder) continue;
    LK_ASSIGN(const bool served, host::is_locked(*folder, hub::kHubLockName));
    LK_ASSIGN(const auto url, folder->read(kAddressName, kAddressBytesMax));
    if (served && url) urls.push_back(*url);
  }
  std::ranges::sort(urls);
  return urls;
}

std::string seen_file(const std::string& etcd_folder) {
  return etcd_folder + "/seen";
}

void EtcdPlace::put_into(service::Runtime& runtime) {
  const auto otherwise = runtime.open_store;
  Random* const random = runtime.random;
  runtime.open_store =
      [this, random,
       otherwise](const layout::StoreRequest& request) -> Result<std::unique_ptr<kv::Store>> {
    if (request.realm.store_folder != folder_) return otherwise(request);
    LK_ASSIGN(hub_, hub_id(folder_, *random));
    LK_CHECK(replace_file_durably(folder_ + "/" + kAddressName, url_));
    LK_ASSIGN(const std::string boot, host::boot_id());
    std::string hub;
    append_be64(hub, hub_);
    clock_name_ = hash64(boot, hub) | 1;
    return open();
  };
  runtime.sharing = [this](const realm::Realm& realm) {
    if (realm.store_folder != folder_) return layout::Sharing();
    return layout::Sharing{clock_name_, hub_};
  };
}

Result<std::unique_ptr<kv::Store>> EtcdPlace::open() {
  const auto tell = [this](const std::vector<std::string>& keys) {
    const std::lock_guard hold(mutex_);
    if (listener_) listener_(keys);
  };
  return wiring::open_etcd(url_, seen_file(folder_), {kept_ms_, tell});
}

void EtcdPlace::listen(Listener listener) {
  const std::lock_guard hold(mutex_);
  listener_ = std::move(listener);
}

hub::KnownHub EtcdPlace::self() const {
  return {hub_, machine_name(), ""};
}

// The rows stay for 90 s after the last contact. A relay that is not answered any more has stopped
// what it runs after 45 s. So a hub without contact for 30 s must not answer.
Result<void> EtcdPlace::may_vouch() const {
  if (clock_.now().mono_ms - *kept_ms_ < realm::kOutOfContactMs) return {};
  return fail(Code::kStoreUnavailable,
              "the hub has not reached " + quote(wiring::shown_etcd(url_)) + " for half a minute",
              "is etcd running, and can the hub's machine reach it?");
}

}  // namespace lockkeeper::app
