// `list`: who holds what, and who waits.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/notices.h"
#include "cli/verbs/verbs.h"
#include "realm/registry.h"
#include "service/report.h"

namespace lockkeeper::cli {
namespace {

struct ListOptions {
  std::optional<std::string> agent, task, under;
  bool all_realms = false;
  bool tree = false;
  bool mine = false;
};

void show(VerbContext& context, const service::ListReply& reply, const Viewer& viewer, bool tree) {
  const std::size_t columns = context.out().columns();
  const std::vector<Line> lines =
      tree ? tree_lines(reply, viewer, columns) : list_lines(reply, viewer, columns);
  for (const Line& line : lines) context.out().line(line);
}

// What can be said if another tool's lock file cannot be read: the table, and that this is not all.
struct Known {
  service::ListReply reply;
  std::optional<Error> unread;
};
Result<Known> list_known(service::Locks& locks, service::ListCommand command) {
  Known known;
  auto reply = locks.list(command);
  if (!reply) {
    known.unread = reply.error();
    known.unread->message = "not every lock could be read: " + known.unread->message;
    command.scan_layouts = false;
    reply = locks.list(command);
    if (!reply) return fail(std::move(reply.error()));
  }
  known.reply = std::move(*reply);
  return known;
}

void keep_own(service::ListReply& reply, const Viewer& viewer) {
  std::erase_if(reply.leases, [&](const auto& listed) { return !viewer.owns(listed.lease); });
  std::erase_if(reply.waiters, [&](const auto& waiter) { return !viewer.owns(waiter.request); });
}

// Every realm that has a store. One that cannot be read is reported and sets the exit status,
// because it must not look free.
Result<int> list_everywhere(VerbContext& context, const service::ListCommand& command,
                            const ListOptions& options) {
  Output& out = context.out();
  LK_ASSIGN(const realm::Identity who, context.identity(false));
  const Viewer viewer{{who.agent, who.session}, context.now_wall_ms()};
  service::Json all = {{"leases", service::Json::array()}, {"waiters", service::Json::array()}};
  std::optional<Error> worst;
  for (realm::Realm& realm : realm::known_realms(context.runtime().env)) {
    const std::string root = realm.root;
    auto open = context.open(std::move(realm));
    auto known =
        open ? list_known((*open)->locks, command) : Result<Known>(fail(std::move(open.error())));
    if (!known || known->unread) {
      worst = known ? *known->unread : known.error();
      // The hint of the error itself is for those who stand in that realm.
      worst->hint = "to see what is wrong there: lockkeeper doctor --realm " + shell_quote(root);
      out.warning(root + ": " + worst->message);
      all["unreadable"].push_back({{"realm", root}, {"error", service::error_json(*worst)}});
    }
    if (!known) continue;
    service::ListReply& reply = known->reply;
    if (options.mine) keep_own(reply, viewer);
    service::Json json = service::list_json(reply, viewer.owner);
    for (const char* const kind : {"leases", "waiters"}) {
      for (service::Json& entry : json[kind]) {
        entry["realm"] = root;
        all[kind].push_back(std::move(entry));
      }
    }
    if (reply.leases.empty() && reply.waiters.empty()) continue;
    out.line({{root, Style::kBold}});
    show(context, reply, viewer, options.tree);
  }
  if (worst) {
    worst->message = "not every realm could be read: " + worst->message;
    return out.failed(*worst, std::move(all));
  }
  if (all["leases"].empty() && all["waiters"].empty()) {
    out.text(options.mine ? "you hold nothing in any realm" : "nothing is held in any realm");
  }
  out.object(all);
  return 0;
}

}  // namespace

Result<int> list_verb(VerbContext& context) {
  ListOptions options;
  context.allow_bad_settings();
  Arguments& arguments = context.arguments();
  arguments.value("--agent", options.agent, "NAME",
                  "only this agent's leases; with --mine: your own name");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.flag("--mine", options.mine, "only what you and your commands hold and wait for");
  arguments.value("--task", options.task, "ID", "only leases of this task");
  arguments.value("--under", options.under, "PATH", "only what overlaps this path, glob or key");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--all-realms", options.all_realms, "all your realms that have a store");
  arguments.flag("--tree", options.tree, "show a tree of folders with their holders");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  service::ListCommand command;
  if (options.mine) {
    context.act_as(std::exchange(options.agent, std::nullopt));
  }
  command.agent = options.agent.value_or("");
  command.task = options.task.value_or("");
  if (options.all_realms) {
    if (options.under) {
      return out.failed({Code::kUsage, "--under names a path of one realm; --all-realms has many",
                         "use only one of them"});
    }
    return list_everywhere(context, command, options);
  }
  std::vector<std::string> under;
  if (options.under) under.push_back(*options.under);
  LK_ASSIGN(command.under, context.wanted(under));
  LK_ASSIGN(auto open, context.open(under));
  expect_notices(context, *open);
  LK_ASSIGN(Known known, list_known(open->locks, command));
  service::ListReply& reply = known.reply;
  const Viewer viewer{open->locks.owner(), context.now_wall_ms()};
  if (options.mine) keep_own(reply, viewer);
  service::Json json = out.json() ? service::list_json(reply, viewer.owner) : service::Json();
  tell_notices(context, *open, json);
  if (out.json()) {
    if (!known.unread) out.object(json);
  } else if (reply.leases.empty() && reply.waiters.empty() && !known.unread) {
    const bool filtered = options.agent || options.task || options.under;
    out.text((options.mine ? "you hold nothing"
              : filtered   ? "nothing that matches is held"
                           : "nothing is held") +
             (options.mine || !filtered ? " in " + open->site.realm().root : ""));
  } else {
    show(context, reply, viewer, options.tree);
  }
  if (reply.moved) out.note("the table changed while it was read; the list may mix two moments");
  return known.unread ? out.failed(*known.unread, std::move(json)) : 0;
}

}  // namespace lockkeeper::cli
