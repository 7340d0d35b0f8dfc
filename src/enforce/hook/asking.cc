#include "enforce/hook/asking.h"

#include <algorithm>
#include <iterator>

#include "core/sessions.h"
#include "enforce/hook/words.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::string_view kAskedPrefix = "asked ";

std::vector<core::Lease> edits_of(Session& session, Place& place) {
  std::vector<core::Lease> edits;
  service::ListCommand command;
  command.agent = session.owner().agent;
  command.scan_layouts = false;
  const auto list = place.locks().list(command);
  if (!list) return edits;
  for (const service::ListedLease& listed : list->leases) {
    if (listed.lease.edit && !listed.lease.foreign) edits.push_back(listed.lease);
  }
  return edits;
}

// Once to confirm the claim, and once to be seen on it. Losses that come along go to `lost`.
void note_question(Session& session, Place& place, const core::Lease& edit,
                   std::vector<core::LostLease>& lost) {
  service::Locks locks(place.site(), edit.owner);
  service::AcquireCommand command = edit_command(session, place);
  for (const core::Claim& claim : edit.claims) command.wanted.resources.push_back(claim.resource);
  command.terms.worktree = edit.terms.worktree;
  command.call = asked_id(edit.edit->calls.back());
  core::ReportRequest done;
  done.worktree = edit.terms.worktree;
  done.done = {command.call};
  const auto renewed = [&] {
    auto result = locks.acquire(command);
    if (result) std::ranges::move(result->lost, std::back_inserter(lost));
    return result && result->outcome == core::Outcome::kRenewed;
  };
  if (!renewed() || !locks.report(done)) return;
  static_cast<void>(renewed());
}

}  // namespace

bool is_asked(const core::Edit& edit) {
  return std::ranges::any_of(
      edit.calls, [](const std::string& call) { return call.starts_with(kAskedPrefix); });
}

std::string asked_id(const std::string& edit_id) {
  return std::string(kAskedPrefix) + edit_id;
}

// The payload does not say which call it is, nor of which subagent.
Answer at_question(Session& session) {
  const auto home = session.home();
  if (!home || *home == nullptr || !(*home)->has_table()) return {};
  core::ReportRequest nothing;
  nothing.worktree = (*home)->worktree();
  const auto reply = (*home)->locks().report(nothing);
  std::vector<Place*> places = {*home};
  for (const std::string& root : reply ? reply->also_in : std::vector<std::string>()) {
    const auto place = session.place_at(root);
    if (place && *place != nullptr && (*place)->has_table()) places.push_back(*place);
  }
  const core::Owner& me = session.owner();
  std::vector<core::LostLease> lost;
  for (Place* const place : places) {
    for (const core::Lease& edit : edits_of(session, *place)) {
      const bool own = edit.owner == me || core::is_part_of(edit.owner, me);
      const bool open = !edit.edit->confirmed && !edit.edit->calls.empty();
      if (own && open) note_question(session, *place, edit, lost);
    }
  }
  return {.tell = lost.empty() ? std::string() : lost_words(lost)};
}

std::vector<AskedClaim> asked_claims(Session& session, Place& place) {
  std::vector<AskedClaim> asked;
  for (const core::Lease& edit : edits_of(session, place)) {
    if (edit.owner != session.owner()) continue;
    for (const std::string& call : edit.edit->calls) {
      if (call.starts_with(kAskedPrefix)) {
        asked.push_back({edit.id.text(), call.substr(kAskedPrefix.size()), edit.edit->calls});
      }
    }
  }
  return asked;
}

void give_up(Place& place, const std::vector<AskedClaim>& claims) {
  if (claims.empty()) return;
  service::ReleaseCommand command;
  for (const AskedClaim& claim : claims) command.lease_ids.push_back(claim.lease_id);
  static_cast<void>(place.locks().release(command));
}

}  // namespace lockkeeper::enforce::hook
