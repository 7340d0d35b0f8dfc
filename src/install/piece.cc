#include "install/piece.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "install/entry.h"
#include "install/git_pieces.h"
#include "install/hooks_edit.h"
#include "install/own_pieces.h"
#include "install/plugin.h"
#include "install/toml_edit.h"

namespace lockkeeper::install {
namespace {

using Kind = Piece::Kind;

bool is_nothing(const FileText& text) {
  return !text || text->find_first_not_of(" \t\r\n") == std::string::npos;
}

std::vector<std::string> toml_path(const Piece& piece) {
  return {std::string(facts_of(piece.client).server.member), std::string(kOurName)};
}

// Only what we put into a new file.
bool is_bare(const Jsonc& document) {
  const Json value = document.value(document.root());
  if (document.text().contains("//") || document.text().contains("/*")) return false;
  return value.is_object() && (value.empty() || value == Json{{"version", 1}});
}

Result<FileText> put_json(const Piece& piece, const FileText& text, std::string_view program) {
  const ClientFacts& facts = facts_of(piece.client);
  LK_ASSIGN(Jsonc document, Jsonc::parse(is_nothing(text) ? "{}\n" : *text, piece.file));
  if (piece.kind == Kind::kHooks) {
    LK_CHECK(put_hooks(document, facts, piece.scope, program));
  } else {
    LK_CHECK(put_server(document, piece.servers, facts, program));
  }
  return document.text();
}

Result<FileText> take_out_json(const Piece& piece, const std::string& text,
                               const FileText* original) {
  LK_ASSIGN(Jsonc document, Jsonc::parse(text, piece.file));
  std::optional<Jsonc> before;
  if (original != nullptr && !is_nothing(*original)) {
    if (auto read = Jsonc::parse(**original, piece.file)) before = std::move(*read);
  }
  const Jsonc* const kept = before ? &*before : nullptr;
  if (piece.kind == Kind::kHooks) {
    LK_CHECK(remove_hooks(document, facts_of(piece.client), kept));
  } else {
    LK_CHECK(remove_server(document, piece.servers, kept));
  }
  if (document.text() != text && had_no_file(original) && is_bare(document)) return std::nullopt;
  return document.text();
}

Result<FileText> put_toml(const Piece& piece, const FileText& text, std::string_view program) {
  const std::string now = text.value_or("");
  LK_ASSIGN(const Json document, toml_as_json(now, piece.file));
  Json fields = server_entry(program, facts_of(piece.client));
  if (const Json* const table = json_at(document, toml_path(piece))) {
    if (!program_of_server(*table)) return text;
    fields.erase("args");  // the user's own arguments stay
  }
  LK_ASSIGN(std::string after, put_toml_table(now, piece.file, toml_path(piece), fields));
  return after;
}

Result<FileText> take_out_toml(const Piece& piece, const std::string& text,
                               const FileText* original) {
  LK_ASSIGN(const Json document, toml_as_json(text, piece.file));
  const Json* const table = json_at(document, toml_path(piece));
  if (table == nullptr || !program_of_server(*table)) return text;
  LK_ASSIGN(std::string after, remove_toml_table(text, piece.file, toml_path(piece)));
  if (had_no_file(original) && is_nothing(after)) return std::nullopt;
  return after;
}

Result<FileText> put_plugin(const Piece& piece, const FileText& text, std::string_view program) {
  if (!is_nothing(text) && !is_our_plugin(*text)) {
    return fail(Code::kInvalidConfig, piece.file + " is there, and was not written by Lockkeeper",
                "move it away and try again; nothing was changed");
  }
  return plugin_text(program);
}

FileText with_line(const FileText& text, const std::string& line) {
  const std::string now = text.value_or("");
  const std::vector<std::string> lines = words_in(now, "\r\n");
  if (std::ranges::find(lines, line) != lines.end()) return text;
  if (now.empty() || now.ends_with('\n')) return now + line + "\n";
  return now + "\n" + line;  // no last newline, as before
}

FileText without_line(const std::string& text, const std::string& line, const FileText* original) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.substr(at, end - at) != line) {
      at = end + 1;
      continue;
    }
    const bool last = end == text.size();
    std::string after = text.substr(0, last && at > 0 ? at - 1 : at);
    if (!last) after += text.substr(end + 1);
    if (after.empty() && had_no_file(original)) return std::nullopt;
    return after;
  }
  return text;
}

// A server of one project is in the user's file of Claude Code.
JsoncPath servers_path(const Machine& machine, const ClientFacts& facts, Scope scope) {
  const std::string member(facts.server.member);
  const bool by_project = facts.client == Client::kClaude && scope == Scope::kProject;
  if (!by_project) return {member};
  return {"projects", machine.repository, member};
}

}  // namespace

bool Piece::is_of_client() const {
  return kind == Kind::kHooks || kind == Kind::kPlugin || kind == Kind::kServer ||
         kind == Kind::kTomlServer || kind == Kind::kShellEnvironment;
}

std::string Piece::slot() const {
  const std::string name(facts_of(client).name);
  if (kind == Kind::kExcluded) return "line " + line;
  if (kind == Kind::kPolicy) return "policy";
  if (kind == Kind::kSettings) return "settings";
  if (kind == Kind::kAdvice) return "advice";
  if (kind == Kind::kGitConfig) return "git config";
  if (kind == Kind::kGitInclude) return "git include";
  if (kind == Kind::kShellEnvironment) return name + " shell";
  if (kind == Kind::kPlugin) return name + " plugin";
  if (kind == Kind::kHooks) return name + " hooks";
  return name + " server" + (servers.size() > 1 ? " " + std::get<std::string>(servers[1]) : "");
}

bool slot_starts_program(std::string_view slot) {
  return slot.starts_with("git ") || client_named(slot.substr(0, slot.find(' '))).has_value();
}

Result<std::vector<Piece>> pieces_of(const Machine& machine, Client client, Scope scope) {
  const ClientFacts& facts = facts_of(client);
  const auto index = static_cast<std::size_t>(scope);
  std::vector<Piece> pieces;
  LK_ASSIGN(const auto hooks, place_of(machine, facts, facts.hook_files[index]));
  if (hooks) {
    const bool plugin = facts.hooks.shape == HookFormat::Shape::kPlugin;
    pieces.push_back({.kind = plugin ? Kind::kPlugin : Kind::kHooks,
                      .client = client,
                      .scope = scope,
                      .file = *hooks});
  }
  LK_ASSIGN(const auto server, place_of(machine, facts, facts.server_files[index]));
  // A file that is committed must not name a folder of this machine.
  if (server && facts.sets_environment && scope != Scope::kShared) {
    LK_ASSIGN(Piece shell, shell_environment_piece(machine, client, scope, *server));
    pieces.push_back(std::move(shell));
  }
  if (server) {
    const bool toml = facts.server.kind == ServerFormat::Kind::kToml;
    pieces.push_back({.kind = toml ? Kind::kTomlServer : Kind::kServer,
                      .client = client,
                      .scope = scope,
                      .file = *server,
                      .servers = servers_path(machine, facts, scope)});
  }
  return pieces;
}

Result<FileText> put_piece(const Piece& piece, const FileText& text, std::string_view program) {
  switch (piece.kind) {
    case Kind::kHooks:
    case Kind::kServer:
      return put_json(piece, text, program);
    case Kind::kTomlServer:
      return put_toml(piece, text, program);
    case Kind::kPlugin:
      return put_plugin(piece, text, program);
    case Kind::kPolicy:
      return put_policy(piece, text);
    case Kind::kSettings:
      return put_settings(text);
    case Kind::kAdvice:
      return put_advice(piece, text);
    case Kind::kGitConfig:
      return put_git_config(text);
    case Kind::kGitInclude:
      return put_git_include(piece, text);
    case Kind::kShellEnvironment:
      return put_shell_environment(piece, text);
    case Kind::kExcluded:
      break;
  }
  return with_line(text, piece.line);
}

Result<FileText> take_out_piece(const Piece& piece, const FileText& text,
                                const FileText* original) {
  if (is_nothing(text)) return text;
  switch (piece.kind) {
    case Kind::kHooks:
    case Kind::kServer:
      return take_out_json(piece, *text, original);
    case Kind::kTomlServer:
      return take_out_toml(piece, *text, original);
    case Kind::kPlugin:
      return is_our_plugin(*text) ? FileText() : text;
    case Kind::kPolicy:
      return take_out_policy(piece, *text, original);
    case Kind::kSettings:
      return take_out_settings(*text, original);
    case Kind::kAdvice:
      return take_out_advice(piece, *text, original);
    case Kind::kGitConfig:
      return take_out_git_config(*text, original);
    case Kind::kGitInclude:
      return take_out_git_include(*text);
    case Kind::kShellEnvironment:
      return take_out_shell_environment(piece, *text, original);
    case Kind::kExcluded:
      break;
  }
  return without_line(*text, piece.line, original);
}

std::string left_alone(const Piece& piece, const FileText& text) {
  if (piece.kind == Kind::kShellEnvironment) {
    const auto after = put_shell_environment(piece, text);
    const bool there = text && text->contains(piece.line);
    if (there || !after || *after != text) return {};
    return piece.file +
           " sets variables of its own in [shell_environment_policy], which were left "
           "as they are: its shells are without the commit guard";
  }
  if (piece.kind != Kind::kServer || is_nothing(text)) return {};
  const auto document = Jsonc::parse(*text, piece.file);
  const auto found = document ? find_server(*document, piece.servers) : std::nullopt;
  if (!found || (found->name == kOurName && found->program)) return {};
  if (found->program) {
    return piece.file + " starts Lockkeeper's MCP server already, as " + shown(found->name) +
           "; it was left as it is";
  }
  return piece.file + " has another MCP server with the name " + shown(found->name) +
         "; it was left as it is";
}

}  // namespace lockkeeper::install
