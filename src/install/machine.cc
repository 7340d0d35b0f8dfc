#include "install/machine.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "host/spawn.h"
#include "realm/disk_path.h"
#include "realm/git_folder.h"
#include "realm/user.h"

namespace lockkeeper::install {
namespace {

Result<std::string> existing_folder(const std::string& path, std::string_view what) {
  if (path.empty() || path.front() != '/' || path.contains('\0')) {
    return fail(Code::kInvalidInput,
                "the " + std::string(what) + " " + shown(path) + " is not an absolute path");
  }
  LK_ASSIGN(const realm::DiskPath found, realm::walk_disk("/", path, realm::Patterns::kNone));
  if (found.type != realm::DiskPath::Type::kFolder) {
    return fail(Code::kInvalidInput,
                "the " + std::string(what) + " " + shown(path) + " is not a folder");
  }
  return found.path;
}

std::string xdg(const Machine& machine, const char* variable, const char* below_home) {
  const auto folder = realm::xdg_folder(machine.env, variable, below_home);
  return realm::join_path(folder.value_or(realm::join_path(machine.home, below_home)),
                          "lockkeeper");
}

// Git answers with its exit status alone. Nothing in the repository can make it start a program.
Result<int> git_status(const Machine& machine, std::vector<std::string> words) {
  host::Program git;
  git.argv = {"git", "--no-optional-locks",     "-c", "core.fsmonitor=false",
              "-c",  "core.hooksPath=/dev/null"};
  git.argv.insert(git.argv.end(), words.begin(), words.end());
  git.folder = machine.repository;
  git.environment = {"HOME=" + machine.home, "LC_ALL=C"};
  if (const auto path = realm::variable(machine.env, "PATH")) {
    git.environment->push_back("PATH=" + *path);
  }
  git.in = git.out = git.err = host::kNothing;
  LK_ASSIGN(const host::Started started, host::start(git));
  if (started.exec_errno != 0) return fail(errno_error(started.exec_errno, "git", Code::kFailed));
  const auto status = host::wait_for(started.pid);
  return status.value_or(-1);
}

Result<bool> git_says(const Machine& machine, const std::string& path,
                      std::vector<std::string> words) {
  words.insert(words.end(), {"--", path});
  const auto status = git_status(machine, std::move(words));
  if (status && (*status == 0 || *status == 1)) return *status == 0;
  return fail(Code::kFailed,
              "git does not say whether " + shown(path) + " belongs to the repository " +
                  shown(machine.repository) + (status ? "" : ": " + status.error().message),
              "run `git status` there, or install for --user");
}

}  // namespace

Result<Machine> look_at_machine(realm::Environment env, const std::string& repository) {
  Machine machine;
  const auto home = realm::home_folder(env);
  if (!home) {
    return fail(Code::kInvalidInput, "HOME is not set, and this user has no home folder",
                "set HOME to the folder that has the settings of your coding agents");
  }
  LK_ASSIGN(machine.home, existing_folder(*home, "home folder"));
  if (!repository.empty()) {
    LK_ASSIGN(machine.repository, existing_folder(repository, "repository"));
    LK_ASSIGN(const auto git, realm::git_at(machine.repository));
    if (git) machine.git_folder = git->common_dir;
  }
  machine.env = std::move(env);
  return machine;
}

std::string state_folder(const Machine& machine) {
  return xdg(machine, "XDG_STATE_HOME", ".local/state");
}

std::string data_folder(const Machine& machine) {
  return xdg(machine, "XDG_DATA_HOME", ".local/share");
}

Result<std::optional<std::string>> place_of(const Machine& machine, const ClientFacts& facts,
                                            const SettingsFile& file) {
  using Base = SettingsFile::Base;
  if (file.base == Base::kNone) return std::nullopt;
  std::string folder;
  std::string_view below = file.folder;
  if (file.base == Base::kRepository) {
    if (machine.repository.empty()) {
      return fail(Code::kUsage, "there is no repository here",
                  "go into a repository, or install for --user");
    }
    folder = machine.repository;
  } else if (file.base == Base::kConfigHome) {
    const auto config = realm::xdg_folder(machine.env, "XDG_CONFIG_HOME", ".config");
    folder = config.value_or(realm::join_path(machine.home, ".config"));
  } else {
    folder = machine.home;
    const std::string name(facts.home_variable);
    const auto instead = name.empty() ? std::nullopt : realm::variable(machine.env, name.c_str());
    if (instead) {
      if (instead->front() != '/') {
        return fail(Code::kInvalidInput, name + " " + shown(*instead) + " is not an absolute path",
                    "set it to an absolute path, or not at all");
      }
      folder = *instead;
      if (!facts.variable_is_home && below.starts_with(facts.home_folder)) {
        below.remove_prefix(facts.home_folder.size());
        if (below.starts_with('/')) below.remove_prefix(1);
      }
    }
  }
  if (!below.empty()) folder = realm::join_path(folder, below);
  std::string path = realm::join_path(folder, file.name);
  if (file.other_name.empty()) return path;
  std::string other = realm::join_path(folder, file.other_name);
  const bool instead = file_stamp(path) == 0 && file_stamp(other) != 0;
  return instead ? std::move(other) : std::move(path);
}

Result<ReachedFile> reach_file(const Machine& machine, const std::string& file) {
  const auto refused = [&](const std::string& why) {
    return fail(Code::kInvalidConfig, file + " " + why,
                "put a regular file in its place; nothing was changed");
  };
  LK_ASSIGN(const realm::DiskPath found, realm::walk_disk("/", file, realm::Patterns::kNone));
  ReachedFile reached{.target = found.path};
  if (!found.link.empty()) {
    bool inside = false;
    for (const std::string& folder : {machine.home, machine.repository, machine.git_folder}) {
      inside = inside || (!folder.empty() && path_below(folder, found.path));
    }
    if (!inside) {
      return refused("leads by a symlink to " + shown(found.path) +
                     ", outside of the home folder and the repository");
    }
  }
  if (found.type == realm::DiskPath::Type::kFolder) return refused("is a folder");
  struct stat info{};
  if (found.type == realm::DiskPath::Type::kMissing) {
    const bool dangling = ::lstat(file.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    if (dangling) return refused("is a symlink that leads nowhere");
    return reached;
  }
  if (::lstat(found.path.c_str(), &info) != 0) {
    return fail(errno_error(errno, found.path, Code::kFailed));
  }
  if (!S_ISREG(info.st_mode)) return refused("is not a regular file");
  reached.mode = info.st_mode & 07777U;
  LK_ASSIGN(reached.text, read_file(found.path, kSettingsBytesMax));
  return reached;
}

Result<bool> is_tracked(const Machine& machine, const std::string& path) {
  return git_says(machine, path, {"ls-files", "--error-unmatch"});
}

Result<bool> is_ignored(const Machine& machine, const std::string& path) {
  return git_says(machine, path, {"check-ignore", "-q"});
}

std::optional<std::string> path_below(std::string_view folder, std::string_view path) {
  if (path.size() <= folder.size() + 1 || !path.starts_with(folder)) return std::nullopt;
  if (path[folder.size()] != '/') return std::nullopt;
  return std::string(path.substr(folder.size() + 1));
}

}  // namespace lockkeeper::install
