#include "dialect/coordmcp/lock_file.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr const char* kLocks = "locks";

std::unexpected<Error> broken(const std::string& path, const std::string& what) {
  return fail(Code::kStoreUnavailable, quote(path, 400) + " is not a CoordMCP lock file: " + what,
              "fix it, or ignore it: lockkeeper layout ignore " + shell_quote(path));
}

// A field's text; nullopt if it has another type. Absent and null are "".
std::optional<std::string> text_of(const Json& entry, const char* name) {
  const auto field = entry.find(name);
  if (field == entry.end() || field->is_null()) return "";
  if (!field->is_string()) return std::nullopt;
  return field->get<std::string>();
}

// Reads a time; false if it is not a time.
bool read_time(const Json& entry, const char* name, std::optional<LocalTime>& time) {
  const std::optional<std::string> text = text_of(entry, name);
  if (!text) return false;
  if (text->empty()) return !entry.contains(name) || entry.at(name).is_null();
  time = parse_local(*text);
  return time.has_value();
}

Result<Entry> read_entry(const std::string& key, const Json& json, const std::string& path) {
  const auto wrong = [&](const std::string& what) {
    return broken(path, "its entry " + quote(key) + " " + what);
  };
  Entry entry;
  entry.key = key;
  if (!json.is_object()) return wrong("is not an object");
  for (const auto& [name, target] :
       {std::pair{"file_path", &entry.file_path}, std::pair{"locked_by", &entry.locked_by},
        std::pair{"reason", &entry.reason}, std::pair{"lock_scope", &entry.scope}}) {
    const std::optional<std::string> text = text_of(json, name);
    if (!text) return wrong("has a " + std::string(name) + " that is not a string");
    if (!text->empty()) *target = *text;
  }
  if (!read_time(json, "locked_at", entry.locked_at))
    return wrong("has a locked_at that is not a time");
  // The last two are only for display: what cannot be read is left out.
  if (!read_time(json, "expected_unlock_time", entry.expected)) entry.expected.reset();
  const auto minutes = json.find("expected_duration_minutes");
  if (minutes != json.end() && minutes->is_number_integer()) {
    const auto value = minutes->get<std::int64_t>();
    if (value >= 0 && value < INT32_MAX) entry.expected_minutes = static_cast<int>(value);
  }
  return entry;
}

// The fields in the order of CoordMCP's own classes.
Json entry_json(const Entry& entry, Shape shape) {
  const char separator = shape == Shape::kProject ? ' ' : 'T';
  const auto time = [&](const std::optional<LocalTime>& at) {
    return at ? Json(format_local(*at, separator)) : Json();
  };
  Json json;
  json["file_path"] = entry.file_path;
  if (shape == Shape::kProject) {
    json["locked_at"] = time(entry.locked_at);
    json["locked_by"] = entry.locked_by;
    json["reason"] = entry.reason;
    json["expected_unlock_time"] = time(entry.expected);
    json["lock_scope"] = entry.scope;
    json["priority"] = 0;  // a higher priority could take it away
  } else {
    json["locked_by"] = entry.locked_by;
    json["locked_at"] = time(entry.locked_at);
    json["reason"] = entry.reason;
    json["expected_duration_minutes"] =
        entry.expected_minutes ? Json(*entry.expected_minutes) : Json();
    json["expected_unlock_time"] = time(entry.expected);
  }
  return json;
}

const Json& locks_of(const Json& document) {
  static const Json kNone = Json::object();
  const auto locks = document.find(kLocks);
  return locks == document.end() || locks->is_null() ? kNone : *locks;
}

}  // namespace

std::string Entry::identity() const {
  char mark[16];
  std::snprintf(mark, sizeof mark, "#%06d", locked_at ? locked_at->micros : 0);
  return locked_by + mark;
}

Result<LockFile> LockFile::parse(std::string_view bytes, const std::string& path) {
  LockFile file;
  file.document_ = Json::parse(bytes, nullptr, false);
  if (file.document_.is_discarded()) {
    return broken(path, bytes.empty() ? "it is empty" : "its JSON cannot be read");
  }
  if (!file.document_.is_object()) return broken(path, "it is not a JSON object");
  const Json& locks = locks_of(file.document_);
  if (!locks.is_object()) return broken(path, "its \"locks\" is not an object");
  for (const auto& [key, json] : locks.items()) {
    LK_ASSIGN(Entry entry, read_entry(key, json, path));
    file.entries_.push_back(std::move(entry));
  }
  return file;
}

const Entry* LockFile::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &*found;
}

void LockFile::put(const Entry& entry, Shape shape) {
  Json& locks = document_[kLocks];
  if (!locks.is_object()) locks = Json::object();
  const Entry* const before = find(entry.key);
  Json& json = locks[entry.key];
  const bool same = before != nullptr && before->locked_by == entry.locked_by;
  if (!json.is_object() || !same) json = Json::object();
  const Json ours = entry_json(entry, shape);
  for (const auto& [name, value] : ours.items()) json[name] = value;
  const auto found = std::ranges::find(entries_, entry.key, &Entry::key);
  found == entries_.end() ? entries_.push_back(entry) : void(*found = entry);
}

bool LockFile::erase(std::string_view key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return false;
  document_[kLocks].erase(found->key);
  entries_.erase(found);
  return true;
}

void LockFile::merge(const LockFile& base, const LockFile& theirs) {
  const Json& before = locks_of(base.document_);
  const Json& after = locks_of(theirs.document_);
  for (const Entry& entry : base.entries_) {
    if (!after.contains(entry.key)) erase(entry.key);
  }
  for (const Entry& entry : theirs.entries_) {
    const Json& json = after.at(entry.key);
    const auto was = before.find(entry.key);
    if (was != before.end() && *was == json) continue;
    erase(entry.key);
    entries_.push_back(entry);
    Json& locks = document_[kLocks];
    if (!locks.is_object()) locks = Json::object();
    locks[entry.key] = json;
  }
  for (const auto& [name, value] : theirs.document_.items()) {
    if (name != kLocks) document_[name] = value;
  }
}

std::string LockFile::text(Shape shape, const LocalTime& now) const {
  Json document = document_;
  if (!document.contains(kLocks)) document[kLocks] = Json::object();
  if (shape == Shape::kProject) document["updated_at"] = format_local(now, 'T');
  constexpr int kIndent = 2;
  return document.dump(kIndent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace lockkeeper::dialect::coordmcp
