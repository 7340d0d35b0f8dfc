// The records of the index: one for each version, one after the other.
//
//   marker 4 | length 4 | checksum 8 | payload
//
// Records are only ever appended. A process that dies while it appends leaves a torn one, and
// others append behind it: a reader goes on at the next marker whose checksum is right.
//
// Thread safety: plain functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "snapshot/version.h"

namespace lockkeeper::snapshot {

inline constexpr std::size_t kRecordBytesMax = 64U << 10;

// Sets version.id. Empty: its texts are too long for a record.
std::string encode_version(Version& version);

struct Scanned {
  std::size_t versions = 0;
  std::size_t torn_bytes = 0;  // that are not a record
  std::size_t unknown = 0;     // records that a newer program wrote
};

// A record, read only as far as a search needs it. It points into the bytes.
struct Record {
  std::string_view worktree;
  std::string_view path;
  Kind kind = Kind::kFile;
  Content content_is = Content::kKept;
  std::string_view payload;
  std::uint64_t checksum = 0;
};
// Nullopt: a newer program wrote it.
std::optional<Version> version_of(const Record& record);

// Calls `visit` for each record, in the order of the bytes. Any bytes will do. `visit` says false
// to stop.
Scanned each_record(std::string_view bytes, const std::function<bool(const Record&)>& visit);
Scanned each_version(std::string_view bytes, const std::function<bool(Version&&)>& visit);

}  // namespace lockkeeper::snapshot
