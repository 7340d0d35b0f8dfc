// Locks: the edits of coding agents.
#include "service/locks.h"

namespace lockkeeper::service {

Result<core::ReportReply> Locks::report(const core::ReportRequest& report) {
  return ask(&Service::report, {caller(), report});
}

Result<std::vector<core::Trace>> Locks::unseen(const std::string& worktree,
                                               const std::vector<std::string>& paths) {
  return ask(&Service::unseen, {caller(), worktree, paths});
}

Result<LookReply> Locks::look(const std::string& worktree) {
  return ask(&Service::look, {.caller = caller(), .worktree = worktree});
}

Result<std::vector<core::RunningCall>> Locks::own_calls() {
  LK_ASSIGN(LookReply seen,
            ask(&Service::look, {.caller = caller(), .worktree = {}, .own_only = true}));
  return std::move(seen.own);
}

Result<std::optional<core::Owner>> Locks::owner_of_call(const std::string& id) {
  LK_ASSIGN(const LookReply seen,
            ask(&Service::look, {.caller = caller(), .worktree = {}, .whose = id}));
  // Two that use one id cannot be told apart.
  if (seen.busy.size() != 1) return std::nullopt;
  return seen.busy.front();
}

Result<std::vector<core::Trace>> Locks::traces(const std::string& worktree,
                                               const std::vector<std::string>& paths) {
  if (paths.empty()) return std::vector<core::Trace>();
  LK_ASSIGN(LookReply seen, ask(&Service::look, {caller(), worktree, paths}));
  return std::move(seen.traces);
}

Result<void> Locks::forget(const std::string& worktree, const std::vector<std::string>& paths) {
  LK_CHECK(ask(&Service::forget, {caller(), worktree, paths}));
  return {};
}

Result<void> Locks::put_away(const std::string& worktree, const std::vector<core::Change>& clean) {
  if (clean.empty()) return {};
  LK_CHECK(ask(&Service::forget, {caller(), worktree, {}, clean}));
  return {};
}

}  // namespace lockkeeper::service
