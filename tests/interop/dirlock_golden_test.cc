// Every file and line of a guard, whole, as a person sees them.
#include <gmock/gmock.h>

#include <regex>

#include "interop/dirlock_scene.h"

namespace lockkeeper::stage {
namespace {

class DirLockGolden : public DirLockScene {
 protected:
  // What differs from run to run, named.
  std::string plain(std::string text) const {
    const auto all = [&](const std::string& what, const std::string& by) {
      for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), by);
        at += by.size();
      }
    };
    all(lock(), "LOCKFILE");
    all(physical(stage_.repo()), "REPO");
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    all(std::string("Hostname: ") + host, "Hostname: HOST");
    all(std::string("\"hostname\": \"") + host, "\"hostname\": \"HOST");
    const auto each = [&](const char* pattern, const char* by) {
      text = std::regex_replace(text, std::regex(pattern), by);
    };
    each(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)", "TIME.MS");
    each(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)", "TIME");
    each(R"((PID:? |"pid": )[0-9]+)", "$1PID");
    each(R"(held for [0-9]+s)", "held for Ns");
    each(R"(started [0-9]+s ago)", "started Ns ago");
    each(R"([0-9a-f]{32})", "ID");
    return text;
  }
  void expect(const Answer& answer, int status, const std::string& out, const std::string& err) {
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(plain(answer.out), out);
    EXPECT_EQ(plain(answer.err), err);
  }

  const std::string taken_ =
      "🔒 [LOCK] Acquiring directory lock for REPO...\n"
      "🔒 [LOCK] Lock acquired (PID: PID, time: TIME)\n";
  const std::string released_ = "🔓 [LOCK] Lock released (held for Ns)\n";
};

TEST_F(DirLockGolden, TakenAndReleasedWithTheFileBetween) {
  expect(guarded("cat " + lock(), {"--agents", "auto-advance,product-dev"}), 0,
         taken_ +
             "{\n"
             "  \"pid\": PID,\n"
             "  \"cwd\": \"REPO\",\n"
             "  \"startTime\": \"TIME.MS\",\n"
             "  \"hostname\": \"HOST\",\n"
             "  \"agents\": [\n"
             "    \"auto-advance\",\n"
             "    \"product-dev\"\n"
             "  ]\n"
             "}" +
             released_,
         "");
}

TEST_F(DirLockGolden, Held) {
  write_text(lock(), record(::getpid()));
  expect(guarded("true"), 1, "🔒 [LOCK] Acquiring directory lock for REPO...\n",
         "⚠️  [LOCK] Lock held by PID PID (started Ns ago at TIME)\n"
         "   Agents: auto-advance, implement\n"
         "   Hostname: HOST\n"
         "   Lock file: LOCKFILE\n"
         "   To force-clear: use --stale-timeout 0\n");
  expect(guarded("true", {"-q"}), 1, "", "");
  const Answer json = guarded("true", {"--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.json()["outcome"], "held");
  EXPECT_EQ(json.json()["path"], lock());
  EXPECT_EQ(json.json()["holder"]["pid"], ::getpid());
  EXPECT_EQ(json.json()["holder"]["agents"], (Json{"auto-advance", "implement"}));
  EXPECT_EQ(json.json()["error"]["code"], "held");
}

TEST_F(DirLockGolden, Stale) {
  write_text(lock(), record(1, 25 * kMinute, "another"));
  expect(guarded("true"), 0, taken_ + released_,
         "⚠️  [LOCK] Lock held by PID PID (started 25m ago at TIME)\n"
         "⚠️  [LOCK] Stale lock (>20m) — force-clearing and acquiring\n");
}

TEST_F(DirLockGolden, Dead) {
  write_text(lock(), record(kDead));
  expect(guarded("true"), 0, taken_ + released_,
         "⚠️  [LOCK] Stale lock from crashed process (PID PID is dead) — clearing\n");
}

TEST_F(DirLockGolden, Forced) {
  write_text(lock(), record(::getpid()));
  expect(guarded("true", {"--stale-timeout", "0"}), 0, taken_ + released_,
         "⚠️  [LOCK] Force-clearing lock (--stale-timeout 0)\n");
}

TEST_F(DirLockGolden, Invalid) {
  write_text(lock(), "{\"pid\":");
  make_old(lock());
  expect(guarded("true"), 0, taken_ + released_, "⚠️  [LOCK] Invalid lock file found — removing\n");
}

TEST_F(DirLockGolden, BeingWritten) {
  write_text(lock(), "");
  expect(guarded("true"), 1, "🔒 [LOCK] Acquiring directory lock for REPO...\n",
         "⚠️  [LOCK] Lock file is being written by another process: LOCKFILE\n");
  EXPECT_TRUE(exists(lock()));
}

TEST_F(DirLockGolden, HeldInside) {
  stage_.expect(0, "bob", {"acquire", "src/a.py", "--reason", "JWT"});
  expect(guarded("true"), 1, "🔒 [LOCK] Acquiring directory lock for REPO...\n",
         "⚠️  [LOCK] Lock held by bob (started Ns ago at TIME)\n"
         "   Holds: src/a.py\n"
         "   Reason: \"JWT\"\n"
         "   To end it: lockkeeper break --lease ID --reason WHY\n");
}

TEST_F(DirLockGolden, Lost) {
  const Answer lost = guarded("rm " + lock() + "; exec sleep 600");
  expect(lost, 79, taken_,
         "⚠️  [LOCK] Lock lost: the lock file was removed — stopping the command\n");
}

TEST_F(DirLockGolden, Json) {
  const Json json = guarded("exit 3", {"--json", "--agents", "a"}).json();
  EXPECT_EQ(json["outcome"], "ended");
  EXPECT_EQ(json["path"], lock());
  EXPECT_EQ(json["exit_status"], 3);
  EXPECT_EQ(json["lock"]["cwd"], physical(stage_.repo()));
  EXPECT_EQ(json["lock"]["agents"], Json{"a"});
  EXPECT_GE(json["held_ms"].get<int>(), 0);
}

}  // namespace
}  // namespace lockkeeper::stage
