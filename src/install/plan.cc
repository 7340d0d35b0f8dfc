#include "install/plan.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/text.h"
#include "install/record.h"
#include "realm/disk_path.h"
#include "realm/worktrees.h"

namespace lockkeeper::install {
namespace {

constexpr unsigned kSharedFile = 0644;
constexpr unsigned kSharedFolder = 0755;

// The pieces of one file, in the order in which they are put into it.
struct FilePieces {
  std::string file;
  ReachedFile now;
  std::vector<Piece> pieces;
};

class Planner {
 public:
  Planner(const Machine& machine, const Request& request, Record record)
      : machine_(machine), request_(request), record_(std::move(record)) {}

  Result<Plan> install() {
    LK_CHECK(check_program());
    LK_CHECK(collect());
    LK_CHECK(exclude());
    for (const FilePieces& file : files_) LK_CHECK(put(file));
    const auto starts = [](const Change& change) {
      return std::ranges::any_of(change.slots, slot_starts_program);
    };
    if (std::ranges::any_of(plan_.changes, starts)) tell_steps();
    return std::move(plan_);
  }

  Result<Plan> uninstall() {
    LK_CHECK(collect());
    LK_CHECK(include_again());
    for (const FilePieces& file : files_) LK_CHECK(take_out(file));
    return std::move(plan_);
  }

 private:
  Result<void> check_program() const {
    const std::string& program = request_.program;
    const bool shared = request_.scope == Scope::kShared;
    const bool absolute = program.starts_with('/');
    if (program.empty() || hidden_in(program) || absolute == shared ||
        (shared && program.contains('/'))) {
      return fail(Code::kInvalidInput,
                  "the program " + quote(program) + " is not " +
                      (shared ? "a name that is looked up in PATH" : "an absolute path in UTF-8"));
    }
    return {};
  }

  void tell_steps() {
    for (const Client client : request_.clients) {
      const ClientFacts& facts = facts_of(client);
      if (!facts.trust_step.empty()) plan_.notes.emplace_back(facts.trust_step);
      const bool here = request_.scope != Scope::kUser;
      if (here && !facts.repository_step.empty()) plan_.notes.emplace_back(facts.repository_step);
    }
    if (request_.scope != Scope::kShared || request_.clients.empty()) return;
    plan_.warnings.emplace_back(
        "once this is committed, every checkout of this repository is armed: it runs the hooks, "
        "and each machine needs lockkeeper on its PATH");
  }

  Result<void> add(Piece piece) {
    LK_ASSIGN(ReachedFile reached, reach_file(machine_, piece.file));
    const auto known = std::ranges::find_if(
        files_, [&](const FilePieces& each) { return each.now.target == reached.target; });
    if (known != files_.end()) {
      known->pieces.push_back(std::move(piece));
    } else {
      std::string file = piece.file;
      files_.push_back({std::move(file), std::move(reached), {std::move(piece)}});
    }
    return {};
  }

  Result<void> collect() {
    for (const Client client : request_.clients) {
      LK_ASSIGN(std::vector<Piece> pieces, pieces_of(machine_, client, request_.scope));
      for (Piece& piece : pieces) LK_CHECK(add(std::move(piece)));
    }
    for (const Piece& piece : request_.more) LK_CHECK(add(piece));
    return {};
  }

  std::string exclude_file() const { return machine_.git_folder + "/info/exclude"; }

  Result<void> add_line(Client client, const std::string& line) {
    return add({.kind = Piece::Kind::kExcluded,
                .client = client,
                .scope = request_.scope,
                .file = exclude_file(),
                .line = line});
  }

  // A path of this machine must not reach the others through a commit.
  Result<void> exclude() {
    if (request_.scope != Scope::kProject || machine_.git_folder.empty()) return {};
    const std::vector<FilePieces> files = files_;
    for (const FilePieces& file : files) {
      const auto path = path_below(machine_.repository, file.file);
      if (!path || !file.pieces.front().is_of_client()) continue;
      LK_ASSIGN(const bool tracked, is_tracked(machine_, *path));
      if (tracked) {
        return fail(Code::kOperationNotPermitted,
                    file.file + " is committed, and would name a program of this machine",
                    "install with --shared, which names none, or with --user");
      }
      LK_ASSIGN(const bool ignored, is_ignored(machine_, *path));
      if (!ignored) LK_CHECK(add_line(file.pieces.front().client, "/" + *path));
    }
    return {};
  }

  // All worktrees share git's exclude file.
  bool is_used_elsewhere(const std::string& path) const {
    const auto roots = realm::worktree_roots(machine_.repository, machine_.git_folder);
    return std::ranges::any_of(roots, [&](const std::string& root) {
      const std::string file = realm::join_path(root, path);
      return root != machine_.repository && record_.find(file) != nullptr &&
             ::access(file.c_str(), F_OK) == 0;
    });
  }

  // Only lines that we added.
  Result<void> include_again() {
    if (machine_.git_folder.empty()) return {};
    LK_ASSIGN(const ReachedFile now, reach_file(machine_, exclude_file()));
    const FileRecord* const known = record_.find(now.target);
    if (known == nullptr) return {};
    const std::vector<FilePieces> files = files_;
    for (const FilePieces& file : files) {
      const auto path = path_below(machine_.repository, file.file);
      if (!path || !file.pieces.front().is_of_client()) continue;
      const std::string slot = "line /" + *path;
      if (std::ranges::find(known->slots, slot) == known->slots.end()) continue;
      if (is_used_elsewhere(*path)) continue;
      LK_CHECK(add_line(file.pieces.front().client, "/" + *path));
    }
    return {};
  }

  Change change_of(const FilePieces& file) const {
    Change change{.file = file.file, .target = file.now.target, .before = file.now.text};
    const bool in_repository = path_below(machine_.repository, file.now.target).has_value();
    const bool shared = request_.scope == Scope::kShared && in_repository;
    const bool excluded = file.pieces.front().kind == Piece::Kind::kExcluded;
    if (shared || excluded) change.mode = kSharedFile;
    if (in_repository || excluded) change.folder_mode = kSharedFolder;
    if (const Piece& piece = file.pieces.front(); piece.mode != 0) {
      change.mode = piece.mode;
      change.folder_mode = piece.folder_mode;
    }
    if (file.now.text) change.mode = file.now.mode;
    return change;
  }

  bool is_as_we_left_it(const FilePieces& file) const {
    const FileRecord* const known = record_.find(file.now.target);
    return known != nullptr && file.now.text && sha256_hex(*file.now.text) == known->written;
  }

  // What the file was before us, if the record still tells.
  std::optional<FileText> recorded_original(const FilePieces& file) const {
    const FileRecord* const known = record_.find(file.now.target);
    if (known == nullptr) return std::nullopt;
    if (known->original.empty()) return FileText();
    auto text = record_.backup(known->original);
    return text ? std::optional<FileText>(std::move(*text)) : std::nullopt;
  }

  static Result<FileText> without(const FilePieces& file, FileText text, const FileText* original) {
    for (const Piece& piece : file.pieces) {
      LK_ASSIGN(text, take_out_piece(piece, text, original));
    }
    return text;
  }

  Result<void> put(const FilePieces& file) {
    Change change = change_of(file);
    change.after = change.before;
    for (const Piece& piece : file.pieces) {
      if (std::string note = left_alone(piece, change.after); !note.empty()) {
        plan_.notes.push_back(std::move(note));
      }
      LK_ASSIGN(change.after, put_piece(piece, change.after, request_.program));
    }
    if (change.after == change.before) return {};
    change.as_we_left_it = is_as_we_left_it(file);
    const auto recorded = recorded_original(file);
    if (change.as_we_left_it && recorded) {
      change.original = *recorded;
      change.slots = record_.find(file.now.target)->slots;
    } else {
      LK_ASSIGN(change.original, without(file, change.before, recorded ? &*recorded : nullptr));
    }
    for (const Piece& piece : file.pieces) {
      const bool known = std::ranges::find(change.slots, piece.slot()) != change.slots.end();
      if (!known) change.slots.push_back(piece.slot());
    }
    plan_.changes.push_back(std::move(change));
    return {};
  }

  Result<void> take_out(const FilePieces& file) {
    Change change = change_of(file);
    change.as_we_left_it = is_as_we_left_it(file);
    const auto recorded = recorded_original(file);
    LK_ASSIGN(change.after, without(file, change.before, recorded ? &*recorded : nullptr));
    const FileRecord* const known = record_.find(file.now.target);
    if (known != nullptr) {
      change.slots = known->slots;
      for (const Piece& piece : file.pieces) std::erase(change.slots, piece.slot());
    }
    if (recorded) {
      LK_ASSIGN(change.original, without(file, *recorded, nullptr));
      if (change.as_we_left_it && change.slots.empty()) change.after = change.original;
    }
    tell_kept(file, known, change.after);
    if (change.after != change.before) {
      plan_.changes.push_back(std::move(change));
    } else if (known != nullptr && change.slots.empty()) {
      plan_.forgotten.push_back(change.target);
    }
    return {};
  }

  // A lockkeeper.toml of ours that its user has changed.
  void tell_kept(const FilePieces& file, const FileRecord* known, const FileText& after) {
    for (const Piece& piece : file.pieces) {
      const bool ours = piece.kind == Piece::Kind::kSettings && known != nullptr &&
                        std::ranges::find(known->slots, piece.slot()) != known->slots.end();
      if (ours && after) {
        plan_.notes.push_back(file.file + " has changed since it was created; it stays");
      }
    }
  }

  const Machine& machine_;
  const Request& request_;
  Record record_;
  std::vector<FilePieces> files_;
  Plan plan_;
};

// A plugin brings the hooks as well; beside ours, each would run twice.
Result<void> refuse_beside_plugin(const Machine& machine) {
  const ClientFacts& facts = facts_of(Client::kClaude);
  for (const SettingsFile& file : facts.hook_files) {
    if (file.base == SettingsFile::Base::kRepository && machine.repository.empty()) continue;
    LK_ASSIGN(const auto path, place_of(machine, facts, file));
    LK_ASSIGN(const ReachedFile now, reach_file(machine, *path));
    if (!now.text || now.text->find_first_not_of(" \t\r\n") == std::string::npos) continue;
    LK_ASSIGN(const Jsonc document, Jsonc::parse(*now.text, *path));
    const JsoncNode* const enabled = document.find({"enabledPlugins"});
    if (enabled == nullptr || !enabled->is_object()) continue;
    for (const JsoncNode& plugin : enabled->children) {
      const bool ours = plugin.key.substr(0, plugin.key.find('@')) == kOurName;
      if (!ours || document.value(plugin) != Json(true)) continue;
      return fail(
          Code::kOperationNotPermitted,
          "the plugin " + quote(plugin.key) + " is enabled in " + *path +
              " and brings the hooks already",
          "keep the plugin, or disable it first: claude plugin disable " + shell_quote(plugin.key));
    }
  }
  return {};
}

}  // namespace

Result<Plan> plan_install(const Machine& machine, const Request& request) {
  if (std::ranges::find(request.clients, Client::kClaude) != request.clients.end()) {
    LK_CHECK(refuse_beside_plugin(machine));
  }
  LK_ASSIGN(Record record, Record::load(state_folder(machine)));
  return Planner(machine, request, std::move(record)).install();
}

Result<Plan> plan_uninstall(const Machine& machine, const Request& request) {
  LK_ASSIGN(Record record, Record::load(state_folder(machine)));
  return Planner(machine, request, std::move(record)).uninstall();
}

}  // namespace lockkeeper::install
