#include "app/git_front.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/folder.h"
#include "base/parse.h"
#include "base/text.h"
#include "enforce/hook/hook.h"
#include "guard/arming.h"
#include "host/process.h"
#include "realm/disk_path.h"
#include "realm/identity.h"

namespace lockkeeper::app {
namespace {

constexpr std::string_view kFrontName = "git-in-front";
constexpr const char* kGit = "git";
// The end of the name of a folder whose git judges nothing: the agent's hooks do.
constexpr std::string_view kUnjudged = "-unjudged";

// One of ours, also of another version of this program: two of them must not start each other.
bool is_front(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.find('/') == std::string_view::npos) return false;
  return realm::last_name(realm::parent_path(folder)) == kFrontName;
}

// Which of the two was started: the kernel knows the file's name, argv[0] is the caller's choice.
bool is_unjudged() {
  const auto* const file = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT
  return file != nullptr && realm::parent_path(file).ends_with(kUnjudged);
}

// Does it only ask? Tools that manage hooks learn so where they are to write them.
bool asks_where_hooks_are(const std::vector<std::string>& words) {
  constexpr std::string_view kWithValue[] = {"-C",           "-c",           "--git-dir",
                                             "--work-tree",  "--namespace",  "--super-prefix",
                                             "--config-env", "--attr-source"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(kWithValue, words[i]) != std::end(kWithValue)) {
      ++i;
    } else if (!words[i].starts_with('-')) {
      return words[i] == "config" || words[i] == "rev-parse";
    }
  }
  return false;
}

// The first in PATH that is not one of ours. Empty: there is none.
std::string real_git(const realm::Environment& env) {
  const std::string path = realm::variable(env, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (const std::string& folder : words_in(path, ":")) {
    std::string program = folder + "/" + kGit;
    struct stat info{};
    const bool file = ::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (!is_front(folder) && file && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

Result<core::Owner> identity(const realm::Environment& env) {
  realm::IdentityRequest request;
  request.env = env;
  request.terminal_session = host::terminal_session;
  request.client_process = host::client_process;
  LK_ASSIGN(const realm::Identity found, realm::find_identity(request));
  return core::Owner{found.agent, found.session};
}

// As commands name themselves; and, in the shell of a coding agent, as its hooks do.
Result<std::vector<core::Owner>> identities(const realm::Environment& env) {
  LK_ASSIGN(core::Owner own, identity(env));
  std::vector<core::Owner> all{own};
  if (realm::coding_agent_around(env).empty()) return all;
  const auto hidden = [&](const char* name) -> std::optional<std::string> {
    const bool ours =
        std::strcmp(name, "LOCKKEEPER_AGENT") == 0 || std::strcmp(name, "LOCKKEEPER_SESSION") == 0;
    return ours ? std::nullopt : env(name);
  };
  LK_ASSIGN(core::Owner client, identity(hidden));
  if (const auto named = realm::variable(env, "LOCKKEEPER_AGENT")) client.agent = *named;
  all.push_back(std::move(client));
  return all;
}

void say(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "%s\n", escaped(text, true).c_str());
}

// 0: git may run.
int judged(const std::vector<std::string>& words, const service::Runtime& runtime) {
  // Whatever is wrong with its name or its folder, `git status` works.
  if (!enforce::hook::is_git_to_judge(words)) return 0;
  const auto who = identities(runtime.env);
  const auto folder = realm::current_folder();
  if (!who || !folder) {
    const Error& error = who ? folder.error() : who.error();
    say("lockkeeper: " + error.message + (error.hint.empty() ? "" : "; " + error.hint));
    return exit_status(error.code);
  }
  enforce::hook::World world;
  world.runtime = &runtime;
  world.cwd = *folder;
  const enforce::Answer answer = enforce::hook::judge_git(world, *who, words);
  say(answer.reason);
  say(answer.tell);
  return answer.verdict == enforce::Verdict::kPass ? 0 : exit_status(Code::kHeld);
}

}  // namespace

Result<std::string> make_git_front(const realm::Environment& env, bool judges) {
  const std::string program = host::own_program_path();
  const auto state = realm::xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  if (!state || program.empty()) {
    return fail(Code::kFailed, state ? "this program's file is gone" : "HOME is not set");
  }
  std::error_code failed;
  std::filesystem::create_directories(*state, failed);
  LK_ASSIGN(const Folder top, Folder::open(*state, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const Folder ours, top.folder("lockkeeper"));
  LK_ASSIGN(const Folder fronts, ours.folder(std::string(kFrontName)));
  const std::string name = realm::store_digest(program) + std::string(judges ? "" : kUnjudged);
  LK_ASSIGN(Folder folder, fronts.folder(name));
  char target[PATH_MAX];
  const ssize_t size = ::readlinkat(folder.fd(), kGit, target, sizeof target);
  if (size > 0 && std::string_view(target, static_cast<std::size_t>(size)) == program) {
    return folder.path();
  }
  if (size >= 0 || errno != ENOENT) LK_CHECK(folder.remove(kGit));
  if (::symlinkat(program.c_str(), folder.fd(), kGit) != 0 && errno != EEXIST) {
    return folder.failed(errno, "make", kGit);
  }
  return folder.path();
}

bool is_git_front(const char* name) {
  return name != nullptr && realm::last_name(name) == kGit;
}

int run_git_front(int argc, char** argv, const service::Runtime& runtime) {
  const std::string git = real_git(runtime.env);
  if (git.empty()) {
    say("lockkeeper: git is not installed");
    return 127;
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int status = is_unjudged() ? 0 : judged(words, runtime);
  if (status != 0) return status;
  if (asks_where_hooks_are(words)) guard::disarm_process(runtime.env, "");
  std::string name = kGit;
  argv[0] = name.data();
  ::execv(git.c_str(), argv);
  const int why = errno;
  say("lockkeeper: cannot start " + git + ": " + std::strerror(why));
  return 126;
}

}  // namespace lockkeeper::app
