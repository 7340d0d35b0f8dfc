#include "install/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "install/machine.h"
#include "install/piece.h"

namespace lockkeeper::install {
namespace {

constexpr int kSchema = 1;
constexpr std::int64_t kLockWaitMs = 5'000;

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return is_ascii_digit(c) || (c >= 'a' && c <= 'f');
         });
}

std::vector<std::string> texts_in(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& each : list) texts.push_back(each.get<std::string>());
  return texts;
}

bool has_texts(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_array() &&
         std::ranges::all_of(json[key], [](const Json& each) { return each.is_string(); });
}

// nullopt: damaged.
std::optional<FileRecord> read_entry(const Json& json) {
  const auto text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  if (!json.is_object() || !text("file") || !text("written")) return std::nullopt;
  if (!has_texts(json, "slots")) return std::nullopt;
  FileRecord record;
  record.file = json["file"].get<std::string>();
  record.written = json["written"].get<std::string>();
  if (text("original")) record.original = json["original"].get<std::string>();
  record.slots = texts_in(json["slots"]);
  const bool named = is_sha256(record.written) &&
                     (record.original.empty() || is_sha256(record.original)) &&
                     record.file.starts_with('/');
  return named ? std::optional(std::move(record)) : std::nullopt;
}

// False: damaged.
bool read_layouts(const Json& json, std::vector<JoinedLayout>& layouts) {
  if (!json.is_array()) return false;
  for (const Json& each : json) {
    const bool whole = each.is_object() && each.contains("store") && each["store"].is_string() &&
                       each.contains("id") && each["id"].is_string();
    if (!whole) return false;
    layouts.push_back({each["store"].get<std::string>(), each["id"].get<std::string>()});
  }
  return true;
}

}  // namespace

Result<Record> Record::load(const std::string& state_folder) {
  Record record(state_folder);
  const auto text = read_file(record.path(), kSettingsBytesMax);
  if (!text && text.error().code == Code::kNotFound) return record;
  if (!text) return fail(text.error());
  const Json json = Json::parse(*text, nullptr, false);
  bool good = json.is_object() && json.contains("files") && json["files"].is_array();
  for (std::size_t i = 0; good && i < json["files"].size(); ++i) {
    auto entry = read_entry(json["files"][i]);
    good = entry.has_value();
    if (good) record.files_.push_back(std::move(*entry));
  }
  if (good && json.contains("layouts")) good = read_layouts(json["layouts"], record.layouts_);
  if (good && json.contains("folders")) good = has_texts(json, "folders");
  if (!good) {
    return fail(Code::kFailed, record.path() + ": damaged",
                "move it away; then an uninstall removes our entries, but cannot restore every "
                "byte");
  }
  if (json.contains("folders")) record.folders_ = texts_in(json["folders"]);
  return record;
}

Result<Record> Record::load_locked(const std::string& state_folder) {
  LK_ASSIGN(const std::vector<std::string> made, make_folders(state_folder));
  Fd fd(::open(state_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(errno_error(errno, state_folder, Code::kFailed));
  const int error = lock_exclusively(fd.get(), kLockWaitMs);
  if (error == EWOULDBLOCK) {
    return fail(Code::kFailed, "another `lockkeeper install` is at work", "try again");
  }
  if (error != 0) return fail(errno_error(error, state_folder, Code::kFailed));
  LK_ASSIGN(Record record, load(state_folder));
  record.lock_ = std::move(fd);
  record.put_folders(made);
  return record;
}

const FileRecord* Record::find(std::string_view file) const {
  const auto found = std::ranges::find(files_, file, &FileRecord::file);
  return found == files_.end() ? nullptr : &*found;
}

void Record::put(FileRecord record) {
  erase(record.file);
  files_.push_back(std::move(record));
}

void Record::erase(std::string_view file) {
  std::erase_if(files_, [&](const FileRecord& each) { return each.file == file; });
}

bool Record::uses_backup(std::string_view sha256) const {
  return std::ranges::find(files_, sha256, &FileRecord::original) != files_.end();
}

void Record::put_layout(JoinedLayout layout) {
  const bool known = std::ranges::find(layouts_, layout) != layouts_.end();
  if (!known) layouts_.push_back(std::move(layout));
}

void Record::erase_layouts(std::string_view store) {
  std::erase_if(layouts_, [&](const JoinedLayout& each) { return each.store == store; });
}

bool Record::starts_program() const {
  return std::ranges::any_of(files_, [](const FileRecord& file) {
    return std::ranges::any_of(file.slots, slot_starts_program);
  });
}

void Record::put_folders(const std::vector<std::string>& outermost_first) {
  for (const std::string& folder : outermost_first) {
    const bool known = std::ranges::find(folders_, folder) != folders_.end();
    if (!known) folders_.push_back(folder);
  }
}

Result<void> Record::save() const {
  if (files_.empty() && layouts_.empty()) {
    if (::unlink(path().c_str()) != 0 && errno != ENOENT) {
      return fail(errno_error(errno, path(), Code::kFailed));
    }
    return {};
  }
  Json json = {{"schema", kSchema}, {"files", Json::array()}, {"folders", folders_}};
  for (const FileRecord& each : files_) {
    json["files"].push_back({{"file", each.file},
                             {"written", each.written},
                             {"original", text_or_null(each.original)},
                             {"slots", each.slots}});
  }
  for (const JoinedLayout& each : layouts_) {
    json["layouts"].push_back({{"store", each.store}, {"id", each.id}});
  }
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return replace_file_durably(path(), text);
}

std::string Record::backup_path(std::string_view sha256) const {
  return folder_ + "/backups/" + std::string(sha256);
}

Result<std::string> Record::keep_backup(std::string_view text) const {
  std::string sha256 = sha256_hex(text);
  LK_CHECK(make_folders(folder_ + "/backups"));
  if (backup(sha256)) return sha256;
  LK_CHECK(replace_file_durably(backup_path(sha256), text));
  return sha256;
}

Result<std::string> Record::backup(std::string_view sha256) const {
  LK_ASSIGN(std::string text, read_file(backup_path(sha256), kSettingsBytesMax));
  if (sha256_hex(text) == sha256) return text;
  return fail(Code::kNotFound, backup_path(sha256) + ": is not what it was");
}

void Record::forget_backup(std::string_view sha256) const {
  if (!sha256.empty() && !uses_backup(sha256)) ::unlink(backup_path(sha256).c_str());
}

bool Record::remove_empty_folders() {
  // rmdir refuses a folder that is not empty.
  ::rmdir((folder_ + "/backups").c_str());
  ::rmdir(folder_.c_str());
  // Each after those inside it.
  std::ranges::sort(folders_);
  std::vector<std::string> left;
  for (std::string& folder : folders_ | std::views::reverse) {
    const bool gone = ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
    if (!gone) left.push_back(std::move(folder));
  }
  const bool changed = left.size() != folders_.size();
  folders_ = std::move(left);
  return changed;
}

}  // namespace lockkeeper::install
