// A copy of all rows of the store, kept in memory: for each row its newest version, and the older
// ones that an open view still needs. It says nothing about where it comes from (feed.h).
//
// It moves from one version of the store to the next. A view is the copy at the version that it had
// when the view was made, and stays so.
//
// Thread safety: any thread may call. One thread at a time changes it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kv/etcd/reader.h"
#include "kv/types.h"

namespace lockkeeper::kv::etcd {

class Copy : public std::enable_shared_from_this<Copy> {
 public:
  // Of the rows as they were at `version`, in the epoch whose row has that version. They are yet to
  // be loaded. Nobody gets a view before set_in_step().
  Copy(Version epoch, Version version) : epoch_(epoch), version_(version) {}
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  void load(const Row& row);  // REQUIRES: nothing was applied yet

  struct Change {
    std::string key;
    std::optional<std::string> value;  // none: erased
    Version created = 0;
  };
  // All changes of one version; they are moved from. False: they do not follow from what is here,
  // so something was missed. Then it is of no use any more.
  bool apply(Version version, std::vector<Change>& changes);
  void advance(Version version);  // nothing else has changed up to that one
  // All changes of a version that this process has committed itself; `created` is not looked at.
  // Applied as soon as everything before that version is known.
  void commit(Version version, std::vector<Change> changes);

  Version epoch() const { return epoch_; }
  Version version() const;
  std::size_t bytes() const;  // all that it keeps, about

  // Is it being kept up to date? Whoever waits for a version stops when it is not.
  void set_in_step(bool in_step);
  bool in_step() const;

  class View;
  // The copy at its newest version. Null: it is not in step, or not at `at_least`.
  std::unique_ptr<View> view(Version at_least);
  // Waits until it has that version. False: it is not in step, or time is up.
  bool reach(Version version, std::chrono::steady_clock::time_point until);
  // Somebody has waited for that version in vain. Until it is there, is_late().
  void note_late(Version version);
  bool is_late() const;

 private:
  struct Stored {
    Version created = 0;  // 0: erased
    Version modified = 0;
    std::string value;
  };
  using Rows = std::map<std::string, std::list<Stored>, std::less<>>;  // oldest first
  struct Made {
    Version created = 0;
    const Rows::value_type* row = nullptr;
  };
  struct ByCreation {
    using is_transparent = void;
    bool operator()(const Made& a, const Made& b) const {
      return a.created != b.created ? a.created < b.created : a.row->first < b.row->first;
    }
    bool operator()(const Made& a, Version b) const { return a.created < b; }
    bool operator()(Version a, const Made& b) const { return a < b.created; }
  };
  using Order = std::set<Made, ByCreation>;
  struct Changed {
    Version version = 0;
    Rows::iterator row;
  };

  static const Stored* at(const Rows::value_type& row, Version version);
  static std::size_t size_of(const Rows::value_type& row, const Stored& stored);
  void store(Rows::iterator row, Stored stored);
  bool change(Version version, std::vector<Change>& changes);
  void apply_own();
  void move_to(Version version);
  void prune();
  void unpin(Version version);

  const Version epoch_;
  mutable std::mutex mutex_;  // protects everything below
  std::condition_variable moved_;
  Version version_;
  Version last_change_ = 0;
  Version late_ = 0;
  bool in_step_ = false;
  std::size_t bytes_ = 0;
  Rows rows_;
  // The rows by the version that created them, apart for each first byte of a key: rows of one kind
  // begin with one.
  std::map<char, Order> order_;
  std::map<Version, std::vector<Change>> own_;  // committed, and what is before is not known yet
  std::deque<Changed> changed_;                 // whose older versions may be needed by nobody
  std::map<Version, std::size_t> pins_;         // how many views there are of each version
};

// Rows are valid until the view is destroyed. Thread safety: as the copy's.
class Copy::View {
 public:
  View(std::shared_ptr<Copy> copy, Version version) : copy_(std::move(copy)), version_(version) {}
  ~View() { copy_->unpin(version_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Version version() const { return version_; }
  // Has no row changed after that version, up to this one?
  bool same_as(Version version) const { return last_change_ <= version; }

  // See Reader.
  std::optional<Row> get(std::string_view key) const;
  Page rows(const Range& range, bool forward, std::size_t most) const;
  // REQUIRES: all keys of the range have the same first byte
  Page created(const Range& range, const Reader::Created& when, bool forward) const;

 private:
  friend class Copy;
  bool take(Page& page, const Made& made, const Range& range) const;

  const std::shared_ptr<Copy> copy_;
  const Version version_;
  Version last_change_ = 0;
};

}  // namespace lockkeeper::kv::etcd
