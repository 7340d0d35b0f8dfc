// The realm's functions. embed::Owner does the work.
#include <lockkeeper.h>

#include <algorithm>

#include "capi/border.h"
#include "capi/handles.h"
#include "capi/library.h"
#include "embed/boundary.h"
#include "embed/convert.h"
#include "service/report.h"

namespace lockkeeper::capi {
namespace {

// Where the first version of a struct ended.
#define LOCKKEEPER_ENDS_WITH(type, field) (offsetof(type, field) + sizeof(type::field))
constexpr std::size_t kOpenLeast = LOCKKEEPER_ENDS_WITH(lockkeeper_open_options, session);
constexpr std::size_t kAcquireLeast =
    LOCKKEEPER_ENDS_WITH(lockkeeper_acquire_options, on_lost_data);
constexpr std::size_t kCheckLeast = LOCKKEEPER_ENDS_WITH(lockkeeper_check_options, fence);
constexpr std::size_t kListLeast = LOCKKEEPER_ENDS_WITH(lockkeeper_list_options, overlapping);
constexpr std::size_t kRenewLeast = LOCKKEEPER_ENDS_WITH(lockkeeper_renew_options, lease_id_count);

Result<std::shared_ptr<RealmState>> realm_of(const lockkeeper_realm* handle) {
  auto state = find(handle);
  if (!state) return not_one(handle);
  if (state->owner->in_child()) return fail(embed::in_child_error());
  return state;
}

Mode mode_of(std::uint64_t flags) {
  return (flags & LOCKKEEPER_SHARED) != 0 ? Mode::kShared : Mode::kExclusive;
}

Json who_json(const embed::Owner& owner) {
  return {{"agent", owner.who().agent},
          {"session", text_or_null(owner.who().session)},
          {"realm", owner.realm().root},
          {"store", owner.realm().store_folder}};
}

Result<Reply> open(const lockkeeper_open_options* given, lockkeeper_realm** realm) {
  if (realm == nullptr) return fail(Code::kUsage, "there is no place for the realm", "pass one");
  *realm = nullptr;
  LK_ASSIGN(const auto options, options_of(given, kOpenLeast, "lockkeeper_open_options"));
  settle_faults();
  RealmOptions what;
  what.path = text_of(options.path);
  what.store = text_of(options.store);
  what.agent = text_of(options.agent);
  what.session = text_of(options.session);
  LK_ASSIGN(auto owner, embed::Owner::open(what));
  Reply reply{who_json(*owner)};
  *realm = put<lockkeeper_realm>(std::make_shared<RealmState>(std::move(owner)));
  return reply;
}

// --- acquire

Result<AcquireOptions> acquire_options(const lockkeeper_acquire_options& given) {
  LK_CHECK(check_flags(given.flags, LOCKKEEPER_SHARED));
  AcquireOptions options;
  options.mode = mode_of(given.flags);
  LK_ASSIGN(options.wait, duration_of(given.wait_ms, "wait_ms"));
  LK_ASSIGN(options.ttl, duration_of(given.ttl_ms, "ttl_ms"));
  options.reason = text_of(given.reason);
  options.task = text_of(given.task);
  options.request_id = text_of(given.request_id);
  if (given.on_lost == nullptr) return options;
  options.on_lost = [call = given.on_lost, data = given.on_lost_data](const Error& loss) {
    lockkeeper_answer* why = nullptr;
    give(Reply{Json::object(), loss}, &why);
    call(data, why);
    close(why);
  };
  return options;
}

// What the options name as their cancel, if anything.
Result<std::stop_token> cancel_of(const lockkeeper_cancel* handle) {
  if (handle == nullptr) return std::stop_token();
  const auto state = find(handle);
  if (!state) return not_one(handle);
  return state->stop.get_token();
}

Result<Reply> acquire(const lockkeeper_realm* handle, const char* const* resources,
                      std::size_t count, const lockkeeper_acquire_options* given,
                      lockkeeper_lease** lease) {
  if (lease == nullptr) return fail(Code::kUsage, "there is no place for the lease", "pass one");
  *lease = nullptr;
  LK_ASSIGN(const auto realm, realm_of(handle));
  LK_ASSIGN(const auto wanted, texts_of(resources, count, "resources"));
  LK_ASSIGN(const auto read, options_of(given, kAcquireLeast, "lockkeeper_acquire_options"));
  LK_ASSIGN(AcquireOptions options, acquire_options(read));
  LK_ASSIGN(const std::stop_token cancel, cancel_of(read.cancel));
  // Two things end the wait. Closing does so even if this call has not reached the owner yet.
  std::stop_source stop;
  const std::stop_callback asked(cancel, [&stop] { stop.request_stop(); });
  const std::stop_callback closed(realm->closing.get_token(), [&stop] { stop.request_stop(); });
  options.cancel = stop.get_token();

  LK_ASSIGN(auto taken, realm->owner->take(wanted, options));
  Reply reply{service::acquire_json(taken.result)};
  if (taken.handle) {
    *lease = put<lockkeeper_lease>(std::make_shared<LeaseState>(std::move(taken.handle)));
  } else {
    reply.error = embed::to_refusal(taken.result, wanted, realm->owner->now_wall_ms()).error;
  }
  return reply;
}

// --- questions

Error held(const core::CheckReply& reply, const std::vector<std::string>& resources,
           const embed::Owner& owner) {
  service::HintContext asked;
  asked.resources = resources;
  asked.asker = owner.who();
  asked.now_wall_ms = owner.now_wall_ms();
  asked.checked = true;
  return service::held_error(reply.conflicts, asked);
}

Result<Reply> check(const lockkeeper_realm* handle, const char* const* resources, std::size_t count,
                    const lockkeeper_check_options* given) {
  LK_ASSIGN(const auto realm, realm_of(handle));
  LK_ASSIGN(const auto wanted, texts_of(resources, count, "resources"));
  LK_ASSIGN(const auto options, options_of(given, kCheckLeast, "lockkeeper_check_options"));
  LK_CHECK(check_flags(options.flags, LOCKKEEPER_SHARED));
  const bool fence = options.fence != 0;
  const Mode mode = fence ? Mode::kShared : mode_of(options.flags);
  LK_ASSIGN(const auto reply, realm->owner->check(wanted, {.mode = mode, .fence = options.fence}));
  Reply said{service::check_json(reply)};
  if (fence && !reply.fence_current) {
    said.error = {Code::kLost,
                  "no live lease of this owner has fence " + std::to_string(options.fence) +
                      " and covers what was asked",
                  "stop changing it and ask for it again"};
  } else if (!fence && service::is_held(reply)) {
    said.error = held(reply, wanted, *realm->owner);
  }
  return said;
}

Result<Reply> list(const lockkeeper_realm* handle, const lockkeeper_list_options* given) {
  LK_ASSIGN(const auto realm, realm_of(handle));
  LK_ASSIGN(const auto read, options_of(given, kListLeast, "lockkeeper_list_options"));
  ListOptions options;
  options.agent = text_of(read.agent);
  options.task = text_of(read.task);
  options.overlapping = text_of(read.overlapping);
  LK_ASSIGN(const auto reply, realm->owner->list(options));
  return Reply{service::list_json(reply, realm->owner->who())};
}

// --- leases that are named

Result<Reply> renew(const lockkeeper_realm* handle, const char* const* resources, std::size_t count,
                    const lockkeeper_renew_options* given) {
  LK_ASSIGN(const auto realm, realm_of(handle));
  LK_ASSIGN(const auto wanted, texts_of(resources, count, "resources"));
  LK_ASSIGN(const auto read, options_of(given, kRenewLeast, "lockkeeper_renew_options"));
  LK_CHECK(check_flags(read.flags, LOCKKEEPER_ALL));
  RenewOptions options;
  options.all = (read.flags & LOCKKEEPER_ALL) != 0;
  LK_ASSIGN(options.ttl, duration_of(read.ttl_ms, "ttl_ms"));
  LK_ASSIGN(options.lease_ids, texts_of(read.lease_ids, read.lease_id_count, "lease_ids"));
  LK_ASSIGN(const auto renewed, realm->owner->renew(wanted, options));
  return Reply{service::leases_json("renewed", renewed)};
}

Result<Reply> break_lease(const lockkeeper_realm* handle, const char* lease_id,
                          const char* reason) {
  LK_ASSIGN(const auto realm, realm_of(handle));
  if (lease_id == nullptr) return fail(Code::kUsage, "no lease is named", "pass its id");
  LK_ASSIGN(auto broken, realm->owner->break_lease(lease_id, text_of(reason)));
  return Reply{service::leases_json("broken", {std::move(broken)})};
}

}  // namespace
}  // namespace lockkeeper::capi

using lockkeeper::Result;
using lockkeeper::capi::border;
using lockkeeper::capi::Reply;

lockkeeper_status lockkeeper_open(const lockkeeper_open_options* options, lockkeeper_realm** realm,
                                  lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::open(options, realm); });
}

lockkeeper_status lockkeeper_close(lockkeeper_realm* realm) {
  return border(nullptr, [&]() -> Result<Reply> {
    const auto state = lockkeeper::capi::close(realm);
    if (!state) return lockkeeper::capi::not_one(realm);
    if (state->owner->in_child()) return Reply{};
    state->closing.request_stop();
    state->owner->close();
    return Reply{};
  });
}

lockkeeper_status lockkeeper_whoami(const lockkeeper_realm* realm, lockkeeper_answer** answer) {
  return border(answer, [&]() -> Result<Reply> {
    LK_ASSIGN(const auto state, lockkeeper::capi::realm_of(realm));
    return Reply{lockkeeper::capi::who_json(*state->owner)};
  });
}

lockkeeper_status lockkeeper_acquire(const lockkeeper_realm* realm, const char* const* resources,
                                     size_t count, const lockkeeper_acquire_options* options,
                                     lockkeeper_lease** lease, lockkeeper_answer** answer) {
  return border(answer,
                [&] { return lockkeeper::capi::acquire(realm, resources, count, options, lease); });
}

lockkeeper_status lockkeeper_check(const lockkeeper_realm* realm, const char* const* resources,
                                   size_t count, const lockkeeper_check_options* options,
                                   lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::check(realm, resources, count, options); });
}

lockkeeper_status lockkeeper_list(const lockkeeper_realm* realm,
                                  const lockkeeper_list_options* options,
                                  lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::list(realm, options); });
}

lockkeeper_status lockkeeper_renew(const lockkeeper_realm* realm, const char* const* resources,
                                   size_t count, const lockkeeper_renew_options* options,
                                   lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::renew(realm, resources, count, options); });
}

lockkeeper_status lockkeeper_break(const lockkeeper_realm* realm, const char* lease_id,
                                   const char* reason, lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::break_lease(realm, lease_id, reason); });
}
