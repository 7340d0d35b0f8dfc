#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/text.h"
#include "git/hooks_folder.h"
#include "install/plan.h"
#include "install/record.h"
#include "realm/disk_path.h"

namespace lockkeeper::install {
namespace {

Result<void> make_git_hooks(const Machine& machine, const Plan& plan) {
  if (plan.git_hooks_start.empty()) return {};
  return git::make_hooks_folders(machine.env, plan.git_hooks_start);
}

// Git's own lock of the repository's configuration, while we replace that file.
class GitConfigLock {
 public:
  GitConfigLock() = default;
  GitConfigLock(const GitConfigLock&) = delete;
  GitConfigLock& operator=(const GitConfigLock&) = delete;
  ~GitConfigLock() {
    if (!file_.empty()) ::unlink(file_.c_str());
  }

  Result<void> take(const Machine& machine, const Plan& plan) {
    if (machine.git_folder.empty()) return {};
    const std::string config = realm::join_path(machine.git_folder, "config");
    const auto changes = [&](const Change& change) { return change.target == config; };
    if (std::ranges::none_of(plan.changes, changes)) return {};
    const std::string lock = config + ".lock";
    const Fd fd(::open(lock.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd && errno == EEXIST) {
      return fail(Code::kFailed, "another git is changing " + config + ": " + lock + " is there",
                  "try again; if no git is running, remove that file");
    }
    if (!fd) return fail(errno_error(errno, lock, Code::kFailed));
    file_ = lock;
    return {};
  }

 private:
  std::string file_;
};

class Carrier {
 public:
  Carrier(const Machine& machine, const Plan& plan, Record& record)
      : machine_(machine), plan_(plan), record_(record) {}

  Result<Done> run() {
    GitConfigLock lock;
    LK_CHECK(lock.take(machine_, plan_));
    for (const Change& change : plan_.changes) LK_CHECK(check_unchanged(change));
    for (const Change& change : plan_.changes) LK_CHECK(keep(change));
    const bool started = record_.starts_program();
    if (plan_.program) {
      LK_ASSIGN(program_, install_program(machine_, *plan_.program));
      record_.put_folders(program_.folders);
    }
    if (auto made = make_git_hooks(machine_, plan_); !made) return undo(std::move(made.error()));
    for (const Change& change : plan_.changes) {
      written_.push_back({.change = &change});
      if (auto done = write(written_.back()); !done) return undo(std::move(done.error()));
    }
    for (const Written& each : written_) remember(each);
    for (const std::string& file : plan_.forgotten) forget(file);
    if (auto saved = record_.save(); !saved) return undo(std::move(saved.error()));
    for (const std::string& sha256 : unused_) record_.forget_backup(sha256);
    if (started && !record_.starts_program()) {
      LK_CHECK(remove_program(machine_));
      LK_CHECK(git::remove_hooks_folders(machine_.env));
    }
    return std::move(done_);
  }

 private:
  struct Written {
    const Change* change = nullptr;
    std::vector<std::string> folders = {};  // created for it, outermost first
  };

  Result<void> check_unchanged(const Change& change) const {
    LK_ASSIGN(const ReachedFile now, reach_file(machine_, change.file));
    if (now.target == change.target && now.text == change.before) return {};
    return fail(Code::kFailed, change.file + " has changed meanwhile",
                "try again; nothing was changed");
  }

  Result<void> keep(const Change& change) {
    if (change.before && !change.as_we_left_it) {
      LK_ASSIGN(const std::string sha256, record_.keep_backup(*change.before));
      done_.backups.push_back(record_.backup_path(sha256));
    }
    if (change.original && !change.slots.empty()) {
      LK_CHECK(record_.keep_backup(*change.original));
    }
    return {};
  }

  static Result<void> replace(const std::string& target, const std::string& text, unsigned mode) {
    Replacing how;
    how.mode = mode;
    struct stat info{};
    // Root edits a user's file: it stays the user's, and a new one is that of the folder's owner.
    const std::string folder = realm::parent_path(target);
    if (::geteuid() == 0 &&
        (::stat(target.c_str(), &info) == 0 || ::stat(folder.c_str(), &info) == 0)) {
      how.uid = info.st_uid;
      how.gid = info.st_gid;
    }
    return replace_file_durably(target, text, how);
  }

  static Result<void> make_folder(const std::string& folder, unsigned mode) {
    struct stat above{};
    const bool root = ::geteuid() == 0 && ::stat(realm::parent_path(folder).c_str(), &above) == 0;
    if (::mkdir(folder.c_str(), mode) != 0 ||
        (root && ::lchown(folder.c_str(), above.st_uid, above.st_gid) != 0)) {
      return fail(errno_error(errno, folder, Code::kFailed));
    }
    return {};
  }

  static Result<void> write(Written& written) {
    const Change& change = *written.change;
    if (!change.after) {
      if (::unlink(change.target.c_str()) == 0 || errno == ENOENT) return {};
      return fail(errno_error(errno, change.target, Code::kFailed));
    }
    std::vector<std::string> missing;
    struct stat info{};
    for (std::string folder = realm::parent_path(change.target);
         ::lstat(folder.c_str(), &info) != 0 && errno == ENOENT;
         folder = realm::parent_path(folder)) {
      missing.push_back(folder);
    }
    for (const std::string& folder : missing | std::views::reverse) {
      LK_CHECK(make_folder(folder, change.folder_mode));
      written.folders.push_back(folder);
    }
    return replace(change.target, *change.after, change.mode);
  }

  // Everything as it was.
  std::unexpected<Error> undo(Error error) {
    std::vector<std::string> lost;
    for (const Written& each : written_ | std::views::reverse) {
      const Change& change = *each.change;
      const bool restored =
          change.before
              ? replace(change.target, *change.before, change.mode).has_value()
              : ::unlink(change.target.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR;
      if (!restored) lost.push_back(change.file);
      record_.put_folders(each.folders);
    }
    if (program_.how == InstalledProgram::How::kCopied) {
      static_cast<void>(remove_program(machine_));
      static_cast<void>(git::remove_hooks_folders(machine_.env));
    }
    if (!lost.empty()) {
      error.message += "; not restored: " + shown_list(lost);
      error.hint = "the backups are in " + record_.backup_path("");
    } else {
      error.message += "; every file is as it was";
    }
    return fail(std::move(error));
  }

  void remember(const Written& written) {
    const Change& change = *written.change;
    FileRecord next;
    next.file = change.target;
    if (const FileRecord* const known = record_.find(change.target)) {
      unused_.push_back(known->original);
    }
    record_.put_folders(written.folders);
    record_.erase(change.target);
    if (change.slots.empty() || !change.after) return;
    next.written = sha256_hex(*change.after);
    if (change.original) next.original = sha256_hex(*change.original);
    next.slots = change.slots;
    record_.put(std::move(next));
  }

  void forget(const std::string& file) {
    if (const FileRecord* const known = record_.find(file)) unused_.push_back(known->original);
    record_.erase(file);
  }

  const Machine& machine_;
  const Plan& plan_;
  Record& record_;
  InstalledProgram program_;
  std::vector<Written> written_;
  std::vector<std::string> unused_;  // backups that may have become useless
  Done done_;
};

}  // namespace

Result<Done> carry_out(const Machine& machine, const Plan& plan) {
  if (plan.is_nothing()) {
    LK_CHECK(make_git_hooks(machine, plan));
    return Done{};
  }
  LK_ASSIGN(Record record, Record::load_locked(state_folder(machine)));
  auto done = Carrier(machine, plan, record).run();
  // Unless everything was restored. A record that still names them does no harm.
  if (record.remove_empty_folders() && done) static_cast<void>(record.save());
  return done;
}

}  // namespace lockkeeper::install
