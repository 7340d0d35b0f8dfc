// The accidents that recovery is for, with real git and real hooks: agent A has written, agent B
// destroys it, and every byte of A's comes back (G2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/clock.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

// What A has made of the repository: a file that git knows, a new one, one with odd bytes.
const std::string kTracked = "int a = 2;  // A's work\n";
const std::string kNew = "int fresh = 1;\n";
const std::string kOdd("\0\xff\r\n odd bytes \x1b[2J", 20);

class Recover : public testing::Test {
 protected:
  Recover() {
    stage_.file("src/a.c", "int a = 1;\n");
    stage_.file("src/other.c", "int other;\n");
    commit("repo");
    at_ = stage_.repo();
  }
  void commit(const std::string& in) {
    stage_.git(in, {"add", "-A"});
    stage_.git(in, {"-c", "user.name=T", "-c", "user.email=t@t", "commit", "-q", "-m", "x"});
  }
  // A worktree beside the repository, in which everything happens from now on.
  void in_a_worktree() {
    stage_.git("repo", {"worktree", "add", "-q", "-b", "side", stage_.path("tree")});
    at_ = stage_.path("tree");
  }
  std::string at(const std::string& name) const { return at_ + "/" + name; }

  Json payload(const std::string& session, const std::string& event) const {
    return {{"session_id", session},
            {"transcript_path", "/t"},
            {"cwd", at_},
            {"hook_event_name", event}};
  }
  // Without the guard of the shell hook: what it would refuse is run all the same.
  void let_everything_pass() {
    stage_.file("lockkeeper.toml", "[hook]\npolicy = \"warn\"\n");
    commit("repo");
  }

  Answer hook(const Json& payload) {
    const std::string file = stage_.path("payload-" + std::to_string(++payloads_));
    std::ofstream(file) << payload.dump();
    Launch launch = stage_.launch("", {"hook", "claude"});
    launch.folder = at_;
    launch.in = file;
    const Answer answer = stage_.finish(launch);
    EXPECT_EQ(answer.status, 0) << answer.all();
    EXPECT_THAT(answer.err, Not(HasSubstr("did not answer in time"))) << payload;
    return answer;
  }
  Json call(const std::string& session, const std::string& tool, const Json& input) const {
    Json json = payload(session, "PreToolUse");
    json["tool_name"] = tool;
    json["tool_input"] = input;
    json["tool_use_id"] = "t" + std::to_string(payloads_);
    return json;
  }
  void end(const std::string& session, const Json& call) {
    Json json = payload(session, "PostToolBatch");
    json["tool_calls"] = {{{"tool_name", call["tool_name"]},
                           {"tool_input", call["tool_input"]},
                           {"tool_use_id", call["tool_use_id"]},
                           {"tool_response", "ok"}}};
    hook(json);
  }
  // An edit tool of that session writes the file.
  void edits(const std::string& session, const std::string& name, const std::string& text) {
    const Json made = call(session, "Write", {{"file_path", at(name)}, {"content", "x"}});
    hook(made);
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::trunc | std::ios::binary) << text;
    end(session, made);
  }
  // A shell command of that session, with its hooks. False: it was refused, and did not run.
  bool shell(const std::string& session, const std::string& command) {
    const Json made = call(session, "Bash", {{"command", command}});
    if (hook(made).out.contains("\"deny\"")) return false;
    Launch launch = stage_.command({"sh", "-c", command});
    launch.folder = at_;
    for (const char* who : {"GIT_AUTHOR", "GIT_COMMITTER"}) {
      launch.env[std::string(who) + "_NAME"] = "T";
      launch.env[std::string(who) + "_EMAIL"] = "t@t";
    }
    const Answer answer = stage_.finish(launch);
    EXPECT_EQ(answer.status, 0) << answer.all();
    end(session, made);
    return true;
  }
  Answer recover(Words words, int status = 0) {
    words.insert(words.begin(), "recover");
    Launch launch = stage_.launch("", words);
    launch.folder = at_;
    const Answer answer = stage_.finish(launch);
    EXPECT_EQ(answer.status, status) << answer.all();
    return answer;
  }
  std::string text(const std::string& name) const { return read_text(at(name)); }

  void a_works() {
    edits("A", "src/a.c", kTracked);
    edits("A", "src/new.c", kNew);
    edits("A", "src/odd.bin", kOdd);
  }
  // Nobody holds anything any more.
  void all_leave() {
    hook(payload("A", "SessionEnd"));
    hook(payload("B", "SessionEnd"));
  }
  // Everything of A's comes back, and A is known as its writer.
  void comes_back(const std::string& changed_by = "B") {
    all_leave();
    const Json json = recover({"--json"}).json();
    for (const auto& [name, wrote] : {std::pair("src/a.c", kTracked), std::pair("src/new.c", kNew),
                                      std::pair("src/odd.bin", kOdd)}) {
      if (text(name) == wrote) continue;  // this accident spared it
      bool listed = false;
      for (const Json& loss : json["lost"]) {
        if (loss["file"] != name || loss["written_by"]["session"] != "A") continue;
        listed = true;
        if (changed_by.empty()) continue;
        EXPECT_TRUE(loss["changed_by"].is_object()) << loss;
        if (!loss["changed_by"].is_object()) continue;
        EXPECT_EQ(loss["changed_by"]["session"], changed_by) << name;
      }
      EXPECT_TRUE(listed) << name << json.dump(1);
      EXPECT_EQ(recover({"show", name}).out, wrote);
      recover({"restore", name});
      EXPECT_EQ(text(name), wrote) << name;
    }
    EXPECT_TRUE(recover({"--session", "A", "--json"}).json()["lost"].empty());
  }

  Stage stage_;
  std::string at_;
  int payloads_ = 0;
};

struct Mishap {
  const char* command;
  bool known = true;  // by its words, so that the guard refuses it
};

class Accident : public Recover, public testing::WithParamInterface<std::tuple<Mishap, bool>> {};

TEST_P(Accident, G2_EveryByteThatAnAgentWroteComesBack) {
  const auto& [mishap, worktree] = GetParam();
  let_everything_pass();
  if (worktree) in_a_worktree();
  a_works();
  EXPECT_TRUE(shell("B", mishap.command));
  comes_back();
}

TEST_P(Accident, G2_WithTheGuardItIsRefusedOrComesBack) {
  const auto& [mishap, worktree] = GetParam();
  if (worktree) in_a_worktree();
  a_works();
  EXPECT_EQ(shell("B", mishap.command), !mishap.known);
  if (mishap.known) {
    EXPECT_EQ(text("src/a.c"), kTracked);
    EXPECT_EQ(text("src/new.c"), kNew);
    EXPECT_EQ(text("src/odd.bin"), kOdd);
  }
  comes_back();
}

constexpr Mishap kMishaps[] = {
    {"git reset -q --hard"},
    {"git checkout -q -- ."},
    {"git clean -qfdx"},
    {"git stash -q -u"},
    {"rm -rf src"},
    {"for f in src/*; do sed -i 's/int/long/; s/odd/even/' $f; done", false},
    {"mv src lib", false},
    {"git add -A && git checkout -q -f HEAD"},
};

std::string accident_name(const testing::TestParamInfo<Accident::ParamType>& info) {
  std::string name;
  for (const char c : std::string(std::get<0>(info.param).command)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name + (std::get<1>(info.param) ? "_worktree" : "");
}

INSTANTIATE_TEST_SUITE_P(Each, Accident,
                         testing::Combine(testing::ValuesIn(kMishaps), testing::Bool()),
                         accident_name);

TEST_F(Recover, G2_WithoutAnyHookOfWhoeverDidIt) {
  a_works();
  fs::remove_all(at("src"));
  comes_back("");
}

TEST_F(Recover, G2_AnEditorThatIsKilledHalfwayLosesNothing) {
  a_works();
  hook(call("B", "Write", {{"file_path", at("src/a.c")}, {"content", "x"}}));
  std::ofstream(at("src/a.c"), std::ios::trunc) << "int a";
  EXPECT_EQ(recover({"show", "src/a.c"}).out, kTracked);
}

TEST_F(Recover, G2_ARemovedWorktreeGivesItsFilesBackElsewhere) {
  in_a_worktree();
  a_works();
  const std::string gone = at("src/a.c");
  stage_.git("repo", {"worktree", "remove", "--force", at_});
  at_ = stage_.repo();
  EXPECT_EQ(recover({"show", gone}).out, kTracked);
  const Answer refused = recover({"restore", gone}, 66);
  EXPECT_THAT(refused.err, HasSubstr("--to"));
  recover({"restore", gone, "--to", stage_.path("back.c")});
  EXPECT_EQ(read_text(stage_.path("back.c")), kTracked);
}

TEST_F(Recover, G2_AStashIsSaidToBeWhose) {
  let_everything_pass();
  a_works();
  EXPECT_TRUE(shell("B", "git stash -q -u"));
  const Json json = recover({"--json"}).json();
  ASSERT_EQ(json["stashes"].size(), 1U) << json.dump(1);
  EXPECT_EQ(json["stashes"][0]["written_by"]["session"], "B");
  EXPECT_EQ(json["stashes"][0]["listed"], true);
  EXPECT_THAT(recover({}).out, AllOf(HasSubstr("session B"), HasSubstr("git stash apply")));
  EXPECT_TRUE(shell("B", "git stash drop -q"));
  EXPECT_EQ(recover({"--json"}).json()["stashes"][0]["listed"], false);
}

TEST_F(Recover, G2_WhatARestoreReplacesIsKeptToo) {
  a_works();
  edits("B", "src/other.c", "B's\n");
  shell("B", "echo overwritten > src/a.c");
  all_leave();
  const Json restored = recover({"restore", "src/a.c", "--json"}).json()["restored"];
  EXPECT_EQ(text("src/a.c"), kTracked);
  const std::string replaced = restored["replaced"];
  EXPECT_EQ(recover({"show", "src/a.c@" + replaced.substr(0, 8)}).out, "overwritten\n");
  EXPECT_EQ(stage_.list()["leases"].size(), 0U) << "the lock is given back";
}

TEST_F(Recover, AFileThatSomebodyHoldsIsNotRestoredInPlace) {
  a_works();
  shell("B", "rm src/a.c");
  all_leave();
  stage_.expect(0, "carol", {"acquire", "src/"});
  const Answer refused = recover({"restore", "src/a.c"}, 75);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("carol"), HasSubstr("--to")));
  EXPECT_FALSE(exists(at("src/a.c")));
  recover({"restore", "src/a.c", "--to", stage_.path("copy.c")});
  EXPECT_EQ(read_text(stage_.path("copy.c")), kTracked);
  const Answer again = recover({"restore", "src/a.c", "--to", stage_.path("copy.c")}, 65);
  EXPECT_THAT(again.err, HasSubstr("exists"));
}

TEST_F(Recover, ARestoreWithoutAVersionTakesOnlyWhatWasLost) {
  edits("A", "src/a.c", "first\n");
  edits("A", "src/a.c", "second\n");
  all_leave();
  const Answer refused = recover({"restore", "src/a.c"}, 66);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("nothing of src/a.c was lost"), HasSubstr("src/a.c@")));
  EXPECT_EQ(text("src/a.c"), "second\n");
  EXPECT_EQ(recover({"show", "src/a.c"}).out, "first\n");
}

TEST_F(Recover, ASecondRestoreTakesNothingBack) {
  a_works();
  shell("B", "echo other > src/a.c");
  all_leave();
  EXPECT_THAT(recover({"restore", "src/a.c"}).out, HasSubstr("what it replaced is version"));
  recover({"restore", "src/a.c"}, 66);
  EXPECT_EQ(text("src/a.c"), kTracked);
}

TEST_F(Recover, WhatGitHasIsNotLost) {
  a_works();
  commit("repo");
  shell("B", "echo b > src/a.c; rm src/new.c");
  EXPECT_TRUE(recover({"--json"}).json()["lost"].empty());
  stage_.git("repo", {"checkout", "-q", "-f", "-b", "side"});
  edits("A", "src/new.c", "on a branch\n");
  commit("repo");
  stage_.git("repo", {"checkout", "-q", "-"});
  EXPECT_TRUE(recover({"--session", "A", "--json"}).json()["lost"].empty());
}

TEST_F(Recover, G2_AMovedRepositoryKeepsItsVersions) {
  STAGE_IS_LOCAL("the hub serves the old place");
  a_works();
  all_leave();
  fs::remove_all(at("src"));
  fs::rename(stage_.repo(), stage_.path("moved"));
  at_ = stage_.path("moved");
  EXPECT_EQ(recover({"--json"}).json()["lost"].size(), 3U);
  recover({"restore", "src/a.c"});
  EXPECT_EQ(text("src/a.c"), kTracked);
}

TEST_F(Recover, G2_OtherWorktreesOfTheSessionAreLookedAt) {
  stage_.git("repo", {"worktree", "add", "-q", "-b", "side", stage_.path("tree")});
  const std::string there = stage_.path("tree") + "/src/a.c";
  const Json made = call("A", "Write", {{"file_path", there}, {"content", "one\n"}});
  hook(made);
  std::ofstream(there, std::ios::trunc) << "one\n";
  end("A", made);
  EXPECT_TRUE(shell("A", "echo two > ../tree/src/a.c"));
  all_leave();
  fs::remove(there);
  EXPECT_EQ(recover({"show", there}).out, "two\n");
}

TEST_F(Recover, WhatIsListedCanBeNarrowed) {
  edits("A-one", "src/a.c", "one\n");
  hook(payload("A-one", "SessionEnd"));
  edits("A-two", "src/other.c", "two\n");
  shell("A-two", "echo three > src/a.c");
  const auto count = [&](Words words) {
    words.emplace_back("--json");
    const Json json = recover(words).json();
    return json[json.contains("lost") ? "lost" : "versions"].size();
  };
  EXPECT_EQ(count({"list", "--session", "A-o"}), 1U);
  EXPECT_EQ(count({"list", "--session", "A-t"}), 0U);
  EXPECT_THAT(recover({"--session", "A-"}, 65).err, HasSubstr("2 sessions begin with"));
  EXPECT_EQ(count({"list", "src/a.c", "--session", "A-one"}), 1U);
  EXPECT_EQ(count({"list", "src/a.c", "--agent", "codex"}), 0U);
  EXPECT_EQ(count({"list", "src/a.c", "--since", "2020-01-17"}), 3U);
  EXPECT_EQ(count({"list", "src/a.c", "--since", "2999-01-17"}), 0U);
  EXPECT_THAT(recover({"list", "src/none.c"}, 66).err, HasSubstr("no version of src/none.c"));
}

TEST_F(Recover, DiffAndShowTellBytesAndSymlinksAsTheyAre) {
  edits("A", "dos.txt", "one\r\n");
  edits("A", "link", "x");
  shell("A", "rm link && ln -s 'odd\nname' link");
  shell("B", "echo two > dos.txt; rm link; ln -s other link");
  EXPECT_THAT(recover({"diff", "dos.txt"}).out, HasSubstr("-one\\x0d\n"));
  EXPECT_THAT(recover({"diff", "link"}).out,
              AllOf(HasSubstr("-symlink to "), HasSubstr("+symlink to other")));
  EXPECT_THAT(recover({"restore", "dos.txt", "--to", stage_.path("no/folder")}, 65).err,
              HasSubstr("mkdir -p"));
}

TEST_F(Recover, ModeAndSymlinkComeBack) {
  edits("A", "tool.sh", "echo\n");
  fs::permissions(at("tool.sh"), fs::perms(0755));
  shell("A", "ln -s tool.sh link && true");
  edits("A", "link2", "x");
  shell("A", "rm link2 && ln -s tool.sh link2");
  shell("B", "rm tool.sh link2");
  all_leave();
  recover({"restore", "tool.sh"});
  struct stat info{};
  ASSERT_EQ(::stat(at("tool.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0755U);
  recover({"restore", "link2"});
  EXPECT_EQ(fs::read_symlink(at("link2")), "tool.sh");
}

TEST_F(Recover, SecretsAndIgnoredFilesAreNamedButNotKept) {
  stage_.file(".gitignore", "*.log\n");
  edits("A", ".env", "PASSWORD=1\n");
  edits("A", "x.log", "ignored\n");
  shell("B", "rm .env x.log");
  const Answer secret = recover({"show", ".env"}, 66);
  EXPECT_THAT(secret.err, AllOf(HasSubstr(".env"), HasSubstr("snapshots.only_hash")));
  const Json json = recover({"--json"}).json();
  std::vector<std::string> contents;
  for (const Json& loss : json["lost"]) contents.push_back(loss["content"]);
  EXPECT_THAT(contents, UnorderedElementsAre("secret", "ignored"));
  for (const auto& entry : fs::recursive_directory_iterator(stage_.store() + "/snapshots")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(read_text(entry.path()).find("PASSWORD"), std::string::npos) << entry.path();
  }
}

TEST_F(Recover, ABreakKeepsWhatTheHolderHadWritten) {
  stage_.expect(0, "ann", {"acquire", "src/other.c"});
  std::ofstream(at("src/other.c")) << "ann's, by hand\n";
  const Json acquired =
      stage_.expect(0, "ann", {"list", "--json"}).json()["leases"][0]["acquired_at"];
  const auto moment = std::chrono::milliseconds(*parse_time(acquired.get<std::string>()) - 5);
  fs::last_write_time(
      at("src/other.c"),
      std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::milliseconds>(moment)));
  stage_.expect(0, "bob", {"break", "src/other.c", "--reason", "hangs"});
  std::ofstream(at("src/other.c")) << "bob's\n";
  EXPECT_EQ(recover({"show", "src/other.c"}).out, "ann's, by hand\n");
  const Json versions = recover({"list", "src/other.c", "--json"}).json()["versions"];
  EXPECT_EQ(versions[0]["why"], "break");
  EXPECT_EQ(versions[0]["written_by"]["agent"], "ann") << "she held it when it changed";
}

TEST_F(Recover, ABreakDoesNotMakeTheHolderTheWriterOfWhatItFound) {
  std::ofstream(at("src/other.c")) << "before ann came\n";
  fs::last_write_time(at("src/other.c"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  stage_.expect(0, "ann", {"acquire", "src/other.c"});
  stage_.expect(0, "bob", {"break", "src/other.c", "--reason", "hangs"});
  const Json versions = recover({"list", "src/other.c", "--json"}).json()["versions"];
  EXPECT_TRUE(versions[0]["written_by"].is_null());
}

TEST_F(Recover, G2_RestoringOneFileKeepsTheOthersThatWereLost) {
  let_everything_pass();
  stage_.file("lockkeeper.toml",
              "[hook]\npolicy = \"warn\"\n[snapshots]\nsize = \"1MiB\"\nfile = \"200KiB\"\n");
  std::mt19937 random(7);
  std::map<std::string, std::string> wrote;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) {
      std::string& bytes = wrote["big" + std::to_string(i)];
      bytes.resize(150U << 10);
      for (char& c : bytes) c = static_cast<char>(random());
      edits("A", "big" + std::to_string(i), bytes);
    }
  }
  hook(payload("A", "Stop"));
  EXPECT_TRUE(shell("B", "rm big*"));
  all_leave();
  EXPECT_EQ(recover({"--session", "A", "--json"}).json()["lost"].size(), 6U);
  for (const auto& [name, bytes] : wrote) {
    recover({"restore", name});
    EXPECT_TRUE(text(name) == bytes) << name;
  }
}

TEST_F(Recover, G2_APersonsWorkThatAnAgentOverwroteIsListed) {
  std::ofstream(at("src/a.c")) << "a person, one hour\n";
  edits("A", "src/a.c", kTracked);
  edits("A", "src/other.c", "int other = 2;\n");
  const Json lost = recover({"--json"}).json()["lost"];
  ASSERT_EQ(lost.size(), 1U) << "git has what was in the other: " << lost.dump(1);
  EXPECT_EQ(lost[0]["file"], "src/a.c");
  EXPECT_TRUE(lost[0]["written_by"].is_null());
  EXPECT_EQ(lost[0]["changed_by"]["session"], "A");
  all_leave();
  recover({"restore", "src/a.c"});
  EXPECT_EQ(text("src/a.c"), "a person, one hour\n");
}

TEST_F(Recover, WhatAnOldCommitOfAnotherBranchHasIsNotLost) {
  Launch old = stage_.command({"git", "commit", "-q", "--allow-empty", "-am", "old"});
  stage_.git("repo", {"checkout", "-q", "-b", "old"});
  std::ofstream(at("src/a.c")) << "old branch\n";
  old.folder = at_;
  for (const char* who : {"GIT_AUTHOR", "GIT_COMMITTER"}) {
    old.env[std::string(who) + "_NAME"] = "T";
    old.env[std::string(who) + "_EMAIL"] = "t@t";
    old.env[std::string(who) + "_DATE"] = "2020-01-01T00:00:00Z";
  }
  ASSERT_EQ(stage_.finish(old).status, 0);
  edits("A", "src/a.c", kTracked);
  stage_.git("repo", {"checkout", "-q", "-f", "-"});
  for (const Json& loss : recover({"--json"}).json()["lost"]) {
    EXPECT_EQ(loss["written_by"]["session"], "A") << loss.dump(1);
  }
}

TEST_F(Recover, G1_G2_AFileThatItsWriterRenamedIsStillItsWriters) {
  edits("A", "src/a.c", kTracked);
  edits("A", "src/new.c", kNew);
  std::ofstream(at("copy.c")) << kNew;  // a person's own copy
  EXPECT_TRUE(shell("A", "mkdir pkg && git mv src/a.c pkg/b.c && mv src/new.c pkg/fresh.c"));
  hook(payload("A", "Stop"));
  EXPECT_TRUE(recover({"--json"}).json()["lost"].empty());
  EXPECT_FALSE(shell("B", "rm -rf pkg"));
  EXPECT_FALSE(shell("B", "git clean -fd"));
  EXPECT_FALSE(shell("B", "git add pkg"));
  EXPECT_TRUE(shell("B", "rm copy.c"));
  fs::remove_all(at("pkg"));
  all_leave();
  for (const auto& [name, wrote] :
       {std::pair("pkg/b.c", kTracked), std::pair("pkg/fresh.c", kNew)}) {
    EXPECT_EQ(recover({"show", name}).out, wrote);
    recover({"restore", name});
    EXPECT_EQ(text(name), wrote);
  }
}

TEST_F(Recover, ALinkThatLeadsElsewhereIsNotReplacedAndToWorks) {
  edits("A", "src/a.c", kTracked);
  all_leave();
  fs::remove(at("src/a.c"));
  fs::create_symlink("/etc/hostname", at("src/a.c"));
  EXPECT_THAT(recover({"restore", "src/a.c"}, 65).err, HasSubstr("--to PATH"));
  recover({"restore", "src/a.c", "--to", "back.c"});
  EXPECT_EQ(text("back.c"), kTracked);
}

TEST_F(Recover, ThatNothingWasLostIsSaidInWords) {
  const Answer fresh = recover({});
  EXPECT_EQ(fresh.out, "");
  EXPECT_THAT(fresh.err, AllOf(HasSubstr("nothing was kept here so far"), HasSubstr("doctor")));
  edits("A", "src/a.c", kTracked);
  const Answer none = recover({});
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("nothing was lost or overwritten"));
  EXPECT_EQ(recover({"--json"}).err, "");
}

TEST_F(Recover, MistakesAreNamed) {
  EXPECT_EQ(recover({"--json"}).json()["lost"].size(), 0U);
  EXPECT_THAT(recover({"show", "src/a.c"}, 66).err, HasSubstr("no version of src/a.c"));
  a_works();
  EXPECT_THAT(recover({"show", "src/a.c@00000000"}, 66).err, HasSubstr("no version"));
  EXPECT_THAT(recover({"--since", "yesterday"}, 65).err, HasSubstr("yesterday"));
  EXPECT_THAT(recover({"shwo", "src/a.c"}, 64).err, HasSubstr("recover list FILE"));
  EXPECT_THAT(recover({"--since", "0"}).out, "");
}

TEST_F(Recover, G2_ADamagedContentIsNeverWritten) {
  a_works();
  shell("B", "rm src/a.c");
  all_leave();
  for (const auto& entry : fs::recursive_directory_iterator(stage_.store() + "/snapshots")) {
    if (entry.path().filename().string().size() != 40) continue;
    std::string bytes = read_text(entry.path());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_text(entry.path(), bytes);
  }
  EXPECT_THAT(recover({"restore", "src/a.c"}, 69).err, HasSubstr("damaged"));
  EXPECT_FALSE(exists(at("src/a.c")));
}

}  // namespace
}  // namespace lockkeeper::stage
