// What lies in the folder of snapshots, of any bytes, and what git keeps beside it: it is read or
// passed over, never taken for something else.
#include "fuzz.h"
#include "git/ref_log.h"
#include "snapshot/ignored.h"
#include "snapshot/packed.h"
#include "snapshot/record.h"
#include "snapshot/tree.h"

namespace lockkeeper::fuzz {
namespace {

using snapshot::Version;

Version version_in(Input& input) {
  Version version;
  version.at_wall_ms = static_cast<std::int64_t>(input.number());
  version.worktree = input.line();
  version.path = input.line();
  version.writer = {std::string(input.line()), std::string(input.line())};
  version.kind = static_cast<snapshot::Kind>(input.byte() % 4);
  version.why = static_cast<snapshot::Why>(input.byte() % 8);
  version.mode = input.two_bytes() & 07777U;
  version.target = input.line();
  version.content = std::string(40, "0123456789abcdef"[input.byte() % 16]);
  version.size = input.number();
  return version;
}

void require_same(const Version& a, const Version& b) {
  require(a.id == b.id && a.at_wall_ms == b.at_wall_ms && a.worktree == b.worktree &&
              a.path == b.path && a.writer == b.writer && a.kind == b.kind && a.why == b.why &&
              a.mode == b.mode && a.target == b.target && a.content == b.content &&
              a.size == b.size && a.mark == b.mark,
          "a version is read as another");
}

// What is read is written and read the same again.
void check_index(std::string_view bytes) {
  std::size_t seen = 0;
  const snapshot::Scanned scanned = snapshot::each_version(bytes, [&](Version&& version) {
    ++seen;
    Version again = version;
    const std::string written = snapshot::encode_version(again);
    require(!written.empty(), "what was read cannot be written");
    snapshot::each_version(written, [&](Version&& second) {
      require(second.path == version.path && second.content == version.content,
              "what was written is read as another");
      return true;
    });
    return true;
  });
  require(seen == scanned.versions && scanned.torn_bytes <= bytes.size(), "miscounted");
}

// A whole record is found whatever lies before and behind it.
void check_found(Input& input) {
  Version version = version_in(input);
  const std::string record = snapshot::encode_version(version);
  if (record.empty()) return;
  const std::string junk(input.rest());
  bool found = false;
  snapshot::each_version(junk + record + junk, [&](Version&& one) {
    if (one.id != version.id) return true;
    require_same(one, version);
    found = true;
    return true;
  });
  require(found, "a whole record is not found");
}

void check_content(Input& input) {
  const std::uint64_t size = input.two_bytes();
  const std::string_view bytes = input.rest();
  const auto content = snapshot::decompressed(bytes, size);
  require(!content || content->size() == size, "another size than was asked for");
  const auto packed = snapshot::compressed(bytes);
  require(packed && snapshot::decompressed(*packed, bytes.size()) == bytes, "not what was packed");
}

void check_git(Input& input) {
  const std::string path(input.line());
  const std::string text(input.rest());
  static snapshot::Tree tree(scratch());
  write_file(scratch() + "/.gitignore", text);
  static_cast<void>(snapshot::Ignored(tree, text).ignores(path.empty() ? "a" : path));
  for (const git::LogEntry& entry : git::log_entries(text)) {
    require(entry.commit.size() == 40 || entry.commit.size() == 64, "not a commit");
  }
}

}  // namespace

void run(Input input) {
  switch (input.byte() % 4U) {
    case 0:
      return check_index(input.rest());
    case 1:
      return check_found(input);
    case 2:
      return check_content(input);
    default:
      return check_git(input);
  }
}

}  // namespace lockkeeper::fuzz
