#include "install/entry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace lockkeeper::install {
namespace {

// These clients let a call pass if its hook crashes or cannot be started; exit status 2 with words
// refuses it. A hook that refuses by itself has said why.
constexpr std::string_view kShellGuard =
    " || { [ $? -eq 2 ] || echo 'lockkeeper: the hook failed. Run: lockkeeper doctor' >&2; exit 2; "
    "}";

static_assert(kShellGuard.contains(kHookFailed));

bool is_ours(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == kOurName;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const Json& each : list) {
    if (!each.is_string()) return {};
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string hook_command(std::string_view program, const ClientFacts& facts) {
  return shell_quote(program) + " hook " + std::string(facts.name);
}

Json hook_entry(std::string_view program, const ClientFacts& facts, Scope scope,
                const HookEvent& event) {
  const HookFormat& format = facts.hooks;
  Json handler = Json::object();
  if (format.typed) handler["type"] = "command";
  if (format.named) handler["name"] = kOurName;
  if (format.exec && scope == Scope::kUser) {
    handler["command"] = program;
    handler["args"] = {"hook", facts.name};
    if (event.wake) handler["args"].push_back(kWakeFlag);
  } else {
    const bool guarded = event.guard && format.shell_guard;
    handler[std::string(format.command_field)] = hook_command(program, facts) +
                                                 std::string(guarded ? kShellGuard : "") +
                                                 (event.wake ? " " + std::string(kWakeFlag) : "");
  }
  if (event.wake) handler["async"] = handler["asyncRewake"] = true;
  handler[std::string(format.timeout_field)] = event.timeout_s * format.timeout_unit;
  if (event.guard && !format.guard_field.empty()) {
    const bool word = !format.guard_value.empty();
    handler[std::string(format.guard_field)] = word ? Json(format.guard_value) : Json(true);
  }
  const bool groups = format.shape == HookFormat::Shape::kGroups;
  Json entry = groups ? Json::object() : handler;
  if (!event.matcher.empty()) entry["matcher"] = event.matcher;
  if (groups) entry["hooks"] = Json::array({handler});
  return entry;
}

Json server_entry(std::string_view program, const ClientFacts& facts) {
  const ServerFormat& format = facts.server;
  Json server = Json::object();
  if (!format.type.empty()) server["type"] = format.type;
  if (format.one_list) {
    server["command"] = {program, "mcp"};
    server["enabled"] = true;
  } else {
    server["command"] = program;
    server["args"] = {"mcp"};
  }
  if (format.all_tools) server["tools"] = {"*"};
  return server;
}

std::vector<std::string> first_shell_words(std::string_view line, std::size_t most) {
  constexpr std::string_view kSpecial = ";|&<>()$`*?[#~\n{}!";
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun; it may be empty ('')
  for (std::size_t at = 0; at <= line.size() && words.size() < most; ++at) {
    const char c = at < line.size() ? line[at] : ' ';
    if (c == ' ' || c == '\t') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else if (c == '\'' || c == '"') {
      open = true;
      for (++at; at < line.size() && line[at] != c; ++at) {
        if (c == '"' && (line[at] == '$' || line[at] == '`')) return words;
        const bool escape = c == '"' && line[at] == '\\' && at + 1 < line.size() &&
                            std::string_view("\\\"$`").contains(line[at + 1]);
        word += escape ? line[++at] : line[at];
      }
      if (at >= line.size()) return words;  // no closing quote
    } else if (c == '\\' && at + 1 < line.size()) {
      open = true;
      word += line[++at];
    } else if (kSpecial.contains(c)) {
      return words;
    } else {
      open = true;
      word += c;
    }
  }
  return words;
}

std::optional<std::string> program_of_hook(const Json& handler, const ClientFacts& facts) {
  if (!handler.is_object()) return std::nullopt;
  const std::string name(facts.name);
  if (const auto args = handler.find("args"); args != handler.end()) {
    const std::vector<std::string> words = texts_of(*args);
    std::string program = text_of(handler, "command");
    const bool ours = words.size() >= 2 && words[0] == "hook" && words[1] == name;
    return ours && is_ours(program) ? std::optional(std::move(program)) : std::nullopt;
  }
  for (const char* const field : {"command", "bash"}) {
    const auto words = first_shell_words(text_of(handler, field), 3);
    if (words.size() == 3 && is_ours(words[0]) && words[1] == "hook" && words[2] == name) {
      return words[0];
    }
  }
  return std::nullopt;
}

CommandLine command_of_hook(const Json& handler) {
  CommandLine command;
  if (!handler.is_object()) return command;
  if (const auto args = handler.find("args"); args != handler.end()) {
    command.words = texts_of(*args);
    command.words.insert(command.words.begin(), text_of(handler, "command"));
    return command;
  }
  for (const char* const field : {"command", "bash"}) {
    const std::string line = text_of(handler, field);
    if (!line.empty()) command.words = {"sh", "-c", line};
  }
  return command;
}

bool wakes(const CommandLine& hook) {
  return std::ranges::any_of(hook.words, [](const std::string& word) {
    return word == kWakeFlag || word.ends_with(" " + std::string(kWakeFlag));
  });
}

CommandLine command_of_server(const Json& server) {
  CommandLine command;
  if (!server.is_object() || !server.contains("command")) return command;
  command.words = texts_of(server["command"]);
  if (command.words.empty()) {
    command.words = {text_of(server, "command")};
    if (server.contains("args")) {
      for (std::string& word : texts_of(server["args"])) command.words.push_back(std::move(word));
    }
  }
  for (const char* const field : {"env", "environment"}) {
    const auto variables = server.find(field);
    if (variables == server.end() || !variables->is_object()) continue;
    for (const auto& [name, value] : variables->items()) {
      if (value.is_string()) command.variables[name] = value.get<std::string>();
    }
  }
  return command;
}

std::optional<std::string> program_of_server(const Json& server) {
  const std::vector<std::string> words = command_of_server(server).words;
  const bool ours = words.size() >= 2 && is_ours(words[0]) && words[1] == "mcp";
  return ours ? std::optional(words[0]) : std::nullopt;
}

bool same_value(const Json& a, const Json& b) {
  return nlohmann::json(a) == nlohmann::json(b);
}

}  // namespace lockkeeper::install
