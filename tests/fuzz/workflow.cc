// A lock file of the workflow document of any text, its times, the names that agents may have.
#include "dialect/workflow/workflow_layout.h"

#include <algorithm>

#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

namespace workflow = dialect::workflow;

void check_file(std::string_view text) {
  const auto first = workflow::parse_lock_file(text);
  if (!first) {
    require(first.error().code == Code::kInvalidInput, "refused with another code");
    return require_readable(first.error());
  }
  require(first->files.size() + first->directories.size() <= workflow::kLockFileEntriesMax,
          "more entries than the limit");
  const std::string written = workflow::render(*first);
  const auto second = workflow::parse_lock_file(written);
  require(second.has_value(), "what was written is refused: " + written);
  require(workflow::render(*second) == written, "what was written is read as something else");
  require(second->agent == first->agent && second->files == first->files &&
              second->directories == first->directories &&
              second->task_description == first->task_description,
          "something was lost");
  require(second->expires_at_ms >= std::min(first->expires_at_ms, workflow::kFarFutureMs),
          "it ends early (I6)");
  require(second->identity() == workflow::parse_lock_file(written)->identity(),
          "no longer the same lock");
}

void check_time(std::string_view text) {
  const auto time = workflow::parse_iso_time(text);
  if (!time) return require_readable(time.error());
  const std::string written = workflow::iso_seconds(*time);
  const auto again = workflow::parse_iso_time(written);
  require(again.has_value(), "its own time is refused: " + written);
  require(workflow::iso_seconds(*again) == written, "another time: " + written);
}

void check_name(std::string_view agent) {
  const auto may = workflow::check_lock_name(agent);
  if (!may) return require_readable(may.error());
  const std::string name = workflow::lock_name(agent);
  require(is_plain_name(name), "a name that leads elsewhere");
  require(!name.starts_with('.') && name.ends_with(workflow::kLockSuffix), "no lock's name");
  require(!workflow::is_mirror_name(name), "a name that the mirror might take");
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte() % 3U;
  const std::string_view text = input.rest();
  if (choice == 0) return check_file(text);
  if (choice == 1) return check_time(text);
  check_name(text);
}

}  // namespace lockkeeper::fuzz
