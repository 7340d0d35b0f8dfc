#include "install/hooks_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "install/entry.h"

namespace lockkeeper::install {
namespace {

const HookEvent* event_of(const ClientFacts& facts, std::string_view name,
                          const CommandLine& command) {
  const auto found = std::ranges::find_if(facts.events, [&](const HookEvent& event) {
    return event.name == name && event.wake == wakes(command);
  });
  return found == facts.events.end() ? nullptr : &*found;
}

bool is_grouped(const ClientFacts& facts) {
  return facts.hooks.shape == HookFormat::Shape::kGroups;
}

// Removes what has become empty on the way, from the inside out.
Result<void> prune(Jsonc& document, JsoncPath path, const Jsonc* original) {
  for (; !path.empty(); path.pop_back()) {
    const JsoncNode* const node = document.find(path);
    if (node == nullptr) continue;
    if (!node->children.empty() || (!node->is_object() && !node->is_array())) return {};
    if (original != nullptr && original->find(path) != nullptr) return {};
    const auto inside =
        std::string_view(document.text()).substr(node->begin, node->end - node->begin);
    if (inside.contains('/')) return {};  // a comment of somebody
    LK_CHECK(document.remove(path));
  }
  return {};
}

Result<void> remove_hook(Jsonc& document, const ClientFacts& facts, const FoundHook& hook,
                         const Jsonc* original) {
  JsoncPath path = {"hooks", hook.event, hook.entry};
  if (is_grouped(facts)) {
    const JsoncNode* const group = document.find({"hooks", hook.event, hook.entry, "hooks"});
    if (group->children.size() > 1) path.insert(path.end(), {"hooks", hook.handler});
  }
  LK_CHECK(document.remove(path));
  return prune(document, {"hooks", hook.event}, original);
}

// Is our hook alone in its entry, so that the entry can be replaced as a whole?
bool is_alone(const Jsonc& document, const ClientFacts& facts, const FoundHook& hook) {
  if (!is_grouped(facts)) return true;
  return document.find({"hooks", hook.event, hook.entry, "hooks"})->children.size() == 1;
}

// One step towards what is wanted. False: there is nothing left to do.
Result<bool> put_next(Jsonc& document, const ClientFacts& facts, Scope scope,
                      std::string_view program) {
  std::vector<const HookEvent*> done;
  for (const FoundHook& hook : find_hooks(document, facts, scope)) {
    const HookEvent* const wanted = event_of(facts, hook.event, hook.command);
    const bool again = std::ranges::find(done, wanted) != done.end();
    if (wanted != nullptr && !again && hook.as_wanted && hook.program == program) {
      done.push_back(wanted);
      continue;
    }
    if (wanted == nullptr || again || !is_alone(document, facts, hook)) {
      LK_CHECK(remove_hook(document, facts, hook, nullptr));
    } else {
      LK_CHECK(document.set({"hooks", hook.event, hook.entry},
                            hook_entry(program, facts, scope, *wanted)));
    }
    return true;
  }
  for (const HookEvent& event : facts.events) {
    if (std::ranges::find(done, &event) != done.end()) continue;
    LK_CHECK(document.append({"hooks", std::string(event.name)},
                             hook_entry(program, facts, scope, event)));
    return true;
  }
  return false;
}

void find_in(const Jsonc& document, const ClientFacts& facts, Scope scope, const JsoncNode& event,
             std::vector<FoundHook>& found) {
  for (std::size_t entry = 0; entry < event.children.size(); ++entry) {
    const Json value = document.value(event.children[entry]);
    const auto add = [&](const Json& handler, std::size_t number) {
      const auto program = program_of_hook(handler, facts);
      if (!program) return;
      CommandLine command = command_of_hook(handler);
      const HookEvent* const wanted = event_of(facts, event.key, command);
      const bool same =
          wanted != nullptr && same_value(value, hook_entry(*program, facts, scope, *wanted));
      found.push_back({event.key, entry, number, *program, same, std::move(command)});
    };
    if (!is_grouped(facts)) {
      add(value, 0);
    } else if (value.is_object() && value.contains("hooks") && value["hooks"].is_array()) {
      for (std::size_t i = 0; i < value["hooks"].size(); ++i) add(value["hooks"][i], i);
    }
  }
}

}  // namespace

std::vector<FoundHook> find_hooks(const Jsonc& document, const ClientFacts& facts, Scope scope) {
  std::vector<FoundHook> found;
  const JsoncNode* const hooks = document.find({"hooks"});
  if (hooks == nullptr || !hooks->is_object()) return found;
  for (const JsoncNode& event : hooks->children) {
    if (event.is_array()) find_in(document, facts, scope, event, found);
  }
  return found;
}

Result<void> put_hooks(Jsonc& document, const ClientFacts& facts, Scope scope,
                       std::string_view program) {
  if (facts.hooks.versioned && document.find({"version"}) == nullptr) {
    LK_CHECK(document.set({"version"}, 1));
  }
  for (bool more = true; more;) {
    LK_ASSIGN(more, put_next(document, facts, scope, program));
  }
  return {};
}

Result<void> remove_hooks(Jsonc& document, const ClientFacts& facts, const Jsonc* original) {
  for (;;) {
    const std::vector<FoundHook> found = find_hooks(document, facts, Scope::kUser);
    if (found.empty()) return {};
    LK_CHECK(remove_hook(document, facts, found.back(), original));
  }
}

std::optional<FoundServer> find_server(const Jsonc& document, const JsoncPath& servers) {
  const JsoncNode* const all = document.find(servers);
  if (all == nullptr || !all->is_object()) return std::nullopt;
  if (const JsoncNode* const ours = all->find(kOurName)) {
    const Json server = document.value(*ours);
    return FoundServer{std::string(kOurName), program_of_server(server), command_of_server(server)};
  }
  for (const JsoncNode& each : all->children) {
    const Json server = document.value(each);
    if (auto program = program_of_server(server)) {
      return FoundServer{each.key, std::move(program), command_of_server(server)};
    }
  }
  return std::nullopt;
}

Result<void> put_server(Jsonc& document, const JsoncPath& servers, const ClientFacts& facts,
                        std::string_view program) {
  const auto found = find_server(document, servers);
  JsoncPath path = servers;
  path.emplace_back(std::string(kOurName));
  if (!found) return document.set(path, server_entry(program, facts));
  if (found->name != kOurName || !found->program) return {};
  // What else the user has put into it (variables, time limits) stays.
  path.emplace_back("command");
  if (document.find(path)->is_array()) path.emplace_back(std::size_t{0});
  return document.set(path, program);
}

Result<void> remove_server(Jsonc& document, const JsoncPath& servers, const Jsonc* original) {
  const auto found = find_server(document, servers);
  if (!found || found->name != kOurName || !found->program) return {};
  JsoncPath path = servers;
  path.emplace_back(std::string(kOurName));
  LK_CHECK(document.remove(path));
  return prune(document, servers, original);
}

}  // namespace lockkeeper::install
