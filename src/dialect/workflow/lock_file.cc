#include "dialect/workflow/lock_file.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::workflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMirrorMark = ".lk-";
constexpr std::size_t kMirrorDigits = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidInput, std::move(message));
}

// A field, which may be missing or null if it is not required.
enum class Need { kRequired, kOptional };

Result<const Json*> field(const Json& object, const char* name, Need need) {
  const auto found = object.find(name);
  const bool missing = found == object.end() || found->is_null();
  if (missing && need == Need::kRequired) {
    return wrong("the field " + quote(name) + " is missing");
  }
  return missing ? nullptr : &*found;
}

Result<std::string> text_field(const Json& object, const char* name, Need need) {
  LK_ASSIGN(const Json* const value, field(object, name, need));
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong("the field " + quote(name) + " is not a string");
  return value->get<std::string>();
}

Result<std::vector<std::string>> list_field(const Json& object, const char* name, Need need) {
  std::vector<std::string> list;
  LK_ASSIGN(const Json* const value, field(object, name, need));
  if (value == nullptr) return list;
  const std::string what = "the field " + quote(name);
  if (!value->is_array()) return wrong(what + " is not a list of strings");
  if (value->size() > kLockFileEntriesMax) {
    return wrong(what + " has more than " + std::to_string(kLockFileEntriesMax) + " entries");
  }
  for (const Json& entry : *value) {
    if (!entry.is_string()) return wrong(what + " has an entry that is not a string");
    list.push_back(entry.get<std::string>());
  }
  return list;
}

Result<std::int64_t> time_field(const Json& object, const char* name) {
  LK_ASSIGN(const std::string text, text_field(object, name, Need::kRequired));
  auto time = parse_iso_time(text);
  if (!time) return wrong("the field " + quote(name) + ": " + time.error().message);
  return *time;
}

// "20260117" and "153000" as "2026-01-17" and "15:30:00".
std::string with_marks(std::string_view digits, std::size_t first, char mark) {
  std::string out(digits.substr(0, first));
  for (std::size_t at = first; at < digits.size(); at += 2) {
    out += mark;
    out += digits.substr(at, 2);
  }
  return out;
}

// The zone in the form that parse_time() reads; empty if there is none.
std::string zone_of(std::string_view zone) {
  if (zone.size() == 3) return std::string(zone) + ":00";
  if (zone.size() == 5 && zone.find(':') == std::string_view::npos) {
    return std::string(zone.substr(0, 3)) + ":" + std::string(zone.substr(3));
  }
  return std::string(zone);
}

// `text` with '-', ':' and seconds added, without its zone, which goes to `zone`.
std::string usual_form(std::string_view text, std::string& zone) {
  const std::size_t gap = text.find_first_of("Tt ");
  if (gap == std::string_view::npos) return std::string(text);
  std::string_view date = text.substr(0, gap);
  std::string_view time = text.substr(gap + 1);
  const std::size_t end = time.find_first_of("Zz+-");
  if (end != std::string_view::npos) {
    zone = zone_of(time.substr(end));
    time = time.substr(0, end);
  }
  const std::size_t point = time.find_first_of(".,");
  std::string of_day(time.substr(0, point));
  if (std::ranges::all_of(of_day, is_digit)) of_day = with_marks(of_day, 2, ':');
  if (of_day.size() == 5) of_day += ":00";
  if (point != std::string_view::npos) of_day += "." + std::string(time.substr(point + 1));
  std::string day(date);
  if (date.size() == 8 && std::ranges::all_of(date, is_digit)) day = with_marks(date, 4, '-');
  return day + "T" + of_day;
}

// The same digits as local time of this machine.
std::int64_t as_local(std::int64_t utc_ms) {
  const std::time_t seconds = utc_ms / 1000;
  std::tm figures{};
  if (::gmtime_r(&seconds, &figures) == nullptr) return utc_ms;
  figures.tm_isdst = -1;
  const std::time_t local = std::mktime(&figures);
  return local == -1 ? utc_ms : local * 1000 + utc_ms % 1000;
}

std::string whole_second(std::int64_t wall_ms) {
  return std::to_string(wall_ms / 1000);
}

std::string safe_name(std::string_view agent) {
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::string safe;
  for (const char c : agent.substr(0, kLockNameBytesMax)) {
    safe += kHarmless.find(c) == std::string_view::npos ? '-' : c;
  }
  if (safe.empty()) return "agent";
  if (safe.front() == '.' || safe.front() == '-') safe.front() = '_';
  return safe;
}

}  // namespace

std::string LockFile::identity() const {
  return agent + " " + whole_second(locked_at_ms);
}

std::string LockFile::full_identity() const {
  RecordWriter scope;
  for (const std::vector<std::string>* const list : {&files, &directories}) {
    scope.number(list->size());
    for (const std::string& entry : *list) scope.text(entry);
  }
  scope.text(task_description);
  std::string hash;
  append_be64(hash, hash64(scope.take()));
  return identity() + " " + to_hex(hash);
}

std::string iso_seconds(std::int64_t wall_ms) {
  std::string text = format_time(wall_ms);  // 2026-01-17T15:30:00.000Z
  return text.replace(text.size() - 5, 4, "");
}

std::string render(const LockFile& lock) {
  Json json;
  json["agent"] = lock.agent;
  json["locked_at"] = iso_seconds(lock.locked_at_ms);
  json["files"] = lock.files;
  if (!lock.directories.empty()) json["directories"] = lock.directories;
  if (!lock.task_description.empty()) json["task_description"] = lock.task_description;
  json["expires_at"] = iso_seconds(std::min(kFarFutureMs, lock.expires_at_ms + 999));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::int64_t> parse_iso_time(std::string_view text) {
  std::string zone;
  const std::string usual = usual_form(text, zone);
  auto time = parse_time(usual + (zone.empty() ? "Z" : zone));
  if (!time) {
    return wrong("the time " + quote(text) + " is not of the form 2026-01-17T15:30:00Z");
  }
  return zone.empty() ? std::max(*time, as_local(*time)) : *time;
}

Result<LockFile> parse_lock_file(std::string_view bytes) {
  if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) return wrong("it is empty");
  const Json json = Json::parse(bytes, nullptr, false);
  if (json.is_discarded()) return wrong("it is not JSON");
  if (!json.is_object()) return wrong("it is not a JSON object");
  LockFile lock;
  LK_ASSIGN(lock.agent, text_field(json, "agent", Need::kRequired));
  if (lock.agent.empty()) return wrong("the field \"agent\" is empty");
  LK_ASSIGN(lock.locked_at_ms, time_field(json, "locked_at"));
  LK_ASSIGN(lock.files, list_field(json, "files", Need::kRequired));
  LK_ASSIGN(lock.directories, list_field(json, "directories", Need::kOptional));
  LK_ASSIGN(lock.task_description, text_field(json, "task_description", Need::kOptional));
  LK_ASSIGN(lock.expires_at_ms, time_field(json, "expires_at"));
  if (lock.files.size() + lock.directories.size() > kLockFileEntriesMax) {
    return wrong("it has more than " + std::to_string(kLockFileEntriesMax) + " entries");
  }
  return lock;
}

LockFile lock_file_of(const core::Lease& lease, std::vector<std::string>* unmirrored) {
  LockFile lock;
  lock.agent = lease.owner.agent;
  lock.locked_at_ms = lease.acquired_wall_ms;
  lock.task_description = lease.terms.reason;
  lock.expires_at_ms = lease.expires_wall_ms == kNoEnd ? kFarFutureMs : lease.expires_wall_ms;
  for (const core::Claim& claim : lease.claims) {
    const key::Resource& resource = claim.resource;
    if (resource.kind() == key::Kind::kFile) {
      lock.files.push_back(resource.text());
    } else if (resource.kind() == key::Kind::kFolder) {
      lock.directories.push_back(resource.text());
    } else if (unmirrored != nullptr) {
      unmirrored->push_back(resource.text());
    }
  }
  return lock;
}

Result<void> check_lock_name(std::string_view agent) {
  const auto refuse = [&](const std::string& rule) {
    return fail(Code::kInvalidInput, "--agent " + quote(agent) + " " + rule,
                "the name becomes a file name: use letters, digits, '-', '_' and '.'");
  };
  LK_CHECK(realm::check_agent_name(agent, "--agent"));
  if (agent.size() > kLockNameBytesMax) {
    return refuse("is longer than " + std::to_string(kLockNameBytesMax) + " bytes");
  }
  if (agent.front() == '.' || agent.front() == '-') return refuse("begins with '.' or '-'");
  if (agent.find_first_of("/\\\"'`$*?[") != std::string_view::npos) {
    return refuse("contains a '/', a backslash, a quote, a '$' or a pattern character");
  }
  if (is_mirror_name(lock_name(agent))) {
    return refuse("is the name under which another lease is shown here");
  }
  return {};
}

std::string lock_name(std::string_view agent) {
  return std::string(agent) + std::string(kLockSuffix);
}

std::string mirror_name(const core::Lease& lease) {
  const std::string digits = lease.id.text();
  return safe_name(lease.owner.agent) + std::string(kMirrorMark) +
         digits.substr(digits.size() - kMirrorDigits) + std::string(kLockSuffix);
}

bool is_mirror_name(std::string_view name) {
  const std::size_t tail = kMirrorMark.size() + kMirrorDigits + kLockSuffix.size();
  if (name.size() <= tail || !name.ends_with(kLockSuffix)) return false;
  const std::string_view mark = name.substr(name.size() - tail);
  return mark.starts_with(kMirrorMark) &&
         std::ranges::all_of(mark.substr(kMirrorMark.size(), kMirrorDigits),
                             [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace lockkeeper::dialect::workflow
