// What we show in another tool's folder never outlives its lease, and is never taken for another
// tool's: the orders in which that once went wrong, for every kind of layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "races/held.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr int kHeld = 75;
// The steps by which an artefact is prepared, published, removed.
const Words kSteps{"mkdirat", "linkat", "unlinkat", "renameat2", "openat"};

struct Kind {
  const char* name;
  Words add;      // layout add
  Words acquire;  // the same thing for everybody
  Words release;
  // For everybody, each in a session of its own: its artefacts have the agent's name.
  std::string agent;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.name;
}

Kind native(const char* name, const std::string& what, const Words& how = {}) {
  const Words add{"layout", "add", name, "root"};
  Words acquire{"acquire", "--json", what};
  acquire.insert(acquire.end(), how.begin(), how.end());
  return {name, add, acquire, {"release", what}, ""};
}

// Leases that are taken through it, as its own tools would take them.
Kind workflow() {
  return {"workflow",
          {"layout", "add", "workflow", "root"},
          {"workflow", "lock", "--json", "--output=root", "--agent=x", "--file=a"},
          {"workflow", "unlock", "--output=root", "--agent=x"},
          ""};
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> all{native("mkdir", "a"),
                        native("dirlock", "d/", {"--attach=" + std::to_string(::getpid())}),
                        native("coordmcp", "a"), workflow()};
  all[2].agent = "same";
  return all;
}

class Leftover : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    fs::create_directories(root());
    fs::create_directories(stage_.repo() + "/d");
    Launch launch = stage_.command({"true"});
    launch.traced = true;
    Process probe(std::move(launch));
    if (probe.step([](const SystemCall&) { return true; }) == 125) {
      GTEST_SKIP() << "this process may not trace its children";
    }
    stage_.expect(0, "", GetParam().add);
    // The folders that an artefact needs; and what another tool's looks like.
    ASSERT_EQ(acquire("setup").status, 0);
    for (const auto& entry : fs::recursive_directory_iterator(root())) {
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.')) {
        theirs_[entry.path()] = as_other(read_text(entry.path()));
      }
    }
    ASSERT_FALSE(theirs_.empty());
    ASSERT_EQ(release("setup").status, 0);
  }

  static std::string as_other(std::string text) {
    const std::string ours = "setup";
    for (std::size_t at = 0; (at = text.find(ours, at)) != std::string::npos;) {
      text.replace(at, ours.size(), "other");
    }
    return text;
  }

  // Another tool takes what the artefacts stand for, and leaves it.
  void other_takes() {
    other_came_ = true;
    for (const auto& [path, text] : theirs_) {
      fs::create_directories(fs::path(path).parent_path());
      write_text(path, text);
    }
  }
  void other_leaves() const {
    for (const auto& [path, text] : theirs_) {
      if (!path.ends_with(".json")) {
        if (read_text(path) != text) continue;
        fs::remove_all(path.ends_with("/owner") ? fs::path(path).parent_path() : fs::path(path));
        continue;
      }
      Json json = Json::parse(read_text(path), nullptr, false);
      Json& locks = json.contains("locks") ? json["locks"] : json;
      for (auto at = locks.begin(); at != locks.end();) {
        const bool theirs = at->dump().find("other") != std::string::npos;
        at = theirs ? locks.erase(at) : std::next(at);
      }
      write_text(path, json.dump());
    }
  }

  std::string root() const { return stage_.repo() + "/root"; }
  bool is_native() const { return GetParam().acquire.front() == "acquire"; }
  std::string what() const { return is_native() ? GetParam().acquire[2] : "a"; }

  // Each has a session of its own.
  Launch launch(const std::string& who, const Words& words) {
    Launch launch = stage_.launch(GetParam().agent.empty() ? who : GetParam().agent, words);
    launch.env["LOCKKEEPER_SESSION"] = who;
    return launch;
  }
  Launch acquiring(const std::string& agent) { return launch(agent, GetParam().acquire); }
  Answer acquire(const std::string& agent) { return stage_.finish(acquiring(agent)); }
  Answer release(const std::string& agent) {
    return stage_.finish(launch(agent, GetParam().release));
  }
  Launch looking() { return launch("looker", {"layout", "list", "--json"}); }

  // Lock folders and files below the root, and entries of shared files; what begins with a dot is
  // a step under way.
  std::vector<std::string> shown() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root())) {
      const std::string path = entry.path();
      if (path.find("/.", root().size()) != std::string::npos &&
          path.find("/.locks/files/") == std::string::npos) {
        continue;
      }
      if (path.ends_with(".json")) {
        const Json json = Json::parse(read_text(path), nullptr, false);
        const Json& locks = json.contains("locks") ? json["locks"] : json;
        for (const auto& [key, value] : locks.items()) {
          if (value.is_object()) found.push_back(path + "#" + key);
        }
      } else if (path.ends_with(".lock") || path.find("/files/") != std::string::npos) {
        found.push_back(path);
      }
    }
    return found;
  }
  // Another tool takes them away.
  void remove_shown() const {
    for (const std::string& path : shown()) fs::remove_all(path.substr(0, path.find('#')));
  }

  // A file that holds many locks is read again where it has changed and is not young.
  void touch_shared_files() const {
    for (const auto& [path, text] : theirs_) {
      if (!path.ends_with(".json") || !exists(path)) continue;
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(1));
    }
  }

  std::string events() { return stage_.as("", {"log"}).out; }

  // Whoever holds it is shown, and when nobody does nothing is left: not on the disk, not in the
  // table. Nobody ever took ours for another's.
  void expect_clean() {
    stage_.expect(0, "", {"layout", "list"});
    EXPECT_THAT(shown(), IsEmpty()) << events();
    EXPECT_EQ(stage_.list()["leases"].size(), 0U) << stage_.list().dump(1) << events();
    if (!other_came_) {
      EXPECT_EQ(events().find("foreign"), std::string::npos) << "ours, taken for another's";
    }
    stage_.expect(0, "", {"doctor"});
    EXPECT_EQ(acquire("eve").status, 0) << events();
    EXPECT_FALSE(shown().empty()) << events();
    EXPECT_EQ(release("eve").status, 0);
    EXPECT_THAT(shown(), IsEmpty()) << events();
  }

  Stage stage_;
  std::map<std::string, std::string> theirs_;  // path, content
  bool other_came_ = false;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Leftover, ::testing::ValuesIn(all_kinds()),
                         [](const auto& of) { return std::string(of.param.name); });

// Somebody who looks has decided to show ann's lease again. Before it does so ann releases, and bob
// is granted the same: what appears is ann's, or bob's, and in either case the table knows whose.
TEST_P(Leftover, A15_shown_again_while_its_lease_ends_and_another_is_granted) {
  if (!is_native()) GTEST_SKIP() << "without its artefact such a lease ends";
  for (int step = 1; step <= 2; ++step) {
    ASSERT_EQ(acquire("ann").status, 0);
    remove_shown();
    Held looker(looking(), nth_after_lock(kSteps, step));
    if (!looker.stands()) {
      EXPECT_GT(step, 1) << "it showed nothing again: " << events();
      EXPECT_EQ(release("ann").status, 0);
      break;
    }
    EXPECT_EQ(release("ann").status, 0);
    Held bob(acquiring("bob"), at_lock());
    EXPECT_TRUE(bob.stands()) << bob.go_on().all();
    EXPECT_EQ(looker.go_on().status, 0) << looker.go_on().all();
    EXPECT_EQ(bob.go_on().status, 0) << bob.go_on().all() << events();
    EXPECT_FALSE(shown().empty());
    EXPECT_EQ(release("bob").status, 0);
    expect_clean();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

// Somebody who looks is about to show ann's new lease in her stead. It is broken before that, and
// bob is granted the same.
TEST_P(Leftover, A15_shown_in_its_stead_while_its_lease_is_broken_and_another_is_granted) {
  for (int step = 1; step <= 2; ++step) {
    Held ann(acquiring("ann"), at_lock());
    ASSERT_TRUE(ann.stands()) << ann.go_on().all();
    touch_shared_files();
    Held looker(looking(), nth_after_lock(kSteps, step));
    if (!looker.stands()) {
      EXPECT_GT(step, 1) << "it showed nothing: " << events();
      EXPECT_EQ(ann.go_on().status, 0) << ann.go_on().all();
      EXPECT_EQ(release("ann").status, 0);
      break;
    }
    stage_.expect(0, "boss", {"break", what(), "--reason=race"});
    Held bob(acquiring("bob"), at_lock());
    EXPECT_TRUE(bob.stands()) << bob.go_on().all();
    EXPECT_EQ(looker.go_on().status, 0) << looker.go_on().all();
    static_cast<void>(ann.go_on());
    EXPECT_EQ(bob.go_on().status, 0) << bob.go_on().all() << events();
    EXPECT_FALSE(shown().empty());
    EXPECT_EQ(release("bob").status, 0);
    expect_clean();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

// Another tool was first, so ann's grant is taken back. Before that is done the other tool leaves,
// and somebody who looks shows ann's lease in her stead: what she prepared is hers no more.
TEST_P(Leftover, A15_taken_back_while_somebody_shows_it_in_its_stead) {
  const Words removing{"unlinkat", "renameat2"};
  for (int step = 1; step <= 5; ++step) {
    bool taken = false;
    Held ann(acquiring("ann"), [&, here = nth_after_lock(removing, step)](const SystemCall& call) {
      if (call.name == "flock" && !std::exchange(taken, true)) other_takes();
      return here(call);
    });
    if (!ann.stands()) {
      EXPECT_EQ(ann.go_on().status, kHeld) << ann.go_on().all();
      EXPECT_GT(step, 1) << "there is nothing that it takes back";
      other_leaves();
      break;
    }
    other_leaves();
    Held looker(looking(), nth_after_lock({"renameat2"}, 1));
    ann.go_on_to(nth(removing, 2));
    EXPECT_EQ(looker.go_on().status, 0) << looker.go_on().all();
    const Answer answer = ann.go_on();
    ASSERT_THAT(answer.status, ::testing::AnyOf(0, kHeld)) << answer.all() << events();
    if (answer.status == 0) {
      EXPECT_FALSE(shown().empty()) << events();
      EXPECT_EQ(release("ann").status, 0);
    }
    expect_clean();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::stage
