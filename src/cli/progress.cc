#include "cli/progress.h"

#include <algorithm>

#include "base/quote.h"
#include "service/names.h"
#include "service/report.h"

namespace lockkeeper::cli {

std::string progress_text(const service::WaitProgress& wait, std::int64_t now_wall_ms) {
  std::string text = "waiting";
  if (wait.waited_ms >= 1000) text += " " + format_duration(wait.waited_ms / 1000 * 1000);
  if (wait.conflicts.empty()) return text;
  auto told = std::ranges::find(wait.conflicts, false, &core::Conflict::waiting);
  if (told == wait.conflicts.end()) told = wait.conflicts.begin();
  std::vector<std::string> texts;
  for (const core::Conflict& each : wait.conflicts) texts.push_back(each.requested.resource.text());
  text += " for " + shown(service::Spellings(texts).of(told->requested.resource.text()));
  text += told->waiting ? ": behind " : ": held by ";
  text += shown(told->holder.owner.agent);
  if (!told->waiting) text += ", " + service::end_text(told->holder, now_wall_ms);
  if (wait.position > 0) text += ", position " + std::to_string(wait.position);
  return text;
}

void Progress::show(const service::WaitProgress& wait) {
  const OutputOptions& options = out_.options();
  if (options.quiet) return;
  if (!options.err_is_terminal) {
    if (!shown_.empty() || options.json) return;
    shown_ = "lockkeeper: " + printable(progress_text(wait, clock_.now().wall_ms));
    std::fprintf(options.err, "%s\n", shown_.c_str());
    std::fflush(options.err);
    return;
  }
  const std::size_t columns = options.columns > 1 ? options.columns - 1 : 79;
  std::string text = cut(printable(progress_text(wait, clock_.now().wall_ms)), columns);
  if (text == shown_) return;
  shown_ = std::move(text);
  std::fprintf(options.err, "\r\x1b[K%s", shown_.c_str());
  std::fflush(options.err);
}

void Progress::clear() {
  const OutputOptions& options = out_.options();
  if (shown_.empty() || !options.err_is_terminal) return;
  std::fputs("\r\x1b[K", options.err);
  std::fflush(options.err);
  shown_.clear();
}

}  // namespace lockkeeper::cli
