#include "support/stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
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
  if (git == Git::kNo) return;
  this->git("repo", {"init", "-q", "."});
  if (through_hub()) use_hub();
}

Stage::~Stage() {
  if (const pid_t pid = relay(); pid > 0) ::kill(pid, SIGKILL);
}

pid_t Stage::relay() const {
  std::error_code none;
  for (const auto& each :
       std::filesystem::directory_iterator(path("state") + "/lockkeeper", none)) {
    if (!each.path().filename().string().starts_with("hub-")) continue;
    const std::string pid = first_line(read_text(each.path().string() + "/relay.lock"));
    if (pid.empty()) continue;
    const bool lives = read_text("/proc/" + pid + "/cmdline").find("relay") != std::string::npos;
    if (lives) return std::atoi(pid.c_str());
  }
  return 0;
}

// For the repository itself: the table is where it would be without, and so are the rules.
void Stage::use_hub() {
  const std::string settings = path("home") + "/.config/lockkeeper";
  std::filesystem::create_directories(settings);
  write_text(settings + "/config.toml", "[realm]\nname = \"app\"\n");
  if (!kSanitized) hubs_time_ = std::make_unique<LaterFile>(path("later"));
  restart_hub();
  env["LOCKKEEPER_SERVER"] = "unix:" + path("hub.sock");
}

void Stage::restart_hub() {
  hub_.reset();
  const std::string socket = path("hub.sock");
  std::filesystem::remove(socket);
  Launch launch = this->launch(
      "", {"serve", "--no-auth", "--listen", "unix:" + socket, "--realm", "app=" + repo()});
  launch.env.erase("LOCKKEEPER_SERVER");
  launch.env.erase("STAGE_LATER_MS");  // the file has it
  if (hubs_time_) {
    launch.argv.front() = preloadable();
    hubs_time_->put_into(launch.env, false);
  }
  hub_ = std::make_unique<Process>(std::move(launch));
  EXPECT_TRUE(eventually([&] { return exists(socket) || !hub_->running(); })) << hub_->err();
}

bool through_hub() {
  static const bool set = std::getenv("LOCKKEEPER_TEST_THROUGH_HUB") != nullptr;
  return set;
}

LaterFile::LaterFile(std::string path) : path_(std::move(path)) {
  set_ms(0);
}

// In place: who reads it has it mapped.
void LaterFile::set_ms(std::int64_t ms) const {
  const Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(::pwrite(file.get(), &ms, sizeof ms, 0), static_cast<ssize_t>(sizeof ms));
}

void LaterFile::put_into(std::map<std::string, std::string>& env, bool boot) const {
  env["LD_PRELOAD"] = LOCKKEEPER_LATER;
  env["STAGE_LATER_FILE"] = path_;
  if (boot) env["STAGE_LATER_BOOT"] = "1";
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
  if (hubs_time_) hubs_time_->set_ms(passed_ms_);
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
