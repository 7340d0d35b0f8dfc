// What a verb gets: its arguments to declare and parse, the common options, the realm's locks in
// the caller's name, and where to print.
//
//   Result<int> some_verb(VerbContext& context) {
//     std::vector<std::string> resources;
//     context.arguments().words("RESOURCE…", resources, "what to check");
//     if (const auto status = context.parse()) return *status;
//     LK_ASSIGN(const auto open, context.open(resources));
//     … open->locks …
//   }
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "service/locks.h"

namespace lockkeeper::cli {

struct Verb;

struct CommonOptions {
  std::optional<std::string> agent;
  std::optional<std::string> session;
  std::optional<std::string> realm;
  std::optional<std::string> store;
  bool json = false;
  bool quiet = false;
  bool help = false;
};

// Declares them. `list`, `log` and `break` have declared an --agent of their own: whose leases to
// act on. `recover list` has its own --session, too, and `serve` its own --realm.
void declare_common(Arguments& arguments, CommonOptions& common);

// A realm's table, and its locks in one owner's name.
struct OpenLocks {
  OpenLocks(const service::Runtime& runtime, realm::Realm realm, realm::Settings settings,
            const realm::Identity& who, service::ParentLease parent)
      : site(runtime, std::move(realm), std::move(settings)),
        identity(who),
        locks(site, core::Owner{who.agent, who.session}, std::move(parent)) {}

  service::Site site;
  realm::Identity identity;
  service::Locks locks;
};

class VerbContext {
 public:
  // `words`: the command line without program and verb; nullopt, for help and completion: parse()
  // stops after the declarations. `above`: the verb whose subcommand this is, or null. The
  // references must outlive it.
  VerbContext(const CliEnvironment& environment, const Verb& verb, const Verb* above,
              std::optional<std::vector<std::string>> words);

  Arguments& arguments() { return arguments_; }

  // Parses what was declared. nullopt: continue. Otherwise return this exit status at once: help
  // was shown, or the words were refused.
  std::optional<int> parse();
  // As parse(), and refuses an empty `target`: "VERB needs `what`".
  std::optional<int> parse_some(const std::vector<std::string>& target, std::string_view what);
  // Prints a usage error, "task sweep " + message, and returns the exit status.
  int refuse_usage(std::string_view message);

  const CommonOptions& common() const { return common_; }
  // For a verb whose own --agent names the caller after all.
  void act_as(std::optional<std::string> agent) { common_.agent = std::move(agent); }
  // For a dialect that has its own name for the session.
  void act_in(std::optional<std::string> session) { common_.session = std::move(session); }
  Output& out() { return output_; }
  const CliEnvironment& environment() const { return environment_; }
  const service::Runtime& runtime() const { return *environment_.runtime; }
  std::int64_t now_wall_ms() const { return runtime().clock->now().wall_ms; }

  // The realm from the options, the environment, the named paths or the current folder, with the
  // requested store. Creates nothing.
  Result<realm::Realm> realm(const std::vector<std::string>& resources) const;

  // The locks of that realm in the caller's name. Does not open the store yet. `new_session`: see
  // realm::IdentityRequest (for `run`).
  Result<std::unique_ptr<OpenLocks>> open(const std::vector<std::string>& resources,
                                          bool new_session = false);
  // The same for a known realm.
  Result<std::unique_ptr<OpenLocks>> open(realm::Realm realm, bool new_session = false);
  // For verbs that only look or give back: a mistake in a settings file is a warning.
  void allow_bad_settings() { allow_bad_settings_ = true; }

  // The caller; for a verb that finds its realm in its own way.
  Result<realm::Identity> identity(bool new_session) const;

  // Resources as typed on the command line: relative to the current folder.
  Result<service::Wanted> wanted(std::vector<std::string> texts) const;

  // The common flags that a command in a hint must repeat, each after a space.
  std::string repeated_flags() const;

 private:
  OutputOptions output_options() const;

  const CliEnvironment& environment_;
  const Verb& verb_;
  const std::string name_;  // "acquire", "task acquire"
  const bool describing_;
  bool allow_bad_settings_ = false;
  const std::vector<std::string> words_;
  CommonOptions common_;
  Arguments arguments_;
  Output output_;
};

// Adds " --name VALUE" to a command for a shell, if there is a value.
void add_flag(std::string& command, const char* name, const std::optional<std::string>& value);

// "exclusive" or "shared"; otherwise invalid_input.
Result<core::Mode> parse_mode(const std::optional<std::string>& text);

// A duration; an error names the flag, as in "--ttl: …".
Result<std::int64_t> parse_duration(std::string_view text, std::string_view flag,
                                    DurationRules rules = {});
// The value of --wait: "" is service::kWaitForever.
Result<std::int64_t> parse_wait(const std::string& text);

// A whole number from 1 to `most`; invalid_input names `what` and the value.
Result<std::uint64_t> parse_number(std::string_view text, std::string_view what,
                                   std::uint64_t most);

}  // namespace lockkeeper::cli
