// The calls about edits of coding agents (service/edit_calls.h).
#include <algorithm>
#include <set>

#include "core/browse.h"
#include "core/traces.h"
#include "layout/mirror.h"
#include "service/local/local_service.h"

namespace lockkeeper::service::local {
namespace {

constexpr std::size_t kPathBytesMax = 4'096;
constexpr std::size_t kPathsMax = 10'000;

Result<void> check_paths(const std::vector<std::string>& paths) {
  if (paths.size() > kPathsMax) {
    return fail(Code::kLimitExceeded,
                std::to_string(paths.size()) + " files in one call; the limit is " +
                    std::to_string(kPathsMax),
                "ask in several calls");
  }
  const auto fits = [](const std::string& path) {
    return !path.empty() && path.size() <= kPathBytesMax;
  };
  if (std::ranges::all_of(paths, fits)) return {};
  return fail(Code::kInvalidInput, "the path of a file is empty or too long",
              "use paths of at most " + std::to_string(kPathBytesMax) + " bytes");
}

void add_report(core::ReportReply& to, const core::ReportReply& more) {
  to.ended.insert(to.ended.end(), more.ended.begin(), more.ended.end());
  to.news.insert(to.news.end(), more.news.begin(), more.news.end());
  to.refused = more.refused;
  if (to.also_in.empty()) to.also_in = more.also_in;
}

// Each text, and how many there are. A hostile payload must not fill the table.
Result<void> check_words(const core::ReportRequest& request) {
  std::vector<std::string> words = request.refused;
  words.insert(words.end(), request.once.begin(), request.once.end());
  for (const core::EditNote& note : request.notes) {
    words.insert(words.end(), note.resources.begin(), note.resources.end());
  }
  return check_paths(words);
}

}  // namespace

Result<Reply<core::ReportReply>> LocalService::report(const ReportCall& call) {
  core::ReportRequest request = call.report;
  request.owner = call.caller.owner;
  std::vector<std::string> paths;
  for (const core::Change& change : request.changed) paths.push_back(change.path);
  for (const core::Change& change : request.found) paths.push_back(change.path);
  LK_CHECK(check_paths(paths));
  LK_CHECK(check_words(request));
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  Change change(table_, call.caller);
  core::ReportReply total;
  core::ReportReply now;
  const auto work = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(now, table.report(request));
    return now.again;
  };
  // What is kept and recorded comes once, however many commits it takes.
  const auto committed = [&] {
    add_report(total, now);
    request.once.clear();
    request.notes.clear();
  };
  auto written = change.write(work, {committed, {}, true});
  // What shows ended leases to other tools is removed now, or by the next call.
  if (written && (mirrored || mirror.have_appeared())) static_cast<void>(mirror.clean());
  Result<core::ReportReply> value = std::move(total);
  if (!written) value = fail(std::move(written.error()));
  return answer(call.caller, change, std::move(value));
}

Result<Reply<std::vector<core::Trace>>> LocalService::unseen(const UnseenCall& call) {
  LK_CHECK(check_paths(call.paths));
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there) return Reply<std::vector<core::Trace>>{};
  const core::Owner& owner = call.caller.owner;
  std::vector<core::Trace> news;
  const auto find = [&](core::Table& table) -> Result<bool> {
    news.clear();
    for (const std::string& path : call.paths) {
      LK_ASSIGN(auto trace, core::unseen_change(table.state(), owner, call.worktree, path));
      if (trace) news.push_back(std::move(*trace));
    }
    return !news.empty();
  };
  const auto tell = [&](core::Table& table) -> Result<bool> {
    LK_CHECK(find(table));
    for (const core::Trace& trace : news) {
      LK_CHECK(core::note_told(table.state(), owner, trace));
    }
    return false;
  };
  // If the reply is lost, a repetition must not find that it was told.
  Change change(table_, call.caller, wire::digest(call, clock()));
  LK_CHECK(change.look_for_earlier());
  // Most of the time there is nothing to tell, and nothing to write.
  bool any = false;
  if (!change.is_repeated()) {
    LK_ASSIGN(any, table_.get(find));
  }
  const auto kept = [&] { return wire::text_of(news, clock()); };
  if (any) LK_CHECK(change.write(tell, {{}, kept, true}));
  Result<std::vector<core::Trace>> value = std::move(news);
  if (change.is_repeated()) value = change.earlier<std::vector<core::Trace>>();
  return answer(call.caller, change, std::move(value));
}

namespace {

bool counts(const core::RunningCall& running, const core::State& state) {
  return running.begun_mono_ms >= state.context().now.mono_ms - core::kCallCountsMs;
}

Result<LookReply> own_calls_of(core::State& state, const core::Owner& owner) {
  LookReply seen;
  LK_ASSIGN(core::Activity own, state.activity(owner));
  seen.own = std::move(own.calls);
  return seen;
}

Result<LookReply> owners_of_call(core::State& state, const std::string& id) {
  LookReply seen;
  LK_CHECK(core::each_activity(state, [&](const core::Owner& who, const core::Activity& does) {
    const bool theirs = std::ranges::any_of(does.calls, [&](const core::RunningCall& running) {
      return running.id == id && counts(running, state);
    });
    if (theirs) seen.busy.push_back(who);
  }));
  return seen;
}

Result<LookReply> traces_of(core::State& state, const std::string& worktree,
                            const std::vector<std::string>& paths) {
  LookReply seen;
  for (const std::string& path : paths) {
    LK_ASSIGN(auto trace, core::trace_of(state, worktree, path));
    if (trace) seen.traces.push_back(std::move(*trace));
  }
  return seen;
}

Result<std::vector<core::Owner>> gone_among(core::State& state,
                                            const std::vector<core::Trace>& traces) {
  std::vector<core::Owner> gone;
  std::set<std::pair<std::string, std::string>> asked;
  for (const core::Trace& trace : traces) {
    for (const core::Written& one : core::writers_of(trace)) {
      if (!asked.emplace(one.owner.agent, one.owner.session).second) continue;
      LK_ASSIGN(const bool is_gone, core::is_gone(state, trace, one.owner));
      if (is_gone) gone.push_back(one.owner);
    }
  }
  return gone;
}

// Traces of everybody, edits and calls of others, in this worktree.
Result<LookReply> all_around(core::State& state, const core::Owner& owner,
                             const std::string& worktree) {
  LookReply seen;
  LK_CHECK(core::each_trace(state, worktree,
                            [&](const core::Trace& trace) { seen.traces.push_back(trace); }));
  std::vector<core::Owner> others;
  LK_CHECK(core::each_activity(state, [&](const core::Owner& who, const core::Activity& does) {
    if (who == owner) {
      seen.own = does.calls;
      return;
    }
    others.push_back(who);
    const bool here = std::ranges::any_of(does.calls, [&](const core::RunningCall& running) {
      return counts(running, state) && (running.worktree.empty() || running.worktree == worktree);
    });
    if (here) seen.busy.push_back(who);
  }));
  for (const core::Owner& other : others) {
    LK_ASSIGN(const std::vector<core::Lease> held, state.held_by(other));
    for (const core::Lease& lease : held) {
      const bool here = lease.terms.worktree == worktree || lease.terms.worktree.empty();
      if (lease.edit && here) seen.edits.push_back(lease);
    }
  }
  LK_ASSIGN(seen.gone, gone_among(state, seen.traces));
  return seen;
}

}  // namespace

Result<Reply<LookReply>> LocalService::look(const LookCall& call) {
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there) return Reply<LookReply>{};
  const core::Owner& owner = call.caller.owner;
  LookReply reply;
  LK_ASSIGN(reply, table_.get([&](core::Table& table) -> Result<LookReply> {
    core::State& state = table.state();
    if (call.own_only) return own_calls_of(state, owner);
    if (!call.whose.empty()) return owners_of_call(state, call.whose);
    if (!call.paths.empty()) return traces_of(state, call.worktree, call.paths);
    return all_around(state, owner, call.worktree);
  }));
  return Reply<LookReply>{std::move(reply), {}};
}

Result<Reply<Done>> LocalService::forget(const ForgetCall& call) {
  std::vector<std::string> paths = call.paths;
  for (const core::Change& each : call.clean) paths.push_back(each.path);
  LK_CHECK(check_paths(paths));
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there) return Reply<Done>{};
  Change change(table_, call.caller);
  LK_CHECK(change.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(core::put_away_traces(table.state(), call.worktree, call.clean));
    LK_CHECK(core::forget_traces(table.state(), call.worktree, call.paths));
    return false;
  }));
  return answer(call.caller, change, Result<Done>(Done{}));
}

}  // namespace lockkeeper::service::local
