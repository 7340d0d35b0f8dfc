// Every line that a guard prints, as in the dirlock protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/conflicts.h"
#include "dialect/dirlock/lock_file.h"

namespace lockkeeper::dialect::dirlock {

// Warnings and errors go to stderr.
enum class Stream { kOut, kErr };
struct Line {
  Stream stream = Stream::kOut;
  std::string text;
};

Line acquiring_line(const std::string& cwd);
Line acquired_line(std::int64_t pid, std::int64_t start_ms);
Line held_line(std::int64_t pid, std::int64_t start_ms, std::int64_t now_ms);
Line stale_line(const std::string& minutes);
Line dead_line(std::int64_t pid);
Line forced_line();
Line invalid_line();
Line unfinished_line(const std::string& path);
Line race_line();
Line failed_line(const std::string& why);
Line lost_line(const std::string& why);
Line released_line(std::int64_t held_ms);

// The lines after held_line() for a directory lock.
std::vector<Line> holder_lines(const LockRecord& holder, const std::string& path);
// For a conflict with another kind of lock: who holds what, since when, and what to do.
std::vector<Line> conflict_lines(const core::Conflict& conflict, std::int64_t now_ms);

// "25m", "45s".
std::string age_text(std::int64_t ms);

}  // namespace lockkeeper::dialect::dirlock
