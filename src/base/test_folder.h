// For tests alone: a fresh temporary folder, removed with all it holds at the end of the scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/assert.h"

namespace lockkeeper {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockkeeper-XXXXXX").string();
    LOCKKEEPER_ASSERT(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TestFolder() {
    namespace fs = std::filesystem;
    std::error_code failed;
    fs::remove_all(path_, failed);
    if (!failed) return;
    // Folders that their owner may not write.
    std::error_code ignored;
    for (fs::recursive_directory_iterator each(path_, ignored), end; each != end;
         each.increment(ignored)) {
      if (!each->is_directory(ignored) || each->is_symlink(ignored)) continue;
      fs::permissions(each->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace lockkeeper
