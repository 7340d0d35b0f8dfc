#include "enforce/hook/keeping.h"

#include <algorithm>

#include "base/text.h"
#include "enforce/hook/files.h"
#include "git/ref_log.h"
#include "snapshot/keeper.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::int64_t kKeepingMsMax = 2'000;  // of one hook: its client waits

snapshot::Who who_of(const core::Owner& owner) {
  return {owner.agent, owner.session};
}

std::int64_t begun_wall_s(const Session& session, const service::LookReply& look) {
  const Now now = session.now();
  std::int64_t begun_mono_ms = now.mono_ms;
  for (const core::RunningCall& call : look.own) {
    begun_mono_ms = std::min(begun_mono_ms, call.begun_mono_ms);
  }
  return (now.wall_ms - (now.mono_ms - begun_mono_ms)) / 1000;
}

bool has_time(const Session& session, Place& place) {
  return place.keeping_ms(session.now().mono_ms) < kKeepingMsMax;
}

}  // namespace

void keep(Session& session, Place& place, const std::vector<std::string>& paths,
          snapshot::Why why) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr || paths.empty()) return;
  const snapshot::Keeping how{.why = why, .by = who_of(session.owner())};
  place.note_kept(keeper->keep_all(paths, how, session.now().wall_ms));
}

void keep_change(Session& session, Place& place, const std::string& path, bool mine) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return;
  if (!has_time(session, place)) {
    place.note_kept(fail(Code::kLimitExceeded, "too many files changed at once to keep them all"));
    return;
  }
  snapshot::Keeping how{.why = mine ? snapshot::Why::kAfter : snapshot::Why::kFound,
                        .by = who_of(session.owner())};
  if (mine) how.writer = how.by;
  const auto seen = keeper->keep(path, how, session.now().wall_ms);
  if (!seen) place.note_kept(fail(seen.error()));
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

void keep_traced(Session& session, Place& place) {
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr) return;
  const auto look = place.locks().look(place.worktree());
  if (!look) return;  // met again, and told, before the next edit
  std::vector<std::string> changed;
  for (const core::Trace& trace : look->traces) {
    const std::string& path = trace.change.path;
    if (trace_mark(keeper->tree().look(path).mark) != trace.change.mark) changed.push_back(path);
  }
  keep(session, place, changed, snapshot::Why::kBefore);
}

void keep_stashes(Session& session, Place& place, const service::LookReply& look) {
  const std::string& common = place.realm().common_dir;
  snapshot::Keeper* const keeper = place.keeper();
  if (keeper == nullptr || common.empty() || look.own.empty()) return;
  const std::int64_t begun_s = begun_wall_s(session, look);
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
