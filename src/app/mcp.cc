#include "app/mcp.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "app/mcp_http.h"
#include "base/fd.h"
#include "host/signals.h"
#include "mcp/audience.h"
#include "mcp/locks/lock_watch.h"
#include "mcp/locks/server.h"
#include "mcp/stdio.h"

namespace lockkeeper::app {
namespace {

// Calls that work at once; waiting ones do not count. All need the one store, and more threads only
// contend for it: 32 took 30 µs of system time per call, 4 take 13.
constexpr std::size_t kThreadsMax = 4;
constexpr auto kLongestEnd = std::chrono::seconds(3);

// The caller, if a call does not name it.
Result<mcp::locks::Caller> caller_of(const cli::VerbContext& context,
                                     const cli::McpOptions& options, const realm::Identity& who) {
  // Without a session from outside, one is made for this run.
  LK_ASSIGN(const realm::Identity lasting, context.identity(false));
  const realm::Environment& env = context.runtime().env;
  mcp::locks::Caller caller;
  caller.who = who;
  caller.agent_given = context.common().agent || realm::variable(env, "LOCKKEEPER_AGENT");
  caller.agent_known = caller.agent_given || !lasting.session_derived;
  caller.session_given = context.common().session || realm::variable(env, "LOCKKEEPER_SESSION");
  caller.session_known = !lasting.session.empty() && !lasting.session_derived;
  caller.strangers = options.http.has_value();
  return caller;
}

// Something may still hang, for example on a failing disk. Leases and places in a queue are bound
// to the process, so the table sees its end anyway.
void end_soon() {
  std::thread([] {
    std::this_thread::sleep_for(kLongestEnd);
    ::_exit(0);
  }).detach();
}

}  // namespace

Result<int> serve_mcp(cli::VerbContext& context, const cli::McpOptions& options) {
  LK_CHECK(check_http(options));
  LK_CHECK(mcp::locks::check_dialects(options.dialects));
  ::signal(SIGPIPE, SIG_IGN);
  const Fd ended = host::hold_end_signals();
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>{}, true));
  LK_ASSIGN(auto under, service::parent_lease_from(context.runtime().env, open->site.realm()));
  LK_ASSIGN(auto caller, caller_of(context, options, open->identity));
  const core::Owner known = open->site.known_as({caller.who.agent, caller.who.session});
  caller.who.agent = known.agent;
  caller.who.session = known.session;
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  mcp::Audience audience;
  // Whoever watches looks again, and is told.
  const auto all_changed = [&] {
    for (const std::string& uri : audience.watched()) audience.resource_changed(uri);
  };
  mcp::locks::LockServer server(
      open->site,
      {std::move(caller), std::move(under), options.dialects, LOCKKEEPER_VERSION,
       options.http ? std::string() : here.base.folder},
      all_changed);
  mcp::locks::LockWatch watch(
      server.reader(), [&] { return audience.watched(); },
      [&](const std::string& uri) { audience.resource_changed(uri); });
  mcp::Catalogue catalogue = server.catalogue();
  catalogue.watch = [&](const std::string& uri) { watch.expect(uri); };
  catalogue.arrived = [&](const std::string& visitor) { server.arrived(visitor); };
  catalogue.gone = [&](const std::string& visitor, bool orderly) { server.gone(visitor, orderly); };
  mcp::Pool pool(kThreadsMax);
  pool.run([&] { server.begin(); });
  if (options.http) {
    const auto served = serve_mcp_http(options, open->site.realm(), catalogue, pool, audience,
                                       ended.get(), context.out());
    end_soon();
    return served ? 0 : context.out().failed(served.error());
  }
  if (context.environment().in_is_terminal) {
    context.out().note("an MCP client is expected on stdin; Ctrl-D ends this");
  }
  const auto session = std::make_shared<mcp::Session>(catalogue, pool);
  audience.add(session);
  mcp::serve_stdio(session, {0, 1, ended.get()});
  end_soon();
  return 0;
}

}  // namespace lockkeeper::app
