// What a lock service is asked about messages between agents: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"
#include "service/caller.h"

namespace lockkeeper::service {

struct SendCall {
  Caller caller;
  std::vector<core::Owner> to;  // one without an agent: everybody
  std::string text;
  std::string type;
  std::string task;
  std::string project;
};

// The messages that the owner received or sent, oldest first. Those received count as told.
struct MessagesCall {
  Caller caller;
  bool sent = false;
  bool unread_only = false;
  bool peek = false;  // they do not count as told
  bool mark_read = false;
  std::vector<std::uint64_t> ids = {};  // empty: all; not_found: one is not there, none is marked
};

}  // namespace lockkeeper::service
