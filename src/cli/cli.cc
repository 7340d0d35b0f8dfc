#include "cli/cli.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "cli/context.h"
#include "cli/manual.h"
#include "cli/verb.h"

namespace lockkeeper::cli {
namespace {

constexpr std::string_view kVersion = LOCKKEEPER_VERSION;

// Flags of every verb that take a value from the next word: they may stand before the verb.
constexpr std::array<std::string_view, 4> kCommonValues = {"--agent", "--session", "--realm",
                                                           "--store"};

// Where the verb stands: the first word that is no flag and no flag's value. words.size(): nowhere.
std::size_t verb_place(const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) {
    at += std::ranges::find(kCommonValues, words[at]) == kCommonValues.end() ? 1U : 2U;
  }
  return std::min(at, words.size());
}

// Null: there is none.
const Verb* find_verb(const CliEnvironment& environment, std::string_view name) {
  const auto found = std::ranges::find(environment.verbs, name, &Verb::name);
  return found == environment.verbs.end() ? nullptr : &*found;
}

std::string overview(const CliEnvironment& environment) {
  std::string text =
      "Locks for coding agents that share a repository.\n"
      "\n"
      "  lockkeeper acquire src/auth/ --reason \"JWT refresh\"   take a folder\n"
      "  lockkeeper acquire src/a.py --wait=10m                queue for a file\n"
      "  lockkeeper run src/a.py -- make test                  hold it while a command runs\n"
      "  lockkeeper list --tree                                who holds what\n"
      "  lockkeeper release --all                              give everything back\n"
      "\n"
      "Verbs:\n";
  for (const Verb& verb : environment.verbs) {
    text += "  " + std::string(verb.name) + std::string(13 - verb.name.size(), ' ') +
            std::string(verb.summary) + "\n";
  }
  return text + "\nlockkeeper VERB --help shows examples and options. Short name: lk.\n";
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

Output plain_output(const CliEnvironment& environment, bool json) {
  OutputOptions options;
  options.out = environment.out;
  options.err = environment.err;
  options.json = json;
  return Output(options);
}

// No verb was named: --version, --help, or the overview as an answer to a lost person.
int without_verb(const std::vector<std::string>& words, const CliEnvironment& environment) {
  Output out = plain_output(environment, has(words, "--json"));
  if (has(words, "--version")) {
    out.object({{"name", "lockkeeper"}, {"version", kVersion}});
    out.text("lockkeeper " + std::string(kVersion));
    return 0;
  }
  if (has(words, "--help") || has(words, "-h")) {
    std::fputs(overview(environment).c_str(), environment.out);
    return 0;
  }
  if (out.json() || !words.empty()) {
    return out.failed({Code::kUsage, "no verb was named", "see: lockkeeper --help"});
  }
  std::fputs(overview(environment).c_str(), environment.err);
  return exit_status(Code::kUsage);
}

int unknown_verb(std::string_view name, bool json, const CliEnvironment& environment) {
  std::vector<std::string_view> known;
  for (const Verb& verb : environment.verbs) known.push_back(verb.name);
  Error error{Code::kUsage, "unknown verb " + quote(name), "see: lockkeeper --help"};
  if (const auto meant = nearest(name, known))
    error.hint = "did you mean lockkeeper " + *meant + "?";
  return plain_output(environment, json).failed(error);
}

// `help --man [VERB]`, for the build: the manual page as roff.
int print_manual(const std::vector<std::string>& words, const CliEnvironment& environment) {
  const std::vector<VerbShape> shapes = verb_shapes(environment);
  std::string page = manual_overview(shapes, kVersion);
  if (words.size() > 1) {
    const auto shape = std::ranges::find(shapes, words[1], &VerbShape::name);
    if (shape == shapes.end()) return unknown_verb(words[1], false, environment);
    page = manual_page(*shape, kVersion);
  }
  std::fputs(page.c_str(), environment.out);
  return 0;
}

int run_words(std::vector<std::string> words, const CliEnvironment& environment) {
  const std::size_t at = verb_place(words);
  if (at == words.size()) return without_verb(words, environment);
  std::string name = words[at];
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  if (name == "help" &&
      find_verb(environment, name) == nullptr) {  // `help VERB`, as other tools have it
    if (words.empty()) return without_verb({"--help"}, environment);
    if (words.front() == "--man") return print_manual(words, environment);
    name = words.front();
    words = {"--help"};
  }
  const Verb* const verb = find_verb(environment, name);
  if (verb == nullptr) {
    const auto end = std::ranges::find(words, "--");
    const bool json = std::find(words.begin(), end, "--json") != end;
    return unknown_verb(name, json, environment);
  }
  VerbContext context(environment, *verb, std::move(words));
  return verb->run(context);
}

}  // namespace

int run_cli(int argc, const char* const* argv, const CliEnvironment& environment) {
  std::vector<std::string> words;
  if (argc > 1) words.assign(argv + 1, argv + argc);
  const int status = run_words(std::move(words), environment);
  const bool clean = std::fflush(environment.out) == 0 && std::ferror(environment.out) == 0;
  if (clean || status != 0) return status;
  std::fputs("lockkeeper: stdout could not be written\n", environment.err);
  return exit_status(Code::kFailed);
}

}  // namespace lockkeeper::cli
