// The functions of leases. embed::Handle does the work.
#include <lockkeeper.h>

#include "capi/border.h"
#include "capi/handles.h"
#include "core/requests.h"
#include "service/report.h"

namespace lockkeeper::capi {
namespace {

Reply lease_reply(const embed::Handle& handle, bool lost, std::optional<Error> error) {
  const embed::KeptLease& entry = handle.entry();
  return {{{"id", entry.id_text}, {"fence", entry.fence}, {"lost", lost}}, std::move(error)};
}

// `wanted`: an answer. Without one this is asked in loops, and most of its time would go into JSON.
Result<Reply> look(const lockkeeper_lease* lease, bool wanted) {
  const auto state = find(lease);
  if (!state) return not_one(lease);
  auto loss = state->handle->loss();
  if (!wanted) return Reply{Json(), std::move(loss)};
  const bool lost = loss.has_value();
  return lease_reply(*state->handle, lost, std::move(loss));
}

Result<Reply> check(const lockkeeper_lease* lease) {
  const auto state = find(lease);
  if (!state) return not_one(lease);
  auto current = state->handle->check();
  if (current) return lease_reply(*state->handle, false, std::nullopt);
  const bool lost = current.error().code == Code::kLost;
  return lease_reply(*state->handle, lost, std::move(current.error()));
}

Result<Reply> release(const lockkeeper_lease* lease) {
  const auto state = find(lease);
  if (!state) return not_one(lease);
  if (state->releasing.exchange(true)) {
    return fail(Code::kUsage, "another thread is releasing this lease", "let one thread do it");
  }
  const auto done = state->handle->release();
  state->releasing = false;
  if (!done) return fail(done.error());
  core::ReleaseReply reply;
  reply.released = state->handle->entry().resources;
  return Reply{service::release_json(reply)};
}

}  // namespace
}  // namespace lockkeeper::capi

using lockkeeper::Result;
using lockkeeper::capi::border;
using lockkeeper::capi::Reply;

const char* lockkeeper_lease_id(const lockkeeper_lease* lease) {
  const auto state = lockkeeper::capi::find(lease);
  return state ? state->handle->entry().id_text.c_str() : "";
}

uint64_t lockkeeper_lease_fence(const lockkeeper_lease* lease) {
  const auto state = lockkeeper::capi::find(lease);
  return state ? state->handle->entry().fence : 0;
}

lockkeeper_status lockkeeper_lease_lost(const lockkeeper_lease* lease, lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::look(lease, answer != nullptr); });
}

lockkeeper_status lockkeeper_lease_check(const lockkeeper_lease* lease,
                                         lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::check(lease); });
}

lockkeeper_status lockkeeper_lease_release(lockkeeper_lease* lease, lockkeeper_answer** answer) {
  return border(answer, [&] { return lockkeeper::capi::release(lease); });
}

lockkeeper_status lockkeeper_lease_close(lockkeeper_lease* lease) {
  return border(nullptr, [&]() -> Result<Reply> {
    const auto state = lockkeeper::capi::close(lease);
    if (!state) return lockkeeper::capi::not_one(lease);
    // Now, not when the last call that uses it has returned.
    lockkeeper::embed::Handle::let_go(state->handle);
    return Reply{};
  });
}
