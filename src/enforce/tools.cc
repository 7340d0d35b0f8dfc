#include "enforce/tools.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>

#include "base/parse.h"
#include "base/text.h"
#include "enforce/patch.h"
#include "enforce/tool_table.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;
using What = Touch::What;

constexpr std::size_t kPathsMax = 10'000;
constexpr std::size_t kPathBytesMax = 4096;  // no system opens a longer one

std::string tool_shown(const ToolCall& call) {
  return call.tool.empty() ? std::string("the tool") : "the tool " + shown(call.tool);
}

std::unexpected<Error> bad_argument(const ToolCall& call, std::string_view what,
                                    std::string hint = "repeat the call with a path in its place") {
  return fail(Code::kInvalidInput,
              "cannot tell which files " + tool_shown(call) + " changes: " + std::string(what),
              std::move(hint));
}

// The texts of some arguments, or why there are none.
class Arguments {
 public:
  explicit Arguments(const ToolCall& call) : call_(call) {}

  // Takes the argument's text, or texts; false: it is missing.
  Result<bool> take(std::string_view name) {
    const std::vector<std::string> steps = steps_of(name);
    found_ = false;
    LK_CHECK(collect(call_.input, steps, 0, name));
    return found_;
  }

  std::vector<std::string> texts() { return std::move(texts_); }

 private:
  static std::vector<std::string> steps_of(std::string_view name) {
    if (!name.starts_with('/')) return words_in(name, ".");
    std::vector<std::string> steps = words_in(name, "/");
    for (std::string& step : steps) {  // as JSON pointers write '/' and '~'
      for (std::size_t at = 0; (at = step.find('~', at)) != std::string::npos; ++at) {
        const char code = at + 1 < step.size() ? step[at + 1] : '\0';
        if (code == '0' || code == '1') step.replace(at, 2, code == '0' ? "~" : "/");
      }
    }
    return steps;
  }

  Result<void> collect(const json& value, std::span<const std::string> steps, std::size_t at,
                       std::string_view name) {
    if (value.is_null()) return {};
    if (value.is_array()) {
      const auto index = at < steps.size() ? number_in<std::size_t>(steps[at]) : std::nullopt;
      if (index) return *index < value.size() ? collect(value[*index], steps, at + 1, name) : ok();
      for (const json& each : value) LK_CHECK(collect(each, steps, at, name));
      return {};
    }
    if (at < steps.size()) {
      if (!value.is_object()) return {};
      const auto found = value.find(steps[at]);
      return found == value.end() ? ok() : collect(*found, steps, at + 1, name);
    }
    if (!value.is_string()) {
      return bad_argument(call_, "its argument " + quote(name) + " is not a string");
    }
    found_ = true;
    texts_.push_back(value.get<std::string>());
    if (texts_.size() <= kPathsMax) return {};
    return fail(Code::kLimitExceeded,
                tool_shown(call_) + " names more than " + std::to_string(kPathsMax) + " paths",
                "split the call into smaller ones");
  }

  static Result<void> ok() { return {}; }

  const ToolCall& call_;
  bool found_ = false;
  std::vector<std::string> texts_;
};

// "a|b c": the texts of a or b, and of c. Every one of the words must be there.
Result<std::vector<std::string>> needed_arguments(const ToolCall& call, std::string_view words) {
  Arguments arguments(call);
  for (const std::string& word : words_in(words, " ")) {
    bool found = false;
    for (const std::string& name : words_in(word, "|")) {
      LK_ASSIGN(const bool there, arguments.take(name));
      found = found || there;
    }
    if (found) continue;
    const std::string name = words_in(word, "|").front();
    return bad_argument(call, "it has no argument " + quote(name),
                        "repeat the call with " + quote(name));
  }
  return arguments.texts();
}

Result<std::vector<std::string>> some_arguments(const ToolCall& call,
                                                std::span<const std::string> names) {
  Arguments arguments(call);
  for (const std::string& name : names) LK_CHECK(arguments.take(name));
  std::vector<std::string> texts = arguments.texts();
  if (!texts.empty()) return texts;
  return bad_argument(call, "it has none of the arguments " + shown_list(names),
                      "repeat the call with one of them, or correct the tool's line under "
                      "[hook.tools] in lockkeeper.toml");
}

Result<void> check_paths(const ToolCall& call, std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (path.empty()) return bad_argument(call, "a path is empty");
    if (path.find('\0') != std::string::npos) return bad_argument(call, "a path has a NUL byte");
    if (path.size() > kPathBytesMax) {
      return bad_argument(call, "a path has " + std::to_string(path.size()) + " bytes");
    }
  }
  return {};
}

std::vector<std::string> each_once(std::vector<std::string> texts) {
  std::set<std::string> seen;
  std::erase_if(texts, [&](const std::string& text) { return !seen.insert(text).second; });
  return texts;
}

Result<Touch> edit_of(const ToolCall& call, Does does, std::vector<std::string> paths) {
  Touch touch{.what = What::kEdit};
  LK_CHECK(check_paths(call, paths));
  if (does == Does::kReplace) touch.replaced = each_once(paths);
  if (does == Does::kMove) touch.replaced = {paths.back()};
  touch.paths = each_once(std::move(paths));
  return touch;
}

Result<Touch> patch_of(const ToolCall& call, std::span<const std::string> patches) {
  Touch touch{.what = What::kEdit};
  for (const std::string& text : patches) {
    LK_ASSIGN(const std::vector<PatchedFile> files, read_patch(text));
    for (const PatchedFile& file : files) {
      touch.paths.push_back(file.path);
      if (file.kind == PatchedFile::Kind::kAdd) touch.replaced.push_back(file.path);
      if (file.moved_to.empty()) continue;
      touch.paths.push_back(file.moved_to);
      touch.replaced.push_back(file.moved_to);
    }
  }
  LK_CHECK(check_paths(call, touch.paths));
  touch.paths = each_once(std::move(touch.paths));
  touch.replaced = each_once(std::move(touch.replaced));
  return touch;
}

bool is_patch(std::string_view text) {
  return text.find("*** Begin Patch") != std::string_view::npos;
}

// Where the command runs, if the call says so. Empty: where the client is.
std::string shell_folder(const ToolCall& call) {
  for (const char* const name : {"workdir", "cwd", "dir_path", "directory"}) {
    const auto found = call.input.is_object() ? call.input.find(name) : call.input.end();
    if (found == call.input.end() || !found->is_string()) continue;
    const auto& folder = found->get_ref<const std::string&>();
    if (folder.find('\0') == std::string::npos) return folder;
  }
  return {};
}

// The command as one text for a shell. An array is one of words: the last is a script, as in
// `bash -lc SCRIPT`, or the patch of `apply_patch`.
Result<Touch> shell_of(Client client, const ToolCall& call, std::string_view arguments) {
  Touch touch{.what = What::kShell};
  std::vector<std::string> words;
  for (const std::string& name : words_in(arguments, "|")) {
    const auto found = call.input.is_object() ? call.input.find(name) : call.input.end();
    if (found == call.input.end()) continue;
    const json list = found->is_array() ? *found : json::array({*found});
    for (const json& each : list) {
      if (each.is_string()) words.push_back(each.get<std::string>());
    }
    break;
  }
  for (const std::string& word : words) {
    const bool as_it_is = words.size() == 1 || word.find('\0') != std::string::npos;
    touch.command += (touch.command.empty() ? "" : " ") + (as_it_is ? word : shell_quote(word));
  }
  const std::string folder = shell_folder(call);
  if (!folder.empty() && !words.empty()) {
    touch.command.insert(0, "cd " + shell_quote(folder) + " && ");
  }
  if (client != Client::kCodex || words.empty()) return touch;
  const bool called = words.size() == 2 && words.front() == "apply_patch";
  if (called) return patch_of(call, {&words.back(), 1});
  const bool script = words.size() == 1 || (words.size() == 3 && words[1].starts_with('-'));
  const auto patch = script ? patch_in_command(words.back()) : std::nullopt;
  if (!patch) return touch;
  const std::string text(*patch);
  return patch_of(call, {&text, 1});
}

Result<Touch> batch_of(Client client, const ToolCall& call, const KnownTool& known,
                       std::span<const ToolRule> rules) {
  const auto calls = call.input.is_object() ? call.input.find(known.arguments) : call.input.end();
  if (calls == call.input.end() || !calls->is_array()) {
    return bad_argument(call, "it has no argument " + quote(known.arguments),
                        "repeat the call with an array of calls");
  }
  Touch all{.what = What::kNothing};
  for (const json& each : *calls) {
    const auto tool = each.is_object() ? each.find("tool") : each.end();
    const auto input = each.is_object() ? each.find("parameters") : each.end();
    if (!each.is_object() || tool == each.end() || !tool->is_string()) {
      return bad_argument(call, "a call in it has no \"tool\"",
                          "repeat the call, naming the tool of each call in it");
    }
    ToolCall part{call.id, *tool, json::object(), Outcome::kUnknown};
    if (input != each.end() && input->is_object()) part.input = *input;
    if (part.tool == call.tool) {
      return bad_argument(call, "it contains itself", "make the calls in it one by one");
    }
    LK_ASSIGN(Touch touch, touch_of(client, part, rules));
    // What may change any file counts for more than what names its files.
    if (all.what == What::kNothing || touch.what == What::kUnknown ||
        (touch.what == What::kShell && all.what == What::kEdit)) {
      all.what = touch.what;
    }
    std::ranges::move(touch.paths, std::back_inserter(all.paths));
    std::ranges::move(touch.replaced, std::back_inserter(all.replaced));
    if (!touch.command.empty()) all.command += (all.command.empty() ? "" : "\n") + touch.command;
  }
  all.paths = each_once(std::move(all.paths));
  all.replaced = each_once(std::move(all.replaced));
  return all;
}

// The texts of a patch: the input itself, or one of its arguments.
Result<Touch> patch_call(const ToolCall& call, std::string_view arguments) {
  if (call.input.is_string()) {
    const auto text = call.input.get<std::string>();
    return patch_of(call, {&text, 1});
  }
  LK_ASSIGN(const std::vector<std::string> texts, needed_arguments(call, arguments));
  return patch_of(call, texts);
}

Result<Touch> edit_or_patch(const ToolCall& call, std::string_view arguments) {
  if (call.input.is_string()) return patch_call(call, "");
  for (const char* name : {"patch", "input", "patchText"}) {
    const auto found = call.input.find(name);
    if (found == call.input.end() || !found->is_string()) continue;
    if (is_patch(found->get_ref<const std::string&>())) return patch_call(call, name);
  }
  LK_ASSIGN(std::vector<std::string> paths, needed_arguments(call, arguments));
  return edit_of(call, Does::kEdit, std::move(paths));
}

Result<Touch> by_command(const ToolCall& call, std::string_view arguments) {
  LK_ASSIGN(const std::vector<std::string> command, needed_arguments(call, "command"));
  if (command == std::vector<std::string>{"view"}) return Touch{.what = What::kNothing};
  const bool creates = command == std::vector<std::string>{"create"};
  LK_ASSIGN(std::vector<std::string> paths, needed_arguments(call, arguments));
  return edit_of(call, creates ? Does::kReplace : Does::kEdit, std::move(paths));
}

Result<Touch> known_touch(Client client, const ToolCall& call, const KnownTool& known) {
  switch (known.does) {
    case Does::kNothing:
    case Does::kBatch:
      return Touch{.what = What::kNothing};
    case Does::kShell:
      return shell_of(client, call, known.arguments);
    case Does::kPatch:
      return patch_call(call, known.arguments);
    case Does::kEditOrPatch:
      return edit_or_patch(call, known.arguments);
    case Does::kByCommand:
      return by_command(call, known.arguments);
    case Does::kEdit:
    case Does::kReplace:
    case Does::kMove:
      break;
  }
  LK_ASSIGN(std::vector<std::string> paths, needed_arguments(call, known.arguments));
  return edit_of(call, known.does, std::move(paths));
}

Result<Touch> ruled_touch(Client client, const ToolCall& call, const ToolRule& rule) {
  if (rule.does == "nothing") return Touch{.what = What::kNothing};
  if (rule.does == "shell") return shell_of(client, call, join(rule.paths, "|"));
  if (rule.does != "edit" && rule.does != "replace" && rule.does != "patch") {
    return fail(Code::kInvalidConfig,
                "the rule for the tool " + shown(rule.tool) + " has \"does\" = " + quote(rule.does),
                "write \"edit\", \"replace\", \"patch\", \"shell\" or \"nothing\"");
  }
  if (rule.does == "patch" && call.input.is_string()) return patch_call(call, "");
  LK_ASSIGN(std::vector<std::string> texts, some_arguments(call, rule.paths));
  if (rule.does == "patch") return patch_of(call, texts);
  return edit_of(call, rule.does == "edit" ? Does::kEdit : Does::kReplace, std::move(texts));
}

// Cursor does not always name its tool. What has a command is a shell; what has a path may be an
// edit, and is taken for one.
Result<Touch> inferred_touch(const ToolCall& call) {
  const auto has_one = [&](std::initializer_list<const char*> names) {
    return call.input.is_object() &&
           std::ranges::any_of(names, [&](const char* name) { return call.input.contains(name); });
  };
  if (call.input.is_string() || has_one({"patch", "patchText"}))
    return edit_or_patch(call, "patch");
  if (has_one({"command"})) return shell_of(Client::kCursor, call, "command");
  if (has_one({"notebook_path", "target_notebook"})) {
    return known_touch(Client::kCursor, call, *known_tool(Client::kCursor, "EditNotebook"));
  }
  if (!has_one({"file_path", "path", "target_file", "filePath"})) return Touch{};
  const bool whole = has_one({"content", "contents", "file_text"});
  return known_touch(Client::kCursor, call,
                     *known_tool(Client::kCursor, whole ? "Write" : "StrReplace"));
}

}  // namespace

Result<Touch> touch_of(Client client, const ToolCall& call, std::span<const ToolRule> rules) {
  for (const ToolRule& rule : rules) {
    if (matches_text(rule.tool, call.tool)) return ruled_touch(client, call, rule);
  }
  if (call.tool.empty()) return inferred_touch(call);
  if (const KnownTool* const known = known_tool(client, call.tool)) {
    if (known->does == Does::kBatch) return batch_of(client, call, *known, rules);
    return known_touch(client, call, *known);
  }
  const auto mcp = mcp_tool(client, call.tool);
  if (mcp && mcp->ours) return Touch{.what = What::kOwnMcp};
  if (mcp && !mcp->files.empty()) {
    const KnownTool* const known = filesystem_tool(mcp->files);
    if (known != nullptr) return known_touch(client, call, *known);
  }
  return Touch{};
}

}  // namespace lockkeeper::enforce
