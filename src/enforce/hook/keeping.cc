#include "enforce/hook/keeping.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "enforce/hook/files.h"
#include "git/ref_log.h"
#include "key/path.h"
#include "snapshot/keeper.h"

namespace lockkeeper::enforce::hook {
namespace {

using nlohmann::json;

// Of one hook: its client waits. A disk that stands still for seconds must not make it leave out
// one of a few files.
constexpr std::int64_t kKeepingMsMax = 2'000;
constexpr std::int64_t kFewKeepingMsMax = 9'000;
constexpr int kFew = 16;

snapshot::Who who_of(const core::Owner& owner) {
  return {owner.agent, owner.session};
}

bool has_time(const Session& session, Place& place) {
  const std::int64_t most_ms = place.next_kept() <= kFew ? kFewKeepingMsMax : kKeepingMsMax;
  return place.keeping_ms(session.now().mono_ms) < most_ms;
}

void keep_one(Session& session, Place& place, const std::string& path,
              const snapshot::Keeping& how) {
  if (!has_time(session, place)) {
    place.note_kept(fail(Code::kLimitExceeded, "too many files changed at once to keep them all"));
    return;
  }
  const auto seen = place.keeper()->keep(path, how, session.now().wall_ms);
  if (!seen) place.note_kept(fail(seen.error()));
}

// By path: whose call on it was not reported yet.
std::map<std::string, core::Owner> unfinished_in(Place& place) {
  std::map<std::string, core::Owner> files;
  service::ListCommand all;
  all.scan_layouts = false;
  const auto list = place.locks().list(all);
  if (!list) return files;  // met again, and told, before the next edit
  for (const service::ListedLease& each : list->leases) {
    const core::Lease& lease = each.lease;
    const std::string& worktree = lease.terms.worktree;
    const bool here = worktree.empty() || worktree == place.worktree();
    if (!here || !lease.edit || (lease.edit->confirmed && lease.edit->calls.empty())) continue;
    for (const core::Claim& claim : lease.claims) {
      if (claim.resource.kind() != key::Kind::kFile) continue;
      files.emplace(key::path_body(claim.resource.text()), lease.owner);
    }
  }
  return files;
}

bool keep_traced(Session& session, Place& place,
                 const std::map<std::string, core::Owner>& unfinished) {
  snapshot::Keeper* const keeper = place.keeper();
  const auto look = place.locks().look(place.worktree());
  if (!look) return false;  // as above
  std::vector<std::string> changed;
  for (const core::Trace& trace : look->traces) {
    const std::string& path = trace.change.path;
    if (unfinished.contains(path)) continue;
    const bool same = trace_mark(keeper->tree().look(path).mark) == trace.change.mark;
    if (!same) {
      changed.push_back(path);
    } else if (!keeper->is_safe(path, trace.at_wall_ms)) {
      keep_one(session, place, path,
               {.writer = who_of(trace.owner), .by = who_of(session.owner()), .again = true});
    }
  }
  keep(session, place, changed, snapshot::Why::kBefore);
  return !changed.empty();
}

void keep_each(Session& session, Place& place, const std::map<std::string, core::Owner>& unfinished,
               bool ran) {
  const snapshot::Who me = who_of(session.owner());
  for (const auto& [path, owner] : unfinished) {
    snapshot::Keeping how{.why = ran ? snapshot::Why::kFound : snapshot::Why::kBefore, .by = me};
    how.writer = who_of(owner);
    how.if_changed = true;
    const auto known = place.keeper()->newest(path);
    // It had been written when the command began.
    const bool written = known && *known != nullptr && (*known)->writer == how.writer;
    const bool doubted = ran && written && (*known)->by == me && how.writer != me;
    if (doubted) how.writer = {};
    keep_one(session, place, path, how);
  }
}

// What the call says about the file that it writes; nullopt: nothing that could be compared.
std::optional<bool> says_that(const ToolCall& call, const std::string& content) {
  if (!call.input.is_object()) return std::nullopt;
  const auto text = [](const json& from, const char* name) -> std::optional<std::string> {
    const auto found = from.find(name);
    if (found == from.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  };
  if (const auto whole = text(call.input, "content")) return *whole == content;
  for (const char* const name : {"new_string", "newString"}) {
    const auto part = text(call.input, name);
    if (part && !part->empty()) return content.contains(*part);
  }
  return std::nullopt;
}

}  // namespace

void keep(Session& session, Place& place, const std::vector<std::string>& paths,
          snapshot::Why why) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr || paths.empty()) return;
  const snapshot::Keeping how{.why = why, .by = who_of(session.owner())};
  place.note_kept(keeper->keep_all(paths, how, session.now().wall_ms,
                                   [&] { return has_time(session, place); }));
}

void keep_change(Session& session, Place& place, const std::string& path, bool mine) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return;
  snapshot::Keeping how{.why = mine ? snapshot::Why::kAfter : snapshot::Why::kFound,
                        .by = who_of(session.owner())};
  if (mine) how.writer = how.by;
  keep_one(session, place, path, how);
}

void keep_remains(Session& session, Place& place, const std::string& path) {
  if (place.keeper() == nullptr) return;
  const snapshot::Who me = who_of(session.owner());
  keep_one(session, place, path,
           {.why = snapshot::Why::kAfter, .writer = me, .by = me, .if_changed = true});
}

void keep_original(Session& session, Place& place, const std::string& path,
                   const std::string& content) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return;
  const auto known = keeper->newest(path);
  if (!known || *known != nullptr) return;
  const snapshot::Keeping how{.why = snapshot::Why::kBefore, .by = who_of(session.owner())};
  place.note_kept(keeper->keep_content(path, content, how, session.now().wall_ms));
}

void keep_unfinished(Session& session, Place& place, bool ran) {
  if (place.keeper() != nullptr) keep_each(session, place, unfinished_in(place), ran);
}

bool keep_work(Session& session, Place& place) {
  if (place.keeper() == nullptr) return true;
  const std::map<std::string, core::Owner> unfinished = unfinished_in(place);
  keep_each(session, place, unfinished, false);
  return keep_traced(session, place, unfinished);
}

bool is_calls_work(Session& session, Place& place, const ToolCall& call, const std::string& path) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return true;
  const auto known = keeper->newest(path);
  const snapshot::Who me = who_of(session.owner());
  if (!known || *known == nullptr || same_party((*known)->by, me)) return true;
  const auto own = place.locks().own_calls();
  if (!own) return true;
  const std::string id = Session::edit_id(call);
  const auto begun = std::ranges::find(*own, id, &core::RunningCall::id);
  if (begun == own->end()) return true;
  if ((*known)->at_wall_ms <= wall_ms_of(session, begun->begun_mono_ms)) return true;
  const auto content = keeper->tree().read(path, snapshot::kFileBytesMost);
  if (!content) return false;
  const bool as_kept = snapshot::content_id(*content) == (*known)->content;
  if (as_kept && same_party((*known)->writer, me)) return true;
  return says_that(call, *content).value_or(false);
}

bool is_contested(Session& session, Place& place, const std::string& path,
                  std::int64_t since_wall_ms) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return false;
  const auto known = keeper->newest(path);
  if (!known || *known == nullptr) return false;
  const snapshot::Version& newest = **known;
  return !newest.writer.known() && !same_party(newest.by, who_of(session.owner())) &&
         newest.at_wall_ms > since_wall_ms;
}

void keep_stashes(Session& session, Place& place, const service::LookReply& look) {
  const std::string& common = place.realm().common_dir;
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr || common.empty() || look.own.empty()) return;
  const std::int64_t begun_s = begun_wall_ms(session, place, look.own) / 1000;
  // Somebody else's command may have done it.
  const snapshot::Who writer = look.busy.empty() ? who_of(session.owner()) : snapshot::Who{};
  for (const git::LogEntry& entry : git::newest_log_entries(git::stash_log(common))) {
    if (entry.at_s < begun_s || keeper->knows_stash(entry.commit)) continue;
    place.note_kept(keeper->keep_stash(entry.commit, entry.words, writer, session.now().wall_ms));
  }
}

std::string unkept_words(Place& place) {
  const std::optional<Error> trouble = place.take_unkept();
  if (!trouble) return {};
  core::ReportRequest request;
  request.worktree = place.worktree();
  request.once = {"unkept " + std::string(code_name(trouble->code))};
  const auto reply = place.locks().report(request);
  if (!reply || reply->news.empty()) return {};
  return "lockkeeper: what you change now may not be recoverable: " + trouble->message +
         ". Your calls are not refused because of that";
}

}  // namespace lockkeeper::enforce::hook
