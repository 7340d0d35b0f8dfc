#include "cli/cli.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/parse.h"
#include "base/quote.h"
#include "base/text.h"
#include "cli/context.h"
#include "cli/grants.h"
#include "cli/manual.h"
#include "cli/verb.h"
#include "realm/identity.h"

namespace lockkeeper::cli {
namespace {

constexpr std::string_view kVersion = LOCKKEEPER_VERSION;

// Common flags that take their value from the next word: they may precede the verb.
const std::vector<std::string>& common_values() {
  static const std::vector<std::string> kNames = {"--agent", "--session", "--realm", "--store"};
  return kNames;
}

// Null if there is none.
const Verb* find_verb(std::span<const Verb> verbs, std::string_view name) {
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : &*found;
}

std::size_t name_column(std::span<const Verb> verbs) {
  std::size_t column = 0;
  for (const Verb& verb : verbs) column = std::max(column, verb.name.size() + 2);
  return column;
}

// One line of a list in two columns; a hidden verb has none.
std::string verb_line(const Verb& verb, std::size_t column) {
  if (verb.summary.empty()) return {};
  return "  " + padded(std::string(verb.name), column) + std::string(verb.summary) + "\n";
}

std::string list(std::span<const Verb> verbs) {
  const std::size_t column = name_column(verbs);
  std::string text;
  for (const Verb& verb : verbs) text += verb_line(verb, column);
  return text;
}

std::string overview(const CliEnvironment& environment) {
  std::string text =
      "Locks for coding agents that share a repository.\n"
      "\n"
      "  lockkeeper acquire src/auth/ --reason \"JWT refresh\"   take a folder\n"
      "  lockkeeper acquire src/a.py --wait=10m                queue for a file\n"
      "  lockkeeper run src/a.py -- make test                  hold it for a command\n"
      "  lockkeeper list --tree                                who holds what\n"
      "  lockkeeper release --all                              give everything back\n";
  const std::size_t column = name_column(environment.verbs);
  for (const VerbGroup& group : environment.groups) {
    text += "\n" + std::string(group.title) + ":\n";
    for (const std::string& name : words_in(group.verbs, " ")) {
      if (const Verb* const verb = find_verb(environment.verbs, name))
        text += verb_line(*verb, column);
    }
  }
  text += "\nlockkeeper VERB --help shows examples and options. Short name: lk.\nAlso: ";
  for (const VerbAlias& alias : environment.aliases) {
    text += std::string(alias.name) + " (" + std::string(alias.verb) + "), ";
  }
  return text + "version\n";
}

bool has(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::span<const std::string> before_dashes(const std::vector<std::string>& words) {
  return {words.begin(), std::ranges::find(words, "--")};
}

Output plain_output(const CliEnvironment& environment, bool json) {
  OutputOptions options;
  options.out = environment.out;
  options.err = environment.err;
  options.err_is_terminal = environment.err_is_terminal;
  options.columns = environment.columns;
  options.json = json;
  return Output(options);
}

// No verb was given: --version, --help, or the overview.
int without_verb(const std::vector<std::string>& words, const CliEnvironment& environment) {
  Output out = plain_output(environment, has(words, "--json"));
  CommonOptions common;
  bool version = false;
  Arguments arguments;
  declare_common(arguments, common);
  arguments.flag("--version", version, "", "-V");
  if (const auto parsed = arguments.parse(words); !parsed) return out.failed(parsed.error());
  if (version) {
    out.object({{"name", "lockkeeper"}, {"version", kVersion}});
    out.text("lockkeeper " + std::string(kVersion));
    return 0;
  }
  if (common.help) {
    out.help(overview(environment));
    return 0;
  }
  if (out.json() || !words.empty()) {
    return out.failed({Code::kUsage, "no verb was given", "see: lockkeeper --help"});
  }
  std::fputs(overview(environment).c_str(), environment.err);
  return exit_status(Code::kUsage);
}

// `above`: "lockkeeper" or "lockkeeper task".
Error not_known(std::string message, std::string_view name, std::span<const Verb> known,
                const std::string& above) {
  std::vector<std::string_view> names;
  for (const Verb& verb : known) {
    if (!verb.summary.empty()) names.push_back(verb.name);
  }
  const auto meant = nearest(name, names);
  return {Code::kUsage, std::move(message) + " " + quote(name),
          meant ? "did you mean " + above + " " + *meant + "?" : "see: " + above + " --help"};
}

// Words that mean something here, though under another name.
std::string meant_by(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"extend", "renew"}, {"history", "log"},
      {"kill", "break"},   {"lease", "acquire"},
      {"msg", "message"},  {"repair", "doctor --repair"},
      {"steal", "break"},  {"wait", "acquire RESOURCE --wait=10m"},
      {"who", "list"},
  };
  const auto* const found =
      std::ranges::find(kOthers, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kOthers) ? ""
                                    : "did you mean lockkeeper " + std::string(found->second) + "?";
}

int unknown_verb(std::string_view name, bool json, const CliEnvironment& environment) {
  if (std::string meant = meant_by(name); !meant.empty()) {
    return plain_output(environment, json)
        .failed({Code::kUsage, "unknown verb " + quote(name), std::move(meant)});
  }
  return plain_output(environment, json)
      .failed(not_known("unknown verb", name, environment.verbs, "lockkeeper"));
}

// A verb that has subcommands, without one of them: `name` is empty or unknown.
int without_subcommand(const Verb& verb, const VerbShape& shape, const std::string& name,
                       std::span<const std::string> words, const CliEnvironment& environment) {
  const std::string above = "lockkeeper " + shape.name;
  Output out = plain_output(environment, has(words, "--json"));
  if (has(words, "--help") || has(words, "-h")) {
    const std::string text = "Examples:\n" + shape.examples + "\n" + shape.summary +
                             ".\n\nUsage: " + above + " SUBCOMMAND [OPTIONS]\n\nSubcommands:\n" +
                             list(verb.subcommands()) + "\n" + above +
                             " SUBCOMMAND --help shows examples and options.\n";
    out.help(text);
    return 0;
  }
  if (!name.empty()) {
    Error error = not_known(shape.name + " has no subcommand", name, verb.subcommands(), above);
    if (!verb.hint.empty()) error.hint = verb.hint;
    return out.failed(error);
  }
  std::string names;
  for (const VerbShape& each : shape.subcommands) {
    if (!names.empty()) names += &each == &shape.subcommands.back() ? " or " : ", ";
    names += each.name;
  }
  return out.failed(
      {Code::kUsage, shape.name + " needs a subcommand: " + names, "see: " + above + " --help"});
}

// A coding agent may run its commands where the store cannot be written. Its MCP servers and hooks
// run outside.
Error explained(Error error, const realm::Environment& env) {
  const bool unwritable = error.message.find("read-only") != std::string::npos ||
                          error.message.find("permission denied") != std::string::npos;
  const std::string agent = realm::coding_agent_around(env);
  if (error.code != Code::kStoreUnavailable || !unwritable || agent.empty()) return error;
  error.hint = "the sandbox of " + agent +
               " keeps its commands from the lock table; use the MCP tools instead: lock_acquire, "
               "lock_release";
  return error;
}

struct Outcome {
  // Without a verb nothing is done.
  Outcome(int exit_status, Does what = Does::kLook) : status(exit_status), did(what) {}
  int status;
  Does did;
};

Outcome run_leaf(const Verb& verb, const Verb* above, std::vector<std::string> words,
                 const CliEnvironment& environment) {
  VerbContext context(environment, verb, above, std::move(words));
  const Result<int> status = verb.run(context);
  if (status) return {*status, verb.effect};
  return context.out().failed(explained(status.error(), environment.runtime->env));
}

Outcome run_with_subcommands(const Verb& verb, std::vector<std::string> words,
                             const CliEnvironment& environment) {
  if (verb.run != nullptr) return run_leaf(verb, nullptr, std::move(words), environment);
  const VerbShape shape = verb_shape(environment, verb);
  const std::size_t at = first_word(words, shape.value_flags());
  const std::string name = at == words.size() ? "" : words[at];
  const auto options = before_dashes(words);
  const bool helped = has(options, "--help") || has(options, "-h");
  if (name.empty() && !verb.otherwise.empty() && !helped) {
    const Verb* const meant = find_verb(verb.subcommands(), verb.otherwise);
    return run_leaf(*meant, &verb, std::move(words), environment);
  }
  const Verb* const subcommand = find_verb(verb.subcommands(), name);
  if (subcommand == nullptr) {
    return without_subcommand(verb, shape, name, before_dashes(words), environment);
  }
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  return run_leaf(*subcommand, &verb, std::move(words), environment);
}

// `help --man [VERB]`, for the build: the manual page as roff.
int print_manual(const std::vector<std::string>& words, const CliEnvironment& environment) {
  const VerbShape program = program_shape(environment);
  std::string page = manual_overview(program, kVersion);
  if (words.size() > 1) {
    const auto shape = std::ranges::find(program.subcommands, words[1], &VerbShape::name);
    if (shape == program.subcommands.end()) return unknown_verb(words[1], false, environment);
    page = manual_page(*shape, kVersion);
  }
  std::fputs(page.c_str(), environment.out);
  return 0;
}

int too_many_words(const std::string& word, bool json, const CliEnvironment& environment) {
  return plain_output(environment, json)
      .failed({Code::kUsage, "help: unexpected argument " + quote(word),
               "lockkeeper help VERB [SUBCOMMAND]"});
}

// Of the verb that this may be another name for.
std::string real_name(const CliEnvironment& environment, const std::string& name) {
  const auto alias = std::ranges::find(environment.aliases, name, &VerbAlias::name);
  return alias == environment.aliases.end() ? name : std::string(alias->verb);
}

// `help [VERB [SUBCOMMAND]]`, with options anywhere.
int explain(std::vector<std::string> words, const CliEnvironment& environment) {
  const std::size_t at = first_word(words, common_values());
  const bool itself = at < words.size() && (words[at] == "help" || words[at] == "version");
  if (itself) words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  const bool json = has(words, "--json");
  if (itself || at == words.size()) {
    words.emplace_back("--help");
    return without_verb(words, environment);
  }
  const std::string name = real_name(environment, words[at]);
  const Verb* const verb = find_verb(environment.verbs, name);
  if (verb == nullptr) return unknown_verb(name, json, environment);
  words[at] = "--help";
  std::vector<std::string> rest = words;
  std::size_t next = first_word(rest, common_values());
  if (verb->run == nullptr && next < rest.size()) {  // its subcommand
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(next));
    next = first_word(rest, common_values());
  }
  if (next < rest.size()) return too_many_words(rest[next], json, environment);
  return run_with_subcommands(*verb, std::move(words), environment).status;
}

Outcome run_words(std::vector<std::string> words, const CliEnvironment& environment) {
  const std::size_t at = first_word(words, common_values());
  if (at == words.size()) return without_verb(words, environment);
  const std::string name = real_name(environment, words[at]);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  if (name == "version") {
    words.emplace_back("--version");
    return without_verb(words, environment);
  }
  if (name == "help" && find_verb(environment.verbs, name) == nullptr) {
    if (!words.empty() && words.front() == "--man") return print_manual(words, environment);
    return explain(std::move(words), environment);
  }
  const Verb* const verb = find_verb(environment.verbs, name);
  if (verb != nullptr) return run_with_subcommands(*verb, std::move(words), environment);
  return unknown_verb(name, has(before_dashes(words), "--json"), environment);
}

}  // namespace

int run_cli(int argc, const char* const* argv, const CliEnvironment& environment) {
  std::vector<std::string> words;
  if (argc > 1) words.assign(argv + 1, argv + argc);
  Grants grants;
  service::Runtime runtime = *environment.runtime;
  runtime.on_grant = [&](const service::Granted& granted) { grants.add(granted); };
  CliEnvironment watched = environment;
  watched.runtime = &runtime;
  const auto [status, did] = run_words(std::move(words), watched);
  const bool clean = std::fflush(environment.out) == 0 && std::ferror(environment.out) == 0;
  if (clean || status != 0) return status;
  const char* told = "lockkeeper: cannot write to stdout\n";
  if (grants.give_back(runtime)) {
    told = "lockkeeper: cannot write to stdout; what was locked was given back\n";
  } else if (did == Does::kChange) {
    told =
        "lockkeeper: cannot write to stdout; what was asked for is done\n"
        "  hint: see: lockkeeper list\n";
  }
  std::fputs(told, environment.err);
  return exit_status(Code::kFailed);
}

}  // namespace lockkeeper::cli
