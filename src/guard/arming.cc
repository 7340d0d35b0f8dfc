#include "guard/arming.h"

#include <unistd.h>

#include "base/parse.h"
#include "base/text.h"
#include "git/hooks_folder.h"
#include "guard/own_hooks.h"
#include "guard/repository.h"

namespace lockkeeper::guard {
namespace {

constexpr const char* kCount = "GIT_CONFIG_COUNT";

// Has the repository a hook that the usual folder leaves out?
git::Hooks hooks_for(const std::string& worktree, const realm::Environment& env) {
  const realm::Environment plain = [&env](const char* name) -> std::optional<std::string> {
    return std::string_view(name).starts_with("GIT_") ? std::nullopt : env(name);
  };
  const auto repository = repository_of(worktree, plain);
  if (!repository) return git::Hooks::kUsual;
  const auto folder = own_hooks_folder(*repository, env, "");
  if (!folder) return git::Hooks::kUsual;
  const std::size_t usual = git::hook_names(git::Hooks::kUsual).size();
  for (const std::string_view rare : git::hook_names(git::Hooks::kAll).subspan(usual)) {
    if (own_hook(*folder, rare)) return git::Hooks::kAll;
  }
  return git::Hooks::kUsual;
}

bool is_armed(const realm::Environment& env, unsigned count) {
  for (unsigned i = count; i-- > 0;) {
    const std::string number = std::to_string(i);
    const auto key = env(("GIT_CONFIG_KEY_" + number).c_str());
    const auto value = env(("GIT_CONFIG_VALUE_" + number).c_str());
    if (!key || !value || lowered(*key) != "core.hookspath") continue;
    return git::is_hooks_folder(env, *value);
  }
  return false;
}

}  // namespace

Result<std::map<std::string, std::string>> arming(const realm::Environment& env,
                                                  const std::string& worktree,
                                                  const std::string& program) {
  const auto given = realm::variable(env, kCount);
  const auto count = number_in<unsigned>(given.value_or("0"));
  if (!count) {
    return fail(Code::kInvalidInput, std::string(kCount) + " " + shown(*given) + " is not a number",
                "git refuses it as well: unset it");
  }
  LK_CHECK(git::keep_hooks_folders(env, program));
  if (is_armed(env, *count)) return std::map<std::string, std::string>();
  LK_ASSIGN(const std::string folder, git::hooks_folder(env, hooks_for(worktree, env)));
  const std::string number = std::to_string(*count);
  return std::map<std::string, std::string>{{kCount, std::to_string(*count + 1)},
                                            {"GIT_CONFIG_KEY_" + number, "core.hooksPath"},
                                            {"GIT_CONFIG_VALUE_" + number, folder}};
}

std::string arming_lines(const std::map<std::string, std::string>& variables,
                         const std::string& text) {
  std::string lines;
  for (const auto& [name, value] : variables) {
    lines += "export " + name + "=" + shell_quote(value) + "\n";
  }
  if (lines.empty() || text.contains(lines)) return {};
  return (text.empty() || text.ends_with('\n') ? "" : "\n") + lines;
}

}  // namespace lockkeeper::guard
