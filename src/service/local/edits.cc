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
}

}  // namespace

Result<Reply<core::ReportReply>> LocalService::report(const ReportCall& call) {
  core::ReportRequest request = call.report;
  request.owner = call.caller.owner;
  std::vector<std::string> paths;
  for (const core::Change& change : request.changed) paths.push_back(change.path);
  LK_CHECK(check_paths(paths));
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  Change change(table_, call.caller);
  core::ReportReply total;
  core::ReportReply now;
  const auto work = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(now, table.report(request));
    return now.again;
  };
  const auto committed = [&] { add_report(total, now); };
  auto written = change.write(work, {committed, {}, true});
  // What shows ended leases to other tools is removed now, or by the next call.
  if (written && (mirrored || mirror.have_appeared())) static_cast<void>(mirror.clean());
  Result<core::ReportReply> value = std::move(total);
  if (!written) value = fail(std::move(written.error()));
  return answer(call.caller, change, std::move(value));
}

Result<Reply<std::vector<core::Trace>>> LocalService::unseen(const UnseenCall& call) {
  LK_CHECK(check_paths(call.paths));
  LK_ASSIGN(const bool there, has_store());
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

Result<Reply<LookReply>> LocalService::look(const LookCall& call) {
  LK_ASSIGN(const bool there, has_store());
  if (!there) return Reply<LookReply>{};
  const core::Owner& owner = call.caller.owner;
  LookReply reply;
  LK_ASSIGN(reply, table_.get([&](core::Table& table) -> Result<LookReply> {
    LookReply seen;
    core::State& state = table.state();
    LK_CHECK(core::each_trace(state, call.worktree,
                              [&](const core::Trace& trace) { seen.traces.push_back(trace); }));
    std::vector<core::Owner> others;
    LK_CHECK(core::each_activity(state, [&](const core::Owner& who, const core::Activity& does) {
      if (who == owner) return;
      others.push_back(who);
      const bool here = std::ranges::any_of(does.calls, [&](const core::RunningCall& running) {
        return running.worktree.empty() || running.worktree == call.worktree;
      });
      if (here) seen.busy.push_back(who);
    }));
    for (const core::Owner& other : others) {
      LK_ASSIGN(const std::vector<core::Lease> held, state.held_by(other));
      for (const core::Lease& lease : held) {
        const bool here = lease.terms.worktree == call.worktree || lease.terms.worktree.empty();
        if (lease.edit && here) seen.edits.push_back(lease);
      }
    }
    return seen;
  }));
  return Reply<LookReply>{std::move(reply), {}};
}

Result<Reply<Done>> LocalService::forget(const ForgetCall& call) {
  LK_CHECK(check_paths(call.paths));
  LK_ASSIGN(const bool there, has_store());
  if (!there) return Reply<Done>{};
  Change change(table_, call.caller);
  LK_CHECK(change.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(core::forget_traces(table.state(), call.worktree, call.paths));
    return false;
  }));
  return answer(call.caller, change, Result<Done>(Done{}));
}

}  // namespace lockkeeper::service::local
