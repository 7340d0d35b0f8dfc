// Answers, cancels, and what concerns the library as a whole.
#include "capi/library.h"

#include <lockkeeper.h>

#include <atomic>

#include "capi/border.h"
#include "capi/handles.h"
#include "embed/owner.h"

namespace lockkeeper::capi {
namespace {

enum class Faults { kOpen, kHandled, kLeft };
std::atomic<Faults> g_faults = Faults::kOpen;

}  // namespace

void settle_faults() {
  Faults before = Faults::kOpen;
  if (g_faults.compare_exchange_strong(before, Faults::kLeft)) disable_fault_handler();
}

}  // namespace lockkeeper::capi

namespace capi = lockkeeper::capi;
using lockkeeper::Result;
using lockkeeper::capi::border;
using lockkeeper::capi::Reply;

lockkeeper_status lockkeeper_answer_status(const lockkeeper_answer* answer) {
  const auto state = capi::find(answer);
  return state ? state->status : LOCKKEEPER_USAGE;
}

const char* lockkeeper_answer_message(const lockkeeper_answer* answer) {
  const auto state = capi::find(answer);
  return state ? state->message.c_str() : "";
}

const char* lockkeeper_answer_hint(const lockkeeper_answer* answer) {
  const auto state = capi::find(answer);
  return state ? state->hint.c_str() : "";
}

const char* lockkeeper_answer_json(const lockkeeper_answer* answer) {
  const auto state = capi::find(answer);
  return state ? state->json.c_str() : "";
}

lockkeeper_status lockkeeper_answer_free(lockkeeper_answer* answer) {
  return capi::close(answer) ? LOCKKEEPER_OK : LOCKKEEPER_USAGE;
}

lockkeeper_status lockkeeper_cancel_new(lockkeeper_cancel** cancel) {
  return border(nullptr, [&]() -> Result<Reply> {
    if (cancel == nullptr) return lockkeeper::fail(lockkeeper::Code::kUsage, "no place for it");
    *cancel = nullptr;
    *cancel = capi::put<lockkeeper_cancel>(std::make_shared<capi::CancelState>());
    return Reply{};
  });
}

lockkeeper_status lockkeeper_cancel_request(lockkeeper_cancel* cancel) {
  return border(nullptr, [&]() -> Result<Reply> {
    const auto state = capi::find(cancel);
    if (!state) return capi::not_one(cancel);
    state->stop.request_stop();
    return Reply{};
  });
}

lockkeeper_status lockkeeper_cancel_free(lockkeeper_cancel* cancel) {
  return capi::close(cancel) ? LOCKKEEPER_OK : LOCKKEEPER_USAGE;
}

const char* lockkeeper_version(void) {
  return LOCKKEEPER_VERSION;
}

const char* lockkeeper_status_name(lockkeeper_status status) {
  if (status == LOCKKEEPER_OK) return "ok";
  if (status < LOCKKEEPER_OK || status > LOCKKEEPER_TIMEOUT) return "";
  return lockkeeper::code_name(static_cast<lockkeeper::Code>(status - 1)).data();
}

lockkeeper_status lockkeeper_handle_faults(void) {
  using capi::Faults;
  Faults before = Faults::kOpen;
  capi::g_faults.compare_exchange_strong(before, Faults::kHandled);
  return before == Faults::kLeft ? LOCKKEEPER_USAGE : LOCKKEEPER_OK;
}
