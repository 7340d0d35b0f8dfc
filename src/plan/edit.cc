#include "plan/edit.h"

#include <algorithm>

#include "base/clock.h"
#include "plan/scopes.h"

namespace lockkeeper::plan {
namespace {

using NodeKind = yaml::Node::Kind;

yaml::Node* find(yaml::Node& map, std::string_view key) {
  return const_cast<yaml::Node*>(map.find(key));
}

yaml::Node scalar(NodeKind kind, std::string text) {
  yaml::Node node;
  node.kind = kind;
  node.text = std::move(text);
  return node;
}

yaml::Node number(std::int64_t value) {
  return scalar(NodeKind::kNumber, std::to_string(value));
}

// The entry; added if there is none.
yaml::Node& entry(yaml::Node& map, const std::string& key, NodeKind kind) {
  yaml::Node* node = find(map, key);
  if (node == nullptr) {
    map.entries.push_back({key, {}, {}});
    node = &map.entries.back().value;
  }
  if (node->kind == NodeKind::kNull) node->kind = kind;
  if (kind == NodeKind::kList && node->is_text()) {  // a text stands for a list of one
    yaml::Node one = scalar(NodeKind::kText, node->text);
    node->kind = NodeKind::kList;
    node->text.clear();
    node->list = {std::move(one)};
  }
  return *node;
}

void set(yaml::Node& map, const std::string& key, yaml::Node value) {
  yaml::Node& node = entry(map, key, value.kind);
  value.place = node.place;
  node = std::move(value);
}

void add_text(yaml::Node& list, const std::string& text) {
  const auto same = [&](const yaml::Node& each) { return each.is_text() && each.text == text; };
  if (std::ranges::none_of(list.list, same)) list.list.push_back(scalar(NodeKind::kText, text));
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

class Editor {
 public:
  Editor(yaml::Node& root, const Plan& plan, const key::Rules& rules)
      : root_(root), plan_(plan), rules_(rules), packages_(plan.form == Form::kWorkPackages) {}

  void run(const Change& change) {
    if (change.order) {
      add_text(needs(job(change.order->later)), plan_.jobs[change.order->earlier].id);
    }
    for (const Change::Scope& scope : change.scopes) rescope(scope);
    if (change.merge) merge(*change.merge);
  }

 private:
  yaml::Node& agents() {
    if (packages_) return *find(root_, "packages");
    std::string why;
    return const_cast<yaml::Node&>(*scope_agents(root_, why));
  }

  // Packages that are not maps have no job.
  yaml::Node& job(std::size_t number) {
    yaml::Node& all = agents();
    if (all.is_map()) return all.entries[number].value;
    for (yaml::Node& each : all.list) {
      if (each.is_map() && number-- == 0) return each;
    }
    return all.list.back();
  }

  const char* needs_key(const yaml::Node& job) const {
    if (!packages_) return "after";
    const yaml::Node* const usual = job.find("depends_on");
    const yaml::Node* const older = job.find("dependencies");
    const bool old =
        older != nullptr && !older->list.empty() && (usual == nullptr || usual->list.empty());
    return old ? "dependencies" : "depends_on";
  }
  yaml::Node& needs(yaml::Node& job) { return entry(job, needs_key(job), NodeKind::kList); }

  // Removes every spelling of the resource.
  void remove(yaml::Node* list, const key::Resource& resource, key::Syntax syntax, bool folders) {
    if (list == nullptr || !list->is_list()) return;
    std::erase_if(list->list, [&](const yaml::Node& each) {
      if (!each.is_text()) return false;
      std::string text = each.text;
      if (folders && !text.ends_with('/')) text += '/';
      if (text == resource.text()) return true;  // an invalid key stands for itself
      const auto parsed = key::parse(text, rules_, syntax);
      return parsed && parsed->resource == resource;
    });
  }

  void rescope(const Change::Scope& change) {
    yaml::Node& node = job(change.job);
    for (const key::Resource& gone : change.remove) {
      if (packages_) {
        for (const auto& [map, list] : {std::pair("locks", "files"), std::pair("locks", "keys"),
                                        std::pair("scope", "write_allow")}) {
          yaml::Node* const in = find(node, map);
          if (in != nullptr) remove(find(*in, list), gone, key::Syntax::kAuto, false);
        }
      } else {
        // A plain name under globs may also be a file or a folder.
        remove(find(node, "files"), gone, key::Syntax::kLiteral, false);
        remove(find(node, "directories"), gone, key::Syntax::kLiteral, true);
        remove(find(node, "globs"), gone, key::Syntax::kGlob, false);
        remove(find(node, "keys"), gone, key::Syntax::kAuto, false);
      }
    }
    for (const Change::Added& added : change.add) add(node, added);
    for (const key::Resource& deny : change.deny) {
      yaml::Node& scope = entry(node, "scope", NodeKind::kMap);
      add_text(entry(scope, "deny", NodeKind::kList), deny.text());
    }
  }

  void add(yaml::Node& node, const Change::Added& added) {
    const std::string& text = added.resource.text();
    if (!packages_) return add_text(entry(node, scope_list(added.resource), NodeKind::kList), text);
    if (added.lock) {
      yaml::Node& locks = entry(node, "locks", NodeKind::kMap);
      add_text(entry(locks, added.resource.is_path() ? "files" : "keys", NodeKind::kList), text);
    }
    if (!added.resource.is_path()) return;
    yaml::Node& scope = entry(node, "scope", NodeKind::kMap);
    add_text(entry(scope, "write_allow", NodeKind::kList), text);
  }

  // Adds everything of `from` that `into` lacks; lists grow, single values stay.
  static void take_over(yaml::Node& into, const yaml::Node& from) {
    for (const yaml::Node::Entry& each : from.entries) {
      yaml::Node* const mine = find(into, each.key);
      if (mine == nullptr || mine->kind == NodeKind::kNull) {
        set(into, each.key, each.value);
      } else if (mine->is_map() && each.value.is_map()) {
        take_over(*mine, each.value);
      } else if (mine->is_list() && each.value.is_list()) {
        for (const yaml::Node& item : each.value.list) {
          const auto same = [&](const yaml::Node& known) {
            return yaml::same_document(known, item);
          };
          if (std::ranges::none_of(mine->list, same)) mine->list.push_back(item);
        }
      }
    }
  }

  void merge(const Change::Merge& merge) {
    const Job& into = plan_.jobs[merge.into];
    const Job& from = plan_.jobs[merge.from];
    const Job both = merged(into, from);
    yaml::Node& node = job(merge.into);
    const yaml::Node other = job(merge.from);
    std::vector<yaml::Node> waits_for;  // of both, without one another
    for (yaml::Node each : {node, other}) {
      for (const yaml::Node& need : needs(each).list) {
        if (!is_one_of(need.text, {into.id, from.id})) waits_for.push_back(need);
      }
    }
    yaml::Node taken = other;
    const char* const key = needs_key(node);
    std::erase_if(taken.entries, [](const yaml::Node::Entry& each) {
      return is_one_of(each.key, {"package_id", "id", "name", "agent", "depends_on", "dependencies",
                                  "after", "command", "minutes", "timeout"});
    });
    take_over(node, taken);
    if (!waits_for.empty() || find(node, key) != nullptr) {
      yaml::Node& list = entry(node, key, NodeKind::kList);
      list.list.clear();
      for (const yaml::Node& need : waits_for) add_text(list, need.text);
    }
    packages_ ? merge_package(node, both) : merge_agent(node, both);
    forget(merge, from.id, into.id);
  }

  static void set_text(yaml::Node& map, const std::string& key, const std::string& text) {
    if (!text.empty()) set(map, key, scalar(NodeKind::kText, text));
  }

  static void set_command(yaml::Node& node, const Command& command) {
    if (command.shell) return set_text(node, "command", command.words.front());
    if (command.empty()) return;
    yaml::Node value;
    value.kind = NodeKind::kList;
    for (const std::string& word : command.words)
      value.list.push_back(scalar(NodeKind::kText, word));
    set(node, "command", std::move(value));
  }

  void merge_package(yaml::Node& node, const Job& both) {
    constexpr std::int64_t kLongestTtlMinutes = 480;  // the schema's
    const bool described = find(node, "description") != nullptr;
    if (described) set_text(node, "description", both.description);
    set(node, "timeout_minutes", number(both.minutes));
    // What neither names comes from the plan's defaults.
    if (find(node, "priority") != nullptr) set(node, "priority", number(both.priority));
    if (find(node, "retry_budget") != nullptr) set(node, "retry_budget", number(both.retries));
    set_command(node, both.command);
    yaml::Node* const locks = find(node, "locks");
    if (locks != nullptr && find(*locks, "ttl_minutes") != nullptr) {
      set(*locks, "ttl_minutes", number(std::min(kLongestTtlMinutes, both.ttl_ms / kMinuteMs)));
    }
    yaml::Node* const scope = find(node, "scope");
    yaml::Node* const deny = scope == nullptr ? nullptr : find(*scope, "deny");
    if (deny == nullptr) return;
    std::erase_if(deny->list, [&](const yaml::Node& each) {
      const auto parsed = key::parse(each.text, rules_);
      return parsed && std::ranges::find(both.denies, parsed->resource) == both.denies.end();
    });
  }

  static void merge_agent(yaml::Node& node, const Job& both) {
    set_text(node, "task_description", both.description);
    set_text(node, "task", both.task);
    set_command(node, both.command);
    const bool timed = find(node, "timeout") != nullptr;
    if (timed) set_text(node, "timeout", std::to_string(both.minutes) + "m");
    if (!timed) set(node, "minutes", number(both.minutes));
    const bool whole = both.ttl_ms % kMinuteMs == 0;
    const std::string ttl =
        whole ? std::to_string(both.ttl_ms / kMinuteMs) + "m" : std::to_string(both.ttl_ms) + "ms";
    if (find(node, "ttl") != nullptr) {
      set_text(node, "ttl", both.ttl_ms == kNoEnd ? "none" : ttl);
    }
    if (find(node, "priority") != nullptr) set(node, "priority", number(both.priority));
    if (find(node, "retries") != nullptr) set(node, "retries", number(both.retries));
  }

  // Removes the job; jobs that waited for it wait for `instead`.
  void forget(const Change::Merge& merge, const std::string& gone, const std::string& instead) {
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
      const auto& needed = plan_.jobs[i].needs;
      const bool waits = std::ranges::find(needed, merge.from) != needed.end();
      if (!waits || i == merge.into || i == merge.from) continue;
      yaml::Node& list = needs(job(i));
      std::erase_if(list.list, [&](const yaml::Node& each) { return each.text == gone; });
      add_text(list, instead);
    }
    yaml::Node& all = agents();
    if (all.is_map()) {
      all.entries.erase(all.entries.begin() + static_cast<std::ptrdiff_t>(merge.from));
      return;
    }
    const yaml::Node* const node = &job(merge.from);
    all.list.erase(all.list.begin() + (node - all.list.data()));
  }

  yaml::Node& root_;
  const Plan& plan_;
  const key::Rules& rules_;
  const bool packages_;
};

}  // namespace

yaml::Node edited(const yaml::Node& root, const Plan& plan, const Change& change,
                  const key::Rules& rules) {
  yaml::Node result = root;
  Editor(result, plan, rules).run(change);
  return result;
}

Result<yaml::Rewritten> apply_change(std::string_view text, const Plan& plan, const Change& change,
                                     const key::Rules& rules) {
  const auto root = yaml::parse_document(text);
  if (!root) return fail(Code::kInvalidInput, root.error().message);
  return yaml::rewrite(text, *root, edited(*root, plan, change, rules));
}

}  // namespace lockkeeper::plan
