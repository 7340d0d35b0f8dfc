// A folder of a run, reached without following a symlink and used through its descriptor: agents
// work beside it, and one that swaps a name for a link must not lead us elsewhere. Folders are
// 0700, files 0600: logs tell what agents saw.
//
// Errors name the path; no_space on a full disk, not_found where the header says so, failed else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::crew {

class Folder {
 public:
  // One that exists, by its physical path.
  static Result<Folder> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }

  // A folder in this one, made if it is not there. REQUIRES: a plain name
  Result<Folder> folder(const std::string& name) const;
  // nullopt: there is none.
  Result<std::optional<Folder>> existing(const std::string& name) const;
  Result<bool> has(const std::string& name) const;

  // nullopt: there is none. limit_exceeded beyond `limit`.
  Result<std::optional<std::string>> read(const std::string& name, std::size_t limit) const;
  // The whole file or none of it, whatever happens meanwhile; it survives a crash.
  Result<void> write(const std::string& name, std::string_view text) const;
  // For appending; made if it is not there.
  Result<Fd> append(const std::string& name) const;
  Result<void> rename(const std::string& from, const Folder& into, const std::string& to) const;
  Result<void> remove(const std::string& name) const;  // a file, or an empty folder; gone is fine

  // Locks the file of that name (made if it is not there) among processes, until the descriptor is
  // closed. nullopt: somebody has it.
  Result<std::optional<Fd>> lock(const std::string& name) const;
  // Does somebody have it? False where there is no such file.
  Result<bool> is_locked(const std::string& name) const;

  // Is it still where it was? A folder that was removed or replaced keeps nothing.
  bool is_there() const;

 private:
  Folder(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  std::unexpected<Error> failed(std::string_view name) const;
  Result<Fd> open_file(const std::string& name, int flags) const;

  Fd fd_;
  std::string path_;
};

// A name from a plan as a file's name: what is not harmless is written as %41; never empty, "." or
// "..", never longer than a file's name may be.
std::string file_name_for(std::string_view id);

}  // namespace lockkeeper::crew
