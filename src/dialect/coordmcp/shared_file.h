// One JSON file that CoordMCP's processes replace whole (load, check, write beside, rename; no lock
// at all), changed by us without losing what they wrote meanwhile, nor by our own death:
//
//   1. our processes take turns by a lock beside the file;
//   2. the new text is written beside it, under a lease (fcntl): nobody can open it yet. What was
//      read, what will be written and what is still to be merged is noted;
//   3. both files are exchanged in one step. What comes out must be what was read. If it is not,
//      somebody's write came between: his changes are merged into ours before anybody can read it.
//      Where there are no leases it is done again from 2.
//
// Who is killed between 3 and the merge leaves the note: the next of ours that comes merges.
//
// Somebody who read the file before we took an entry out, and writes it after, brings that entry
// back. What we took out is therefore remembered for a day: such a ghost counts for nobody, and
// goes as soon as one of ours sees it.
//
// Hidden files beside "x.json": ".x.json.lockkeeper-…". Nothing else is touched, nothing is made
// empty, and what cannot be parsed is never replaced.
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

  // If one of ours was killed at work, what it left is merged: true. One stat where there is none.
  Result<bool> mend();
  // As it stands, mended; nullopt: there is none. What is half written is tried again for a moment,
  // then store_unavailable.
  Result<std::optional<LockFile>> read();

  // Changes it, or leaves it. `change` is called with what stands there, and again with whatever
  // others wrote meanwhile; it must come to the same end when called twice. Gives its last answer.
  enum class Verdict { kAsItIs, kWrite, kTaken };
  using Change = std::function<Verdict(LockFile&)>;
  // Entries by key and identity: those that go for good, and those that are wanted after all.
  struct Buried {
    std::vector<std::pair<std::string, std::string>> in, out;
  };
  Result<Verdict> update(const Change& change, const Buried& buried = {});

  // For tests: as on a file system that has no leases.
  void without_leases() { use_leases_ = false; }

  // The name of a file of ours beside it.
  std::string beside(const std::string& what) const { return "." + name_ + ".lockkeeper-" + what; }

 private:
  struct Content {
    std::string bytes;
    LockFile file;
    bool there = false;
  };
  // Somebody's write, and what it was made from: to be merged into what stands there now.
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
  int turn_ = 0;  // of the two names for a new text, the one to use
  Fd fresh_;      // the new text, open
  bool leased_ = false;
  bool use_leases_ = true;
};

}  // namespace lockkeeper::dialect::coordmcp
