// What the lock tools take and give, as JSON Schema, and the words that go with them. Every byte
// here is paid for by every agent in every session: tests/mcp counts them.
#pragma once

#include "mcp/catalogue.h"

namespace lockkeeper::mcp::locks {

// Without their functions, in the order in which they are listed.
Tool acquire_tool();
Tool release_tool();
Tool renew_tool();
Tool status_tool();
Tool message_tool();

// What a client tells its model at the beginning of a session.
const char* lock_instructions();

}  // namespace lockkeeper::mcp::locks
