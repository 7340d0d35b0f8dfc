// A JSON file of CoordMCP's store of any text, in both shapes: refused, and then nobody is granted
// anything (I10), or read; and written again without losing what others wrote.
#include "dialect/coordmcp/lock_file.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

namespace coordmcp = dialect::coordmcp;

coordmcp::Entry ours() {
  coordmcp::Entry entry;
  entry.key = "src/ours.py";
  entry.file_path = entry.key;
  entry.locked_by = "us";
  entry.reason = "JWT";
  entry.locked_at = coordmcp::LocalTime{1'770'000'000, 123};
  entry.expected_minutes = 60;
  return entry;
}

bool same(const coordmcp::Entry& a, const coordmcp::Entry& b) {
  return a.key == b.key && a.file_path == b.file_path && a.identity() == b.identity() &&
         a.reason == b.reason;
}

void check_file(std::string_view text, coordmcp::Shape shape) {
  const auto first = coordmcp::LockFile::parse(text, "/data/x.json");
  if (!first) {
    require(first.error().code == Code::kStoreUnavailable, "refused with another code");
    return require_readable(first.error());
  }
  coordmcp::LockFile changed = *first;
  changed.put(ours(), shape);
  const std::string written = changed.text(shape, {1'770'000'000, 0});
  const auto second = coordmcp::LockFile::parse(written, "/data/x.json");
  require(second.has_value(), "what was written is refused: " + written);
  require(second->find(ours().key) != nullptr, "ours is not there");
  require(second->find(ours().key)->identity() == ours().identity(), "ours is not known again");
  for (const coordmcp::Entry& entry : first->entries()) {
    if (entry.key == ours().key) continue;
    const coordmcp::Entry* const kept = second->find(entry.key);
    require(kept != nullptr && same(*kept, entry), "another's entry was lost: " + entry.key);
  }
  require(changed.find(ours().key) != nullptr, "ours was not put");
  if (first->find(ours().key) != nullptr) return;  // what others do with that name goes for it
  // What somebody else changes meanwhile is kept, and so is ours.
  coordmcp::LockFile merged = changed;
  merged.merge(*first, coordmcp::LockFile());
  require(merged.find(ours().key) != nullptr, "ours was lost in a merge");
  for (const coordmcp::Entry& entry : first->entries()) {
    if (entry.key == ours().key) continue;
    require(merged.find(entry.key) == nullptr, "what others removed is back: " + entry.key);
  }
  require(changed.erase(ours().key) && changed.find(ours().key) == nullptr, "ours stays");
}

void check_time(std::string_view text) {
  const auto time = coordmcp::parse_local(text);
  if (!time) return;
  require(time->micros >= 0 && time->micros < 1'000'000, "no fraction of a second");
  const std::string written = coordmcp::format_local(*time, ' ');
  const auto again = coordmcp::parse_local(written);
  require(again.has_value(), "its own time is refused: " + written);
  require(coordmcp::format_local(*again, ' ') == written, "another time: " + written);
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte() % 3U;
  if (choice == 2) return check_time(input.rest());
  check_file(input.rest(), choice == 0 ? coordmcp::Shape::kProject : coordmcp::Shape::kAgent);
}

}  // namespace lockkeeper::fuzz
