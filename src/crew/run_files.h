// The files of a run. Folders are 0700 and files 0600, because logs tell what agents saw. Agents
// work beside them, so no symlink is followed.
#pragma once

#include <string>
#include <string_view>

#include "base/folder.h"

namespace lockkeeper::crew {

// A folder of a run that exists, by its physical path.
inline Result<Folder> open_run_files(const std::string& path) {
  return Folder::open(path, "", Folder::Kind::kPrivate);
}

// A name from a plan as a file's name: what is not harmless is written as %41; never empty, "." or
// "..", never longer than a file's name may be.
std::string file_name_for(std::string_view id);

}  // namespace lockkeeper::crew
