#include "support/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace lockkeeper::stage {
namespace {

Json parsed(const std::string& text, const std::string& err) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  ADD_FAILURE() << "not JSON: " << text << "\nstderr: " << err;
  return {};
}

}  // namespace

Json Answer::json() const {
  return parsed(out, err);
}

std::vector<Json> Answer::lines() const {
  std::vector<Json> list;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) list.push_back(parsed(line, err));
  return list;
}

Stage::Stage(Git git) {
  for (const char* name : {"repo", "home", "state", "words"}) {
    std::filesystem::create_directories(path(name));
  }
  env["HOME"] = path("home");
  env["XDG_STATE_HOME"] = path("state");
  env["USER"] = "tester";
  env["LANG"] = "C.UTF-8";
  env["GIT_CONFIG_NOSYSTEM"] = "1";
  for (const char* name : {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) env[name] = value;
  }
  if (git == Git::kYes) this->git("repo", {"init", "-q", "."});
}

const char* Stage::program() {
  static const char* const named = std::getenv("LOCKKEEPER_TEST_PROGRAM");
  return named != nullptr ? named : LOCKKEEPER_BINARY;
}

const char* Stage::preloadable() {
  return LOCKKEEPER_PRELOADABLE;
}

void Stage::file(const std::string& name, const std::string& text) const {
  const std::string full = repo() + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(full).parent_path());
  write_text(full, text);
}

void Stage::git(const std::string& in, const Words& words) {
  Words argv{
      "git",         "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c",
      "user.name=t", "-c", "user.email=t@example.org"};
  argv.insert(argv.end(), words.begin(), words.end());
  Launch launch = command(argv);
  launch.folder = path(in);
  const Answer done = finish(std::move(launch));
  EXPECT_EQ(done.status, 0) << done.all();
}

void Stage::pass_ms(int ms) {
  if (kSanitized) return pause_ms(ms);  // its library must be the first one
  if (passed_ms_ == 0) {                // what scripts start, too
    env["PATH"] = std::filesystem::path(preloadable()).parent_path().string() + ":" + env["PATH"];
  }
  passed_ms_ += ms;
  env["LD_PRELOAD"] = LOCKKEEPER_LATER;
  env["STAGE_LATER_MS"] = std::to_string(passed_ms_);
}

Launch Stage::command(const Words& argv) {
  Launch launch;
  launch.argv = argv;
  launch.folder = repo();
  launch.env = env;
  const std::string words = path("words/" + std::to_string(++started_));
  launch.out = words + ".out";
  launch.err = words + ".err";
  return launch;
}

Launch Stage::launch(const std::string& agent, const Words& words) {
  Words argv{env.contains("LD_PRELOAD") ? preloadable() : program()};
  argv.insert(argv.end(), words.begin(), words.end());
  Launch launch = command(argv);
  if (!agent.empty()) launch.env["LOCKKEEPER_AGENT"] = agent;
  return launch;
}

Process Stage::start(const std::string& agent, const Words& words) {
  return Process(launch(agent, words));
}

Process Stage::start_holding(const std::string& agent, const std::string& resource,
                             const Words& options) {
  const std::string begun = path("begun-" + std::to_string(++holding_));
  Words words{"run", resource};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", "touch \"$0\"; exec sleep 600", begun});
  Process run = start(agent, words);
  EXPECT_TRUE(eventually([&] { return exists(begun); })) << run.err();
  return run;
}

Answer Stage::finish(Launch launch) const {
  Process process(std::move(launch));
  Answer answer;
  answer.status = process.wait();
  answer.out = process.out();
  answer.err = process.err();
  return answer;
}

Answer Stage::as(const std::string& agent, const Words& words) {
  return finish(launch(agent, words));
}

Answer Stage::json(const std::string& agent, Words words) {
  words.insert(words.begin() + 1, "--json");
  return as(agent, words);
}

Answer Stage::expect(int status, const std::string& agent, const Words& words) {
  Answer answer = json(agent, words);
  std::string text;
  for (const std::string& word : words) text += word + " ";
  EXPECT_EQ(answer.status, status) << agent << ": " << text << "\n" << answer.all();
  return answer;
}

Json Stage::list() {
  return expect(0, "", {"list"}).json();
}

bool Stage::renews(const std::string& agent) {
  const auto end = [&] {
    std::string last;
    const Json all = list();
    for (const Json& lease : all["leases"]) {
      if (lease["agent"] == agent) last = std::max(last, lease["expires_at"].get<std::string>());
    }
    return last;
  };
  const std::string first = end();
  return eventually([&] { return !first.empty() && end() > first; });
}

bool Stage::stop_outside(const Process& process) {
  return eventually([&] {
    process.signal(SIGSTOP);
    if (eventually([&] { return state_of(process.pid()) == 'T'; }) &&
        as("", {"purge"}).status == 0) {
      return true;
    }
    process.signal(SIGCONT);
    return false;
  });
}

bool Stage::queue_grows_to(std::size_t count) {
  return eventually([&] { return waiters() >= count; });
}

}  // namespace lockkeeper::stage
