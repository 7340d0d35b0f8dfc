#include "cli/context.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/parse.h"
#include "base/text.h"
#include "cli/verb.h"
#include "host/process.h"
#include "layout/registry.h"
#include "realm/realm_request.h"
#include "realm/store_url.h"

namespace lockkeeper::cli {
namespace {

// A usage error is JSON if --json stands anywhere before `--`, even if parsing failed earlier.
bool asks_for_json(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  return std::find(words.begin(), end, "--json") != end;
}

bool in_no_realm(const std::string& folder, const realm::Environment& env) {
  const auto found = realm::realm_of(folder, env);
  return !found && found.error().code == Code::kNotFound;
}

}  // namespace

VerbContext::VerbContext(const CliEnvironment& environment, const Verb& verb, const Verb* above,
                         std::optional<std::vector<std::string>> words)
    : environment_(environment),
      verb_(verb),
      name_((above == nullptr ? "" : std::string(above->name) + " ") + std::string(verb.name)),
      describing_(!words),
      words_(std::move(words).value_or(std::vector<std::string>())),
      output_(output_options()) {}

OutputOptions VerbContext::output_options() const {
  OutputOptions options;
  options.out = environment_.out;
  options.err = environment_.err;
  options.out_is_terminal = environment_.out_is_terminal;
  options.err_is_terminal = environment_.err_is_terminal;
  options.columns = environment_.columns;
  const realm::Environment& env = environment_.runtime->env;
  options.draws = env("TERM").value_or("dumb") != "dumb";
  options.color = options.draws && !realm::variable(env, "NO_COLOR");
  options.json = common_.json || asks_for_json(words_);
  options.quiet = common_.quiet;
  return options;
}

void declare_common(Arguments& arguments, CommonOptions& common) {
  arguments.begin_common();
  if (!arguments.find("--agent")) {
    arguments.value("--agent", common.agent, "NAME",
                    "your name (default: LOCKKEEPER_AGENT, …, $USER)");
    arguments.offer(Arguments::Complete::kAgents);
  }
  if (!arguments.find("--session")) {
    arguments.value("--session", common.session, "ID", "distinguishes runs of one agent");
  }
  if (!arguments.find("--realm")) {
    arguments.value("--realm", common.realm, "DIR",
                    "the repository to use; from outside it, relative\npaths begin at its root");
    arguments.offer(Arguments::Complete::kFolders);
  }
  arguments.value("--store", common.store, "URL", "lmdb: or lmdb:/folder");
  arguments.flag("--json", common.json, "JSON on stdout, one object per line, errors included");
  arguments.flag("--quiet", common.quiet, "print errors only", "-q");
  arguments.flag("--help", common.help, "show this help", "-h");
}

std::optional<int> VerbContext::parse() {
  declare_common(arguments_, common_);
  if (describing_) return 0;
  const auto parsed = arguments_.parse(words_);
  output_ = Output(output_options());
  if (common_.help) {
    std::string text = "Examples:\n";
    text += verb_.examples;
    text += "\n" + std::string(verb_.summary) + ".\n\nUsage: " + arguments_.usage(name_) + "\n";
    text += arguments_.help();
    output_.help(text);
    return 0;
  }
  if (parsed) return std::nullopt;
  Error error = parsed.error();
  error.message = name_ + ": " + error.message;
  if (error.hint.starts_with("see:")) error.hint = "see: lockkeeper " + name_ + " --help";
  return output_.failed(error);
}

std::optional<int> VerbContext::parse_some(const std::vector<std::string>& target,
                                           std::string_view what) {
  if (const auto status = parse()) return status;
  if (!target.empty()) return std::nullopt;
  return refuse_usage("needs " + std::string(what));
}

int VerbContext::refuse_usage(std::string_view message) {
  return output_.failed(
      {Code::kUsage, name_ + " " + std::string(message), "see: lockkeeper " + name_ + " --help"});
}

Result<realm::Realm> VerbContext::realm(const std::vector<std::string>& resources) const {
  const realm::Environment& env = runtime().env;
  realm::FindRealm request = realm::realm_request(common_.realm.value_or(""), env);
  if (common_.realm && common_.realm->empty()) {
    return fail(Code::kInvalidInput, "--realm is empty", "name a folder: --realm DIR");
  }
  request.resources = resources;
  request.cwd = environment_.cwd;
  LK_ASSIGN(realm::Realm realm, realm::find_realm(request));
  LK_CHECK(realm::choose_store(realm, common_.store.value_or(""), env));
  return realm;
}

Result<std::unique_ptr<OpenLocks>> VerbContext::open(const std::vector<std::string>& resources,
                                                     bool new_session) {
  LK_ASSIGN(realm::Realm realm, this->realm(resources));
  return open(std::move(realm), new_session);
}

Result<realm::Identity> VerbContext::identity(bool new_session) const {
  realm::IdentityRequest request;
  request.agent = common_.agent;
  request.session = common_.session;
  request.env = runtime().env;
  request.terminal_session = host::terminal_session;
  request.client_process = host::client_process;
  if (new_session) request.new_session = runtime().random;
  return realm::find_identity(request);
}

Result<std::unique_ptr<OpenLocks>> VerbContext::open(realm::Realm realm, bool new_session) {
  LK_ASSIGN(const realm::Identity who, identity(new_session));
  LK_ASSIGN(service::ParentLease under, service::parent_lease_from(runtime().env, realm));
  std::vector<Error> mistakes;
  LK_ASSIGN(realm::Settings settings,
            layout::load_settings(runtime(), realm, allow_bad_settings_ ? &mistakes : nullptr));
  for (const Error& mistake : mistakes) {
    output_.warning(mistake.message + "; not used until it is corrected");
  }
  return std::make_unique<OpenLocks>(runtime(), std::move(realm), std::move(settings), who,
                                     std::move(under));
}

Result<service::Wanted> VerbContext::wanted(std::vector<std::string> texts) const {
  service::Wanted wanted;
  wanted.texts = std::move(texts);
  wanted.base.kind = realm::Base::kCwd;
  wanted.base.folder = environment_.cwd;
  if (wanted.base.folder.empty()) {
    auto here = realm::current_folder();
    if (!here && !common_.realm) return fail(std::move(here.error()));
    wanted.base.folder = here.value_or("/");
  }
  const realm::Environment& env = runtime().env;
  // Nobody sees a variable: what is typed in another repository is refused, not read as a path of
  // the variable's.
  wanted.base.realm_named = common_.realm || (!realm::realm_request("", env).explicit_dir.empty() &&
                                              in_no_realm(wanted.base.folder, env));
  return wanted;
}

std::string VerbContext::repeated_flags() const {
  std::string text;
  add_flag(text, "--agent", common_.agent);
  add_flag(text, "--session", common_.session);
  add_flag(text, "--realm", common_.realm);
  add_flag(text, "--store", common_.store);
  return text;
}

void add_flag(std::string& command, const char* name, const std::optional<std::string>& value) {
  if (!value || value->find('\0') != std::string::npos) return;
  command += std::string(" ") + name + " " + shell_quote(*value);
}

Result<core::Mode> parse_mode(const std::optional<std::string>& text) {
  if (!text || *text == "exclusive") return core::Mode::kExclusive;
  if (*text == "shared") return core::Mode::kShared;
  return fail(Code::kInvalidInput, "--mode " + quote(*text) + " is neither exclusive nor shared",
              "write --mode exclusive or --mode shared");
}

Result<std::int64_t> parse_duration(std::string_view text, std::string_view flag,
                                    DurationRules rules) {
  auto value = parse_duration_ms(text, rules);
  if (!value) value.error().message = std::string(flag) + ": " + value.error().message;
  return value;
}

Result<std::int64_t> parse_wait(const std::string& text) {
  return text.empty() ? service::kWaitForever : parse_duration(text, "--wait");
}

Result<std::uint64_t> parse_number(std::string_view text, std::string_view what,
                                   std::uint64_t most) {
  constexpr std::size_t kDigitsMax = 16;
  const auto value = number_in<std::uint64_t>(text);
  if (value && text.size() <= kDigitsMax && *value > 0 && *value <= most) return *value;
  return fail(Code::kInvalidInput,
              std::string(what) + " " + quote(text) + " is not a whole number from 1 to " +
                  std::to_string(most),
              "give " + std::string(what) + " a number in that range");
}

}  // namespace lockkeeper::cli
