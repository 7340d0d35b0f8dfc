// Any command line, one word a line, through the parser of every verb and the checks of its values,
// up to the store, which is not there. What would act without a store is only parsed.
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/captured_stream.h"
#include "base/test_clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/verbs/verbs.h"
#include "fuzz.h"
#include "service/local/local_service.h"

namespace lockkeeper::fuzz {
namespace {

const std::string& realm_folder() {
  static const std::string kFolder = [] {
    const std::string folder = std::filesystem::canonical(scratch()) / "realm";
    std::filesystem::create_directories(folder + "/.lockkeeper");
    return folder;
  }();
  return kFolder;
}

std::optional<std::string> variable(std::string_view name) {
  if (name == "LOCKKEEPER_REALM") return realm_folder();
  if (name == "LOCKKEEPER_AGENT") return "fuzz";
  if (name == "HOME") return realm_folder() + "/home";
  return std::nullopt;
}

// These would look at other places of this machine, start processes or go on forever.
bool acts_elsewhere(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 3> kVerbs = {"demo", "purge", "doctor"};
  constexpr std::array<std::string_view, 8> kFlags = {
      "--realm", "--store", "--follow", "--from", "--output", "--cwd", "--root", "--report"};
  for (const std::string& word : words) {
    for (const std::string_view verb : kVerbs) {
      if (word == verb) return true;
    }
    for (const std::string_view flag : kFlags) {
      if (word.starts_with(flag)) return true;
    }
  }
  return false;
}

void check_status(int status) {
  std::set<int> known = {0, 1};
  for (int code = 0; code <= static_cast<int>(Code::kTimeout); ++code) {
    known.insert(exit_status(static_cast<Code>(code)));
  }
  require(known.contains(status), "an exit status that no error code has");
}

// With --json every line of stdout is an object.
void check_json(std::string_view text) {
  Input lines(text);
  while (!lines.empty()) {
    const std::string_view line = lines.line();
    require(nlohmann::json::accept(line), "not JSON: " + std::string(line));
  }
}

}  // namespace

void run(Input input) {
  std::vector<std::string> words = {"lockkeeper"};
  const auto verbs = cli::all_verbs();
  const std::uint8_t verb = input.byte();
  if (verb < verbs.size()) words.emplace_back(verbs[verb].name);
  while (!input.empty() && words.size() < 40) {
    const std::string_view line = input.line();
    words.emplace_back(line.substr(0, line.find('\0')));
  }
  const bool parse_only = acts_elsewhere(words);
  if (parse_only) words.insert(words.begin() + (verb < verbs.size() ? 2 : 1), "--help");

  static std::FILE* const kNothing = std::fopen("/dev/null", "r");
  static const TestClock kClock;
  SeededRandom random(1);
  service::Runtime runtime;
  runtime.clock = &kClock;
  runtime.random = &random;
  runtime.env = variable;
  runtime.open_store = [](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
    return fail(Code::kStoreUnavailable, "there is no store");
  };
  runtime.make_service = service::local::make_service;
  const CapturedStream out, err;
  cli::CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = verbs;
  environment.cwd = realm_folder();
  environment.program = "lockkeeper";
  environment.in = kNothing;
  environment.out = out.get();
  environment.err = err.get();
  environment.doctor = [](cli::VerbContext&, cli::Repair) { return 0; };
  environment.mcp = [](cli::VerbContext&, const cli::McpOptions&) { return 0; };
  environment.serve = [](cli::VerbContext&, const cli::ServeOptions&) { return 0; };
  environment.open = [](cli::VerbContext&, const cli::OpenOptions&) { return 0; };
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  check_status(cli::run_cli(static_cast<int>(argv.size()), argv.data(), environment));
  require(is_valid_utf8(out.text()), "stdout is not UTF-8");
  require(is_valid_utf8(err.text()), "stderr is not UTF-8");
  const bool json = words.size() > 2 && words[2] == "--json" && !parse_only;
  const bool help = out.text().starts_with("Examples:") || out.text().starts_with("Locks for");
  if (json && !help) check_json(out.text());
}

}  // namespace lockkeeper::fuzz
