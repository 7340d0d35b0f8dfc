#include "guard/arming.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "git/hooks_folder.h"
#include "guard/own_hooks.h"
#include "guard/repository.h"

namespace lockkeeper::guard {
namespace {

constexpr const char* kCount = "GIT_CONFIG_COUNT";
const std::string kKey = "GIT_CONFIG_KEY_";
const std::string kValue = "GIT_CONFIG_VALUE_";
constexpr unsigned kPairsMax = 1'000;

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

bool names_hooks(const ConfigPair& pair) {
  return lowered(pair.first) == "core.hookspath";
}

bool is_armed(const realm::Environment& env) {
  const auto pairs = config_pairs(env);
  const auto last = std::ranges::find_if(pairs.rbegin(), pairs.rend(), names_hooks);
  return last != pairs.rend() && git::is_hooks_folder(env, last->second);
}

}  // namespace

std::vector<ConfigPair> config_pairs(const realm::Environment& env) {
  const auto count = number_in<unsigned>(realm::variable(env, kCount).value_or("0"));
  std::vector<ConfigPair> pairs;
  for (unsigned i = 0; i < std::min(count.value_or(0), kPairsMax); ++i) {
    auto key = env((kKey + std::to_string(i)).c_str());
    auto value = env((kValue + std::to_string(i)).c_str());
    if (!key || !value) break;
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  return pairs;
}

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
  if (is_armed(env)) return std::map<std::string, std::string>();
  LK_ASSIGN(const std::string folder, git::hooks_folder(env, hooks_for(worktree, env)));
  const std::string number = std::to_string(*count);
  return std::map<std::string, std::string>{{kCount, std::to_string(*count + 1)},
                                            {"GIT_CONFIG_KEY_" + number, "core.hooksPath"},
                                            {"GIT_CONFIG_VALUE_" + number, folder}};
}

std::map<std::string, std::optional<std::string>> disarming(const realm::Environment& env,
                                                            const std::string& ours) {
  const auto count = number_in<unsigned>(realm::variable(env, kCount).value_or("0")).value_or(0);
  const auto pairs = config_pairs(env);
  const bool odd = pairs.size() != count;  // git refuses it, whatever we do
  std::map<std::string, std::optional<std::string>> variables;
  unsigned kept = 0;
  for (const auto& pair : pairs) {
    if (names_hooks(pair) && git::is_hooks_folder(env, pair.second, ours)) continue;
    const std::string number = std::to_string(kept++);
    variables[kKey + number] = pair.first;
    variables[kValue + number] = pair.second;
  }
  if (odd || kept == count) return {};
  for (unsigned i = kept; i < count; ++i) {
    variables[kKey + std::to_string(i)] = std::nullopt;
    variables[kValue + std::to_string(i)] = std::nullopt;
  }
  variables[kCount] = kept == 0 ? std::nullopt : std::optional(std::to_string(kept));
  return variables;
}

void disarm_process(const realm::Environment& env, const std::string& ours) {
  for (const auto& [name, value] : disarming(env, ours)) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
}

std::string arming_lines(const std::map<std::string, std::string>& variables,
                         const std::string& front, const std::string& text) {
  std::string lines;
  for (const auto& [name, value] : variables) {
    lines += "export " + name + "=" + shell_quote(value) + "\n";
  }
  if (!lines.empty() && !front.empty()) {
    const std::string folder = shell_quote(front);
    lines += "case \":$PATH:\" in *:" + folder + ":*) ;; *) export PATH=" + folder +
             ":\"$PATH\" ;; esac\n";
  }
  if (lines.empty() || text.contains(lines)) return {};
  return (text.empty() || text.ends_with('\n') ? "" : "\n") + lines;
}

}  // namespace lockkeeper::guard
