#include "dialect/dirlock/lock_file.h"

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr std::string_view kPrefix = "agent-dir-";
constexpr std::string_view kSuffix = ".lock";
constexpr std::size_t kDigits = 64;

std::string text_of(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<std::int64_t> pid_of(const nlohmann::json& json) {
  const auto found = json.find("pid");
  if (found == json.end()) return fail(Code::kInvalidInput, "it has no pid");
  const bool whole = found->is_number_integer() &&
                     (!found->is_number_unsigned() || found->get<std::uint64_t>() <= INT_MAX);
  const std::int64_t pid = whole ? found->get<std::int64_t>() : 0;
  if (pid < 1 || pid > INT_MAX) return fail(Code::kInvalidInput, "its pid is out of range");
  return pid;
}

}  // namespace

std::string temp_folder(const realm::Environment& env) {
  std::string folder = "/tmp";
  for (const char* name : {"TMPDIR", "TMP", "TEMP"}) {
    if (auto value = realm::variable(env, name)) {
      folder = std::move(*value);
      break;
    }
  }
  if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

std::string lock_name(std::string_view cwd) {
  return std::string(kPrefix) + sha256_hex(cwd) + std::string(kSuffix);
}

bool is_lock_name(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return false;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  return std::ranges::all_of(name.substr(kPrefix.size(), kDigits), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

std::string LockRecord::identity() const {
  return std::to_string(pid) + "@" + start_time;
}

Json record_json(const LockRecord& record) {
  return {{"pid", record.pid},
          {"cwd", record.cwd},
          {"startTime", record.start_time},
          {"hostname", record.hostname},
          {"agents", record.agents}};
}

std::string record_text(const LockRecord& record) {
  constexpr int kIndent = 2;
  return record_json(record).dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<LockRecord> parse_record(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidInput, "it is empty");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(Code::kInvalidInput, "it is not JSON");
  if (!json.is_object()) return fail(Code::kInvalidInput, "it is not a JSON object");
  LockRecord record;
  LK_ASSIGN(record.pid, pid_of(json));
  record.cwd = text_of(json, "cwd");
  if (!record.cwd.starts_with('/'))
    return fail(Code::kInvalidInput, "its cwd is not an absolute path");
  record.start_time = text_of(json, "startTime");
  if (const auto time = parse_time(record.start_time)) record.start_ms = *time;
  record.hostname = text_of(json, "hostname");
  if (const auto agents = json.find("agents"); agents != json.end() && agents->is_array()) {
    for (const auto& agent : *agents) {
      if (agent.is_string()) record.agents.push_back(agent.get<std::string>());
    }
  }
  return record;
}

bool FoundLock::young(std::int64_t now_ms) const {
  // A time in the future is ignored: waiting for it might never end.
  return now_ms - stamp.mtime_ms < kYoungMs && stamp.mtime_ms - now_ms < kYoungMs;
}

Result<std::optional<FoundLock>> read_lock(const Folder& folder, const std::string& name) {
  FoundLock found;
  LK_ASSIGN(const std::optional<FileStamp> stamp, folder.stamp(name));
  if (!stamp) return std::nullopt;
  found.stamp = *stamp;
  auto bytes = folder.read(name, kLockBytesMax);
  if (!bytes) {
    Error error = std::move(bytes.error());
    if (error.code == Code::kLimitExceeded) error.code = Code::kStoreUnavailable;
    return fail(std::move(error));
  }
  if (!*bytes) return std::nullopt;
  found.bytes = std::move(**bytes);
  auto record = parse_record(found.bytes);
  if (!record) {
    found.trouble = record.error().message;
  } else if (lock_name(record->cwd) != name) {
    found.trouble = "its cwd " + quote(record->cwd) + " does not belong to its name";
  } else {
    found.record = std::move(*record);
  }
  return found;
}

}  // namespace lockkeeper::dialect::dirlock
