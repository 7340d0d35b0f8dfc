// The lock file of the directory lock (docs/dialects/dirlock.md): where it lies, what stands in it.
//
//   {tmpdir}/agent-dir-{sha256(cwd)}.lock
//   {"pid": 12345, "cwd": "/home/u/app", "startTime": "2026-02-08T10:30:00.000Z",
//    "hostname": "box", "agents": ["auto-advance"]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "realm/environment.h"

namespace lockkeeper::dialect::dirlock {

inline constexpr std::size_t kLockBytesMax = 64 * 1024;
// A file that cannot be understood and is younger than this may be one that is being written.
inline constexpr std::int64_t kYoungMs = 5'000;

// As node's os.tmpdir(): TMPDIR, TMP, TEMP, else /tmp; without the '/' at its end. As written.
std::string temp_folder(const realm::Environment& env);

// "agent-dir-<64 hex>.lock". `cwd` is absolute and physical.
std::string lock_name(std::string_view cwd);
bool is_lock_name(std::string_view name);

struct LockRecord {
  std::int64_t pid = 0;
  std::string cwd;
  std::string start_time;                // as it stands there
  std::optional<std::int64_t> start_ms;  // nullopt: it is no time with a zone
  std::string hostname;                  // empty: not told
  std::vector<std::string> agents;

  // Tells this lock from any other of the same folder: "12345@2026-02-08T10:30:00.000Z".
  std::string identity() const;
};

// As JSON.stringify(record, null, 2) writes it.
std::string record_text(const LockRecord& record);

// invalid_input says what is wrong. Only pid and cwd must be there and right; what the document has
// besides is taken if it is, more is passed over.
Result<LockRecord> parse_record(std::string_view text);

// What is found at a lock's place.
struct FoundLock {
  FileStamp stamp;
  std::string bytes;
  std::optional<LockRecord> record;  // nullopt: it cannot be understood
  std::string trouble;               // why not
  // Of the time now: perhaps it is being written this moment.
  bool young(std::int64_t now_ms) const;
};

// nullopt: nothing is there. A record whose cwd does not belong to the file's name is not
// understood. store_unavailable: a symlink, no regular file, not readable, or too large.
Result<std::optional<FoundLock>> read_lock(const Folder& folder, const std::string& name);

enum class Cleared { kDone, kGone, kChanged };  // kChanged: another's is there now, and left alone

// Removes the lock if its bytes are still these. Exact among all who remove by this function, of
// whatever user: the file's inode is locked, compared with what its name leads to, taken aside in
// one step and compared again. What was taken aside by mistake is put back.
Result<Cleared> clear_lock(const std::string& folder, const std::string& name,
                           std::string_view bytes);

}  // namespace lockkeeper::dialect::dirlock
