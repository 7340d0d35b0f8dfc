#include "service/replies.h"

#include <algorithm>
#include <iterator>

namespace lockkeeper::service {

void Notices::add(Notices later) {
  std::ranges::move(later.lost, std::back_inserter(lost));
  std::ranges::move(later.messages, std::back_inserter(messages));
  more_messages = later.more_messages;
  waiting = std::move(later.waiting);
}

void add(core::ReleaseReply& to, const core::ReleaseReply& more) {
  std::ranges::copy(more.released, std::back_inserter(to.released));
  std::ranges::copy(more.ended_before, std::back_inserter(to.ended_before));
  std::ranges::copy(more.not_held, std::back_inserter(to.not_held));
  std::ranges::copy(more.not_owner, std::back_inserter(to.not_owner));
  std::ranges::copy(more.covered, std::back_inserter(to.covered));
}

}  // namespace lockkeeper::service
