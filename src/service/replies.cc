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

}  // namespace lockkeeper::service
