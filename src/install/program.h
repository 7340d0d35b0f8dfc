// The copy of the program that hooks start. It lies outside of every work tree and build folder, so
// its path stays the same when the program is built again, upgraded or moved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "install/machine.h"

namespace lockkeeper::install {

// $XDG_DATA_HOME/lockkeeper/bin/lockkeeper
std::string program_copy(const Machine& machine);

// Is it in a folder that a package manager or an administrator keeps (/usr/bin, /opt/…)?
bool is_in_system_folder(std::string_view program);

// Compares "0.9.1" and "0.10.0-rc1" number by number; a release is newer than its candidates.
// < 0: `a` is older.
int compare_versions(std::string_view a, std::string_view b);

// The version that `program --version` prints; nullopt: it does not run, or prints none.
std::optional<std::string> version_of(const std::string& program);

struct InstalledProgram {
  enum class How : std::uint8_t {
    kSystem,     // it runs from a system folder: nothing was copied
    kUpToDate,   // the copy is the same, or is what runs
    kCopied,     // there was none
    kReplaced,   // there was another one
    kKeptNewer,  // the copy is of a newer version and stays
  };
  std::string path;  // what hooks start
  How how = How::kSystem;
  std::string other_version;  // kReplaced, kKeptNewer: of the other copy; empty: unknown
  std::vector<std::string> folders = {};  // created for it, outermost first
};

struct ProgramRequest {
  std::string self;     // the program that runs: absolute
  std::string version;  // its version
  bool downgrade = false;
  // How to ask a program for its version.
  std::function<std::optional<std::string>(const std::string&)> ask = version_of;
};

// What install_program() would do.
Result<InstalledProgram> look_at_program(const Machine& machine, const ProgramRequest& request);
// Copies the program in one step (0755). failed, no_space: the copy is as it was.
Result<InstalledProgram> install_program(const Machine& machine, const ProgramRequest& request);
// Removes the copy, and its folders if they are empty. False: there was none.
Result<bool> remove_program(const Machine& machine);

}  // namespace lockkeeper::install
