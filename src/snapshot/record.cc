#include "snapshot/record.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/bytes.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::string_view kMarker = "\xf5LKv";
constexpr std::size_t kHeadBytes = 16;
constexpr std::uint64_t kFormat = 2;
constexpr std::uint64_t kFormatWithoutTree = 1;

void put_who(RecordWriter& out, const Who& who) {
  out.text(who.agent);
  out.text(who.session);
}

Who take_who(RecordReader& in) {
  Who who;
  who.agent = in.text();
  who.session = in.text();
  return who;
}

// False: not a value of that kind.
template <class Choice>
bool take_choice(RecordReader& in, Choice last, Choice& into) {
  const std::uint64_t number = in.number();
  if (number > static_cast<std::uint64_t>(last)) return false;
  into = static_cast<Choice>(number);
  return true;
}

std::string id_of(std::uint64_t checksum) {
  std::string bytes;
  append_be64(bytes, checksum);
  return to_hex(bytes);
}

bool is_known(std::uint64_t format) {
  return format == kFormat || format == kFormatWithoutTree;
}

// False: a newer program wrote it.
bool glance_at(Record& record) {
  RecordReader in(record.payload);
  if (!is_known(in.number())) return false;
  in.signed_number();  // when
  record.worktree = in.text();
  record.path = in.text();
  for (int name = 0; name < 4; ++name) in.text();  // of who wrote it and who kept it
  Why why{};
  return take_choice(in, Why::kRestore, why) && take_choice(in, Kind::kStash, record.kind) &&
         take_choice(in, Content::kUnread, record.content_is) && !in.failed();
}

// The record at the front: its payload. Nullopt: there is none.
std::optional<std::string_view> record_at(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || !bytes.starts_with(kMarker)) return std::nullopt;
  const std::size_t length = read_be32(bytes.substr(kMarker.size()));
  if (length > kRecordBytesMax || length > bytes.size() - kHeadBytes) return std::nullopt;
  const std::string_view payload = bytes.substr(kHeadBytes, length);
  if (hash64(payload) != read_be64(bytes.substr(8))) return std::nullopt;
  return payload;
}

}  // namespace

std::string encode_version(Version& version) {
  RecordWriter out;
  out.number(kFormat);
  out.signed_number(version.at_wall_ms);
  out.text(version.worktree);
  out.text(version.path);
  put_who(out, version.writer);
  put_who(out, version.by);
  out.number(static_cast<std::uint64_t>(version.why));
  out.number(static_cast<std::uint64_t>(version.kind));
  out.number(static_cast<std::uint64_t>(version.content_is));
  out.number(version.mode);
  out.text(version.target);
  out.text(from_hex(version.content));
  out.number(version.size);
  out.number(version.mark.size);
  out.signed_number(version.mark.modified_ns);
  out.signed_number(version.mark.changed_ns);
  out.number(version.mark.inode);
  out.text(version.tree);
  const std::string payload = out.take();
  if (payload.size() > kRecordBytesMax) return {};
  const std::uint64_t checksum = hash64(payload);
  version.id = id_of(checksum);
  std::string record(kMarker);
  append_be32(record, static_cast<std::uint32_t>(payload.size()));
  append_be64(record, checksum);
  return record + payload;
}

std::optional<Version> version_of(const Record& record) {
  RecordReader in(record.payload);
  const std::uint64_t format = in.number();
  if (!is_known(format)) return std::nullopt;
  Version version;
  version.id = id_of(record.checksum);
  version.at_wall_ms = in.signed_number();
  version.worktree = in.text();
  version.path = in.text();
  version.writer = take_who(in);
  version.by = take_who(in);
  const bool known = take_choice(in, Why::kRestore, version.why) &&
                     take_choice(in, Kind::kStash, version.kind) &&
                     take_choice(in, Content::kUnread, version.content_is);
  const std::uint64_t mode = in.number();
  version.mode = static_cast<std::uint32_t>(mode & 07777U);
  version.target = in.text();
  version.content = to_hex(in.text());
  version.size = in.number();
  version.mark.size = in.number();
  version.mark.modified_ns = in.signed_number();
  version.mark.changed_ns = in.signed_number();
  version.mark.inode = in.number();
  if (format == kFormat) version.tree = in.text();
  if (!known || !in.at_end()) return std::nullopt;
  return version;
}

Scanned each_record(std::string_view bytes, const std::function<bool(const Record&)>& visit) {
  Scanned scanned;
  while (!bytes.empty()) {
    const auto payload = record_at(bytes);
    if (!payload) {
      const std::size_t next = std::min(bytes.find(kMarker, 1), bytes.size());
      scanned.torn_bytes += next;
      bytes.remove_prefix(next);
      continue;
    }
    Record record;
    record.payload = *payload;
    record.checksum = read_be64(bytes.substr(8));
    bytes.remove_prefix(kHeadBytes + payload->size());
    if (!glance_at(record)) {
      ++scanned.unknown;
      continue;
    }
    ++scanned.versions;
    if (!visit(record)) break;
  }
  return scanned;
}

Scanned each_version(std::string_view bytes, const std::function<bool(Version&&)>& visit) {
  std::size_t unknown = 0;
  Scanned scanned = each_record(bytes, [&](const Record& record) {
    auto version = version_of(record);
    if (version) return visit(std::move(*version));
    ++unknown;
    return true;
  });
  scanned.versions -= unknown;
  scanned.unknown += unknown;
  return scanned;
}

}  // namespace lockkeeper::snapshot
