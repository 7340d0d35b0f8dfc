// `list`: who holds what, and who waits.
#include <nlohmann/json.hpp>

#include "cli/verbs/list_view.h"
#include "cli/verbs/untold_messages.h"
#include "cli/verbs/verbs.h"
#include "realm/registry.h"

namespace lockkeeper::cli {
namespace {

struct ListOptions {
  std::optional<std::string> agent, task, under;
  bool all_realms = false;
  bool tree = false;
};

void show(VerbContext& context, const service::ListReply& reply, bool tree) {
  const std::int64_t now = context.now_wall_ms();
  if (tree) {
    for (Line& line : tree_lines(reply, now)) {
      context.out().line(fit(std::move(line), context.out().columns()));
    }
  } else {
    for (const Line& line : list_lines(reply, now, context.out().columns())) {
      context.out().line(line);
    }
  }
}

// Every realm that has a store. One that cannot be read is reported and sets the exit status,
// because it must not look free.
Result<int> list_everywhere(VerbContext& context, const service::ListCommand& command, bool tree) {
  Output& out = context.out();
  service::Json all = {{"leases", service::Json::array()}, {"waiters", service::Json::array()}};
  std::optional<Error> worst;
  for (realm::Realm& realm : realm::known_realms(context.runtime().env)) {
    const std::string root = realm.root;
    auto open = context.open(std::move(realm));
    auto reply = open ? (*open)->locks.list(command)
                      : Result<service::ListReply>(fail(std::move(open.error())));
    if (!reply) {
      out.warning(root + ": " + reply.error().message);
      all["unreadable"].push_back({{"realm", root}, {"error", service::error_json(reply.error())}});
      worst = reply.error();
      continue;
    }
    service::Json json = service::list_json(*reply);
    for (const char* const kind : {"leases", "waiters"}) {
      for (service::Json& entry : json[kind]) {
        entry["realm"] = root;
        all[kind].push_back(std::move(entry));
      }
    }
    if (reply->leases.empty() && reply->waiters.empty()) continue;
    out.line({{root, Style::kBold}});
    show(context, *reply, tree);
  }
  if (worst) {
    worst->message = "not every realm could be read: " + worst->message;
    return out.failed(*worst, std::move(all));
  }
  if (all["leases"].empty() && all["waiters"].empty()) out.text("nothing is held in any realm");
  out.object(all);
  return 0;
}

}  // namespace

Result<int> list_verb(VerbContext& context) {
  ListOptions options;
  Arguments& arguments = context.arguments();
  arguments.value("--agent", options.agent, "NAME", "only this agent's leases");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--task", options.task, "ID", "only leases of this task");
  arguments.value("--under", options.under, "PATH", "only what overlaps this path, glob or key");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--all-realms", options.all_realms, "all your realms that have a store");
  arguments.flag("--tree", options.tree, "show a tree of folders with their holders");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  service::ListCommand command;
  command.agent = options.agent.value_or("");
  command.task = options.task.value_or("");
  if (options.all_realms) {
    if (options.under) {
      return out.failed({Code::kUsage, "--under names a path of one realm; --all-realms has many",
                         "use only one of them"});
    }
    return list_everywhere(context, command, options.tree);
  }
  std::vector<std::string> under;
  if (options.under) under.push_back(*options.under);
  LK_ASSIGN(command.under, context.wanted(under));
  LK_ASSIGN(auto open, context.open(under));
  expect_messages(context, *open);
  LK_ASSIGN(const auto reply, open->locks.list(command));
  service::Json json = out.json() ? service::list_json(reply) : service::Json();
  tell_messages(context, *open, json);
  if (out.json()) {
    out.object(json);
  } else if (reply.leases.empty() && reply.waiters.empty()) {
    const bool filtered = options.agent || options.task || options.under;
    out.text(filtered ? "nothing that matches is held"
                      : "nothing is held in " + open->site.realm().root);
  } else {
    show(context, reply, options.tree);
  }
  if (reply.moved) out.note("the table changed while it was read; the list may mix two moments");
  return 0;
}

}  // namespace lockkeeper::cli
