#include "mcp/http/announcer.h"

#include <utility>

namespace lockkeeper::mcp {

void Announcer::note(std::string visitor, News news) {
  const std::lock_guard lock(mutex_);
  noted_.push_back({std::move(visitor), news});
}

void Announcer::tell() {
  {
    const std::lock_guard lock(mutex_);
    if (telling_ || noted_.empty()) return;
    telling_ = true;
  }
  // The endpoint may end before the pool does.
  const auto tell = [self = shared_from_this()] { self->tell_all(); };
  if (!pool_.run(tell)) tell();
}

bool Announcer::take(Noted& next) {
  const std::lock_guard lock(mutex_);
  telling_ = !noted_.empty();
  if (!telling_) return false;
  next = std::move(noted_.front());
  noted_.pop_front();
  return true;
}

void Announcer::tell_all() {
  for (Noted next; take(next);) {
    if (next.news == News::kArrived) {
      if (catalogue_.arrived) catalogue_.arrived(next.visitor);
    } else if (catalogue_.gone) {
      catalogue_.gone(next.visitor, next.news == News::kLeft);
    }
  }
}

}  // namespace lockkeeper::mcp
