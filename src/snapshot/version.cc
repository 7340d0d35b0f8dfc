#include "snapshot/version.h"

namespace lockkeeper::snapshot {
namespace {

std::string_view party_of(std::string_view session) {
  return session.substr(0, session.find('/'));
}

}  // namespace

bool same_party(const Who& a, const Who& b) {
  return a.agent == b.agent && party_of(a.session) == party_of(b.session);
}

std::string_view why_word(Why why) {
  switch (why) {
    case Why::kBefore:
      return "before";
    case Why::kAfter:
      return "after";
    case Why::kFound:
      return "found";
    case Why::kDestroyed:
      return "destroyed";
    case Why::kTakeover:
      return "takeover";
    case Why::kBreak:
      return "break";
    case Why::kAttempt:
      return "attempt";
    case Why::kRestore:
      return "restore";
  }
  return "";
}

bool same_state(const Version& a, const Version& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kGone) return true;
  if (a.kind == Kind::kSymlink) return a.target == b.target;
  // Without a hash nobody can tell.
  return !a.content.empty() && a.content == b.content && a.mode == b.mode;
}

}  // namespace lockkeeper::snapshot
