// A settings file of a coding agent, of any text: refused with its place, or ours is put into it
// and taken out again, and nothing of another's is lost.
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "install/entry.h"
#include "install/hooks_edit.h"
#include "install/jsonc.h"
#include "install/toml_edit.h"

namespace lockkeeper::fuzz {
namespace {

using install::Jsonc;

const std::string kFile = "/home/x/settings";

void check_refusal(const Error& error) {
  require(error.code == Code::kInvalidConfig, "refused with another code");
  require(error.message.starts_with(kFile + ":"), "the place is missing: " + error.message);
  require_readable(error);
}

Json value_of(const Jsonc& document) {
  return document.value(document.root());
}

void check_hooks(const Jsonc& before, const install::ClientFacts& facts, install::Scope scope) {
  Jsonc document = before;
  const std::string program = scope == install::Scope::kShared ? "lockkeeper" : "/a b/lockkeeper";
  const auto put = install::put_hooks(document, facts, scope, program);
  if (!put) return check_refusal(put.error());
  const auto found = install::find_hooks(document, facts, scope);
  require(found.size() == facts.events.size(), "not once for each event: " + document.text());
  for (const auto& hook : found) {
    require(hook.as_wanted && hook.program == program, "another hook: " + document.text());
  }
  const std::string text = document.text();
  require(install::put_hooks(document, facts, scope, program).has_value(), "refused again");
  require(document.text() == text, "changed by a second install: " + text);
  require(install::remove_hooks(document, facts, &before).has_value(), "not removed: " + text);
  require(install::find_hooks(document, facts, scope).empty(), "still there: " + document.text());
  if (!install::find_hooks(before, facts, scope).empty()) return;
  Json left = value_of(document);
  if (facts.hooks.versioned && before.find({"version"}) == nullptr) left.erase("version");
  require(install::same_value(left, value_of(before)), "something is lost: " + document.text());
}

void check_server(const Jsonc& before, const install::ClientFacts& facts) {
  Jsonc document = before;
  const install::JsoncPath path = {"projects", "/repo", std::string(facts.server.member)};
  const auto put = install::put_server(document, path, facts, "/bin/lockkeeper");
  if (!put) return check_refusal(put.error());
  const auto found = install::find_server(document, path);
  require(found.has_value(), "no server: " + document.text());
  if (install::find_server(before, path)) return;
  require(install::remove_server(document, path, &before).has_value(), "not removed");
  require(install::same_value(value_of(document), value_of(before)),
          "something is lost: " + document.text());
}

void check_json(std::string_view text, std::uint8_t choice) {
  const auto document = Jsonc::parse(std::string(text), kFile);
  if (!document) return check_refusal(document.error());
  const auto clients = install::all_clients();
  const install::ClientFacts& facts = clients[choice % clients.size()];
  const auto scope = static_cast<install::Scope>(choice / clients.size() % install::kScopes);
  if (!facts.events.empty()) check_hooks(*document, facts, scope);
  check_server(*document, facts);
}

void check_toml(const std::string& text) {
  const auto document = install::toml_as_json(text, kFile);
  if (!document) return check_refusal(document.error());
  const std::vector<std::string> path = {"mcp_servers", "lockkeeper"};
  const Json fields = {{"command", "/a \"b\"/lockkeeper"}, {"args", {"mcp"}}};
  const auto put = install::put_toml_table(text, kFile, path, fields);
  if (!put) return check_refusal(put.error());
  const auto again = install::put_toml_table(*put, kFile, path, fields);
  require(again && *again == *put, "changed by a second install: " + *put);
  const auto removed = install::remove_toml_table(*put, kFile, path);
  if (!removed) return check_refusal(removed.error());
  if (install::json_at(*document, path) != nullptr) return;
  require(*removed == text, "not the same bytes: " + *removed);
}

}  // namespace

void run(Input input) {
  const std::uint8_t choice = input.byte();
  if (choice % 2 == 0) return check_json(input.rest(), choice / 2);
  check_toml(std::string(input.rest()));
}

}  // namespace lockkeeper::fuzz
