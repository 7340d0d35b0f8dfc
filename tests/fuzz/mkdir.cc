// The mkdir protocol's names and owner files: a path is among the readings of its own lock's name,
// every reading gives that name, and whatever stands in an owner file names somebody.
#include <algorithm>

#include "base/text.h"
#include "dialect/mkdir/names.h"
#include "dialect/mkdir/owner.h"
#include "fuzz.h"
#include "realm/identity.h"

namespace lockkeeper::fuzz {
namespace {

namespace mkdir = dialect::mkdir;

void check_readings(const std::string& name, const mkdir::Readings& readings, bool colons) {
  if (!readings.complete) return;
  require(readings.paths.size() <= mkdir::kReadingsMax, "more readings than the limit");
  for (const std::string& path : readings.paths) {
    require(mkdir::sanitised(path) == name, "a reading of another name: " + path);
    require((path.find(':') != std::string::npos) == colons, "in the wrong list: " + path);
  }
}

void check_path(std::string_view typed) {
  std::string path(typed);
  std::ranges::replace(path, '\\', '/');  // the same path
  const std::string name = mkdir::sanitised(typed);
  require(name == mkdir::sanitised(path), "two names for one path");
  require(name.find_first_of("/\\:") == std::string::npos, "a name that leads elsewhere");
  const mkdir::Readings plain = mkdir::readings(name, mkdir::Colons::kNo);
  const mkdir::Readings colons = mkdir::readings(name, mkdir::Colons::kYes);
  check_readings(name, plain, false);
  check_readings(name, colons, true);
  const bool colon = path.find(':') != std::string::npos;
  const mkdir::Readings& mine = colon ? colons : plain;
  const bool found = std::ranges::find(mine.paths, path) != mine.paths.end();
  if (mine.complete) require(found, "its own path is no reading of its name");
  if (!plain.complete) require(plain.paths.size() == 2, "neither all nor the usual two");
  require(mkdir::decoded(mkdir::encoded(typed)) == typed, "another name after encoding");
  require(mkdir::encoded(typed).find('#') == std::string::npos, "a sign that ends a source");
}

void check_owner(std::string_view text) {
  const mkdir::OwnerLines lines = mkdir::parse_owner(text);
  require(realm::check_agent_name(lines.agent, "agent").has_value(), "nobody: " + lines.agent);
  require(is_valid_utf8(lines.task), "a task that cannot be shown");
  const std::int64_t since = lines.since_wall_ms.value_or(0);
  const mkdir::OwnerLines again =
      mkdir::parse_owner(mkdir::owner_text(lines.agent, lines.task, since));
  require(again.since_wall_ms.has_value(), "its own time is not read");
  require(*again.since_wall_ms / 1000 == (since - (since % 1000 + 1000) % 1000) / 1000,
          "another time");
}

}  // namespace

void run(Input input) {
  const bool owner = (input.byte() & 1) != 0;
  if (owner) return check_owner(input.rest());
  check_path(input.rest());
}

}  // namespace lockkeeper::fuzz
