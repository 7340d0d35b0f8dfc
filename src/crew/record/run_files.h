// The files of a run. Folders are 0700 and files 0600, because logs tell what agents saw. Agents
// work beside them, so no symlink is followed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/folder.h"

namespace lockkeeper::crew {

// A folder of a run that exists, by its physical path.
inline Result<Folder> open_run_files(const std::string& path) {
  return Folder::open(path, "", Folder::Kind::kPrivate);
}

// A name from a plan as a file's name: unusual characters are written as %41. Never empty, "." or
// "..", nor too long for a file's name.
std::string file_name_for(std::string_view id);

// The folder of one attempt, below OUTPUT/agents; nullopt: there is none.
Result<std::optional<Folder>> attempt_folder(const Folder& agents, std::string_view agent,
                                             std::size_t number);

}  // namespace lockkeeper::crew
