#include "install/inspect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "install/codex_trust.h"
#include "install/entry.h"
#include "install/hooks_edit.h"
#include "install/piece.h"
#include "install/plugin.h"
#include "install/toml_edit.h"
#include "realm/disk_path.h"
#include "realm/worktrees.h"

namespace lockkeeper::install {
namespace {

bool is_executable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// nullopt: it is not on PATH.
std::optional<std::string> on_path(const Machine& machine, std::string_view program) {
  const std::string path = realm::variable(machine.env, "PATH").value_or("");
  for (const std::string& folder : words_in(path, ":")) {
    std::string found = realm::join_path(folder, program);
    if (folder.starts_with('/') && is_executable(found)) return found;
  }
  return std::nullopt;
}

bool is_blank_text(const FileText& text) {
  return !text || text->find_first_not_of(" \t\r\n") == std::string::npos;
}

// A settings file as one value, whatever its syntax; an empty object if there is none.
Result<Json> read_settings(const Machine& machine, const std::string& file) {
  LK_ASSIGN(const ReachedFile now, reach_file(machine, file));
  if (is_blank_text(now.text)) return Json::object();
  if (file.ends_with(".toml")) return toml_as_json(*now.text, file);
  LK_ASSIGN(const Jsonc document, Jsonc::parse(*now.text, file));
  return document.value(document.root());
}

class Inspector {
 public:
  Inspector(const Machine& machine, Client client) : machine_(machine), facts_(facts_of(client)) {}

  ClientStatus run() {
    ClientStatus status;
    status.client = facts_.client;
    std::vector<std::string> looked_at;
    for (const Scope scope : {Scope::kUser, Scope::kProject, Scope::kShared}) {
      if (scope != Scope::kUser && machine_.repository.empty()) continue;
      ScopeStatus found = look(scope);
      // Where one file serves two scopes, what it starts tells which one it is.
      const bool again = std::ranges::find(looked_at, found.hook_file) != looked_at.end();
      const bool shared_file = !again && scope == Scope::kProject && !found.program.empty() &&
                               !found.program.starts_with('/');
      looked_at.push_back(found.hook_file);
      if (again) continue;
      if (shared_file) found.scope = Scope::kShared;
      const bool something = found.hook != HookState::kMissing || found.server;
      if (something || !found.problems.empty()) status.scopes.push_back(std::move(found));
    }
    find_doubled(status);
    status.seen = is_seen();
    return status;
  }

 private:
  static void problem(ScopeStatus& scope, std::string message, std::string hint) {
    scope.problems.push_back({Code::kFailed, std::move(message), std::move(hint)});
  }
  std::string install_again(Scope scope) const {
    return "run `lockkeeper install " + std::string(facts_.name) + " --" +
           std::string(scope_name(scope)) + "`";
  }

  ScopeStatus look(Scope scope) const {
    ScopeStatus status;
    status.scope = scope;
    const auto pieces = pieces_of(machine_, facts_.client, scope);
    if (!pieces) {
      status.problems.push_back(pieces.error());
      return status;
    }
    for (const Piece& piece : *pieces) {
      if (piece.kind == Piece::Kind::kShellEnvironment) continue;
      const bool server =
          piece.kind == Piece::Kind::kServer || piece.kind == Piece::Kind::kTomlServer;
      (server ? status.server_file : status.hook_file) = piece.file;
      const auto now = reach_file(machine_, piece.file);
      if (!now) {
        status.problems.push_back(now.error());
      } else if (is_blank_text(now->text)) {
        continue;
      } else if (auto done = server ? look_at_server(status, piece, *now->text)
                                    : look_at_hooks(status, piece, *now->text);
                 !done) {
        status.problems.push_back(done.error());
      }
    }
    if (status.hook == HookState::kMissing) return status;
    check_program(status);
    check_disabled(status);
    check_trust(status);
    return status;
  }

  Result<void> look_at_server(ScopeStatus& status, const Piece& piece,
                              const std::string& text) const {
    if (piece.kind == Piece::Kind::kTomlServer) {
      LK_ASSIGN(const Json document, toml_as_json(text, piece.file));
      const Json* const servers = json_at(document, {std::string(facts_.server.member)});
      if (servers == nullptr || !servers->is_object()) return {};
      for (const auto& [name, server] : servers->items()) {
        if (status.server || !program_of_server(server)) continue;
        status.server = true;
        status.server_command = command_of_server(server);
      }
      return {};
    }
    LK_ASSIGN(const Jsonc document, Jsonc::parse(text, piece.file));
    const auto found = find_server(document, piece.servers);
    status.server = found && found->program;
    if (status.server) status.server_command = found->command;
    return {};
  }

  Result<void> look_at_hooks(ScopeStatus& status, const Piece& piece,
                             const std::string& text) const {
    if (piece.kind == Piece::Kind::kPlugin) {
      const auto program = program_of_plugin(text);
      if (!program) return {};
      status.program = *program;
      status.hook = text == plugin_text(*program) ? HookState::kPresent : HookState::kChanged;
      status.fails_closed = status.hook == HookState::kPresent;
      status.guard.words = {*program, "hook", std::string(facts_.name)};
      if (status.hook == HookState::kChanged) {
        problem(status, piece.file + " is not as an install writes it", install_again(piece.scope));
      }
      return {};
    }
    LK_ASSIGN(const Jsonc document, Jsonc::parse(text, piece.file));
    const std::vector<FoundHook> found = find_hooks(document, facts_, piece.scope);
    if (found.empty()) return {};
    status.program = found.front().program;
    for (const HookEvent& event : facts_.events) {
      const auto hook = std::ranges::find(found, event.name, &FoundHook::event);
      if (!event.guard || hook == found.end()) continue;
      status.guard = hook->command;
      status.fails_closed = hook->as_wanted;
    }
    judge(status, piece, found);
    return {};
  }

  void judge(ScopeStatus& status, const Piece& piece, const std::vector<FoundHook>& found) const {
    std::vector<std::string> twice;
    std::vector<std::string> other;
    for (const HookEvent& event : facts_.events) {
      const auto is_this = [&](const FoundHook& hook) {
        return hook.event == event.name && wakes(hook.command) == event.wake;
      };
      if (std::ranges::count_if(found, is_this) > 1) twice.emplace_back(event.name);
      const auto hook = std::ranges::find_if(found, is_this);
      const bool good = hook != found.end() && hook->as_wanted && hook->program == status.program;
      const bool named = !other.empty() && other.back() == event.name;
      if (!good && !named) other.emplace_back(event.name);
    }
    const bool strange = std::ranges::any_of(found, [&](const FoundHook& hook) {
      return std::ranges::find(facts_.events, hook.event, &HookEvent::name) == facts_.events.end();
    });
    status.hook = HookState::kPresent;
    if (!other.empty() || strange) {
      status.hook = HookState::kChanged;
      problem(status,
              piece.file + ": our hook is " +
                  (other.empty() ? "there for events that need none"
                                 : "missing or changed for " + shown_list(other)),
              install_again(piece.scope));
    }
    if (!twice.empty()) {
      status.hook = HookState::kDoubled;
      problem(status, piece.file + ": our hook is there twice for " + shown_list(twice),
              install_again(piece.scope));
    }
  }

  void check_program(ScopeStatus& status) const {
    const bool absolute = status.program.starts_with('/');
    status.program_ok =
        absolute ? is_executable(status.program) : on_path(machine_, status.program).has_value();
    if (status.program_ok) return;
    problem(status,
            status.hook_file + ": the hook starts " + shown(status.program) + ", which " +
                (absolute ? "is not a program" : "is not on PATH"),
            absolute ? install_again(status.scope) : "put lockkeeper into a folder of PATH");
  }

  void disabled(ScopeStatus& status, const std::string& file, const std::string& setting) const {
    if (status.hook == HookState::kPresent) status.hook = HookState::kDisabled;
    problem(
        status,
        file + ": " + setting + " keeps " + std::string(facts_.title) + " from running the hook",
        "remove that setting");
  }

  // Every settings file of this client counts, whichever has the hook.
  void check_disabled(ScopeStatus& status) const {
    std::vector<std::string> files;
    for (const auto& places : {facts_.hook_files, facts_.server_files}) {
      for (std::size_t i = 0; i < kScopes; ++i) {
        if (places[i].base == SettingsFile::Base::kRepository && machine_.repository.empty()) {
          continue;
        }
        const auto place = place_of(machine_, facts_, places[i]);
        const bool fresh = place && *place && std::ranges::find(files, **place) == files.end();
        if (fresh && !(*place)->ends_with(".js")) files.push_back(**place);
      }
    }
    for (const std::string& file : files) {
      const auto settings = read_settings(machine_, file);
      if (settings) check_disabled_in(status, file, *settings);
    }
  }

  void check_disabled_in(ScopeStatus& status, const std::string& file, const Json& settings) const {
    const auto is = [&](const std::vector<std::string>& path, bool value) {
      const Json* const found = json_at(settings, path);
      return found != nullptr && *found == Json(value);
    };
    if (is({"disableAllHooks"}, true)) disabled(status, file, "disableAllHooks");
    if (facts_.client == Client::kCodex) {
      for (const char* const name : {"hooks", "codex_hooks"}) {
        if (is({"features", name}, false)) disabled(status, file, std::string("features.") + name);
      }
    }
    if (facts_.client != Client::kGemini) return;
    if (is({"hooksConfig", "enabled"}, false))
      disabled(status, file, "hooksConfig.enabled = false");
    const Json* const names = json_at(settings, {"hooksConfig", "disabled"});
    if (names == nullptr || !names->is_array()) return;
    for (const Json& name : *names) {
      if (name == Json(kOurName)) disabled(status, file, "hooksConfig.disabled");
    }
  }

  void check_trust(ScopeStatus& status) const {
    if (facts_.client == Client::kCodex) check_codex_trust(status);
    if (facts_.client == Client::kCopilot && status.scope != Scope::kUser) {
      check_copilot_trust(status);
    }
    if (facts_.client == Client::kGemini && status.scope != Scope::kUser) {
      check_gemini_trust(status);
    }
    if (status.trust != Trust::kUntrusted) return;
    const bool folder = facts_.trust_step.empty();
    status.problems.push_back(
        {Code::kOperationNotPermitted,
         std::string(facts_.title) + " does not trust the hook in " + status.hook_file,
         std::string(folder ? facts_.repository_step : facts_.trust_step)});
  }

  void check_codex_trust(ScopeStatus& status) const {
    status.trust = Trust::kUnknown;
    const auto place = place_of(machine_, facts_, facts_.server_files[0]);
    const auto config = place && *place ? read_settings(machine_, **place) : Json::object();
    const auto hooks = reach_file(machine_, status.hook_file);
    if (!config || !hooks || !hooks->text) return;
    const auto document = Jsonc::parse(*hooks->text, status.hook_file);
    if (!document) return;
    status.trust = Trust::kTrusted;
    if (status.scope != Scope::kUser) {
      const Json* const level = json_at(*config, {"projects", machine_.repository, "trust_level"});
      if (level == nullptr || *level != Json("trusted")) status.trust = Trust::kUntrusted;
    }
    for (const FoundHook& hook : find_hooks(*document, facts_, status.scope)) {
      const Trust one = trust_of(*config, status.hook_file, hook);
      if (one == Trust::kUntrusted || status.trust == Trust::kTrusted) status.trust = one;
    }
  }

  Trust trust_of(const Json& config, const std::string& file, const FoundHook& hook) const {
    const std::string key = codex_trust_key(file, hook);
    const Json* const hash = json_at(config, {"hooks", "state", key, "trusted_hash"});
    const Json* const enabled = json_at(config, {"hooks", "state", key, "enabled"});
    if (enabled != nullptr && *enabled == Json(false)) return Trust::kUntrusted;
    if (hash == nullptr || !hash->is_string()) return Trust::kUntrusted;
    const auto event = std::ranges::find(facts_.events, hook.event, &HookEvent::name);
    const bool same = event != facts_.events.end() && hook.as_wanted &&
                      *hash == Json(codex_trust_hash(hook.program, *event));
    return same ? Trust::kTrusted : Trust::kUnknown;  // another version may hash otherwise
  }

  void check_copilot_trust(ScopeStatus& status) const {
    status.trust = Trust::kUnknown;
    const SettingsFile file = {SettingsFile::Base::kHome, ".copilot", "config.json"};
    const auto place = place_of(machine_, facts_, file);
    if (!place || !*place) return;
    const auto config = read_settings(machine_, **place);
    if (!config) return;
    status.trust = Trust::kUntrusted;
    for (const char* const name : {"trustedFolders", "trusted_folders"}) {
      const Json* const folders = json_at(*config, {name});
      if (folders == nullptr || !folders->is_array()) continue;
      for (const Json& folder : *folders) {
        if (!folder.is_string()) continue;
        const auto& path = folder.get_ref<const std::string&>();
        const bool here = path == machine_.repository || path_below(path, machine_.repository);
        if (here) status.trust = Trust::kTrusted;
      }
    }
  }

  // TRUST_FOLDER covers what is in the folder; TRUST_PARENT covers the folder above.
  void check_gemini_trust(ScopeStatus& status) const {
    status.trust = Trust::kUnknown;
    const SettingsFile file = {SettingsFile::Base::kHome, ".gemini", "trustedFolders.json"};
    const auto place = place_of(machine_, facts_, file);
    if (!place || !*place) return;
    const auto config = read_settings(machine_, **place);
    if (!config || !config->is_object()) return;
    status.trust = Trust::kUntrusted;
    for (const auto& [path, word] : config->items()) {
      std::string folder = path;
      if (word == Json("TRUST_PARENT") && path.size() > 1 && path.starts_with('/')) {
        folder = realm::parent_path(path);
      } else if (word != Json("TRUST_FOLDER")) {
        continue;
      }
      const bool here = folder == machine_.repository || path_below(folder, machine_.repository);
      if (here) status.trust = Trust::kTrusted;
    }
  }

  // Some clients run a command once, however often it is written.
  void find_doubled(ClientStatus& status) const {
    const ScopeStatus* first = nullptr;
    for (ScopeStatus& scope : status.scopes) {
      if (scope.hook == HookState::kMissing) continue;
      if (first == nullptr) {
        first = &scope;
        continue;
      }
      // A shell line and a program with "args" are not the same command.
      const bool same_form = !facts_.hooks.exec || first->scope != Scope::kUser;
      if (!facts_.runs_copies && same_form && scope.program == first->program) continue;
      scope.hook = HookState::kDoubled;
      problem(scope,
              std::string(facts_.title) + " runs the hook twice: it is in " + first->hook_file +
                  " and in " + scope.hook_file,
              "run `lockkeeper install " + std::string(facts_.name) + " --" +
                  std::string(scope_name(scope.scope)) + " --uninstall`");
    }
  }

  bool is_seen() const {
    if (on_path(machine_, facts_.program)) return true;
    const auto place = place_of(machine_, facts_, facts_.hook_files[0]);
    if (!place || !*place) return false;
    struct stat info{};
    std::string folder = realm::parent_path(**place);
    // Not the folder of hooks or plugins, but the client's own.
    const bool deeper = facts_.hook_files[0].folder.contains('/');
    if (deeper) folder = realm::parent_path(folder);
    return ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }

  const Machine& machine_;
  const ClientFacts& facts_;
};

}  // namespace

std::string_view state_name(HookState state) {
  constexpr std::array<std::string_view, 5> kNames = {"missing", "present", "changed", "doubled",
                                                      "disabled"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view trust_name(Trust trust) {
  constexpr std::array<std::string_view, 4> kNames = {"not needed", "trusted", "untrusted",
                                                      "unknown"};
  return kNames[static_cast<std::size_t>(trust)];
}

bool ClientStatus::is_installed() const {
  return std::ranges::any_of(
      scopes, [](const ScopeStatus& scope) { return scope.hook != HookState::kMissing; });
}

ClientStatus inspect(const Machine& machine, Client client) {
  return Inspector(machine, client).run();
}

std::vector<OtherWorktree> other_worktrees(const Machine& machine) {
  std::vector<OtherWorktree> others;
  for (const std::string& root : realm::worktree_roots(machine.repository, machine.git_folder)) {
    if (root == machine.repository) continue;
    Machine there = machine;
    there.repository = root;
    OtherWorktree other{.root = root};
    for (const ClientFacts& facts : all_clients()) {
      const ClientStatus status = inspect(there, facts.client);
      if (status.is_installed()) other.installed.push_back(facts.client);
      const bool own = std::ranges::any_of(status.scopes, [](const ScopeStatus& scope) {
        return scope.scope == Scope::kProject && scope.hook != HookState::kMissing;
      });
      if (own) other.own.push_back(facts.client);
    }
    others.push_back(std::move(other));
  }
  return others;
}

}  // namespace lockkeeper::install
