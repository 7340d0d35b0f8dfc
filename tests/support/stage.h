// A fresh git repository in a temporary folder with a home of its own, and the shipped program as
// its agents would call it. Nothing of the caller's environment reaches it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "support/process.h"

namespace lockkeeper::stage {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// A sanitized process takes forty times as long to start. So tests that stop at every place of a
// program stop at every seventh there.
inline constexpr int kPlaceStep = kSanitized ? 7 : 1;

struct Answer {
  int status = -1;
  std::string out;
  std::string err;

  // The one object on stdout; null, and a failed test, if it is not JSON.
  Json json() const;
  // One per line.
  std::vector<Json> lines() const;
  std::string all() const { return out + err; }
  std::uint64_t fence() const { return json()["lease"]["fence"].get<std::uint64_t>(); }
  std::string lease() const { return json()["lease"]["id"].get<std::string>(); }
};

// Does a hub keep the locks of every stage with a repository (LOCKKEEPER_TEST_THROUGH_HUB)?
bool through_hub();

// For a test of something that stays on this machine, or is about a table on it.
#define STAGE_IS_LOCAL(why) \
  if (lockkeeper::stage::through_hub()) GTEST_SKIP() << "not through a hub: " << (why)

// A number of milliseconds that processes which run already are later, too, if they were started
// with the variables. REQUIRES: !kSanitized.
class LaterFile {
 public:
  explicit LaterFile(std::string path);
  void set_ms(std::int64_t ms) const;
  // `boot`: the boot clock, too, by which a client of a hub counts.
  void put_into(std::map<std::string, std::string>& env, bool boot) const;

 private:
  const std::string path_;
};

class Stage {
 public:
  enum class Git { kYes, kNo };
  explicit Stage(Git git = Git::kYes);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The shipped program: that of this build, or the one that LOCKKEEPER_TEST_PROGRAM names.
  static const char* program();
  // The same, if something may be loaded in front of the C library (LD_PRELOAD): the shipped one is
  // linked statically.
  static const char* preloadable();

  std::string repo() const { return path("repo"); }
  std::string store() const { return repo() + "/.git/lockkeeper"; }
  std::string path(const std::string& name) const { return folder_.file(name); }
  // A file of the repository, with the folders above it.
  void file(const std::string& name, const std::string& text = "x\n") const;
  void git(const std::string& in, const Words& words);

  // Everything is started with these variables; a test may change them.
  std::map<std::string, std::string> env;

  // Lets time pass: for all that is started from now on, and for its hub, it is that much later.
  // Not for other processes that run already, nor for the times of files.
  void pass_ms(int ms);

  // Its locks are kept by a hub from now on, on this machine and for this repository. Agents keep
  // their names: the hub asks for no tokens.
  void use_hub();
  // kill -9, and the same again. What it kept is on disk.
  void restart_hub();
  pid_t relay() const;  // 0: none runs

  // For the program with these words, called by `agent` (empty: by nobody in particular).
  Launch launch(const std::string& agent, const Words& words);
  // For any other program.
  Launch command(const Words& argv);
  Process start(const std::string& agent, const Words& words);
  // `run` with a command that goes on until it is killed. Returns when that has begun: what other
  // tools do to its lock from then on, they do to one that is held and shown.
  Process start_holding(const std::string& agent, const std::string& resource,
                        const Words& options = {});
  Answer finish(Launch launch) const;

  // Runs it to its end. `as` names the agent, `json` adds --json.
  Answer as(const std::string& agent, const Words& words);
  Answer json(const std::string& agent, Words words);
  // As `json`, and the exit status must be `status`.
  Answer expect(int status, const std::string& agent, const Words& words);

  Json list();
  std::size_t waiters() { return list()["waiters"].size(); }
  // Until this many requests stand in the queue.
  bool queue_grows_to(std::size_t count);
  // Until a lease of this agent ends later than it did at first: somebody renews it.
  bool renews(const std::string& agent);
  // Stops a process where it keeps nobody out of the store.
  bool stop_outside(const Process& process);

 private:
  int holding_ = 0;
  TestFolder folder_;
  std::unique_ptr<LaterFile> hubs_time_;
  std::unique_ptr<Process> hub_;
  int started_ = 0;
  int passed_ms_ = 0;
};

}  // namespace lockkeeper::stage
