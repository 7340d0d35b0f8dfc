// The names of the mkdir protocol. Its sanitiser turns a file's path into a folder's name: `/` and
// `\` become `__`, and `:` becomes `_`. This is not reversible, so a name stands for all the paths
// that give it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::dialect::mkdir {

// A name with more readings counts as its plain and its literal one, with a note.
inline constexpr std::size_t kReadingsMax = 64;
inline constexpr std::size_t kNameBytesMax = 255;  // the file system's limit

// The protocol's `sed 's/[\/\\]/__/g; s/:/_/g'`.
std::string sanitised(std::string_view path);

// Every path whose sanitised form is `name`, the plain reading (`__` is `/`) first and the literal
// one (the name itself) last; no backslashes, which mean the same as slashes.
struct Readings {
  std::vector<std::string> paths;
  bool complete = true;  // false: more than kReadingsMax; then only the plain and the literal one
};
enum class Colons { kNo, kYes };  // kYes: only readings with at least one ':'
Readings readings(std::string_view name, Colons colons);
// Only those whose folders are there: `is_folder` is asked for every path up to a '/', at most
// kFoldersMax times. At most kReadingsMax, the one with the most slashes first.
using IsFolder = std::function<bool(const std::string& path)>;
inline constexpr std::size_t kFoldersMax = 512;
std::vector<std::string> readings_in(std::string_view name, Colons colons,
                                     const IsFolder& is_folder);

// Names of sources and artefacts are those on disk, with '%' and '#' as %25 and %23, because a '#'
// would end the source's name (layout::source_of).
std::string encoded(std::string_view name);
std::string decoded(std::string_view name);

}  // namespace lockkeeper::dialect::mkdir
