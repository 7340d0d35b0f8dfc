// Parts of CoordMCP's JSON. Private to this folder.
#pragma once

#include <string>

#include "dialect/coordmcp/calls.h"

namespace lockkeeper::dialect::coordmcp {

inline Json local_or_null(std::int64_t wall_ms) {
  if (wall_ms == kNoEnd) return {};
  return format_local({LocalTime::from_wall_ms(wall_ms).wall_s, 0}, 'T');
}

// When the holder expects to be done; if unknown, the lease's end.
inline Json expected_unlock(const core::Lease& lease, const Expected& expected) {
  const auto own = lease.foreign ? expected.find(core::foreign_artefact(lease)) : expected.end();
  if (own != expected.end()) return format_local(own->second, 'T');
  if (const std::optional<LockNote> note = lock_note_in(lease.terms.task)) {
    return local_or_null(lease.acquired_wall_ms + note->minutes * kMinuteMs);
  }
  return local_or_null(lease.expires_wall_ms);
}

inline std::unexpected<Error> no_project() {
  return fail(Code::kInvalidInput, "project_id is missing", "give the id of the project");
}

inline void put_both(Json& json, const char* one, const char* other, const Json& value) {
  json[one] = value;
  json[other] = value;
}

}  // namespace lockkeeper::dialect::coordmcp
