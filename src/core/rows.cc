#include "core/rows.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"

namespace lockkeeper::core {
namespace {

constexpr std::size_t kIdBytes = IdBytes::kMax;
constexpr std::size_t kClaimTailBytes = 1 + kIdBytes + 2;

std::uint32_t tag(std::string_view name) {
  return static_cast<std::uint32_t>(hash64(name));
}

std::string with_letter(char letter, std::string_view rest) {
  std::string key;
  key.reserve(rest.size() + 1);
  key.push_back(letter);
  key.append(rest);
  return key;
}

std::string with_two(char letter, const LeaseId& first, const LeaseId& second) {
  std::string key;
  key.reserve(1 + 2 * kIdBytes);
  key.push_back(letter);
  key.append(first.bytes);
  key.append(second.bytes);
  return key;
}

std::string with_hash(char letter, const Owner& owner, std::string_view hashed) {
  std::string key = with_letter(letter, owner_tag(owner));
  append_be64(key, hash64(hashed));
  return key;
}

char claim_letter(Holding holding, Mode mode) {
  if (holding == Holding::kLease) return mode == Mode::kExclusive ? 'x' : 's';
  return mode == Mode::kExclusive ? 'X' : 'S';
}

}  // namespace

std::string owner_tag(const Owner& owner) {
  std::string out;
  append_be32(out, tag(owner.agent));
  append_be32(out, tag(owner.session));
  return out;
}

LeaseId make_id(const Owner& owner, std::uint64_t ticket) {
  std::string bytes = owner_tag(owner);
  append_be64(bytes, ticket);
  return LeaseId{bytes};
}

std::string LeaseId::text() const {
  return to_hex(bytes);
}

std::optional<LeaseId> LeaseId::from_text(std::string_view text) {
  const std::string bytes = from_hex(text);
  if (bytes.size() != kIdBytes) return std::nullopt;
  return LeaseId{bytes};
}

std::string lease_key(const LeaseId& id) {
  return with_letter('l', id.bytes);
}

std::string counter_key(const Owner& owner) {
  std::string key(1, 'l');
  append_be32(key, tag(owner.agent));
  return key;
}

std::string session_counter_key(const Owner& owner) {
  return with_letter('q', owner_tag(owner));
}

kv::Range session_counters(const Owner& owner) {
  std::string agent(1, 'q');
  append_be32(agent, tag(owner.agent));
  return kv::prefix_range(agent);
}

std::string waiter_key(const LeaseId& id) {
  return with_letter('w', id.bytes);
}

std::optional<LeaseId> id_in_row_key(std::string_view key) {
  const bool named = key.size() == 1 + kIdBytes && (key.front() == 'l' || key.front() == 'w');
  return named ? std::optional(LeaseId{key.substr(1)}) : std::nullopt;
}

std::string claim_key(Holding holding, Mode mode, const key::Place& place, const LeaseId& id,
                      std::uint16_t slot) {
  LOCKKEEPER_ASSERT(id.bytes.size() == kIdBytes);
  std::string key;
  key.reserve(place.space_and_segments.size() + 1 + kClaimTailBytes);
  key.push_back(claim_letter(holding, mode));
  key.append(place.space_and_segments);
  key.push_back('\0');
  key.append(id.bytes);
  key.push_back(static_cast<char>(slot >> 8));
  key.push_back(static_cast<char>(slot & 0xff));
  return key;
}

std::string part_key(std::string_view whole, const LeaseId& waiter) {
  std::string key(1, 'v');
  append_be64(key, hash64(whole));
  key.append(waiter.bytes);
  return key;
}

kv::Range parts_of(std::string_view whole) {
  return kv::prefix_range(part_key(whole, {}));
}

std::string blocked_key(const LeaseId& blocker, const LeaseId& waiter) {
  return with_two('b', blocker, waiter);
}

std::string child_key(const LeaseId& parent, const LeaseId& child) {
  return with_two('c', parent, child);
}

std::string request_key(const Owner& owner, std::string_view request_id) {
  return with_hash('r', owner, request_id);
}

std::string answer_key(const Owner& owner, std::string_view request_id) {
  return with_hash('a', owner, request_id);
}

constexpr std::size_t kNameLongest = 300;
constexpr std::size_t kNameKept = kNameLongest - 8;

std::string_view short_prefix(std::string_view prefix) {
  return prefix.substr(0, kNameKept);
}

std::string short_name(std::string_view name) {
  if (name.size() <= kNameLongest) return std::string(name);
  std::string key(name.substr(0, kNameKept));
  append_be64(key, hash64(name));
  return key;
}

std::string activity_key(const Owner& owner) {
  return with_hash('h', owner, owner.agent + '\0' + owner.session);
}

std::string trace_key(std::string_view worktree, std::string_view path) {
  std::string key(kTracePrefix);
  append_be64(key, hash64(worktree));
  return key + short_name(path);
}

kv::Range traces_of(std::string_view worktree) {
  return kv::prefix_range(trace_key(worktree, {}));
}

std::string removal_key(const LeaseId& id) {
  return "u" + std::string(id.bytes);
}

std::string lost_key(const LeaseId& id) {
  return with_letter('d', id.bytes);
}

std::string refusal_key(const Owner& owner, std::string_view resources) {
  return with_hash('g', owner, resources);
}

std::string session_key(std::uint64_t session) {
  std::string key(1, 'p');
  append_be64(key, session);
  return key;
}

std::string hub_key(std::uint64_t hub) {
  std::string key(kHubPrefix);
  append_be64(key, hub);
  return key;
}

std::string due_key(std::uint64_t epoch, std::int64_t mono_ms, Due what, std::string_view subject,
                    std::uint64_t clock) {
  std::string key;
  key.reserve(kDuePrefix.size() + 25 + subject.size());
  key.append(clock == 0 ? kDuePrefix : kClockedDuePrefix);
  append_be64(key, ~epoch);
  if (clock != 0) append_be64(key, clock);
  append_be64(key, ~static_cast<std::uint64_t>(mono_ms < 0 ? INT64_MAX : mono_ms));
  key.push_back(static_cast<char>(what));
  key.append(subject);
  return key;
}

std::string due_key_of(const Lease& lease) {
  return due_key(lease.epoch, lease.due_mono_ms, Due::kLease, lease.id.bytes, lease.written.clock);
}

std::optional<DueRow> read_due_key(std::string_view key) {
  const bool clocked = key.starts_with(kClockedDuePrefix);
  const std::size_t time_at = clocked ? 17 : 9;
  const std::size_t what_at = time_at + 8;
  if (key.size() <= what_at || (!clocked && key[0] != kDuePrefix[0])) return std::nullopt;
  // What a row of another kind names must never be taken for something to forget.
  if (std::string_view("abdghjlr").find(key[what_at]) == std::string_view::npos) {
    return std::nullopt;
  }
  return DueRow{~read_be64(key.substr(1)),
                static_cast<std::int64_t>(~read_be64(key.substr(time_at))),
                static_cast<Due>(key[what_at]), key.substr(what_at + 1),
                clocked ? read_be64(key.substr(9)) : 0};
}

kv::Range due_of_clock(std::uint64_t epoch, std::uint64_t clock, std::int64_t before_ms) {
  std::string own(kClockedDuePrefix);
  append_be64(own, ~epoch);
  append_be64(own, clock);
  kv::Range range = kv::prefix_range(own);
  append_be64(range.from, ~static_cast<std::uint64_t>(std::max<std::int64_t>(before_ms, 1) - 1));
  return range;
}

kv::Range due_before(std::uint64_t epoch, std::int64_t mono_ms) {
  kv::Range range = kv::prefix_range(kDuePrefix);
  append_be64(range.from, ~epoch);
  if (mono_ms > 0) {
    append_be64(range.from, ~static_cast<std::uint64_t>(mono_ms - 1));
  } else {
    range.from.append(9, '\xff');  // behind all of this epoch
  }
  return range;
}

void set_claim_range(kv::Range& range, Holding holding, Mode mode, std::string_view place,
                     bool below) {
  range.from.assign(1, claim_letter(holding, mode));
  range.from.append(place);
  range.to.assign(range.from);
  range.from.push_back('\0');
  range.to.push_back(below ? '\2' : '\1');
}

kv::Range exactly_at(Holding holding, Mode mode, std::string_view place) {
  kv::Range range;
  set_claim_range(range, holding, mode, place, false);
  return range;
}

kv::Range all_waiter_claims() {
  return {"S", "Y"};
}

LeaseId id_in_claim_key(std::string_view key) {
  LOCKKEEPER_ASSERT(key.size() > kClaimTailBytes);
  return LeaseId{key.substr(key.size() - kIdBytes - 2, kIdBytes)};
}

Mode mode_in_claim_key(std::string_view key) {
  return key[0] == 'x' || key[0] == 'X' ? Mode::kExclusive : Mode::kShared;
}

}  // namespace lockkeeper::core
