// Six scenes with real processes of this program on a real store, and a check at the end.
#include "demo/demo_verb.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "demo/demo_check.h"
#include "demo/demo_process.h"

namespace lockkeeper::demo {
namespace {

using Words = std::vector<std::string>;

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

class Demo {
 public:
  explicit Demo(cli::VerbContext& context) : context_(context), out_(context.out()) {}
  ~Demo() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  Result<bool> play() {
    LK_CHECK(set_stage());
    LK_CHECK(grant_and_refusal());
    LK_CHECK(wait_and_handoff());
    LK_CHECK(killed_worker());
    LK_CHECK(deadlock());
    LK_CHECK(crowd());
    return judge();
  }

 private:
  Result<void> set_stage() {
    std::string pattern = std::filesystem::temp_directory_path() / "lockkeeper-demo-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      return fail(errno_error(errno, pattern, Code::kFailed));
    }
    folder_ = pattern;
    repository_ = folder_ + "/shop";
    for (const char* folder : {"src/api", "src/ui", "src/db"}) {
      std::filesystem::create_directories(repository_ + "/" + folder);
    }
    for (const char* file :
         {"src/api/users.py", "src/api/routes.py", "src/ui/Button.tsx", "src/db/schema.sql"}) {
      std::ofstream(repository_ + "/" + file) << "…\n";
    }
    for (const char* name : {"PATH", "LANG", "TMPDIR"}) {
      if (const auto value = context_.runtime().env(name)) {
        environment_.push_back(std::string(name) + "=" + *value);
      }
    }
    environment_.push_back("HOME=" + folder_);
    environment_.push_back("XDG_STATE_HOME=" + folder_ + "/state");
    // A repository for git as for us. So the demo also runs where git is not installed.
    for (const char* folder : {".git/objects", ".git/refs/heads"}) {
      std::filesystem::create_directories(repository_ + "/" + folder);
    }
    std::ofstream(repository_ + "/.git/HEAD") << "ref: refs/heads/main\n";
    out_.line({{"Lockkeeper: several agents, one repository", cli::Style::kBold}});
    out_.line({{"in " + repository_ + ", with the embedded store", cli::Style::kDim}});
    return {};
  }

  void act(const std::string& title) {
    out_.line({});
    out_.line({{std::to_string(++acts_) + ". " + title, cli::Style::kBold}});
  }

  // Long lines are wrapped between words and indented, to fit 80 columns.
  void say_wrapped(const std::string& indent, const std::string& text, cli::Style style) {
    const std::size_t room =
        out_.columns() == 0 ? SIZE_MAX : std::max<std::size_t>(out_.columns(), 40) - 1;
    std::string line = indent;
    bool begun = false;
    std::istringstream words(text);
    for (std::string word; words >> word; begun = true) {
      if (begun && cli::width(line) + 1 + cli::width(word) > room) {
        out_.line({{line, style}});
        line = indent + "  ";
        begun = false;
      }
      line += (begun ? " " : "") + word;
    }
    out_.line({{line, style}});
  }

  // The command as a person would type it, and its output.
  void show(const std::string& agent, const Words& words, const Finished& done) {
    std::string typed = "lockkeeper";
    for (const std::string& word : words) typed += " " + shell_quote(word);
    const cli::Style style = done.exit_status == 0 ? cli::Style::kGreen : cli::Style::kYellow;
    out_.line({{"   " + agent + " $ ", cli::Style::kDim}, {typed}});
    std::istringstream lines(done.output);
    for (std::string line; std::getline(lines, line);) say_wrapped("     ", line, style);
  }

  Result<DemoProcess> begin(const std::string& agent, const Words& words) {
    Words argv{context_.environment().program};
    argv.insert(argv.end(), words.begin(), words.end());
    return start(agent, argv);
  }

  Result<DemoProcess> start(const std::string& agent, const Words& argv) {
    std::vector<std::string> env = environment_;
    env.push_back("LOCKKEEPER_AGENT=" + agent);
    return DemoProcess::start(argv, repository_, env);
  }

  Result<Finished> say(const std::string& agent, const Words& words, int expected) {
    LK_ASSIGN(Finished done, say_quietly(agent, words));
    show(agent, words, done);
    expect(done.exit_status == expected, agent + ": exit status " +
                                             std::to_string(done.exit_status) + ", expected " +
                                             std::to_string(expected));
    return done;
  }

  void expect(bool held, const std::string& otherwise) {
    if (held) return;
    failures_.push_back(otherwise);
    out_.line({{"   unexpected: " + otherwise, cli::Style::kRed}});
  }

  Result<void> grant_and_refusal() {
    act("A grant: a folder, all or nothing with a second file");
    LK_CHECK(
        say("backend", {"acquire", "src/api/", "src/db/schema.sql", "--reason", "JWT login"}, 0));
    act("A refusal that says who, why and until when");
    LK_CHECK(say("frontend", {"acquire", "src/api/users.py", "--reason", "rename a field"}, 75));
    return {};
  }

  Result<void> wait_and_handoff() {
    act("A wait, and the handoff when the holder is done");
    const Words waiting{"acquire", "src/api/users.py", "--wait=10s", "--reason", "rename a field"};
    LK_ASSIGN(DemoProcess waiter, begin("frontend", waiting));
    pause_ms(400);
    LK_CHECK(say("backend", {"release", "--all"}, 0));
    const Finished done = waiter.finish();
    show("frontend", waiting, done);
    expect(done.exit_status == 0, "the waiter was not granted");
    LK_CHECK(say("frontend", {"release", "--all", "--quiet"}, 0));
    return {};
  }

  Result<void> killed_worker() {
    act("A worker is killed with -9: its locks are free at once");
    const Words working{"run", "db:migration-slot", "src/db/", "--", "sleep", "60"};
    LK_ASSIGN(DemoProcess worker, begin("migrator", working));
    pause_ms(300);
    LK_CHECK(say("backend", {"check", "src/db/schema.sql"}, 75));
    const Words waiting{"acquire", "src/db/schema.sql", "--wait=10s"};
    LK_ASSIGN(DemoProcess successor, begin("backend", waiting));
    pause_ms(300);
    const auto killed = std::chrono::steady_clock::now();
    worker.kill();
    out_.line({{"   kill -9 for migrator and its command", cli::Style::kRed}});
    const Finished done = successor.finish();
    const auto took = std::chrono::steady_clock::now() - killed;
    show("backend", waiting, done);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    out_.line({{"     taken over after " + std::to_string(ms) + " ms", cli::Style::kDim}});
    expect(done.exit_status == 0, "the dead worker's lock was not taken over");
    LK_CHECK(say("backend", {"release", "--all", "--quiet"}, 0));
    return {};
  }

  Result<void> deadlock() {
    act("A deadlock is refused before anybody waits forever");
    LK_CHECK(say("backend", {"acquire", "src/api/", "--quiet"}, 0));
    LK_CHECK(say("frontend", {"acquire", "src/ui/", "--quiet"}, 0));
    LK_ASSIGN(DemoProcess waiter, begin("backend", {"acquire", "src/ui/Button.tsx", "--wait=20s"}));
    pause_ms(400);
    LK_CHECK(say("frontend", {"acquire", "src/api/routes.py", "--wait=20s"}, 76));
    LK_CHECK(say("frontend", {"release", "--all", "--quiet"}, 0));
    expect(waiter.finish().exit_status == 0, "the one that waited was not granted");
    LK_CHECK(say("backend", {"release", "--all", "--quiet"}, 0));
    return {};
  }

  // A worker's script: ten times, write to the ledger when the work begins and when it ends.
  std::string work_of(const std::string& name, const std::string& resources) const {
    const std::string mark = "printf '%s\\n' \"B " + name + resources + "\" >>../ledger; " +
                             "sleep 0.02; printf '%s\\n' \"E " + name + "\" >>../ledger";
    return "for i in 1 2 3 4 5 6 7 8 9 10; do " + shell_quote(context_.environment().program) +
           " run --quiet --wait=20s" + resources + " -- sh -c " + shell_quote(mark) + "; done";
  }

  // Four workers, each in its own process, repeatedly lock overlapping scopes and write to a ledger
  // when they begin and end; one of them is killed halfway.
  Result<void> crowd() {
    act("Four workers with overlapping scopes, one of them killed");
    const std::vector<std::pair<std::string, Words>> workers{
        {"api", {"src/api/"}},
        {"types", {"src/**/*.py"}},
        {"buttons", {"src/ui/Button.tsx"}},
        {"users", {"src/api/users.py", "src/ui/"}},
    };
    std::vector<DemoProcess> running;
    for (const auto& [name, scope] : workers) {
      std::string resources;
      for (const std::string& text : scope) resources += " " + shell_quote(text);
      LK_ASSIGN(DemoProcess worker, start(name, {"sh", "-c", work_of(name, resources)}));
      running.push_back(std::move(worker));
      out_.line({{"   " + name, cli::Style::kGreen}, {" works on" + resources, cli::Style::kDim}});
    }
    pause_ms(350);
    running.front().kill();
    out_.line({{"   kill -9 for api", cli::Style::kRed}});
    for (std::size_t i = 1; i < running.size(); ++i) {
      expect(running[i].finish().exit_status == 0, workers[i].first + " did not finish");
    }
    return {};
  }

  Result<bool> judge() {
    act("The history, and the judge");
    LK_ASSIGN(const Finished log, say_quietly("judge", {"log"}));
    std::vector<std::string> lines;
    std::istringstream text(log.output);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    constexpr std::size_t kShown = 12;
    if (lines.size() > kShown) {
      out_.line(
          {{"   … " + std::to_string(lines.size() - kShown) + " earlier lines", cli::Style::kDim}});
      lines.erase(lines.begin(), lines.end() - kShown);
    }
    constexpr std::size_t kDateBytes = 11;  // all events are from today
    for (const std::string& line : lines) {
      out_.line({{"   " + (line.size() > kDateBytes ? line.substr(kDateBytes) : line)}});
    }

    std::ifstream file(folder_ + "/ledger");
    std::stringstream ledger;
    ledger << file.rdbuf();
    LK_ASSIGN(const Verdict worked, check_ledger(ledger.str(), "api"));
    LK_ASSIGN(const std::vector<core::Event> events, history());
    LK_ASSIGN(const Verdict granted, check_history(events));
    out_.line({});
    for (const Verdict* verdict : {&worked, &granted}) {
      for (const std::string& violation : verdict->violations) {
        out_.line({{"   VIOLATION: " + violation, cli::Style::kRed}});
      }
    }
    const bool clean = worked.violations.empty() && granted.violations.empty();
    const bool held = clean && failures_.empty() && worked.holds >= 20 && granted.holds >= 20;
    const std::string counted = std::to_string(granted.holds) + " grants, " +
                                std::to_string(worked.holds) + " pieces of work";
    out_.object({{"held", held},
                 {"grants", granted.holds},
                 {"pieces_of_work", worked.holds},
                 {"violations", worked.violations.size() + granted.violations.size()},
                 {"failures", failures_}});
    out_.line({{held ? "   ✔ " : "   ✘ ", held ? cli::Style::kGreen : cli::Style::kRed},
               {counted + (clean ? ": no two workers ever held the same thing"
                                 : ": two workers held the same thing"),
                cli::Style::kBold}});
    return held;
  }

  Result<Finished> say_quietly(const std::string& agent, const Words& words) {
    LK_ASSIGN(DemoProcess process, begin(agent, words));
    return process.finish();
  }

  Result<std::vector<core::Event>> history() {
    realm::FindRealm find;
    find.explicit_dir = repository_;
    find.env = context_.runtime().env;
    LK_ASSIGN(const realm::Realm realm, realm::find_realm(find));
    LK_ASSIGN(const std::unique_ptr<cli::OpenLocks> open, context_.open(realm));
    return open->locks.log({});
  }

  cli::VerbContext& context_;
  cli::Output& out_;
  std::string folder_;
  std::string repository_;
  std::vector<std::string> environment_;
  std::vector<std::string> failures_;
  int acts_ = 0;
};

}  // namespace

Result<int> demo_verb(cli::VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const bool held, Demo(context).play());
  return held ? 0 : 1;
}

}  // namespace lockkeeper::demo
