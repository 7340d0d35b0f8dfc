#include "cli/verbs/client_checks.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/verbs/setup.h"
#include "enforce/hook/hook.h"
#include "git/hooks_folder.h"
#include "host/signals.h"
#include "install/git_pieces.h"
#include "install/inspect.h"
#include "layout/registry.h"

namespace lockkeeper::cli {
namespace {

constexpr std::int64_t kHeldMs = 300'000;  // more than all proofs take
constexpr std::int64_t kEndLimitMs = 3'000;
constexpr std::size_t kReasonShown = 300;
constexpr std::size_t kWorktreesTold = 3;

using install::Verdict;

std::string took_text(std::int64_t ms) {
  return " (" + (ms > 0 ? format_duration(ms) : "under 1ms") + ")";
}

std::string install_command(const install::ClientFacts& facts, const install::ScopeStatus& scope) {
  return "lockkeeper install " + std::string(facts.name) + " --" +
         std::string(install::scope_name(scope.scope));
}

// A file that does not exist, held by the doctor as long as this lives.
class HeldForProof {
 public:
  static Result<std::unique_ptr<HeldForProof>> take(const service::Runtime& runtime,
                                                    const realm::Realm& realm) {
    LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime, realm));
    std::string bytes;
    append_be64(bytes, runtime.random->next());
    const std::string id = to_hex(bytes);
    auto held =
        std::unique_ptr<HeldForProof>(new HeldForProof(runtime, realm, std::move(settings), id));
    LK_CHECK(held->acquire());
    return held;
  }
  ~HeldForProof() {
    if (lease_.empty()) return;
    service::ReleaseCommand release;
    release.lease_ids = {lease_};
    static_cast<void>(open_.locks.release(release));  // on failure it ends with this process
  }
  HeldForProof(const HeldForProof&) = delete;
  HeldForProof& operator=(const HeldForProof&) = delete;

  install::ProofEdit edit() const { return {open_.site.realm().root, file_, session_}; }

 private:
  HeldForProof(const service::Runtime& runtime, const realm::Realm& realm, realm::Settings settings,
               const std::string& id)
      : file_(".lockkeeper-proof-" + id),
        session_(std::string(enforce::hook::kProofSession) + id),
        open_(runtime, realm, std::move(settings), doctor_identity(id), {}) {}

  static realm::Identity doctor_identity(const std::string& id) {
    realm::Identity who;
    who.agent = kDoctorAgent;
    who.session = "proof-" + id;
    return who;
  }

  Result<void> acquire() {
    service::AcquireCommand command;
    command.wanted.texts = {file_};
    command.wanted.syntax = key::Syntax::kLiteral;
    command.terms.reason = "a proof that hooks refuse; it ends at once";
    const std::int64_t longest = open_.site.settings().lease_longest_ms.value;
    command.ttl_ms = longest == kNoEnd ? kHeldMs : std::min(kHeldMs, longest);
    command.attach_pid = ::getpid();
    LK_ASSIGN(const service::AcquireResult result, open_.locks.acquire(command));
    if (result.outcome != core::Outcome::kGranted) {
      return fail(Code::kHeld, "somebody holds the whole folder");
    }
    lease_ = result.lease.id.text();
    return {};
  }

  const std::string file_;
  const std::string session_;  // of the agent that is refused
  OpenLocks open_;
  std::string lease_;
};

class ClientChecks {
 public:
  ClientChecks(VerbContext& context, const realm::Realm& realm, install::Machine machine,
               CheckList& list)
      : context_(context), realm_(realm), machine_(std::move(machine)), list_(list) {}

  int run() {
    // A hook does not know the store that a flag names.
    starts_ = !list_.broken() && !machine_.repository.empty() && !context_.common().store;
    proves_ = starts_;
    list_.json()["clients"] = service::Json::array();
    for (const install::ClientFacts& facts : install::all_clients()) {
      if (signals_.signal() != 0) break;
      look_at(facts, install::inspect(machine_, facts.client));
    }
    look_at_other_worktrees();
    return signals_.signal() == 0 ? 0 : signals_.exit_status();
  }

 private:
  // Hooks in the files of one worktree do not reach the others.
  void look_at_other_worktrees() {
    std::vector<std::string> without;
    for (const install::OtherWorktree& other : install::other_worktrees(machine_)) {
      const bool all = std::ranges::all_of(installed_, [&](install::Client client) {
        return std::ranges::find(other.installed, client) != other.installed.end();
      });
      if (!all) without.push_back(other.root);
    }
    if (without.empty()) return;
    list_.json()["worktrees_without_hooks"] = without;
    list_.note("worktrees", "the hooks of this worktree do not reach " +
                                shown_list(without, kWorktreesTold) +
                                ". To install them there, run in it: lockkeeper init");
  }

  void look_at(const install::ClientFacts& facts, const install::ClientStatus& client) {
    if (client.is_installed()) installed_.push_back(facts.client);
    if (!client.is_installed() && client.seen) {
      list_.note(std::string(facts.name),
                 std::string(facts.title) + " is here, and no hook holds it to the locks. To " +
                     "install one: lockkeeper install " + std::string(facts.name));
    }
    for (const install::ScopeStatus& scope : client.scopes) {
      if (signals_.signal() != 0) return;
      label_ = std::string(facts.name) + " (" + std::string(install::scope_name(scope.scope)) + ")";
      json_ = {{"client", facts.name},
               {"scope", install::scope_name(scope.scope)},
               {"experimental", facts.experimental},
               {"hook", install::state_name(scope.hook)},
               {"hook_file", scope.hook_file},
               {"program", text_or_null(scope.program)},
               {"trust", install::trust_name(scope.trust)},
               {"fails_closed", scope.fails_closed}};
      look_at_scope(facts, scope);
      if (scope.server && starts_) greet(facts, scope);
      list_.json()["clients"].push_back(std::move(json_));
    }
  }

  void look_at_scope(const install::ClientFacts& facts, const install::ScopeStatus& scope) {
    for (const Error& problem : scope.problems) {
      if (problem.code == Code::kOperationNotPermitted) {
        list_.to_do(label_, problem);
      } else {
        list_.bad(label_, problem);
      }
    }
    if (scope.hook == install::HookState::kMissing) return;
    if (scope.problems.empty()) {
      std::string text = "the hook is in " + scope.hook_file;
      if (scope.trust == install::Trust::kTrusted) text += ", trusted";
      if (scope.fails_closed) text += ", and refuses if it fails";
      list_.good(label_, text);
    }
    if (scope.trust == install::Trust::kUnknown) {
      list_.note(
          label_,
          "whether " + std::string(facts.title) + " trusts the hook cannot be read here. " +
              std::string(facts.trust_step.empty() ? facts.repository_step : facts.trust_step));
    }
    if (facts.experimental) list_.note(label_, std::string(facts.trust_step));
    const bool can_run = scope.program_ok && !scope.guard.words.empty();
    if (proves_ && can_run) prove(facts, scope);
  }

  void prove(const install::ClientFacts& facts, const install::ScopeStatus& scope) {
    if (!held_) {
      auto taken = HeldForProof::take(context_.runtime(), realm_);
      if (!taken) {
        proves_ = false;
        return list_.note("proof", "not possible now: " + taken.error().message);
      }
      held_ = std::move(*taken);
    }
    install::Asking asking{.command = scope.guard,
                           .folder = machine_.repository,
                           .input = install::edit_payload(facts.client, held_->edit()),
                           .stop = [this] { return signals_.signal() != 0; }};
    const auto heard = install::ask_program(asking);
    if (!heard) return list_.bad(label_, heard.error());
    if (heard->stopped) return;
    judge(facts, scope, install::read_verdict(facts.client, *heard), heard->took_ms);
    // That session is over: whatever the hook has noted about it may go.
    asking.input = install::end_payload(facts.client, held_->edit());
    asking.limit_ms = kEndLimitMs;
    static_cast<void>(install::ask_program(asking));
  }

  void judge(const install::ClientFacts& facts, const install::ScopeStatus& scope,
             const install::ReadVerdict& read, std::int64_t took_ms) {
    json_["proof"] = {{"verdict", install::verdict_name(read.verdict)},
                      {"took_ms", took_ms},
                      {"reason", text_or_null(read.reason)}};
    const Judged judged =
        judge_proof(read, took_ms, held_->edit().file, policy(), install_command(facts, scope));
    switch (judged.kind) {
      case Judged::Kind::kGood:
        return list_.good(label_, judged.message);
      case Judged::Kind::kNote:
        return list_.note(label_, judged.message);
      case Judged::Kind::kBad:
        return list_.bad(label_, {Code::kFailed, judged.message, judged.hint});
    }
  }

  // Settings that cannot be read refuse, and say so themselves.
  ProofPolicy policy() const {
    const auto settings = layout::load_settings(context_.runtime(), realm_);
    return settings ? settings->hook_policy : ProofPolicy{};
  }

  void greet(const install::ClientFacts& facts, const install::ScopeStatus& scope) {
    const auto heard = install::ask_program({.command = scope.server_command,
                                             .folder = machine_.repository,
                                             .input = install::mcp_greeting(),
                                             .one_line = true,
                                             .stop = [this] { return signals_.signal() != 0; }});
    if (heard && heard->stopped) return;
    const bool answered = heard && install::is_mcp_answer(heard->out);
    json_["mcp"] = {{"file", scope.server_file}, {"answers", answered}};
    if (answered) {
      json_["mcp"]["took_ms"] = heard->took_ms;
      return list_.good(label_, "the MCP server answers" + took_text(heard->took_ms));
    }
    const std::string why = !heard        ? heard.error().message
                            : heard->late ? "it was silent for " + format_duration(heard->took_ms)
                                          : quote(heard->err + heard->out, kReasonShown);
    list_.bad(label_,
              {Code::kFailed, "the MCP server of " + scope.server_file + " does not answer: " + why,
               heard ? "try its command in a terminal: " + join(scope.server_command.words, " ")
                     : "install it again: " + install_command(facts, scope)});
  }

  VerbContext& context_;
  const realm::Realm& realm_;
  const install::Machine machine_;
  CheckList& list_;
  const host::SignalWatch signals_;
  bool starts_ = false;  // hooks and servers
  bool proves_ = false;
  std::unique_ptr<HeldForProof> held_;
  std::vector<install::Client> installed_;
  std::string label_;   // of the client and scope that is looked at
  service::Json json_;  // the same
};

void check_git_hooks(const install::Machine& machine, CheckList& list) {
  const std::string hooks = git::hooks_folders_trouble(machine.env);
  if (!hooks.empty() && git::are_hooks_folders_there(machine.env)) {
    list.bad("git", {Code::kFailed, "our git hooks are not as we made them: " + hooks,
                     "the next session of an agent, or lockkeeper run, repairs them"});
  }
  if (!install::is_git_guard_installed(machine)) return;
  const std::string trouble = install::git_guard_trouble(machine);
  if (trouble.empty()) return list.good("git", "everybody's commits here are guarded");
  list.bad("git",
           {Code::kFailed, "the commit guard was installed, but git runs other hooks: " + trouble,
            "lockkeeper install git, or take it out: lockkeeper install git --uninstall"});
}

}  // namespace

Judged judge_proof(const install::ReadVerdict& read, std::int64_t took_ms, const std::string& file,
                   const ProofPolicy& policy, const std::string& again) {
  using Kind = Judged::Kind;
  const std::string took = took_text(took_ms);
  const std::string reason = quote(read.reason, kReasonShown);
  const std::string word(realm::word_of<realm::HookPolicy>(realm::kHookPolicies, policy.value));
  const std::string because =
      ", because [hook] policy is " + quote(word) + " (" + policy.origin.text() + ")";
  switch (read.verdict) {
    case Verdict::kRefused:
      if (read.reason.contains(file) || read.reason.contains(kDoctorAgent)) {
        return {Kind::kGood, "an edit of a held file was refused" + took};
      }
      return {Kind::kBad,
              "the hook refused an edit, but not because the file is held" + took + ": " + reason,
              "do what that says, then run: lockkeeper doctor"};
    case Verdict::kAsked:
      return {Kind::kNote,
              "an edit of a held file is not refused: the agent asks its user" + took + because};
    case Verdict::kPassed:
      if (policy.value == realm::HookPolicy::kWarn || policy.value == realm::HookPolicy::kOff) {
        return {Kind::kNote, "an edit of a held file passes" + took + because};
      }
      return {Kind::kBad, "the hook let an edit of a held file pass" + took,
              "see [hook] in: lockkeeper config show"};
    case Verdict::kFailed:
      break;
  }
  return {Kind::kBad, "the hook failed" + took + ": " + reason, "install it again: " + again};
}

int check_clients(VerbContext& context, const realm::Realm& realm, CheckList& list) {
  auto machine = find_machine(context, realm);
  if (!machine) {
    list.note("clients", machine.error().message);
    return 0;
  }
  const int status = ClientChecks(context, realm, *machine, list).run();
  check_git_hooks(*machine, list);
  return status;
}

}  // namespace lockkeeper::cli
