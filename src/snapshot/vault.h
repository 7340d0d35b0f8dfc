// Where versions lie: STORE/snapshots/, folders 0700 and files 0600, no symlink followed.
//
//   NUMBER-SECONDS/         a generation: the NUMBERth, begun at that unix time
//     versions              the index: records (record.h), only ever appended
//     HASH                  a content, compressed (zstd), under the id that git gives to it
//     weight                one byte for each 4 KiB of contents: its size is how much there is
//     moved                 the same, of contents that lie in a later generation now
//   gone-NUMBER-SECONDS/    a generation that is being removed
//
// A content lies in the generation of the newest version that has it, so it is never removed before
// what names it, and never kept twice: a content that is kept again moves. Everything is written to
// the newest generation, which is followed by another when it has a sixteenth of the bytes or of
// the time that the settings allow. docs/decisions/snapshots.md says why it is not in the lock
// store.
//
// Any number of processes write at once, without a lock among them, and each may die at any step:
// a content gets its name when it is complete, and the index names it only then.
//
// REQUIRES: one thread for each Vault.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "snapshot/record.h"
#include "snapshot/version.h"

namespace lockkeeper::snapshot {

struct Place {
  std::string store;               // the store's folder, which exists
  std::string name = "snapshots";  // in it
  // Whose it is to be; for root in a repository of somebody else's.
  std::optional<uid_t> uid = std::nullopt;
  std::optional<gid_t> gid = std::nullopt;
  bool durable = false;  // what was kept survives power loss
};

struct Limits {
  std::int64_t keep_ms = std::int64_t{14} * 24 * 3600 * 1000;
  std::uint64_t bytes = 256U << 20;     // of everything, by and large
  std::uint64_t file_bytes = 4U << 20;  // a larger file's content is not kept
};

// Which of the newest records are read.
enum class Reach : std::uint8_t {
  kLast,    // the last few hundred
  kNewest,  // the last ten thousands, with those of the two newest generations
  kSafe,    // all of those that will not be removed soon
};

inline constexpr std::uint64_t kFileBytesMost = 64U << 20;  // whatever the settings say

class Vault {
 public:
  // Creates what is missing. no_space: the disk is full; failed: anything else.
  static Result<Vault> open(Place place, Limits limits);
  // nullopt: nothing was ever kept.
  static Result<std::optional<Vault>> find(Place place);
  // Why nothing can be kept there, if it cannot. Changes nothing, and so cannot tell everything.
  static Result<void> check(const Place& place);

  // Keeps the version, with its content if there is one to keep, and sets its id. Then removes a
  // bounded part of what is beyond the limits.
  Result<void> add(Version& version, std::optional<std::string_view> content,
                   std::int64_t now_wall_ms);

  // Can such a content be kept without anything else having to go? It is kept already, or there is
  // room for it.
  Result<bool> fits(const std::string& content_id, std::uint64_t size) const;

  // The newest records, for each_record(), the older ones first.
  Result<std::vector<std::string>> recent(Reach reach) const;
  // What was kept then or later is among those. 0: everything is. REQUIRES: not kLast
  Result<std::int64_t> within_since_ms(Reach reach) const;
  // What was kept then or later is still there; nullopt: nothing was removed so far.
  Result<std::optional<std::int64_t>> complete_since_ms() const;
  // All, oldest first. `visit` says false to stop. What cannot be read is counted, not an error.
  Result<Scanned> each(const std::function<bool(Version&&)>& visit) const;
  // Exactly the bytes that were kept. not_found: they were not, or no longer are; store_corrupt:
  // they are damaged. `version` must have a content.
  Result<std::string> content(const Version& version) const;
  // How many bytes lie here, by and large, without what is being removed.
  Result<std::uint64_t> bytes() const;

 private:
  struct Generation {
    std::uint64_t number = 0;
    std::int64_t begun_s = 0;
    std::string name = {};
  };
  struct Weight {
    std::uint64_t contents = 0;
    std::uint64_t records = 0;
    std::uint64_t all() const { return contents + records; }
  };
  struct Listing {
    std::vector<Generation> generations;  // by number
    std::vector<std::string> gone;
  };
  Vault(Place place, Limits limits, Folder folder)
      : place_(std::move(place)), limits_(limits), folder_(std::move(folder)) {}

  static constexpr std::uint64_t kParts = 16;  // generations that the limits are cut into
  // How much stays when a generation is full: the next, and what is being removed, need room too.
  std::uint64_t bytes_at_rest() const { return limits_.bytes - limits_.bytes / kParts; }
  static std::optional<Generation> generation_named(std::string_view name);
  Result<Listing> list() const;
  Result<Weight> weight_of(const Generation& generation) const;
  Result<std::int64_t> last_written_ms(const Generation& generation) const;
  Result<std::uint64_t> room_in(const Generation& generation, std::int64_t now_wall_ms) const;
  Result<std::size_t> first_within(Reach reach, const Listing& listing) const;
  Result<void> choose(std::int64_t now_wall_ms);
  Result<void> begin(std::uint64_t number, std::int64_t now_wall_ms);
  Result<bool> move_here(const std::string& id, std::string_view content);
  Result<void> put_content(const std::string& id, std::string_view content);
  Result<void> add_weight(const Folder& generation, const char* name, std::uint64_t bytes) const;
  void spend(std::uint64_t bytes) { room_ -= std::min(room_, bytes); }
  Result<void> put_record(std::string_view record);
  Result<void> close_to_others() const;
  Result<void> check_owner() const;
  Result<void> own(int fd, std::string_view name) const;
  Result<void> sync(int fd, std::string_view name) const;
  Result<std::optional<std::string>> read_in(const std::string& generation, const Version& version,
                                             bool& damaged) const;
  Result<void> sweep(const Listing& listing, std::int64_t now_wall_ms);
  Result<void> remove_some(const std::vector<std::string>& gone) const;

  Place place_;
  Limits limits_;
  Folder folder_;
  std::optional<Folder> current_;
  std::uint64_t room_ = 0;          // bytes that it may still get
  std::vector<std::string> older_;  // the other generations, newest first
};

}  // namespace lockkeeper::snapshot
