// Layouts, interleaved. A process of ours is stopped where it is about to take the layouts' lock
// (layouts.lock): what it committed stands, what it shows does not stand yet. Others act there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kHeld = 75;

class LayoutRaces : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(stage_.repo() + "/spec/.locks/files");
    fs::create_directories(stage_.repo() + "/out/locks");
    Launch launch = stage_.command({"true"});
    launch.traced = true;
    Process probe(std::move(launch));
    if (probe.step([](const SystemCall&) { return true; }) == 125) {
      GTEST_SKIP() << "this process may not trace its children";
    }
  }

  void add(const std::string& kind, const std::string& root) {
    stage_.expect(0, "", {"layout", "add", kind, root});
  }

  // Runs it, and `meanwhile` right before it takes the layouts' lock for the first time.
  Answer stopped_at_lock(const std::string& agent, Words words,
                         const std::function<void()>& meanwhile) {
    words.insert(words.begin() + 1, "--json");
    Launch launch = stage_.launch(agent, words);
    launch.traced = true;
    Process process(std::move(launch));
    Answer answer;
    bool done = false;
    answer.status = process.step([&](const SystemCall& call) {
      if (done || call.done || call.name != "flock") return true;
      done = true;
      meanwhile();
      return true;
    });
    EXPECT_TRUE(done) << "it took no lock: " << process.out() << process.err();
    answer.out = process.out();
    answer.err = process.err();
    return answer;
  }

  std::string mkdir_lock(const std::string& name) const {
    return stage_.repo() + "/spec/.locks/files/" + name;
  }
  std::string owner_of(const std::string& name) const {
    return read_text(mkdir_lock(name) + "/owner");
  }
  bool bash_takes(const std::string& name) const { return fs::create_directory(mkdir_lock(name)); }
  void bash_drops(const std::string& name) const { fs::remove_all(mkdir_lock(name)); }

  void workflow_takes(const std::string& file) const {
    write_text(stage_.repo() + "/out/locks/other.lock",
               Json({{"agent", "other"},
                     {"files", {file}},
                     {"locked_at", "2026-01-01T00:00:00Z"},
                     {"expires_at", "2099-01-01T00:00:00Z"}})
                   .dump());
  }

  std::size_t events(const std::string& what) {
    std::size_t count = 0;
    for (const Json& event : stage_.as("", {"log", "--json"}).lines()) {
      if (event.dump().find("\"" + what + "\"") != std::string::npos) ++count;
    }
    return count;
  }

  // Nothing held, nothing shown, nothing half done.
  void expect_nothing_left() {
    stage_.expect(0, "", {"layout", "list"});
    EXPECT_EQ(stage_.list()["leases"].size(), 0U) << stage_.list().dump();
    for (const char* folder : {"/spec/.locks/files", "/spec/.locks", "/out/locks"}) {
      for (const auto& entry : fs::directory_iterator(stage_.repo() + folder)) {
        const std::string name = entry.path().filename();
        EXPECT_TRUE(name == "files" || name == "tasks") << entry.path();
      }
    }
    stage_.expect(0, "", {"doctor"});
  }

  Stage stage_;
};

// What appeared after its lease was gone from the table would be nobody's lock, forever.
TEST_F(LayoutRaces, a_lease_broken_before_it_is_shown_is_not_shown_I5) {
  add("mkdir", "spec");
  add("workflow", "out");
  stopped_at_lock("ann", {"acquire", "a"},
                  [&] { stage_.expect(0, "bob", {"break", "a", "--reason=race"}); });
  EXPECT_FALSE(exists(mkdir_lock("a")));
  expect_nothing_left();
}

// Who looks meanwhile shows it in its stead; that must not look like another's lock, or like
// damage.
TEST_F(LayoutRaces, who_looks_shows_what_another_of_ours_is_about_to_show_I9) {
  add("mkdir", "spec");
  add("workflow", "out");
  const Answer answer = stopped_at_lock("ann", {"acquire", "a"}, [&] {
    stage_.expect(0, "bob", {"layout", "list"});
    EXPECT_TRUE(exists(mkdir_lock("a")));
  });
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  stage_.expect(0, "ann", {"release", "a"});
  expect_nothing_left();
}

// Nobody was told of the grant, so the request is as good as never asked.
TEST_F(LayoutRaces, a_request_id_survives_a_grant_that_was_taken_back_I8) {
  add("mkdir", "spec");
  const Words words{"acquire", "a", "--request-id=one"};
  const Answer answer = stopped_at_lock("ann", words, [&] { EXPECT_TRUE(bash_takes("a")); });
  EXPECT_EQ(answer.status, kHeld) << answer.all();
  bash_drops("a");
  stage_.expect(0, "ann", words);
  stage_.expect(0, "ann", {"release", "a"});
  expect_nothing_left();
}

// Two sessions of one agent write the same words within a second.
TEST_F(LayoutRaces, releasing_does_not_take_away_what_shows_the_next_holder_I1) {
  add("mkdir", "spec");
  bool same = false;
  for (int tries = 0; tries < 50 && !same; ++tries) {
    stage_.env["LOCKKEEPER_SESSION"] = "one";
    stage_.expect(0, "ann", {"acquire", "a"});
    const std::string first = owner_of("a");
    Launch next = stage_.launch("ann", {"acquire", "a"});
    next.env["LOCKKEEPER_SESSION"] = "two";
    stopped_at_lock("ann", {"release", "a"}, [&] {
      EXPECT_EQ(stage_.finish(next).status, 0);
      same = owner_of("a") == first;
    });
    EXPECT_TRUE(exists(mkdir_lock("a"))) << "session two holds it";
    stage_.env["LOCKKEEPER_SESSION"] = "two";
    stage_.expect(0, "ann", {"release", "a"});
  }
  EXPECT_TRUE(same) << "no two in one second";
  expect_nothing_left();
}

// A lease that gives one of its files back no longer shows it, whoever takes it next does.
TEST_F(LayoutRaces, a_part_given_back_shows_its_next_holder_I1) {
  add("mkdir", "spec");
  stage_.expect(0, "ann", {"acquire", "a", "b"});
  stopped_at_lock("ann", {"release", "a"}, [&] { stage_.expect(0, "bob", {"acquire", "a"}); });
  EXPECT_THAT(owner_of("a"), HasSubstr("agent: bob"));
  EXPECT_THAT(owner_of("b"), HasSubstr("agent: ann"));
  stage_.expect(0, "", {"layout", "list"});
  EXPECT_THAT(owner_of("a"), HasSubstr("agent: bob"));
  stage_.expect(0, "bob", {"release", "a"});
  EXPECT_FALSE(exists(mkdir_lock("a")));
  stage_.expect(0, "ann", {"release", "b"});
  expect_nothing_left();
}

// That another tool came later takes nothing away from whoever asks again.
TEST_F(LayoutRaces, asking_again_keeps_a_lease_that_another_tool_overlaps_I5) {
  add("workflow", "out");
  const std::string lease = stage_.expect(0, "ann", {"acquire", "a"}).lease();
  workflow_takes("a");
  EXPECT_EQ(stage_.expect(0, "ann", {"acquire", "a"}).lease(), lease);
  stage_.expect(0, "ann", {"renew", "a"});
  fs::remove(stage_.repo() + "/out/locks/other.lock");
  stage_.expect(0, "ann", {"release", "a"});
  expect_nothing_left();
}

// Layouts are registered at their first use, when others have been waiting for long.
TEST_F(LayoutRaces, a_layout_registered_while_one_waits_shows_its_grant) {
  stage_.expect(0, "bob", {"acquire", "a"});
  Process waiting = stage_.start("ann", {"acquire", "a", "--wait=5m"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  add("mkdir", "spec");
  EXPECT_THAT(owner_of("a"), HasSubstr("agent: bob"));
  stage_.expect(0, "bob", {"release", "a"});
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
  EXPECT_THAT(owner_of("a"), HasSubstr("agent: ann"));
  stage_.expect(0, "ann", {"release", "a"});
  expect_nothing_left();
}

TEST_F(LayoutRaces, a_lease_that_is_over_is_not_shown_again) {
  add("mkdir", "spec");
  stage_.expect(0, "ann", {"acquire", "a", "--ttl=1s"});
  stage_.pass_ms(1'200);
  bash_drops("a");
  stage_.expect(0, "", {"layout", "list"});
  EXPECT_FALSE(exists(mkdir_lock("a")));
  EXPECT_EQ(events("shown_again"), 0U);
  expect_nothing_left();
}

// Each look would find it missing; it is on record once, as what it is.
TEST_F(LayoutRaces, what_another_tool_took_over_is_not_shown_again_and_again) {
  add("mkdir", "spec");
  stage_.expect(0, "ann", {"acquire", "a"});
  bash_drops("a");
  ASSERT_TRUE(bash_takes("a"));
  for (int looks = 0; looks < 3; ++looks) stage_.expect(0, "", {"layout", "list"});
  EXPECT_EQ(events("shown_again"), 0U);
  EXPECT_EQ(events("foreign_conflict"), 1U);
  EXPECT_TRUE(exists(mkdir_lock("a")));
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_TRUE(exists(mkdir_lock("a"))) << "it is another's";
  bash_drops("a");
  expect_nothing_left();
}

// A request id asked again after a crash between the commit and the showing.
TEST_F(LayoutRaces, a_grant_whose_process_died_before_it_was_shown_is_shown_to_who_asks_again_I8) {
  add("mkdir", "spec");
  const Words words{"acquire", "a", "--request-id=one"};
  Launch launch = stage_.launch("ann", words);
  launch.traced = true;
  Process dies(std::move(launch));
  dies.step([](const SystemCall& call) { return call.name != "flock"; });
  EXPECT_FALSE(exists(mkdir_lock("a")));
  stage_.expect(0, "ann", words);
  EXPECT_THAT(owner_of("a"), HasSubstr("agent: ann"));
  stage_.expect(0, "ann", {"release", "a"});
  expect_nothing_left();
}

}  // namespace
}  // namespace lockkeeper::stage
