#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "layout/registry.h"
#include "linear/door.h"
#include "service/locks.h"
#include "service/report.h"
#include "support/stage.h"
#include "wiring/embedded_store.h"
#include "wiring/lock_service.h"

namespace lockkeeper::linear {
namespace {

// What the codes are called in a history. Whatever else is wrong, the run is over.
std::string word_of(const Error& error, const Asked& asked) {
  switch (error.code) {
    case Code::kLost:
      return "lost";
    case Code::kNotFound:
      return "not_found";
    case Code::kNotOwner:
      return "not_owner";
    case Code::kUnknown:
      return "unknown";
    case Code::kInvalidInput:
      if (!asked.request_id.empty()) return "misused";
      give_up(error.message);
    case Code::kLimitExceeded:  // nested too deep
      return "failed";
    case Code::kStoreUnavailable:
      ::usleep(5'000);  // the hub is back soon
      return asked.wait ? "unknown" : "failed";
    case Code::kStoreBusy:
    case Code::kNoSpace:
      // The queue was entered by a commit of its own.
      return asked.wait ? "unknown" : "failed";
    default:
      give_up(std::string(code_name(error.code)) + ": " + error.message);
  }
}

class LibraryDoor final : public Door {
 public:
  LibraryDoor(const std::string& repo, const std::map<std::string, std::string>& env) : env_(env) {
    runtime_.clock = &clock_;
    runtime_.random = &random_;
    runtime_.env = [env](const char* name) -> std::optional<std::string> {
      const auto found = env.find(name);
      if (found == env.end()) return std::nullopt;
      return found->second;
    };
    runtime_.open_store = [this](const layout::StoreRequest& request) {
      return wiring::open_embedded(runtime_, request);
    };
    realm::FindRealm where;
    where.explicit_dir = repo;
    where.cwd = repo;
    where.env = runtime_.env;
    auto realm = realm::find_realm(where);
    if (!realm) give_up(realm.error().message);
    runtime_.relay_program = stage::Stage::program();
    auto settings = layout::load_settings(runtime_, *realm, nullptr);
    if (!settings) give_up(settings.error().message);
    runtime_.make_service = wiring::make_service;
    site_ = std::make_unique<service::Site>(runtime_, *realm, *settings);
  }

  bool ask(Call& call, std::int64_t wait_ms, const std::function<void()>& queued) override {
    service::ParentLease parent;
    if (!call.asked.under.empty()) {
      parent = {*core::LeaseId::from_text(call.asked.under), call.asked.under_fence};
    }
    service::Locks locks(*site_, owner_of(call.owner), parent);
    switch (call.asked.verb) {
      case Verb::kAcquire:
        acquire(locks, call, wait_ms, queued);
        break;
      case Verb::kRelease:
        release(locks, call);
        break;
      case Verb::kRenew:
        renew(locks, call);
        break;
      case Verb::kCheck:
        check(locks, call);
        break;
      case Verb::kBreak:
        break_key(locks, call);
        break;
    }
    return true;
  }

 private:
  static service::Wanted wanted(const Asked& asked) {
    service::Wanted wanted;
    for (const Wish& wish : asked.wishes) {
      const auto parsed = key::parse(wish.resource, {});
      if (!parsed) give_up(parsed.error().message);
      wanted.resources.push_back(parsed->resource);
      wanted.mode = wish.mode;
    }
    return wanted;
  }

  core::Attachment own_slot() {
    for (;;) {
      const auto slot = site_->table().own_slot();
      if (slot) return *slot;
      // On a busy machine somebody may not run for seconds while others wait for him.
      if (slot.error().code != Code::kStoreBusy) give_up(slot.error().message);
    }
  }

  static std::set<std::string> owners(const std::vector<core::Conflict>& conflicts) {
    std::set<std::string> names;
    for (const core::Conflict& conflict : conflicts) {
      names.insert(name_without_token(conflict.holder.owner));
    }
    return names;
  }

  void acquire(service::Locks& locks, Call& call, std::int64_t wait_ms,
               const std::function<void()>& queued) {
    service::AcquireCommand command;
    command.wanted = wanted(call.asked);
    command.ttl_ms = call.asked.ttl_ms;
    command.terms.orphan_grace_ms = call.asked.grace_ms;
    command.terms.request_id = call.asked.request_id;
    if (!call.asked.attach.empty()) command.attachment = own_slot();
    bool told = false;
    if (call.asked.wait) command.wait_ms = wait_ms;
    command.on_wait = [&](const service::WaitProgress&) {
      if (!told) queued();
      told = true;
      return true;
    };
    const auto result = locks.acquire(command);
    if (!result) {
      call.told.word = word_of(result.error(), call.asked);
      if (call.told.word == "lost" && may_be_repeated(call, env_)) call.told.word = "unknown";
      return;
    }
    call.told.word = service::outcome_name(result->outcome);
    for (const core::LostLease& lost : result->lost) call.told.lost.push_back(lost.id.text());
    if (service::outcome_status(result->outcome) == 0) return take(call, result->lease);
    if (result->outcome == core::Outcome::kHeld) call.told.by = owners(result->conflicts);
  }

  void take(Call& call, const core::Lease& lease) const {
    call.told.lease = lease.id.text();
    call.told.fence = lease.fence();
    // A hub says how much is left, and that was some time ago.
    if (site_->server() == nullptr) call.told.until_ms = lease.deadline_mono_ms;
  }

  void release(service::Locks& locks, Call& call) {
    service::ReleaseCommand command;
    command.wanted = wanted(call.asked);
    if (!call.asked.attach.empty()) command.by = own_slot();
    if (!call.asked.lease.empty()) command.lease_ids = {call.asked.lease};
    const bool only_own = call.asked.only_own_hold;
    const auto reply =
        only_own ? locks.give_back(core::LeaseId::from_text(call.asked.lease).value(), command.by)
                 : locks.release(command);
    if (!reply) {
      call.told.word = word_of(reply.error(), call.asked);
    } else {
      call.told.word = !reply->released.empty()    ? "released"
                       : only_own                  ? "kept"
                       : !reply->not_owner.empty() ? "not_owner"
                                                   : "not_held";
    }
  }

  void renew(service::Locks& locks, Call& call) const {
    service::RenewCommand command;
    command.lease_ids = {call.asked.lease};
    if (!call.asked.keep_ttl) command.ttl_ms = call.asked.ttl_ms;
    const auto renewed = locks.renew(command);
    if (!renewed) {
      call.told.word = word_of(renewed.error(), call.asked);
      return;
    }
    call.told.word = "renewed";
    take(call, renewed->front());
  }

  static void check(service::Locks& locks, Call& call) {
    service::CheckCommand command;
    command.wanted = wanted(call.asked);
    command.fence = call.asked.fence.value_or(0);
    const auto reply = locks.check(command);
    if (!reply) {
      call.told.word = word_of(reply.error(), call.asked);
      return;
    }
    call.told.word = "checked";
    call.told.free = reply->free;
    call.told.mine = reply->mine;
    call.told.current = reply->fence_current;
    call.told.by = owners(reply->conflicts);
  }

  static void break_key(service::Locks& locks, Call& call) {
    service::BreakCommand command;
    command.wanted = wanted(call.asked);
    command.reason = "recorded";
    const auto broken = locks.break_leases(command);
    if (!broken) {
      call.told.word = word_of(broken.error(), call.asked);
      return;
    }
    call.told.word = "broken";
    call.told.by.emplace();
    for (const core::Lease& lease : *broken) call.told.by->insert(name_without_token(lease.owner));
  }

  const std::map<std::string, std::string> env_;
  const SystemClock clock_;
  SystemRandom random_;
  service::Runtime runtime_;
  std::unique_ptr<service::Site> site_;
};

}  // namespace

std::unique_ptr<Door> library_door(const std::string& repo,
                                   const std::map<std::string, std::string>& env) {
  return std::make_unique<LibraryDoor>(repo, env);
}

std::int64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "linear: %s\n", why.c_str());
  ::_exit(9);
}

}  // namespace lockkeeper::linear
