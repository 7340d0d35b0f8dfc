// One JSON file of CoordMCP's store: {"locks":{key: entry}, "updated_at": …}. Both shapes are read:
// the real system's agents/locks/{project}.json and the ADR's agents/{agent}/locked_files.json.
// Whatever is not understood is kept as it is: fields of an entry, entries, keys beside "locks".
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dialect/coordmcp/local_time.h"
#include "service/report.h"

namespace lockkeeper::dialect::coordmcp {

using service::Json;

struct Entry {
  std::string key;
  std::string file_path;  // "": none; then the key is the path
  std::string locked_by;  // "": not said
  std::string reason;
  std::string scope = "file";
  std::optional<LocalTime> locked_at;   // not said: since ever, without end
  std::optional<LocalTime> expected;    // expected_unlock_time: for people
  std::optional<int> expected_minutes;  // the ADR's expected_duration_minutes

  // Who and which grant: the fraction of locked_at survives every rewrite by CoordMCP.
  std::string identity() const;
};

enum class Shape { kProject, kAgent };  // the real system's, the ADR's

class LockFile {
 public:
  LockFile() = default;  // an empty one
  // store_unavailable, naming `path` and what is wrong, for what is not such a file.
  static Result<LockFile> parse(std::string_view bytes, const std::string& path);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view key) const;

  // Adds or replaces. Of an entry of the same owner the fields that we do not write are kept.
  void put(const Entry& entry, Shape shape);
  bool erase(std::string_view key);

  // What others changed from `base` to `theirs` is changed here too: their step came between our
  // reading and our writing.
  void merge(const LockFile& base, const LockFile& theirs);

  // As json.dump(indent=2) has it. `now` goes into updated_at of the project's shape.
  std::string text(Shape shape, const LocalTime& now) const;

 private:
  Json document_ = Json::object();
  std::vector<Entry> entries_;
};

}  // namespace lockkeeper::dialect::coordmcp
