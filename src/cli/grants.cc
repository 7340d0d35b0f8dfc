#include "cli/grants.h"

#include "layout/registry.h"
#include "service/locks.h"

namespace lockkeeper::cli {

void Grants::add(const service::Granted& granted) {
  constexpr std::size_t kMost = 256;
  const std::lock_guard<std::mutex> hold(mutex_);
  last_.push_back(granted);
  if (last_.size() > kMost) last_.pop_front();
}

bool Grants::give_back(const service::Runtime& runtime) {
  const std::lock_guard<std::mutex> hold(mutex_);
  bool any = false;
  for (const service::Granted& each : last_) {
    auto settings = layout::load_settings(runtime, each.realm);
    if (!settings) continue;  // then it expires
    service::Site site(runtime, each.realm, std::move(*settings));
    const auto released = service::Locks(site, each.owner, {}).give_back(each.lease, each.hold);
    any |= released && !released->released.empty();
  }
  last_.clear();
  return any;
}

}  // namespace lockkeeper::cli
