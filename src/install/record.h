// What we did to which files: kept in the state folder, so that an uninstall can restore every
// byte. It is read and written under a lock on that folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::install {

struct FileRecord {
  std::string file;      // where it is, physically
  std::string written;   // the SHA-256 of what we left there
  std::string original;  // the SHA-256 of what was there before us; empty: there was no file
  std::vector<std::string> slots;  // which pieces of ours it has (Piece::slot)
};

// A lock folder of another tool that an init has registered.
struct JoinedLayout {
  std::string store;  // the realm's store folder
  std::string id;     // of the layout there

  bool operator==(const JoinedLayout&) const = default;
};

class Record {
 public:
  // An empty one if there is none. failed: it cannot be read, or is damaged.
  static Result<Record> load(const std::string& state_folder);
  // The same to be changed: until it is destroyed nobody else installs. Creates the folder.
  static Result<Record> load_locked(const std::string& state_folder);

  const FileRecord* find(std::string_view file) const;  // null: none
  void put(FileRecord record);
  void erase(std::string_view file);
  bool uses_backup(std::string_view sha256) const;
  const std::vector<FileRecord>& files() const { return files_; }
  const std::vector<JoinedLayout>& layouts() const { return layouts_; }
  void put_layout(JoinedLayout layout);
  void erase_layouts(std::string_view store);
  bool starts_program() const;  // does anything on record start our program?
  // That we created: they go as soon as they are empty.
  void put_folders(const std::vector<std::string>& outermost_first);

  // Also without the file if nothing is recorded. failed, no_space: nothing has changed.
  Result<void> save() const;

  // Backups are named by their content; 0600, in a folder of 0700.
  std::string backup_path(std::string_view sha256) const;
  Result<std::string> keep_backup(std::string_view text) const;  // its SHA-256
  // not_found: there is none, or it is not what it was.
  Result<std::string> backup(std::string_view sha256) const;
  // Removes the backup, unless it is in use.
  void forget_backup(std::string_view sha256) const;
  // Removes folders of ours that are empty. True: the record is not what was saved.
  bool remove_empty_folders();

 private:
  explicit Record(std::string folder) : folder_(std::move(folder)) {}
  std::string path() const { return folder_ + "/installed.json"; }

  std::string folder_;
  std::vector<FileRecord> files_;
  std::vector<JoinedLayout> layouts_;
  std::vector<std::string> folders_;
  Fd lock_;
};

}  // namespace lockkeeper::install
