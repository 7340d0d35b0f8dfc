// `git-hook NAME`: what our git hooks start. Git runs it in the place of every hook of a
// repository, so it does its part and then becomes the repository's own hook.
#include <unistd.h>

#include "cli/verbs/git_arming.h"
#include "cli/verbs/verbs.h"
#include "git/hooks_folder.h"
#include "guard/arming.h"
#include "guard/guard.h"
#include "guard/own_hooks.h"
#include "host/process.h"
#include "realm/disk_path.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kRefsBytesMax = 64U << 20;
constexpr int kHookRefused = 1;

std::string read_refs(std::FILE* in) {
  std::string text;
  char buffer[65536];
  while (text.size() <= kRefsBytesMax) {
    const std::size_t n = std::fread(buffer, 1, sizeof buffer, in);
    if (n == 0) break;
    text.append(buffer, n);
  }
  return text;
}

bool is_after_commit(std::string_view hook) {
  return hook == "post-commit" || hook == "post-merge" || hook == "post-rewrite" ||
         hook == "post-applypatch" || hook == "post-checkout";
}

guard::World git_world(const VerbContext& context, const std::string& cwd) {
  guard::World world;
  world.runtime = &context.runtime();
  world.cwd = cwd;
  world.git_pid = ::getppid();
  world.who.env = context.runtime().env;
  world.who.terminal_session = host::terminal_session;
  world.who.client_process = host::client_process;
  return world;
}

}  // namespace

std::map<std::string, std::string> git_arming(VerbContext& context, const realm::Realm& realm) {
  const realm::Environment& env = context.runtime().env;
  if (!realm.in_git || realm.bare) return {};
  auto variables = guard::arming(env, realm.root, context.environment().program);
  if (variables) return std::move(*variables);
  context.out().warning("the commit guard is not at work: " + variables.error().message);
  return {};
}

Result<int> git_hook_verb(VerbContext& context) {
  std::string named;
  std::vector<std::string> words;
  context.arguments().word("HOOK", named, "its name, or the path by which git started it");
  context.arguments().words("ARGUMENT", words, "what git told it");
  if (const auto status = context.parse()) return *status;
  const std::string hook(realm::last_name(named));
  if (!git::is_hook_name(hook)) {
    return fail(Code::kUsage, quote(hook) + " is not a git hook", "see: git help hooks");
  }
  const realm::Environment& env = context.runtime().env;
  LK_ASSIGN(const std::string cwd, realm::current_folder(context.environment().cwd));
  const auto repository = guard::repository_of(cwd, env);
  if (!repository) return 0;
  const guard::World world = git_world(context, cwd);
  guard::Verdict verdict;
  std::optional<std::string> input;
  if (hook == "pre-commit" || hook == "prepare-commit-msg") {
    verdict = guard::before_commit(world, *repository, hook);
  } else if (hook == "pre-push") {
    input = read_refs(context.environment().in);
    verdict = guard::before_push(world, *repository, *input);
  } else if (is_after_commit(hook)) {
    verdict = guard::after_commit(world, *repository, hook, words);
  }
  std::fputs(verdict.text.c_str(), context.environment().err);
  std::fflush(context.environment().err);
  if (verdict.refused) return kHookRefused;
  const std::string ours = named.starts_with('/') ? realm::parent_path(named) : std::string();
  LK_ASSIGN(const std::string folder, guard::own_hooks_folder(*repository, env, ours));
  if (git::is_hooks_folder(env, folder, ours)) return 0;
  const auto own = guard::own_hook(folder, hook);
  if (!own) {
    std::fputs(guard::ignored_hook_words(*repository, folder, hook).c_str(),
               context.environment().err);
    return 0;
  }
  guard::hide_our_folder(*repository, env, ours, folder);
  return fail(guard::become(*own, words, input ? &*input : nullptr));
}

}  // namespace lockkeeper::cli
