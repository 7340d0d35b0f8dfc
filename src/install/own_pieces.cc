#include "install/own_pieces.h"

#include <nlohmann/json.hpp>

#include "install/toml_edit.h"
#include "realm/config.h"
#include "realm/disk_path.h"

namespace lockkeeper::install {
namespace {

constexpr unsigned kCommittedFile = 0644;
constexpr unsigned kCommittedFolder = 0755;
constexpr unsigned kPrivateFile = 0600;
constexpr unsigned kPrivateFolder = 0700;

constexpr const char* kHookTable = "hook";
constexpr const char* kPolicyField = "policy";

constexpr std::string_view kSettingsText = R"~(# Settings of Lockkeeper for this repository.
# Each line below shows a default or an example: remove the "# " in front of it to set it.
# What is in force, and where it comes from: lockkeeper config show

# [hook]                         # what happens to an edit of a file that another agent holds
# policy = "wait"                # wait (a moment, then refuse), block, ask, warn or off

# [lease]
# default = "1h"                 # how long a lock lasts if nobody says
# longest = "7d"                 # nobody may ask for more

# [[protect]]                    # only these agents may lock these paths; without agents: nobody
# paths = ["migrations/"]
# agents = ["dba"]
# reason = "one migration at a time"

# [[policy]]                     # what some agents must not lock
# agents = ["worker-*"]
# deny = ["infra/"]
# reason = "ask the lead first"
)~";

constexpr std::string_view kAdviceBegin = "<!-- lockkeeper: begin -->";
constexpr std::string_view kAdviceEnd = "<!-- lockkeeper: end -->";
constexpr std::string_view kAdviceText = R"~(
## Other agents work here at the same time

- Lockkeeper keeps agents out of each other's files. Each edit claims its file by itself.
- A refused edit means that another agent works on that file. Do other work, then try again. Do not
  change the file in another way, such as a script.
- Before work on many files, take them together: `lockkeeper acquire src/auth/ --reason "why"`.
  Give them back as soon as you are done: `lockkeeper release --all`. Otherwise they stay locked for
  an hour, even if your session ends.
- `lockkeeper list --tree` shows who holds what.
)~";

// Where our lines are: [begin, end) without the newline after them; nullopt: they are not there.
struct AdvicePlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Result<std::optional<AdvicePlace>> find_advice(const Piece& piece, const std::string& text) {
  const std::size_t begin = text.find(kAdviceBegin);
  const std::size_t end = text.find(kAdviceEnd);
  if (begin == std::string::npos && end == std::string::npos) return std::nullopt;
  const bool once = begin != std::string::npos && end != std::string::npos && begin < end &&
                    text.find(kAdviceBegin, begin + 1) == std::string::npos &&
                    text.find(kAdviceEnd, end + 1) == std::string::npos;
  if (once) return AdvicePlace{begin, end + kAdviceEnd.size()};
  return fail(Code::kInvalidConfig,
              piece.file + ": the marks \"" + std::string(kAdviceBegin) + "\" and \"" +
                  std::string(kAdviceEnd) + "\" are not there once each, in this order",
              "remove them with the lines between them by hand; nothing was changed");
}

// What the file ends its lines with.
std::string line_end(const std::string& text) {
  const std::size_t first = text.find('\n');
  const bool both = first != std::string::npos && first > 0 && text[first - 1] == '\r';
  return both ? "\r\n" : "\n";
}

std::string advice(const std::string& end) {
  std::string text;
  for (const char c : std::string(kAdviceBegin) + std::string(kAdviceText)) {
    text += c == '\n' ? end : std::string(1, c);
  }
  return text + std::string(kAdviceEnd);
}

}  // namespace

Piece policy_piece(Scope scope, std::string file, std::string_view policy) {
  const bool shared = scope == Scope::kShared;
  return {.kind = Piece::Kind::kPolicy,
          .scope = scope,
          .file = std::move(file),
          .line = std::string(policy),
          .mode = shared ? kCommittedFile : kPrivateFile,
          .folder_mode = shared ? kCommittedFolder : kPrivateFolder};
}

Piece settings_piece(const Machine& machine) {
  return {.kind = Piece::Kind::kSettings,
          .scope = Scope::kShared,
          .file = realm::join_path(machine.repository, realm::kRepositoryConfigName),
          .mode = kCommittedFile,
          .folder_mode = kCommittedFolder};
}

Piece advice_piece(const Machine& machine, std::string_view name) {
  return {.kind = Piece::Kind::kAdvice,
          .scope = Scope::kShared,
          .file = realm::join_path(machine.repository, name),
          .mode = kCommittedFile,
          .folder_mode = kCommittedFolder};
}

Result<FileText> put_policy(const Piece& piece, const FileText& text) {
  LK_ASSIGN(std::string after, put_toml_table(text.value_or(""), piece.file, {kHookTable},
                                              {{kPolicyField, piece.line}}));
  return after;
}

// Nothing in the text tells who wrote a policy: without a record it is the user's own.
Result<FileText> take_out_policy(const Piece& piece, const std::string& text,
                                 const FileText* original) {
  if (original == nullptr) return text;
  LK_ASSIGN(const Json before, toml_as_json(original->value_or(""), piece.file));
  if (const Json* const was = json_at(before, {kHookTable, kPolicyField})) {
    LK_ASSIGN(std::string after,
              put_toml_table(text, piece.file, {kHookTable}, {{kPolicyField, *was}}));
    return after;
  }
  LK_ASSIGN(std::string after, remove_toml_field(text, piece.file, {kHookTable}, kPolicyField));
  const bool nothing = after.find_first_not_of(" \t\r\n") == std::string::npos;
  if (had_no_file(original) && nothing) return std::nullopt;
  return after;
}

FileText put_settings(const FileText& text) {
  return text ? text : FileText(kSettingsText);
}

// In a fresh clone the file is the team's.
FileText take_out_settings(const std::string& text, const FileText* original) {
  return had_no_file(original) && text == kSettingsText ? FileText() : text;
}

// With the newlines around it that taking it out removes again.
Result<FileText> put_advice(const Piece& piece, const FileText& text) {
  const std::string now = text.value_or("");
  const std::string end = line_end(now);
  LK_ASSIGN(const auto place, find_advice(piece, now));
  if (place) return now.substr(0, place->begin) + advice(end) + now.substr(place->end);
  if (now.empty()) return advice(end) + end;
  if (now.ends_with('\n')) return now + end + advice(end) + end;
  return now + end + end + advice(end);
}

Result<FileText> take_out_advice(const Piece& piece, const std::string& text,
                                 const FileText* original) {
  LK_ASSIGN(const auto place, find_advice(piece, text));
  if (!place) return text;
  std::string above = text.substr(0, place->begin);
  std::string below = text.substr(place->end);
  const std::string end = line_end(text);
  if (below.empty() && above.ends_with(end + end)) above.resize(above.size() - 2 * end.size());
  if (below.starts_with(end)) {
    below.erase(0, end.size());
    if (above.ends_with(end + end)) above.resize(above.size() - end.size());
  }
  if (had_no_file(original) && above.empty() && below.empty()) return std::nullopt;
  return above + below;
}

}  // namespace lockkeeper::install
