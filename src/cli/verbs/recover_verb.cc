// `recover`: what was lost or overwritten, and how to have it back.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/pager.h"
#include "cli/verbs/recover_view.h"
#include "cli/verbs/verbs.h"
#include "enforce/hook/files.h"
#include "install/plan.h"
#include "snapshot/keeper.h"
#include "snapshot/restore.h"
#include "snapshot/site/realm_keeper.h"

namespace lockkeeper::cli {
namespace {

using snapshot::Version;

// Which losses are asked for.
struct LossFilter {
  std::string agent;
  std::string session;
  std::int64_t since_wall_ms = 0;

  bool takes(const snapshot::Who& writer, std::int64_t at_wall_ms) const {
    const std::string part = session + "/";
    const bool mine =
        session.empty() || writer.session == session || writer.session.starts_with(part);
    return mine && (agent.empty() || writer.agent == agent) && at_wall_ms >= since_wall_ms;
  }
  bool any() const { return !agent.empty() || !session.empty() || since_wall_ms > 0; }
};

Result<std::int64_t> read_moment(const std::string& text, std::int64_t now_wall_ms) {
  if (const auto ago = parse_duration_ms(text)) return now_wall_ms - *ago;
  if (const auto moment = parse_time(text)) return *moment;
  if (const auto day = parse_time(text + "T00:00:00Z")) return *day;
  return fail(Code::kInvalidInput, "--since " + quote(text) + " is not a duration, a day or a time",
              "write --since 2h, --since 2026-01-17 or --since 2026-01-17T15:30:00Z");
}

void warn_of_damage(Output& out, const Recovery& recovery) {
  if (recovery.torn_bytes() == 0) return;
  out.warning(counted(recovery.torn_bytes(), "byte") +
              " of the list of versions cannot be read, perhaps because a process was killed; the "
              "rest is shown");
}

Result<int> list_file(VerbContext& context, const Recovery& recovery, const KeptFile& file,
                      const LossFilter& filter) {
  Output& out = context.out();
  const std::vector<Version>& versions = recovery.versions_of(file);
  if (versions.empty()) return fail(no_version(file, recovery));
  std::vector<KnownVersion> wanted;  // newest first
  for (std::size_t i = versions.size(); i-- > 0;) {
    const snapshot::Who writer = snapshot::writer_of(versions, i);
    if (filter.takes(writer, versions[i].at_wall_ms)) wanted.push_back({versions[i], writer});
  }
  service::Json json = {{"versions", service::Json::array()}};
  for (const KnownVersion& each : wanted) {
    json["versions"].push_back(version_json(each.version, each.writer));
  }
  out.object(json);
  if (out.json() || wanted.empty()) return 0;
  show_lines(context.environment(), out,
             version_lines(wanted, context.now_wall_ms(), out.columns()));
  return 0;
}

// The one session that begins so. None does: what was asked for, which then finds nothing.
Result<std::string> whole_session(const Recovery& recovery, const std::string& begin) {
  std::set<std::string> found;
  const auto add = [&](const snapshot::Who& who) {
    const std::string session = who.session.substr(0, who.session.find('/', begin.size()));
    if (session.starts_with(begin)) found.insert(session);
  };
  for (const auto& [file, versions] : recovery.files()) {
    for (const Version& version : versions) add(version.writer);
  }
  for (const KeptStash& stash : recovery.stashes()) add(stash.version.writer);
  if (found.empty() || found.contains(begin)) return begin;
  if (found.size() == 1) return *found.begin();
  return fail(Code::kInvalidInput,
              std::to_string(found.size()) + " sessions begin with " + quote(begin) + ": " +
                  shown_list(std::vector<std::string>(found.begin(), found.end()), 3),
              "write more of it");
}

std::string none_lost(const Recovery& recovery, bool narrowed) {
  if (recovery.empty()) {
    return "nothing was kept here so far, so nothing can be recovered. To see whether the hooks of "
           "agents are installed: lockkeeper doctor";
  }
  const auto since_ms = recovery.complete_since_ms();
  return (narrowed ? std::string("nothing of that was lost or overwritten")
                   : std::string("nothing was lost or overwritten")) +
         (since_ms ? "; what was kept before " + format_time(*since_ms) + " is no longer kept"
                   : "");
}

void list_losses(VerbContext& context, Recovery& recovery, const std::string& root,
                 const LossFilter& filter) {
  Output& out = context.out();
  std::vector<snapshot::Loss> losses = recovery.losses();
  std::erase_if(losses, [&](const snapshot::Loss& loss) {
    return !filter.takes(loss.writer, loss.at_wall_ms);
  });
  service::Json json = {{"lost", service::Json::array()}, {"stashes", service::Json::array()}};
  for (const snapshot::Loss& loss : losses) json["lost"].push_back(loss_json(loss));
  std::vector<std::string> stashes;
  for (const KeptStash& stash : recovery.stashes()) {
    if (!filter.takes(stash.version.writer, stash.version.at_wall_ms)) continue;
    json["stashes"].push_back(stash_json(stash));
    stashes.push_back(stash_text(stash, context.now_wall_ms()));
  }
  out.object(json);
  if (out.json()) return;
  if (losses.empty()) out.note(none_lost(recovery, filter.any()));
  if (!losses.empty()) {
    show_lines(context.environment(), out,
               loss_lines(losses, root, context.now_wall_ms(), out.columns()));
  }
  for (const std::string& stash : stashes) out.prose(stash);
  if (!losses.empty() && out.columns() > 0) {
    out.note("to have one back: lockkeeper recover restore FILE@VERSION");
  }
}

Result<int> recover_list(VerbContext& context) {
  std::optional<std::string> file, agent, session, since;
  Arguments& arguments = context.arguments();
  arguments.optional_word("[FILE]", file, "every version of this file (default: what was lost)");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--agent", agent, "NAME", "only what this agent wrote");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--session", session, "ID",
                  "only what this session wrote; its first letters are\nenough");
  arguments.value(
      "--since", since, "TIME",
      "only what was lost or kept since: 2h for 2 hours\nago, 2026-01-17 or 2026-01-17T15:30:00Z");
  if (const auto status = context.parse()) return *status;
  LossFilter filter{agent.value_or(""), session.value_or("")};
  if (since) {
    LK_ASSIGN(filter.since_wall_ms, read_moment(*since, context.now_wall_ms()));
  }
  context.allow_bad_settings();
  std::vector<std::string> places;
  if (file) places.push_back(file_in(*file));
  LK_ASSIGN(const auto open, context.open(places));
  const realm::Realm& realm = open->site.realm();
  LK_ASSIGN(Recovery recovery, Recovery::load(realm, open->site.settings()));
  if (session) {
    LK_ASSIGN(filter.session, whole_session(recovery, *session));
  }
  warn_of_damage(context.out(), recovery);
  if (file) {
    LK_ASSIGN(const Chosen chosen, chosen_file(context, *open, recovery, *file));
    return list_file(context, recovery, chosen.file, filter);
  }
  list_losses(context, recovery, realm.root, filter);
  return 0;
}

// A version that the caller has chosen, with its content.
struct Picked {
  std::unique_ptr<OpenLocks> open;
  Recovery recovery;
  KeptFile file;
  Version version;
  std::string content;
};

// A symlink that leads out of the repository may have taken the file's place. Then its folder says
// where it is.
Result<std::unique_ptr<OpenLocks>> open_for(VerbContext& context, const std::string& file) {
  auto open = context.open(std::vector<std::string>{file});
  if (open) return open;
  const std::string folder = std::filesystem::path(file).parent_path();
  auto around = context.open(std::vector<std::string>{folder.empty() ? "." : folder});
  return around ? std::move(around) : std::move(open);
}

Result<Picked> pick(VerbContext& context, const std::string& word, bool only_lost = false) {
  context.allow_bad_settings();
  LK_ASSIGN(auto open, open_for(context, file_in(word)));
  LK_ASSIGN(Recovery recovery, Recovery::load(open->site.realm(), open->site.settings()));
  LK_ASSIGN(Chosen chosen, chosen_file(context, *open, recovery, word));
  LK_ASSIGN(Version version, recovery.choose(chosen.file, chosen.version, only_lost));
  LK_ASSIGN(std::string content, recovery.content(version));
  return Picked{std::move(open), std::move(recovery), std::move(chosen.file), std::move(version),
                std::move(content)};
}

void declare_version(Arguments& arguments, std::string& word) {
  arguments.word("FILE[@VERSION]", word,
                 "a file, and which version of it (default: the\nnewest that was lost)");
  arguments.offer(Arguments::Complete::kFiles);
}

service::Json picked_json(const Picked& picked) {
  return {{"file", picked.file.second},
          {"worktree", picked.file.first},
          {"version", picked.version.id}};
}

// What it contains cannot move the cursor.
void show_at_terminal(VerbContext& context, std::string_view content) {
  std::vector<Line> lines;
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    std::string plain;
    for (const char c : line) plain += c == '\t' ? "    " : std::string(1, c);
    lines.push_back(Line{Span{printable(plain)}});
  }
  show_lines(context.environment(), context.out(), lines);
}

Result<int> recover_show(VerbContext& context) {
  std::string word;
  declare_version(context.arguments(), word);
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const Picked picked, pick(context, word));
  service::Json json = picked_json(picked);
  if (picked.version.kind == snapshot::Kind::kSymlink) {
    json["target"] = picked.version.target;
    context.out().object(json);
    context.out().text("a symlink to " + shown(picked.version.target));
    return 0;
  }
  const bool text = is_valid_utf8(picked.content);
  json[text ? "content" : "content_hex"] = text ? picked.content : to_hex(picked.content);
  context.out().object(json);
  if (context.out().json()) return 0;
  if (context.environment().out_is_terminal) {
    show_at_terminal(context, picked.content);
  } else {  // exactly its bytes: they may go into a file
    std::fwrite(picked.content.data(), 1, picked.content.size(), context.environment().out);
  }
  return 0;
}

std::string symlink_text(const std::string& target) {
  return "symlink to " + shown(target) + "\n";
}

std::string difference(const Picked& picked, const std::string& name) {
  snapshot::Tree tree(picked.file.first);
  install::Change change;
  change.file = name;
  change.before = picked.content;
  if (picked.version.kind == snapshot::Kind::kSymlink) {
    change.before = symlink_text(picked.version.target);
  }
  change.after = tree.read(picked.file.second, snapshot::kFileBytesMost);
  if (const auto target = tree.target(picked.file.second)) change.after = symlink_text(*target);
  const auto binary = [](const std::optional<std::string>& text) {
    return text && text->find('\0') != std::string::npos;
  };
  if (binary(change.before) || binary(change.after)) return "binary contents differ\n";
  return install::diff_of(change, true);
}

Result<int> recover_diff(VerbContext& context) {
  std::string word;
  declare_version(context.arguments(), word);
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const Picked picked, pick(context, word));
  const std::string text =
      difference(picked, file_text(picked.file, picked.open->site.realm().root));
  service::Json json = picked_json(picked);
  json["diff"] = text;
  context.out().object(json);
  if (context.out().json()) return 0;
  std::vector<Line> lines;
  for (const std::string& line : words_in(text, "\n")) {
    const Style style = line.starts_with('+')   ? Style::kGreen
                        : line.starts_with('-') ? Style::kRed
                                                : Style::kPlain;
    lines.push_back({{line, style}});
  }
  show_lines(context.environment(), context.out(), lines);
  return 0;
}

Result<int> restore_elsewhere(VerbContext& context, const Picked& picked, const std::string& to) {
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  const std::string file = (std::filesystem::path(here.base.folder) / to).lexically_normal();
  LK_CHECK(snapshot::put_elsewhere(file, picked.version, picked.content));
  service::Json json = picked_json(picked);
  json["to"] = file;
  json["replaced"] = nullptr;
  context.out().object({{"restored", json}});
  context.out().prose("wrote " + shown(picked.file.second) + "@" + short_version(picked.version) +
                      " to " + shown(to));
  return 0;
}

// Keeps what is there, puts the version in its place, and says who did it. REQUIRES: the lease
Result<void> replace_file(const Picked& picked, std::int64_t now_wall_ms, service::Json& json) {
  const realm::Realm& realm = picked.open->site.realm();
  const core::Owner& me = picked.open->locks.owner();
  const auto keeper = snapshot::keeper_of(realm, picked.open->site.settings());
  if (keeper == nullptr) {
    return fail(Code::kFailed, "snapshots are switched off, so what is there now would be lost",
                "write it elsewhere: --to PATH");
  }
  const std::string& path = picked.file.second;
  const snapshot::Who who{me.agent, me.session};
  LK_CHECK(keeper->keep(path, {.why = snapshot::Why::kRestore, .by = who}, now_wall_ms));
  LK_ASSIGN(const Version* const replaced, keeper->newest(path));
  json["replaced"] = nullptr;
  if (replaced != nullptr && replaced->kind != snapshot::Kind::kGone)
    json["replaced"] = replaced->id;
  LK_CHECK(snapshot::put_back(realm.root, path, picked.version, picked.content));
  static_cast<void>(
      keeper->keep(path, {.why = snapshot::Why::kRestore, .writer = who, .by = who}, now_wall_ms));
  core::ReportRequest report;
  report.worktree = realm.root;
  report.changed.push_back(enforce::hook::Files(realm.root).change(path));
  static_cast<void>(picked.open->locks.report(report));
  return {};
}

Result<int> restore_here(VerbContext& context, Picked& picked) {
  const realm::Realm& realm = picked.open->site.realm();
  if (picked.file.first != realm.root) {
    return fail(Code::kNotFound, "the worktree " + quote(picked.file.first) + " is not there",
                "write it elsewhere: --to PATH");
  }
  service::AcquireCommand command;
  command.wanted.texts = {picked.file.second};
  command.wanted.base = {realm::Base::kRoot, realm.root};
  command.wanted.syntax = key::Syntax::kLiteral;
  command.terms.reason = "restores an older version of it";
  command.terms.worktree = realm.root;
  command.attach_pid = ::getpid();
  command.anew = true;
  auto acquired = picked.open->locks.acquire(command);
  if (!acquired) {
    // It leads out of the repository.
    const bool link = snapshot::Tree(realm.root).target(picked.file.second).has_value();
    if (link) acquired.error().hint = "write it elsewhere: --to PATH";
    return fail(std::move(acquired.error()));
  }
  const service::AcquireResult& result = *acquired;
  if (service::outcome_status(result.outcome) != 0) {
    service::HintContext hint;
    hint.resources = {picked.file.second};
    hint.asker = picked.open->locks.owner();
    hint.now_wall_ms = context.now_wall_ms();
    Error error = service::refusal(result, hint);
    error.hint = "wait until it is free, or write it elsewhere: --to PATH";
    return context.out().failed(error, service::acquire_json(result));
  }
  service::Json json = picked_json(picked);
  json["to"] = realm.root + "/" + picked.file.second;
  const auto done = replace_file(picked, context.now_wall_ms(), json);
  service::ReleaseCommand release;
  release.lease_ids = {result.lease.id.text()};
  static_cast<void>(picked.open->locks.release(release));
  LK_CHECK(done);
  context.out().object({{"restored", json}});
  const std::string replaced =
      json["replaced"].is_string()
          ? "; what it replaced is version " + json["replaced"].get<std::string>().substr(0, 8)
          : std::string();
  context.out().prose("restored " + shown(picked.file.second) + "@" +
                      short_version(picked.version) + replaced);
  return 0;
}

Result<int> recover_restore(VerbContext& context) {
  std::string word;
  std::optional<std::string> to;
  declare_version(context.arguments(), word);
  context.arguments().value("--to", to, "PATH", "write it there, as a new file; takes no lock");
  context.arguments().offer(Arguments::Complete::kFiles);
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(Picked picked, pick(context, word, true));
  if (to) return restore_elsewhere(context, picked, *to);
  return restore_here(context, picked);
}

constexpr Verb kRecoverVerbs[] = {
    {"list", "What was lost or overwritten; every version of a file",
     "  lockkeeper recover\n"
     "  lockkeeper recover list --since 2h --session \"$SESSION\"\n"
     "  lockkeeper recover list src/a.py\n",
     recover_list, Does::kLook},
    {"show", "Print a version",
     "  lockkeeper recover show src/a.py\n"
     "  lockkeeper recover show src/a.py@1f2e3d4c > old.py\n",
     recover_show, Does::kLook},
    {"diff", "From a version to what is there now",
     "  lockkeeper recover diff src/a.py\n"
     "  lockkeeper recover diff src/a.py@1f2e3d4c\n",
     recover_diff, Does::kLook},
    {"restore", "Put a version back; what it replaces is kept",
     "  lockkeeper recover restore src/a.py\n"
     "  lockkeeper recover restore src/a.py@1f2e3d4c --to /tmp/a.py\n",
     recover_restore},
};

}  // namespace

std::span<const Verb> recover_subcommands() {
  return kRecoverVerbs;
}

}  // namespace lockkeeper::cli
