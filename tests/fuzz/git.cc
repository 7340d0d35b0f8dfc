// What git leaves in a repository, of any bytes: its config, a `.git` file, a `commondir`.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "fuzz.h"
#include "realm/git_folder.h"

namespace lockkeeper::fuzz {
namespace {

struct Repositories {
  std::string whole = scratch() + "/whole";    // its config is the input
  std::string linked = scratch() + "/linked";  // its `.git` file is
  std::string common = scratch() + "/common";  // its `.git/commondir` is
};

const Repositories& repositories() {
  static const Repositories kMade = [] {
    Repositories made;
    for (const std::string& folder : {made.whole, made.common}) {
      std::filesystem::create_directories(folder + "/.git/objects");
      std::filesystem::create_directories(folder + "/.git/refs");
      write_file(folder + "/.git/HEAD", "ref: refs/heads/main\n");
    }
    std::filesystem::create_directories(made.linked);
    return made;
  }();
  return kMade;
}

void check(const Result<std::optional<realm::GitFolder>>& git) {
  if (!git) {
    require(git.error().code == Code::kStoreUnavailable || git.error().code == Code::kInvalidConfig,
            "refused with another code");
    return;
  }
  if (!*git) return;
  require((*git)->common_dir.starts_with('/'), "a relative place");
  if ((*git)->shared) require((*(*git)->shared & 0600) == 0600, "its owner is locked out");
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte() % 4U;
  const std::string_view text = input.rest();
  const Repositories& made = repositories();
  if (choice == 0) {
    const auto config = realm::parse_git_config(text, "config");
    if (!config) return require_readable(config.error());
    if (!config->shared_repository) return;
    const auto shared = realm::shared_permissions(*config->shared_repository, "config");
    if (!shared) require_readable(shared.error());
  } else if (choice == 1) {
    write_file(made.whole + "/.git/config", text);
    check(realm::git_at(made.whole));
  } else if (choice == 2) {
    write_file(made.linked + "/.git", text);
    check(realm::git_at(made.linked));
  } else {
    write_file(made.common + "/.git/commondir", text);
    check(realm::git_at(made.common));
  }
}

}  // namespace lockkeeper::fuzz
