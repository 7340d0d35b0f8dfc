// The lock tools' JSON Schemas and descriptions. Every agent pays for every byte here in every
// session, so tests/mcp limits the size.
#pragma once

#include "mcp/catalogue.h"

namespace lockkeeper::mcp::locks {

// Without their functions, in listing order.
Tool acquire_tool();
Tool release_tool();
Tool renew_tool();
Tool status_tool();
Tool message_tool();

Json text_schema(const char* description = nullptr);

// A tool's annotations.
Json hints(bool read_only, bool idempotent);

// What a client tells its model at the beginning of a session.
const char* lock_instructions();

}  // namespace lockkeeper::mcp::locks
