// One JSON file of CoordMCP's store: {"locks":{key: entry}, "updated_at": …}, in both shapes: the
// real system's agents/locks/{project}.json and the ADR's agents/{agent}/locked_files.json. Unknown
// fields, entries and keys are kept unchanged. A document may have thousands of entries, so nothing
// here compares each of them with each.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "dialect/coordmcp/local_time.h"
#include "service/report.h"

namespace lockkeeper::dialect::coordmcp {

using service::Json;

struct Entry {
  std::string key;
  std::string file_path;  // "": the key is the path
  std::string locked_by;  // "": unknown
  std::string reason;
  std::string scope = "file";
  std::optional<LocalTime> locked_at;   // nullopt: unknown, then it has no end
  std::optional<LocalTime> expected;    // expected_unlock_time: for people
  std::optional<int> expected_minutes;  // the ADR's expected_duration_minutes

  // Agent and grant: the fraction of locked_at survives every rewrite by CoordMCP.
  std::string identity() const;
};

enum class Shape { kProject, kAgent };  // the real system's, the ADR's

class LockFile {
 public:
  LockFile() = default;  // an empty one
  // store_unavailable, naming `path` and what is wrong, if it is not such a file.
  static Result<LockFile> parse(std::string_view bytes, const std::string& path);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view key) const;

  // Adds or replaces. Keeps unknown fields of an entry of the same owner.
  void put(const Entry& entry, Shape shape);
  bool erase(std::string_view key);
  using Keys = std::set<std::string, std::less<>>;
  void erase_all(const Keys& keys);

  // Applies what others changed from `base` to `theirs` between our reading and our writing.
  void merge(const LockFile& base, const LockFile& theirs);

  // As json.dump(indent=2) writes it. `now` becomes updated_at in the project's shape.
  std::string text(Shape shape, const LocalTime& now) const;

 private:
  void add(Entry entry, Json json);
  std::optional<std::size_t> place_of(std::string_view key) const;

  Json document_ = Json::object();  // apart from the entries
  std::vector<Entry> entries_;
  std::vector<Json> as_written_;  // the entries, each with its unknown fields
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace lockkeeper::dialect::coordmcp
