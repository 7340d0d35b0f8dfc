#include "dialect/mkdir/owner.h"

#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::mkdir {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Makes it a valid name: UTF-8 without control characters, not too long.
std::string name_of(std::string_view text) {
  const std::string quoted = quote(text, realm::kNameBytesMax);
  std::string name = quoted.substr(1, quoted.size() - 2);
  // The replacements made it longer.
  if (name.size() > realm::kNameBytesMax) name.resize(realm::kNameBytesMax);
  while (!name.empty() && (name.ends_with(' ') || !is_valid_utf8(name))) name.pop_back();
  return name;
}

}  // namespace

std::string owner_text(std::string_view agent, std::string_view task, std::int64_t wall_ms) {
  std::string text = "agent: ";
  text += agent;
  text += "\ntask: ";
  text += task;
  return text + "\ntimestamp: " + local_time(wall_ms) + "\n";
}

OwnerLines parse_owner(std::string_view text) {
  OwnerLines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "agent" && lines.agent.empty()) lines.agent = name_of(value);
    if (name == "task" && lines.task.empty()) lines.task = name_of(value);
    if (name != "timestamp" || lines.since_wall_ms) continue;
    if (const auto since = parse_time(value)) lines.since_wall_ms = *since;
  }
  if (lines.agent.empty()) lines.agent = kUnknownAgent;
  return lines;
}

std::string local_time(std::int64_t wall_ms) {
  const std::time_t seconds = wall_ms >= 0 ? wall_ms / 1000 : (wall_ms - 999) / 1000;
  std::tm broken{};
  ::tzset();
  if (::localtime_r(&seconds, &broken) == nullptr) return format_time(wall_ms);
  char year[16];  // strftime() writes the year 722 with three digits
  std::snprintf(year, sizeof year, "%04d", broken.tm_year + 1900);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "-%m-%dT%H:%M:%S%z", &broken);
  std::string time = year + std::string(text, size);
  if (time.size() > 2) time.insert(time.size() - 2, ":");  // +0100 → +01:00
  return time;
}

}  // namespace lockkeeper::dialect::mkdir
