// For tests alone: what was found, as one line.
#pragma once

#include <string>
#include <string_view>

#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::shell {

inline std::string kind_word(Kind kind) {
  switch (kind) {
    case Kind::kStash:
      return "stash";
    case Kind::kDropStash:
      return "drop";
    case Kind::kTakeStash:
      return "take";
    case Kind::kDiscard:
      return "discard";
    case Kind::kMoveHead:
      return "move";
    case Kind::kNewBranch:
      return "new";
    case Kind::kClean:
      return "clean";
    case Kind::kStage:
      return "stage";
    case Kind::kCommitAll:
      return "commit";
    case Kind::kAmend:
      return "amend";
    case Kind::kAutostash:
      return "autostash";
    case Kind::kRemoveWorktree:
      return "worktree";
    case Kind::kDeleteBranch:
      return "branch";
    case Kind::kPushOver:
      return "push";
    case Kind::kRemove:
      return "remove";
  }
  return "?";
}

// "discard sub: a.c ~src/*.c": its kind, the folder if it is not the first, and what it is about.
// '.' is the folder, '/' the whole worktree, '~' begins a pattern.
inline std::string summary(const Danger& danger) {
  std::string text = kind_word(danger.kind);
  if (!danger.folder.known) {
    text += " ?:";
  } else if (!danger.folder.path.empty()) {
    text += " " + danger.folder.path + ":";
  }
  if (danger.scope == Danger::Scope::kFolder) text += " .";
  if (danger.scope == Danger::Scope::kWorktree) text += " /";
  const auto add = [&](const Path& path, const std::string& before) {
    text += before + (path.pattern ? "~" : "") + (path.from_top ? "/" : "") + path.text;
  };
  for (const Path& path : danger.paths) add(path, " ");
  for (const Path& path : danger.excluded) add(path, " !");
  for (const std::string& name : danger.names) {
    if (name != danger.maybe_file) text += " =" + name;
  }
  if (!danger.maybe_file.empty()) text += " (" + danger.maybe_file + ")";
  if (!danger.kept_by.empty()) text += " <" + danger.kept_by;
  if (danger.repositories) text += " +repositories";
  if (danger.untracked) text += " +new";
  if (danger.ignored) text += " +ignored";
  if (danger.whole) text += " all";
  if (danger.keeps_stash) text += " keeps";
  if (danger.after_stash) text += " after";
  if (danger.if_configured) text += " if";
  if (danger.creates) text += " creates";
  if (danger.switches) text += " switches";
  if (danger.only_staged) text += " staged";
  if (danger.gives_up) text += " ends";
  if (danger.paths_unknown) text += " unknown";
  return text;
}

inline std::string summary(const Found& found) {
  std::string text;
  for (const Danger& danger : found.dangers) text += (text.empty() ? "" : "; ") + summary(danger);
  for (const Alias& alias : found.aliases) {
    text += (text.empty() ? "" : "; ") + ("alias " + alias.name) + alias.rest;
  }
  if (!found.unclear.empty()) text += (text.empty() ? "" : "; ") + std::string("unclear");
  return text;
}

inline std::string seen(std::string_view command) {
  return summary(look_at_script(command));
}

struct Case {
  const char* command;
  const char* expected;  // empty: nothing is found
};

}  // namespace lockkeeper::enforce::shell
