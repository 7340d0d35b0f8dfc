#include "dialect/dirlock/guard.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/bytes.h"
#include "base/text.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/disk_path.h"
#include "realm/store_url.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::dialect::dirlock {
namespace {

// A round fails only because another process took or released the lock in between.
constexpr int kRoundsMax = 16;

Result<std::string> physical(const std::string& path, const std::string& what, Code code,
                             const std::string& hint) {
  char found[PATH_MAX];
  if (::realpath(path.c_str(), found) == nullptr) {
    return fail(code, what + " " + errno_error(errno, quote(path)).message, hint);
  }
  struct stat status{};
  if (::stat(found, &status) != 0 || !S_ISDIR(status.st_mode)) {
    return fail(code, what + " " + quote(path) + " is not a folder", hint);
  }
  return std::string(found);
}

std::string own_session(const realm::Identity& who, Random& random) {
  std::string bytes;
  append_be64(bytes, random.next());
  return (who.session.empty() ? "" : who.session + "/") + "guard-" + to_hex(bytes).substr(0, 8);
}

}  // namespace

Result<void> Guard::find_folders() {
  LK_ASSIGN(request_.folder, physical(request_.folder, "the folder", Code::kInvalidInput,
                                      "name a folder that exists"));
  if (!is_valid_utf8(request_.folder)) {
    return fail(Code::kInvalidInput, quote(request_.folder) + " is not UTF-8",
                "a lock file cannot name it; rename the folder");
  }
  const std::string temp = temp_folder(runtime_.env);
  LK_ASSIGN(entry_.root, physical(temp, "the folder for temporary files", Code::kStoreUnavailable,
                                  "make it, or set TMPDIR to a folder that exists"));
  entry_.kind = kKind;
  name_ = lock_name(request_.folder);
  path_ = realm::join_path(entry_.root, name_);
  return {};
}

Result<void> Guard::open_places(const core::Owner& owner, service::ParentLease under) {
  const realm::Environment& env = runtime_.env;
  LK_ASSIGN(realm::Realm machine, realm::machine_realm(env));
  LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime_, machine));
  machine_ = std::make_unique<Place>(runtime_, std::move(machine), std::move(settings), owner,
                                     service::ParentLease{});
  auto realm = realm::realm_of(request_.folder, env);
  if (!realm && realm.error().code == Code::kNotFound) {
    // The first lock here makes the folder a realm. It is one from now on, so that the guard's
    // lease stands in its table. Where we cannot write, the machine realm alone has it.
    if (::access(request_.folder.c_str(), W_OK) != 0) return {};
    realm::FindRealm here;
    here.explicit_dir = request_.folder;
    here.env = env;
    realm = realm::find_realm(here);
  }
  if (!realm) return fail(std::move(realm.error()));
  LK_CHECK(realm::choose_store(*realm, request_.store, env));
  LK_ASSIGN(settings, layout::load_settings(runtime_, *realm));
  repository_ = std::make_unique<Place>(runtime_, std::move(*realm), std::move(settings), owner,
                                        std::move(under));
  return {};
}

Result<std::unique_ptr<Guard>> Guard::open(const service::Runtime& runtime,
                                           const realm::Identity& who, service::ParentLease under,
                                           const GuardRequest& request, Say say) {
  auto guard = std::unique_ptr<Guard>(new Guard(runtime, request, std::move(say)));
  LK_CHECK(guard->find_folders());
  const core::Owner owner{who.agent, own_session(who, *runtime.random)};
  LK_CHECK(guard->open_places(owner, std::move(under)));
  return guard;
}

// --- taking -------------------------------------------------------------------------------------

Result<bool> Guard::take() {
  say_(acquiring_line(request_.folder));
  for (int round = 0; round < kRoundsMax; ++round) {
    LK_ASSIGN(Step step, clear_the_way());
    if (step == Step::kDone) {
      auto taken = take_leases();
      if (!taken || *taken != Step::kDone) release_all();
      if (!taken) return fail(std::move(taken.error()));
      step = *taken;
    }
    if (step == Step::kRefused) return false;
    if (step == Step::kAgain) continue;
    record_.pid = ::getpid();
    record_.cwd = request_.folder;
    record_.hostname = here(*runtime_.clock).hostname;
    record_.agents = request_.agents;
    if (record_.agents.empty()) record_.agents = {locks().owner().agent};
    record_.start_ms = lease().acquired_wall_ms;
    record_.start_time = format_time(lease().acquired_wall_ms);
    say_(acquired_line(record_.pid, lease().acquired_wall_ms));
    return true;
  }
  say_(race_line());
  refused_ = {};
  refused_.path = path_;
  refused_.error = {Code::kHeld, "others keep taking the lock of " + quote(request_.folder),
                    "try again"};
  return false;
}

Result<Guard::Step> Guard::take_leases() {
  // The machine realm first: it covers lock files of another TMPDIR.
  LK_ASSIGN(const Step step, take_in(*machine_, "dir:" + request_.folder, !repository_));
  if (step != Step::kDone || !repository_) return step;
  const std::string folder = request_.folder == "/" ? "/" : request_.folder + "/";
  return take_in(*repository_, folder, true);
}

Result<Guard::Step> Guard::take_in(Place& place, const std::string& resource, bool shown) {
  service::AcquireCommand command;
  command.wanted.texts = {resource};
  command.wanted.base.kind = realm::Base::kRoot;
  if (resource.starts_with('/')) command.wanted.syntax = key::Syntax::kLiteral;
  command.attach_pid = ::getpid();
  command.terms.reason = "directory lock";
  command.terms.task = join(request_.agents, ",");
  if (shown) {
    LK_ASSIGN(command.terms.layout,
              layout::use_layout(place.site.table(), {entry_, "agent-dir-*.lock"}));
    command.terms.artefact = name_;
  }
  auto asked = place.locks.acquire(command);
  // The lock file changed while this was decided: see who holds it now.
  if (!asked && asked.error().code == Code::kStoreBusy && shown) return Step::kAgain;
  if (!asked) return fail(std::move(asked.error()));
  service::AcquireResult& result = *asked;
  if (service::outcome_status(result.outcome) != 0) {
    return judge_conflicts(place, result.conflicts);
  }
  const std::int64_t now = mono_ms();
  const std::int64_t length = result.lease.terms.ttl_ms;
  leases_.push_back(
      {&place, std::move(result.lease), now, length == kNoEnd ? INT64_MAX : now + length / 3});
  return Step::kDone;
}

void Guard::release_all() {
  while (!leases_.empty()) {
    const core::Lease& lease = leases_.back().lease;
    // A lease that cannot be given back ends with this process.
    static_cast<void>(leases_.back().place->locks.give_back(lease.id, lease.then));
    leases_.pop_back();
  }
}

// --- holding ------------------------------------------------------------------------------------

std::optional<std::string> Guard::lost_file() {
  const auto folder = Folder::open(entry_.root, "");
  if (!folder) {
    if (folder.error().code != Code::kNotFound) return std::nullopt;  // cannot tell
    return "the folder for temporary files is gone";
  }
  const auto found = read_lock(*folder, name_);
  if (!found) return "another file has replaced the lock file";
  if (!*found) return "the lock file was removed";
  if (!(*found)->record) return "the lock file was overwritten";
  const LockRecord& there = *(*found)->record;
  if (there.identity() == record_.identity()) return std::nullopt;
  return "PID " + std::to_string(there.pid) + " took it (" + there.start_time + ")";
}

std::optional<std::string> Guard::lost_lease(Held& held) {
  service::Locks& locks = held.place->locks;
  const auto current = locks.is_current(held.lease.id, held.lease.fence());
  if (current && !*current) return "its lease was ended; see: lockkeeper log";
  const std::int64_t now = mono_ms();
  const std::int64_t length = held.lease.terms.ttl_ms;
  if (length == kNoEnd) return std::nullopt;
  if (now >= held.next_renewal_ms) {
    service::RenewCommand command;
    command.lease_ids = {held.lease.id.text()};
    if (locks.renew(command)) {
      held.acknowledged_ms = now;
      held.next_renewal_ms = now + length / 3;
    }
  }
  // Not renewed for two thirds of its ttl: it counts as lost (I7).
  if (now - held.acknowledged_ms > length / 3 * 2) return "its lease could not be renewed in time";
  return std::nullopt;
}

// Who ended one of the leases, if the table knows. The lock file only shows that it is gone.
std::optional<std::string> Guard::broken_by() const {
  for (const Held& held : leases_) {
    const auto found = service::find_lost(held.place->site, held.lease.id);
    if (!found || !*found || (*found)->cause != "broken") continue;
    const core::LostLease& lost = **found;
    return service::owner_text(lost.by) + " broke it" +
           (lost.reason.empty() ? "" : ", reason " + quote(lost.reason));
  }
  return std::nullopt;
}

std::optional<std::string> Guard::lost() {
  if (lost_) return lost_;
  lost_ = lost_file();
  for (Held& held : leases_) {
    if (!lost_) lost_ = lost_lease(held);
  }
  if (!lost_) return std::nullopt;
  if (auto breaker = broken_by()) lost_ = std::move(breaker);
  return lost_;
}

Result<void> Guard::give_back() {
  static_cast<void>(lost());
  const std::int64_t held_ms = wall_ms() - lease().acquired_wall_ms;
  // The fate of the lock file is recorded before the lease is released.
  if (lost_) static_cast<void>(locks().scan_layouts());
  release_all();
  if (lost_) return fail(Code::kLost, "the directory lock was lost: " + *lost_);
  say_(released_line(held_ms));
  return {};
}

}  // namespace lockkeeper::dialect::dirlock
