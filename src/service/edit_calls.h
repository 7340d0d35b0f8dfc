// What a lock service is asked about the edits of coding agents (core rule 16), and its answers:
// plain data.
#pragma once

#include <string>
#include <vector>

#include "core/requests.h"
#include "service/caller.h"

namespace lockkeeper::service {

// What became of the caller's calls. The report's owner is the caller.
struct ReportCall {
  Caller caller;
  core::ReportRequest report;
};

// Which of these files has somebody else changed without the caller knowing? It counts as told.
struct UnseenCall {
  Caller caller;
  std::string worktree;
  std::vector<std::string> paths;  // canonical, from the worktree's top
};

// Everything that tells a change on disk from one of the caller's own.
struct LookCall {
  Caller caller;
  std::string worktree;
  std::vector<std::string> paths = {};  // nothing but the traces of these files; empty: everything
  bool own_only = false;                // nothing but the caller's calls
  std::string whose = {};               // nothing but who has begun this call: `busy`
};
struct LookReply {
  std::vector<core::Trace> traces;     // of everybody in this worktree, by path
  std::vector<core::Lease> edits;      // of others, in this worktree
  std::vector<core::Owner> busy;       // others with a call running in this worktree, or anywhere
  std::vector<core::RunningCall> own;  // the caller's
  std::vector<core::Owner> gone;       // of those with traces: whose sessions are over
};

// These changes are safe elsewhere: nobody is told of them any more.
struct ForgetCall {
  Caller caller;
  std::string worktree;
  std::vector<std::string> paths;
  // Files that are as the last commit has them. Whoever wrote to them stays known, in case that it
  // comes back.
  std::vector<core::Change> clean = {};
};

}  // namespace lockkeeper::service
