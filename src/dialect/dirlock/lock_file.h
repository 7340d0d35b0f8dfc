// The lock file of the dirlock protocol (docs/dialects/dirlock.md): its path and content.
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
#include "base/json.h"
#include "realm/environment.h"

namespace lockkeeper::dialect::dirlock {

inline constexpr std::size_t kLockBytesMax = 64 * 1024;
// An unreadable file that is younger than this may be half written.
inline constexpr std::int64_t kYoungMs = 5'000;

// As node's os.tmpdir(): TMPDIR, TMP, TEMP or /tmp, without a final '/'. Not resolved.
std::string temp_folder(const realm::Environment& env);

// "agent-dir-<64 hex>.lock". `cwd` is absolute and physical.
std::string lock_name(std::string_view cwd);
bool is_lock_name(std::string_view name);

struct LockRecord {
  std::int64_t pid = 0;
  std::string cwd;
  std::string start_time;                // as written
  std::optional<std::int64_t> start_ms;  // nullopt: not a time with a zone
  std::string hostname;                  // empty: unknown
  std::vector<std::string> agents;

  // Distinguishes locks of the same folder: "12345@2026-02-08T10:30:00.000Z".
  std::string identity() const;
};

// In the order of the file's fields.
Json record_json(const LockRecord& record);
// As JSON.stringify(record, null, 2) writes it.
std::string record_text(const LockRecord& record);

// invalid_input says what is wrong. Only pid and cwd must be there and valid; the other fields are
// optional, unknown ones are ignored.
Result<LockRecord> parse_record(std::string_view text);

// What is found at a lock's path.
struct FoundLock {
  FileStamp stamp;
  std::string bytes;
  std::optional<LockRecord> record;  // nullopt: unreadable
  std::string trouble;               // why not
  // It may be half written at this moment.
  bool young(std::int64_t now_ms) const;
};

// nullopt: there is no file. A record whose cwd does not match the file's name counts as
// unreadable. store_unavailable: a symlink, not a regular file, not accessible, or too large.
Result<std::optional<FoundLock>> read_lock(const Folder& folder, const std::string& name);

enum class Cleared { kDone, kGone, kChanged };  // kChanged: another lock is there now, and stays

// Removes the lock if its bytes are still these. Exact among all callers of this function, of any
// user: the file's inode is locked, compared with the file at its name, moved aside in one step and
// compared again. A file that was moved by mistake is put back.
Result<Cleared> clear_lock(const std::string& folder, const std::string& name,
                           std::string_view bytes);

}  // namespace lockkeeper::dialect::dirlock
