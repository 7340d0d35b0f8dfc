#include "hub/presence.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/fd.h"
#include "layout/sessions.h"
#include "realm/server.h"

namespace lockkeeper::hub {
namespace {

constexpr const char* kSessionFile = "/session";
constexpr std::size_t kNumberDigits = 16;
constexpr std::uint64_t kSlotMark = std::uint64_t{1} << 63U;  // neither a slot nor a wait has it

std::uint64_t session_number(std::uint64_t bits) {
  const std::uint64_t number = bits & INT64_MAX;
  return number > core::Attachment::kNoSession ? number : number + 2;
}

// The session that an earlier process of this hub had; 0: none.
std::uint64_t noted_session(const std::string& path) {
  const auto text = read_file(path, kNumberDigits + 1);
  const std::string bytes = text ? from_hex(*text) : std::string();
  return bytes.size() == sizeof(std::uint64_t) ? session_number(read_be64(bytes)) : 0;
}

KnownHub hub_in(const layout::HubRow& row) {
  KnownHub hub{row.hub, row.text, ""};
  const std::size_t end = row.text.find('\n');
  if (end == std::string::npos) return hub;
  hub.machine = row.text.substr(0, end);
  hub.address = row.text.substr(end + 1);
  return hub;
}

}  // namespace

Presence::Presence(service::Site& site, const Clock& clock, Random& random, KnownHub self)
    : site_(site), clock_(clock), random_(random), self_(std::move(self)) {}

std::uint64_t Presence::row_of(const std::string& person, const std::string& session) {
  return session_number(hash64(person + '/' + session));
}

std::uint64_t Presence::own() const {
  const std::lock_guard hold(mutex_);
  return own_;
}

core::Attachment Presence::in_own_session(const core::Attachment& process) const {
  return process.slot == 0 ? process : in_own_session(process.slot | kSlotMark);
}

std::optional<core::Alive> Presence::probe(const core::Attachment& client) const {
  const bool has_slot = (client.start_ticks & kSlotMark) != 0;
  if (!has_slot || client.session() != own()) return std::nullopt;
  core::Attachment process;
  process.slot = client.start_ticks & ~kSlotMark;
  return site_.table().probe(process);
}

std::optional<std::int64_t> Presence::kept_since(std::uint64_t session) const {
  const std::lock_guard hold(mutex_);
  const auto known = kept_.find(session);
  return known == kept_.end() ? std::nullopt : std::optional(known->second.since_ms);
}

core::SessionSeen Presence::seen(std::uint64_t session) const {
  const std::lock_guard hold(mutex_);
  const auto known = kept_.find(session);
  return {session, known == kept_.end() ? 0 : known->second.version};
}

// --- sessions ------------------------------------------------------------------------------------

Result<bool> Presence::is_there(std::uint64_t session) {
  LK_ASSIGN(const core::Keeper keeper, layout::keeper_of(site_.table(), session));
  return keeper != core::Keeper::kNobody;
}

// Put by this very process: a row of its former life goes with that.
Result<bool> Presence::is_mine(std::uint64_t session) {
  if (!kept_since(session)) return false;
  LK_ASSIGN(const core::Keeper keeper, layout::keeper_of(site_.table(), session));
  return keeper == core::Keeper::kThisHub;
}

Result<bool> Presence::keep(std::uint64_t session, bool begins) {
  LK_ASSIGN(const bool mine, is_mine(session));
  kv::Version version = 0;
  if (!mine) {
    LK_ASSIGN(version, layout::keep_session(site_.table(), session, begins));
  }
  const std::lock_guard hold(mutex_);
  if (!mine && version == 0) {
    kept_.erase(session);
    return false;
  }
  const std::int64_t now = now_ms();
  Kept& kept = kept_.try_emplace(session, Kept{now, now, 0}).first->second;
  if (!mine) kept.since_ms = now;
  kept.version = std::max(kept.version, version);  // of two beats at once, the later commit
  kept.heard_ms = now;
  return true;
}

Result<void> Presence::end_silent() {
  std::vector<std::uint64_t> silent;
  {
    const std::lock_guard hold(mutex_);
    const std::int64_t now = now_ms();
    for (const auto& [session, kept] : kept_) {
      if (session != own_ && now - kept.heard_ms >= realm::kSessionMs) silent.push_back(session);
    }
  }
  for (const std::uint64_t session : silent) {
    LK_CHECK(layout::end_session(site_.table(), session));
    const std::lock_guard hold(mutex_);
    const auto kept = kept_.find(session);
    const bool heard = kept != kept_.end() && now_ms() - kept->second.heard_ms < realm::kSessionMs;
    if (kept != kept_.end() && !heard) kept_.erase(kept);
  }
  return {};
}

// Clients wait in their hub's own session. Of those who did so before this process was there, it
// alone can tell who is dead, once they have had the time to come back.
Result<void> Presence::bury_lost_waiters() {
  const std::uint64_t session = own();
  const auto since = kept_since(session);
  if (!since || now_ms() - *since < realm::kSessionMs) return {};
  {
    const std::lock_guard hold(mutex_);
    if (buried_ms_ == *since) return {};
  }
  LK_CHECK(layout::bury_waiters(site_.table(), session));
  const std::lock_guard hold(mutex_);
  buried_ms_ = *since;
  return {};
}

// --- this hub ------------------------------------------------------------------------------------

// A number is noted before its row is put, so that a row that nobody knows goes by itself.
Result<void> Presence::begin_own() {
  const std::string path = site_.realm().store_folder + kSessionFile;
  std::uint64_t number = own() == 0 ? noted_session(path) : 0;
  bool there = false;
  if (number != 0) {
    LK_ASSIGN(there, keep(number, false));
  }
  if (!there) {
    number = session_number(random_.next());
    std::string bytes;
    append_be64(bytes, number);
    LK_CHECK(replace_file_durably(path, to_hex(bytes)));
    LK_CHECK(keep(number, true));
  }
  const std::lock_guard hold(mutex_);
  own_ = number;
  return {};
}

Result<void> Presence::show(const std::string& address) {
  const layout::HubRow wanted{self_.id, self_.machine + '\n' + address};
  LK_ASSIGN(const std::vector<layout::HubRow> all, layout::shown_hubs(site_.table()));
  const auto is_wanted = [&](const layout::HubRow& row) {
    return row.hub == wanted.hub && row.text == wanted.text;
  };
  return std::ranges::any_of(all, is_wanted) ? Result<void>()
                                             : layout::show_hub(site_.table(), wanted);
}

Result<void> Presence::keep_up(const std::string& address) {
  const std::uint64_t mine = own();
  LK_ASSIGN(const bool there, mine == 0 ? Result<bool>(false) : is_mine(mine));
  if (!there) LK_CHECK(begin_own());
  LK_CHECK(show(address));
  LK_CHECK(end_silent());
  return bury_lost_waiters();
}

void Presence::leave() {
  static_cast<void>(layout::hide_hub(site_.table(), self_.id));
}

Result<std::vector<KnownHub>> Presence::hubs() {
  LK_ASSIGN(const std::vector<layout::HubRow> rows, layout::shown_hubs(site_.table()));
  std::vector<KnownHub> all;
  all.reserve(rows.size());
  for (const layout::HubRow& row : rows) all.push_back(hub_in(row));
  return all;
}

}  // namespace lockkeeper::hub
