#include "dialect/coordmcp/lock_file.h"

#include <functional>

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

// Takes the entries out of the document while it is parsed: an object that keeps its order finds a
// name by comparing it with all the others.
struct EntriesApart {
  std::vector<std::pair<std::string, Json>> found;
  std::string key;
  bool inside = false;  // of the locks
  bool odd = false;     // one is not an object: the rest is skipped

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::key && depth == 1) {
      inside = parsed == kLocks;
      if (inside) found.clear();  // the last of two counts, as in Python
    }
    if (!inside || depth != 2) return true;
    if (event == Event::key) {
      key = parsed.get<std::string>();
      return !odd;
    }
    if (event == Event::value || event == Event::array_start) odd = true;
    if (event != Event::object_end) return true;
    found.emplace_back(key, std::move(parsed));
    return false;
  }
};

}  // namespace

std::string Entry::identity() const {
  char mark[16];
  std::snprintf(mark, sizeof mark, "#%06d", locked_at ? locked_at->micros : 0);
  return locked_by + mark;
}

Result<LockFile> LockFile::parse(std::string_view bytes, const std::string& path) {
  LockFile file;
  EntriesApart apart;
  file.document_ = Json::parse(bytes, std::ref(apart), false);
  if (file.document_.is_discarded()) {
    return broken(path, bytes.empty() ? "it is empty" : "its JSON cannot be read");
  }
  if (!file.document_.is_object()) return broken(path, "it is not a JSON object");
  if (const auto locks = file.document_.find(kLocks);
      locks != file.document_.end() && !locks->is_null()) {
    if (!locks->is_object()) return broken(path, "its \"locks\" is not an object");
    if (!locks->empty())
      return fail(read_entry(locks->begin().key(), locks->front(), path).error());
  }
  for (auto& [key, json] : apart.found) {
    LK_ASSIGN(Entry entry, read_entry(key, json, path));
    file.add(std::move(entry), std::move(json));
  }
  return file;
}

std::optional<std::size_t> LockFile::place_of(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

// Adds or replaces.
void LockFile::add(Entry entry, Json json) {
  const auto [at, fresh] = places_.try_emplace(entry.key, entries_.size());
  if (fresh) {
    entries_.push_back(std::move(entry));
    as_written_.push_back(std::move(json));
  } else {
    entries_[at->second] = std::move(entry);
    as_written_[at->second] = std::move(json);
  }
}

const Entry* LockFile::find(std::string_view key) const {
  const std::optional<std::size_t> place = place_of(key);
  return place ? &entries_[*place] : nullptr;
}

void LockFile::put(const Entry& entry, Shape shape) {
  const std::optional<std::size_t> place = place_of(entry.key);
  const bool same = place && entries_[*place].locked_by == entry.locked_by;
  Json json = same ? as_written_[*place] : Json::object();
  const Json ours = entry_json(entry, shape);
  for (const auto& [name, value] : ours.items()) json[name] = value;
  add(entry, std::move(json));
}

bool LockFile::erase(std::string_view key) {
  if (!place_of(key)) return false;
  erase_all({std::string(key)});
  return true;
}

void LockFile::erase_all(const Keys& keys) {
  if (keys.empty()) return;
  LockFile rest;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!keys.contains(entries_[i].key))
      rest.add(std::move(entries_[i]), std::move(as_written_[i]));
  }
  rest.document_ = std::move(document_);
  *this = std::move(rest);
}

void LockFile::merge(const LockFile& base, const LockFile& theirs) {
  Keys changed;
  for (const Entry& entry : base.entries_) {
    if (!theirs.place_of(entry.key)) changed.insert(entry.key);
  }
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < theirs.entries_.size(); ++i) {
    const std::optional<std::size_t> was = base.place_of(theirs.entries_[i].key);
    if (was && base.as_written_[*was] == theirs.as_written_[i]) continue;
    changed.insert(theirs.entries_[i].key);
    fresh.push_back(i);
  }
  erase_all(changed);
  for (const std::size_t i : fresh) add(theirs.entries_[i], theirs.as_written_[i]);
  for (const auto& [name, value] : theirs.document_.items()) document_[name] = value;
}

std::string LockFile::text(Shape shape, const LocalTime& now) const {
  Json document = document_;
  Json& locks = document[kLocks] = Json::object();
  auto& ordered = locks.get_ref<Json::object_t&>();
  // Not by name, which would be compared with all the others.
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    ordered.emplace_back(entries_[i].key, as_written_[i]);
  }
  if (shape == Shape::kProject) document["updated_at"] = format_local(now, 'T');
  constexpr int kIndent = 2;
  return document.dump(kIndent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace lockkeeper::dialect::coordmcp
