// The patch that apply_patch takes: several files at once, each added, updated, deleted or moved.
//
//   *** Begin Patch
//   *** Update File: src/a.c
//   *** Move to: src/b.c
//   @@
//   -old
//   +new
//   *** Add File: notes.txt
//   +text
//   *** Delete File: old.txt
//   *** End Patch
//
// Only the paths are read. Codex and opencode each forgive other mistakes in a patch. Whatever one
// of them would apply is either read here, with every path that it would touch, or refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::enforce {

struct PatchedFile {
  enum class Kind { kAdd, kUpdate, kDelete };
  Kind kind = Kind::kUpdate;
  std::string path;      // as written: relative to the client's folder, or absolute
  std::string moved_to;  // kUpdate: the new name; empty: it stays

  friend bool operator==(const PatchedFile&, const PatchedFile&) = default;
};

// At least one file, in the patch's order. Errors: invalid_input, with the line.
Result<std::vector<PatchedFile>> read_patch(std::string_view text);

// The patch in a shell command that is nothing but `apply_patch <<'EOF'`, its text and `EOF`;
// nullopt: it is another command. Shell is not parsed.
std::optional<std::string_view> patch_in_command(std::string_view command);

}  // namespace lockkeeper::enforce
