#include "kv/lmdb/epoch.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/random.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::string_view kFirstLine = "lockkeeper epoch 1\n";
constexpr std::size_t kFileBytesMax = 16384;

class Lines {
 public:
  void put(std::string_view name, std::string_view value) {
    text_.append(name).append(" ").append(value).append("\n");
  }
  template <class Integer>
  void put_number(std::string_view name, Integer value) {
    put(name, std::to_string(value));
  }
  void put_identity(std::string_view name, const Identity& id) {
    put(name, std::to_string(id.inode) + "@" + std::to_string(id.born_ns));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{kFirstLine};
};

class Fields {
 public:
  explicit Fields(std::string_view text) {
    while (!text.empty()) {
      const auto end = text.find('\n');
      if (end == std::string_view::npos) break;
      const std::string_view line = text.substr(0, end);
      const auto space = line.find(' ');
      if (space != std::string_view::npos) {
        fields_.emplace(line.substr(0, space), line.substr(space + 1));
      }
      text.remove_prefix(end + 1);
    }
  }

  std::string_view text(std::string_view name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) good_ = false;
    return found == fields_.end() ? std::string_view() : found->second;
  }

  template <class Integer>
  void number(std::string_view name, Integer& value) {
    parse(text(name), value);
  }

  void identity(std::string_view name, Identity& id) {
    const std::string_view value = text(name);
    const auto at = value.find('@');
    if (at == std::string_view::npos) {
      good_ = false;
      return;
    }
    parse(value.substr(0, at), id.inode);
    parse(value.substr(at + 1), id.born_ns);
  }

  bool good() const { return good_; }

 private:
  template <class Integer>
  void parse(std::string_view digits, Integer& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) good_ = false;
  }

  std::map<std::string_view, std::string_view> fields_;
  bool good_ = true;
};

std::string sum_line(std::string_view text) {
  std::string sum;
  append_be64(sum, hash64(text));
  return "sum " + to_hex(sum) + "\n";
}

}  // namespace

std::string write_epoch(const EpochRecord& record) {
  Lines lines;
  lines.put_number("id", record.id);
  lines.put_number("revision", record.revision);
  lines.put("state", record.founding ? "founding" : "ready");
  lines.put("durability", record.durability == Durability::kFull ? "full" : "process");
  lines.put_number("uid", record.uid);
  lines.put_number("version_base", record.version_base);
  lines.put_number("version_start", record.version_start);
  lines.put_number("fence_offset", record.fence_offset);
  lines.put_number("start_mono_ms", record.start_mono_ms);
  lines.put("boot_id", to_hex(record.boot_id));
  lines.put_number("time_namespace", record.time_namespace);
  lines.put_identity("gate", record.gate);
  lines.put_identity("parent", record.parent);
  lines.put("aside", to_hex(record.aside));
  std::string text = lines.take();
  text += sum_line(text);
  return text;
}

std::optional<EpochRecord> read_epoch(std::string_view text) {
  const auto end = text.rfind("sum ");
  if (!text.starts_with(kFirstLine) || end == std::string_view::npos) return std::nullopt;
  if (text.substr(end) != sum_line(text.substr(0, end))) return std::nullopt;
  Fields fields(text.substr(0, end));
  EpochRecord record;
  fields.number("id", record.id);
  fields.number("revision", record.revision);
  record.founding = fields.text("state") == "founding";
  const std::string_view durability = fields.text("durability");
  record.durability = durability == "process" ? Durability::kProcess : Durability::kFull;
  fields.number("uid", record.uid);
  fields.number("version_base", record.version_base);
  fields.number("version_start", record.version_start);
  fields.number("fence_offset", record.fence_offset);
  fields.number("start_mono_ms", record.start_mono_ms);
  record.boot_id = from_hex(fields.text("boot_id"));
  fields.number("time_namespace", record.time_namespace);
  fields.identity("gate", record.gate);
  fields.identity("parent", record.parent);
  record.aside = from_hex(fields.text("aside"));
  if (!fields.good()) return std::nullopt;
  return record;
}

std::optional<EpochRecord> EpochFiles::load_main() const {
  const auto text = read_file(main, kFileBytesMax);
  return text ? read_epoch(*text) : std::nullopt;
}

namespace {

// Its text; nullopt: it is missing or cannot be an epoch file.
Result<std::optional<EpochRecord>> load_file(const std::string& path) {
  const auto text = read_file(path, kFileBytesMax);
  if (text) return read_epoch(*text);
  const Code code = text.error().code;
  if (code == Code::kNotFound || code == Code::kLimitExceeded) return std::nullopt;
  return fail(Code::kStoreUnavailable, text.error().message);
}

}  // namespace

Result<EpochFiles::Found> EpochFiles::load() const {
  Found found;
  auto present = is_there(main);
  if (!present) return fail(std::move(present.error()));
  found.main_present = *present;
  auto record = load_file(main);
  if (!record) return fail(std::move(record.error()));
  found.record = std::move(*record);
  found.main_good = found.record.has_value();
  found.copy_good = copy.empty();
  if (copy.empty()) return found;
  auto second = load_file(copy);
  // A copy that cannot be read does not matter while the main file is there.
  if (!second && !found.main_good) return fail(std::move(second.error()));
  const auto other = second ? *second : std::nullopt;
  found.copy_good = other.has_value();
  if (other && (!found.record || other->revision > found.record->revision)) {
    found.record = other;
    found.main_good = false;
  }
  return found;
}

Result<void> EpochFiles::save(const EpochRecord& record, const FilePolicy& policy) const {
  save_copy(record, policy);
  return save_main(record, policy);
}

void EpochFiles::save_copy(const EpochRecord& record, const FilePolicy& policy) const {
  if (copy.empty() || !make_folders(parent_of(copy))) return;
  (void)replace_durably(copy, write_epoch(record), policy);
}

Result<void> EpochFiles::save_main(const EpochRecord& record, const FilePolicy& policy) const {
  return replace_durably(main, write_epoch(record), policy);
}

EpochRecord next_epoch(const NextEpoch& next) {
  EpochRecord record;
  std::uint64_t id = 0;
  Version newest = next.newest;
  std::int64_t fence = 0;
  if (next.last != nullptr) {
    id = next.last->id;
    newest = std::max(newest, next.last->version_start);
    record = *next.last;
    fence = static_cast<std::int64_t>(newest + next.jump) + next.last->fence_offset;
  }
  record.id = id + 1;
  record.version_start = newest + next.jump;
  record.version_base = record.version_start - next.txn_id;
  const std::int64_t by_clock = next.wall_ms / 1000 * (std::int64_t{1} << 21);
  record.fence_offset =
      std::max(fence + 1, by_clock) - static_cast<std::int64_t>(record.version_start);
  record.start_mono_ms = next.mono_ms;
  record.founding = false;
  record.aside.clear();
  return record;
}

std::uint64_t time_namespace() {
  struct stat st{};
  return ::stat("/proc/self/ns/time", &st) == 0 ? st.st_ino : 0;
}

}  // namespace lockkeeper::kv::internal
