// `mcp`: the lock tools for coding agents. Declares its flags, then calls CliEnvironment::mcp.
#include "base/assert.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {

Result<int> mcp_verb(VerbContext& context) {
  McpOptions options;
  Arguments& arguments = context.arguments();
  arguments.value("--http", options.http, "ADDRESS:PORT",
                  "serve Streamable HTTP there instead of stdin and stdout");
  arguments.value("--token-file", options.token_file, "FILE",
                  "the token that HTTP clients must send; created if\nmissing");
  arguments.flag("--no-auth", options.no_auth,
                 "accept HTTP clients without a token; loopback only");
  arguments.values("--dialect", options.dialects, "NAME",
                   "add the tools of another protocol; may be repeated");
  arguments.offer(std::vector<std::string>{"coordmcp", "coordinator"});
  if (const auto status = context.parse()) return *status;
  LOCKKEEPER_ASSERT(context.environment().mcp);
  return context.environment().mcp(context, options);
}

}  // namespace lockkeeper::cli
