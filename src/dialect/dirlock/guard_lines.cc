#include "dialect/dirlock/guard_lines.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "core/foreign.h"
#include "service/report.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr const char* kLock = "🔒 [LOCK] ";
constexpr const char* kOpen = "🔓 [LOCK] ";
constexpr const char* kWarning = "⚠️  [LOCK] ";
constexpr const char* kFailure = "❌ [LOCK] ";

Line warning(const std::string& text) {
  return {Stream::kErr, kWarning + text};
}

// "2026-02-08T10:30:00Z": the protocol's lines have no milliseconds.
std::string time_text(std::int64_t wall_ms) {
  std::string text = format_time(wall_ms);
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) text.erase(dot, 4);
  return text;
}

std::string since_text(std::int64_t start_ms, std::int64_t now_ms) {
  return "(started " + age_text(now_ms - start_ms) + " ago at " + time_text(start_ms) + ")";
}

Line detail(const std::string& text) {
  return {Stream::kErr, "   " + text};
}

}  // namespace

std::string age_text(std::int64_t ms) {
  const std::int64_t seconds = std::max<std::int64_t>(0, ms) / 1'000;
  return seconds < 60 ? std::to_string(seconds) + "s" : std::to_string(seconds / 60) + "m";
}

Line acquiring_line(const std::string& cwd) {
  return {Stream::kOut, kLock + ("Acquiring directory lock for " + cwd) + "..."};
}

Line acquired_line(std::int64_t pid, std::int64_t start_ms) {
  return {Stream::kOut, kLock + ("Lock acquired (PID: " + std::to_string(pid)) +
                            ", time: " + time_text(start_ms) + ")"};
}

Line held_line(std::int64_t pid, std::int64_t start_ms, std::int64_t now_ms) {
  return warning("Lock held by PID " + std::to_string(pid) + " " + since_text(start_ms, now_ms));
}

Line stale_line(const std::string& minutes) {
  return warning("Stale lock (>" + minutes + "m) — force-clearing and acquiring");
}

Line dead_line(std::int64_t pid) {
  return warning("Stale lock from crashed process (PID " + std::to_string(pid) +
                 " is dead) — clearing");
}

Line forced_line() {
  return warning("Force-clearing lock (--stale-timeout 0)");
}

Line invalid_line() {
  return warning("Invalid lock file found — removing");
}

Line unfinished_line(const std::string& path) {
  return warning("Lock file is being written by another process: " + path);
}

Line race_line() {
  return warning("Lock acquired by another process (race condition) — aborting");
}

Line failed_line(const std::string& why) {
  return {Stream::kErr, kFailure + ("Failed to create lock file: " + why)};
}

Line lost_line(const std::string& why) {
  return warning("Lock lost: " + why + " — stopping the command");
}

Line released_line(std::int64_t held_ms) {
  const std::int64_t seconds = std::max<std::int64_t>(0, held_ms) / 1'000;
  std::string time = std::to_string(seconds % 60) + "s";
  if (seconds >= 60) time = std::to_string(seconds / 60) + "m " + time;
  return {Stream::kOut, kOpen + ("Lock released (held for " + time) + ")"};
}

std::vector<Line> holder_lines(const LockRecord& holder, const std::string& path) {
  std::string agents;
  for (const std::string& agent : holder.agents)
    agents += (agents.empty() ? "" : ", ") + shown(agent);
  return {detail("Agents: " + agents), detail("Hostname: " + shown(holder.hostname)),
          detail("Lock file: " + path), detail("To force-clear: use --stale-timeout 0")};
}

std::vector<Line> conflict_lines(const core::Conflict& conflict, std::int64_t now_ms) {
  const core::Lease& holder = conflict.holder;
  std::vector<Line> lines = {warning("Lock held by " + service::owner_text(holder.owner) + " " +
                                     since_text(holder.acquired_wall_ms, now_ms))};
  lines.push_back(detail("Holds: " + shown(conflict.held.resource.text())));
  if (!holder.terms.reason.empty())
    lines.push_back(detail("Reason: " + quote(holder.terms.reason)));
  if (holder.foreign) {
    lines.push_back(detail("Lock file: " + core::foreign_path(holder)));
  } else {
    lines.push_back(
        detail("To end it: lockkeeper break --lease " + holder.id.text() + " --reason WHY"));
  }
  return lines;
}

}  // namespace lockkeeper::dialect::dirlock
