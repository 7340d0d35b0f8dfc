// One JSON file that CoordMCP's processes replace as a whole (load, check, write a new file,
// rename; without any lock). We change it without losing their concurrent writes, even if we are
// killed:
//
//   1. our processes take turns with a lock file beside it;
//   2. the new text is written to a second file, under a lease (fcntl), so that nobody can open it
//      yet. A note records what was read, what will be written and what must still be merged;
//   3. both files are exchanged in one step. The old one must be what was read. If it is not,
//      another process wrote meanwhile: its changes are merged into ours before anybody can read
//      them. Without leases, we start again from 2.
//
// If we are killed between 3 and the merge, the note remains, and our next process merges.
//
// A process that read the file before we removed an entry, and writes it afterwards, brings that
// entry back. So we remember removed entries for a day: such a ghost blocks nobody, and our next
// process removes it.
//
// Our hidden files beside "x.json" are ".x.json.lockkeeper-…". We touch nothing else, never leave
// an empty file, and never replace a file that cannot be parsed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/folder.h"
#include "dialect/coordmcp/lock_file.h"

namespace lockkeeper::dialect::coordmcp {

inline constexpr std::size_t kFileBytesMax = 16 << 20;

class SharedFile {
 public:
  // All must outlive it.
  SharedFile(const Folder& folder, std::string name, Shape shape, const Clock& clock)
      : folder_(folder), name_(std::move(name)), shape_(shape), clock_(clock) {}

  // Merges what a killed process of ours left, and returns true. Otherwise costs one stat.
  Result<bool> repair();
  // The file, after any repair; nullopt if there is none. A half written file is read again for a
  // moment, then store_unavailable.
  Result<std::optional<LockFile>> read();
  // Of what read() reads: the same as long as nobody writes it. Parses nothing.
  Result<std::uint64_t> hash() const;

  // Changes the file. `change` is called with its content, and again with what others wrote
  // meanwhile, so it must be idempotent. Returns its last result.
  enum class Verdict { kAsItIs, kWrite, kTaken };
  using Change = std::function<Verdict(LockFile&)>;
  // Entries by key and identity: those that are removed for good, and those that are wanted again.
  struct Buried {
    std::vector<std::pair<std::string, std::string>> in, out;
  };
  Result<Verdict> update(const Change& change, const Buried& buried = {});

  // For tests: behaves as on a file system without leases.
  void without_leases() { use_leases_ = false; }

  // The name of a file of ours beside it.
  std::string beside(const std::string& what) const { return "." + name_ + ".lockkeeper-" + what; }

 private:
  struct Content {
    std::string bytes;
    LockFile file;
    bool there = false;
  };
  // Another's write and what it was based on: to be merged into the current content.
  struct Foreign {
    std::string base;
    std::string theirs;
  };
  struct Grave {
    std::int64_t at_s = 0;
    std::string identity, key;
  };
  Result<std::vector<Grave>> graves() const;
  Result<std::vector<Grave>> bury(const Buried& buried);
  Result<void> put_whole(const std::string& name, const std::string& bytes);
  Result<Content> load();
  Result<Verdict> update_locked(const Change& change, std::optional<Foreign> pending);
  Result<bool> replace(const Content& before, const std::string& text,
                       const std::optional<Foreign>& pending, std::string& displaced);
  Result<bool> rewrite(const std::string& text);
  Result<void> put_back(const std::string& ours);
  Result<void> clear();
  Result<void> recover();

  const Folder& folder_;
  const std::string name_;
  const Shape shape_;
  const Clock& clock_;
  int turn_ = 0;  // which of the two names for a new text to use
  Fd fresh_;      // the new text, open
  bool leased_ = false;
  bool use_leases_ = true;
};

}  // namespace lockkeeper::dialect::coordmcp
