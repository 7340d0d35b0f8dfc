#include "cli/verbs/recover_view.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "cli/verbs/list_view.h"

namespace lockkeeper::cli {
namespace {

using snapshot::Content;
using snapshot::Kind;
using snapshot::Version;
using snapshot::Who;

constexpr std::size_t kVersionDigits = 8;

constexpr std::size_t kSessionWidth = 20;

// `shortened`: for a line of a terminal. Its beginning is enough for --session.
std::string who_text(const Who& who, bool shortened = false) {
  if (!who.known()) return "-";
  const bool cut = shortened && !who.session.empty();
  return service::owner_text(
      {who.agent, cut ? cut_middle(who.session, kSessionWidth) : who.session});
}

bool fits(const std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i].text));
    }
  }
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t one : widths) total += one;
  return total <= columns;
}

std::string ago_text(std::int64_t then_wall_ms, std::int64_t now_wall_ms) {
  const std::string text = format_ago(then_wall_ms, now_wall_ms);
  return text.substr(0, text.find(' ')) + " ago";
}

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::kFile:
      return "file";
    case Kind::kSymlink:
      return "symlink";
    case Kind::kGone:
      return "none";
    case Kind::kStash:
      return "stash";
  }
  return "";
}

std::string_view content_word(Content content) {
  switch (content) {
    case Content::kKept:
      return "kept";
    case Content::kLarge:
      return "large";
    case Content::kSecret:
      return "secret";
    case Content::kIgnored:
      return "ignored";
    case Content::kUnread:
      return "unreadable";
  }
  return "";
}

// What can be had of it, in a table.
std::string state_text(const Version& version) {
  if (version.kind == Kind::kGone) return "no file";
  if (version.kind == Kind::kSymlink) return "symlink";
  if (version.content_is == Content::kKept) return counted(version.size, "byte");
  return "only its hash (" + std::string(content_word(version.content_is)) + ")";
}

}  // namespace

std::string file_text(const KeptFile& file, const std::string& root) {
  return file.first == root ? file.second : file.first + "/" + file.second;
}

std::string short_version(const Version& version) {
  return version.id.substr(0, kVersionDigits);
}

service::Json who_json(const Who& who) {
  if (!who.known()) return nullptr;
  service::Json json = {{"agent", who.agent}, {"session", nullptr}};
  if (!who.session.empty()) json["session"] = who.session;
  return json;
}

service::Json version_json(const Version& version, const Who& writer) {
  service::Json json = {{"file", version.path},
                        {"worktree", version.worktree},
                        {"version", version.id},
                        {"at", format_time(version.at_wall_ms)},
                        {"kind", kind_word(version.kind)},
                        {"why", why_word(version.why)},
                        {"written_by", who_json(writer)},
                        {"kept_by", who_json(version.by)}};
  if (version.kind == Kind::kSymlink) json["target"] = version.target;
  if (version.kind != Kind::kFile) return json;
  json["content"] = content_word(version.content_is);
  json["size"] = version.size;
  json["hash"] = version.content;
  return json;
}

service::Json loss_json(const snapshot::Loss& loss) {
  service::Json json = version_json(loss.version, loss.writer);
  json["changed_by"] = who_json(loss.changed_by);
  json["changed_at"] = format_time(loss.at_wall_ms);
  json["deleted"] = loss.deleted;
  return json;
}

service::Json stash_json(const KeptStash& stash) {
  return {{"commit", stash.version.content},
          {"message", stash.version.target},
          {"written_by", who_json(stash.version.writer)},
          {"at", format_time(stash.version.at_wall_ms)},
          {"listed", stash.listed}};
}

std::vector<Line> loss_lines(const std::vector<snapshot::Loss>& losses, const std::string& root,
                             std::int64_t now_wall_ms, std::size_t columns) {
  std::vector<Row> rows = {header({"FILE@VERSION", "WHEN", "KEPT", "WRITTEN BY", "CHANGED BY"})};
  const bool shortened = columns > 0;
  for (const snapshot::Loss& loss : losses) {
    const KeptFile file(loss.version.worktree, loss.version.path);
    rows.push_back(
        {{printable(file_text(file, root)) + "@" + short_version(loss.version), Style::kBold},
         {ago_text(loss.at_wall_ms, now_wall_ms), Style::kDim},
         {state_text(loss.version)},
         {printable(who_text(loss.writer, shortened))},
         {printable(who_text(loss.changed_by, shortened)) + (loss.deleted ? " (deleted)" : ""),
          loss.deleted ? Style::kRed : Style::kYellow}});
  }
  if (columns == 0 || fits(rows, columns)) return table_lines(std::move(rows), columns);
  std::vector<Row> first;
  for (const Row& row : rows) first.emplace_back(row.begin(), row.begin() + 3);
  std::vector<Line> heads = table_lines(std::move(first), columns);
  std::vector<Line> lines = {heads.front()};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    lines.push_back(std::move(heads[i + 1]));
    const bool deleted = losses[i].deleted;
    const std::string writer = printable(who_text(losses[i].writer, true));
    const std::string changer = printable(who_text(losses[i].changed_by, true));
    lines.push_back(fit({{"  written by " + writer, Style::kDim}}, columns));
    lines.push_back(fit({{std::string(deleted ? "  deleted by " : "  changed by ") + changer,
                          deleted ? Style::kRed : Style::kYellow}},
                        columns));
  }
  return lines;
}

std::vector<Line> version_lines(const std::vector<KnownVersion>& versions, std::int64_t now_wall_ms,
                                std::size_t columns) {
  std::vector<Row> rows = {header({"VERSION", "WHEN", "WRITTEN BY", "WHY", "KEPT"})};
  for (const auto& [version, writer] : versions) {
    rows.push_back({{short_version(version), Style::kBold},
                    {ago_text(version.at_wall_ms, now_wall_ms), Style::kDim},
                    {printable(who_text(writer, columns > 0))},
                    {std::string(why_word(version.why))},
                    {state_text(version)}});
  }
  return table_lines(std::move(rows), columns);
}

std::string stash_text(const KeptStash& stash, std::int64_t now_wall_ms) {
  const Version& version = stash.version;
  const std::string whose =
      version.writer.known() ? "of " + who_text(version.writer) : std::string("of nobody known");
  return "stash " + version.content.substr(0, 12) + " " + whose + ", " +
         ago_text(version.at_wall_ms, now_wall_ms) + ", " + quote(version.target) +
         (stash.listed ? "" : ", no longer in git stash list") + "; to have it: git stash apply " +
         version.content.substr(0, 12);
}

}  // namespace lockkeeper::cli
