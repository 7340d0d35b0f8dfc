#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/text.h"
#include "install/plan.h"
#include "install/record.h"
#include "realm/disk_path.h"

namespace lockkeeper::install {
namespace {

class Carrier {
 public:
  Carrier(const Machine& machine, const Plan& plan, Record record)
      : machine_(machine), plan_(plan), record_(std::move(record)) {}

  Result<Done> run() {
    for (const Change& change : plan_.changes) LK_CHECK(check_unchanged(change));
    for (const Change& change : plan_.changes) LK_CHECK(keep(change));
    for (const Change& change : plan_.changes) {
      written_.push_back({.change = &change});
      if (auto done = write(written_.back()); !done) return undo(std::move(done.error()));
    }
    for (const Written& each : written_) remember(each);
    for (const std::string& file : plan_.forgotten) forget(file);
    if (auto saved = record_.save(); !saved) return undo(std::move(saved.error()));
    for (const std::string& sha256 : unused_) record_.forget_backup(sha256);
    for (const std::string& folder : emptied_ | std::views::reverse) ::rmdir(folder.c_str());
    return std::move(done_);
  }
  void tidy() const { record_.remove_empty_folders(); }

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
      for (const std::string& folder : each.folders | std::views::reverse) ::rmdir(folder.c_str());
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
      next.folders = known->folders;
      unused_.push_back(known->original);
    }
    next.folders.insert(next.folders.end(), written.folders.begin(), written.folders.end());
    if (!change.after) emptied_.insert(emptied_.end(), next.folders.begin(), next.folders.end());
    record_.erase(change.target);
    if (change.slots.empty() || !change.after) return;
    next.written = sha256_hex(*change.after);
    if (change.original) next.original = sha256_hex(*change.original);
    next.slots = change.slots;
    record_.put(std::move(next));
  }

  void forget(const std::string& file) {
    if (const FileRecord* const known = record_.find(file)) {
      unused_.push_back(known->original);
      emptied_.insert(emptied_.end(), known->folders.begin(), known->folders.end());
    }
    record_.erase(file);
  }

  const Machine& machine_;
  const Plan& plan_;
  Record record_;
  std::vector<Written> written_;
  std::vector<std::string> unused_;   // backups that may have become useless
  std::vector<std::string> emptied_;  // folders of ours that may be empty, outermost first
  Done done_;
};

}  // namespace

Result<Done> carry_out(const Machine& machine, const Plan& plan) {
  if (plan.changes.empty() && plan.forgotten.empty()) return Done{};
  const std::string folder = state_folder(machine);
  LK_ASSIGN(const Fd lock, Record::lock(folder));
  LK_ASSIGN(Record record, Record::load(folder));
  Carrier carrier(machine, plan, std::move(record));
  auto done = carrier.run();
  carrier.tidy();
  return done;
}

}  // namespace lockkeeper::install
