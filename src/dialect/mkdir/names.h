// The names of the mkdir protocol (seed 004): a file's path becomes the name of a folder by its
// sanitiser, `/` and `\` to `__` and `:` to `_`. That is not one to one, so a name is read back as
// all the paths that it may stand for.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::dialect::mkdir {

// A named limit: a name with more readings is taken as its plain and its literal one, with a note.
inline constexpr std::size_t kReadingsMax = 64;
inline constexpr std::size_t kNameBytesMax = 255;  // what a file system takes

// The document's `sed 's/[\/\\]/__/g; s/:/_/g'`.
std::string sanitised(std::string_view path);

// Every path whose sanitised form is `name`, the plain reading (`__` is `/`) first and the literal
// one (the name itself) last; no backslashes, which mean the same as slashes.
struct Readings {
  std::vector<std::string> paths;
  bool complete = true;  // false: more than kReadingsMax; then the plain and the literal one alone
};
enum class Colons { kNo, kYes };  // kYes: only readings with at least one ':'
Readings readings(std::string_view name, Colons colons);
// Only those whose folders are there: `is_folder` is asked for every path up to a '/', at most
// kFoldersMax times. At most kReadingsMax, the one with the most slashes first.
using IsFolder = std::function<bool(const std::string& path)>;
inline constexpr std::size_t kFoldersMax = 512;
std::vector<std::string> readings_in(std::string_view name, Colons colons,
                                     const IsFolder& is_folder);

// Names of sources and artefacts are those on disk, with '%' and '#' as %25 and %23: a '#' would
// end the source's name (service::source_of).
std::string encoded(std::string_view name);
std::string decoded(std::string_view name);

}  // namespace lockkeeper::dialect::mkdir
