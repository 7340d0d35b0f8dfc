// Layouts that are removed and added while others work: what shows our leases is never left behind
// in a layout that is gone, and another tool's lock there counts for nobody any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "races/held.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

// The steps at which others may come in between.
const Words kCalls{"openat",   "flock",     "fcntl lock", "mkdirat", "linkat",
                   "unlinkat", "renameat2", "fdatasync",  "pwrite64"};
constexpr int kStride = 5;  // a command has 30 to 100 of them

class RegistryRaces : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::create_directories(root());
    Launch launch = stage_.command({"true"});
    launch.traced = true;
    Process probe(std::move(launch));
    if (probe.step([](const SystemCall&) { return true; }) == 125) {
      GTEST_SKIP() << "this process may not trace its children";
    }
    add();
    // What every process finds there: the store, the folders.
    stage_.expect(0, "ann", {"acquire", "a"});
    stage_.expect(0, "ann", {"release", "a"});
  }

  std::string root() const { return stage_.repo() + "/root"; }
  void add() { id_ = stage_.expect(0, "", {"layout", "add", GetParam(), "root"}).json()["added"]; }
  // Removes the layout while another process is held. If that one is in the middle of a commit,
  // the removal waits for it.
  Process removing() {
    Process remover = stage_.start("", {"layout", "remove", id_});
    for (int looks = 0; looks < 40 && remover.running(); ++looks) pause_ms(5);
    return remover;
  }

  // Locks that other tools would see.
  std::vector<std::string> shown() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root())) {
      const std::string path = entry.path();
      const std::string name = entry.path().filename();
      const bool under_way = path.find("/.prepared-") != std::string::npos ||
                             path.find("/.removed-") != std::string::npos;
      if (name.starts_with('.') || under_way) continue;
      if (path.ends_with(".json")) {
        const Json json = Json::parse(read_text(path), nullptr, false);
        const Json locks = json.value("locks", Json::object());
        for (const auto& [key, value] : locks.items()) found.push_back(path + "#" + key);
      } else if (path.ends_with(".lock") || path.ends_with("/owner")) {
        found.push_back(path);
      }
    }
    return found;
  }

  void expect_nothing_left() {
    stage_.expect(0, "", {"layout", "list"});
    EXPECT_THAT(shown(), IsEmpty()) << stage_.as("", {"log"}).out;
    EXPECT_EQ(stage_.list()["leases"].size(), 0U) << stage_.list().dump(1);
    stage_.expect(0, "", {"doctor"});
  }

  Stage stage_;
  std::string id_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, RegistryRaces, ::testing::Values("mkdir", "workflow", "coordmcp"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(RegistryRaces, A17_removed_while_one_acquires) {
  for (int step = 1;; step += kStride) {
    Held ann(stage_.launch("ann", {"acquire", "a"}), nth(kCalls, step));
    if (!ann.stands()) {
      EXPECT_GT(step, 10) << "it was never held: " << ann.go_on().all();
      break;
    }
    Process remover = removing();
    EXPECT_EQ(ann.go_on().status, 0) << ann.go_on().all();
    EXPECT_EQ(remover.wait(), 0) << remover.err();
    EXPECT_THAT(shown(), IsEmpty()) << "the layout is gone";
    add();
    EXPECT_FALSE(shown().empty()) << "ann holds it";
    stage_.expect(0, "ann", {"release", "a"});
    expect_nothing_left();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

TEST_P(RegistryRaces, A17_removed_and_added_while_one_releases) {
  for (int step = 1;; step += kStride) {
    stage_.expect(0, "ann", {"acquire", "a"});
    Held ann(stage_.launch("ann", {"release", "a"}), nth(kCalls, step));
    if (!ann.stands()) {
      EXPECT_GT(step, 10) << "it was never held: " << ann.go_on().all();
      break;
    }
    Process remover = removing();
    if (!remover.running()) add();
    EXPECT_EQ(ann.go_on().status, 0) << ann.go_on().all();
    EXPECT_EQ(remover.wait(), 0) << remover.err();
    add();
    expect_nothing_left();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

// Somebody who looks has read another tool's lock before the layout is removed.
TEST_P(RegistryRaces, A17_what_was_seen_in_a_removed_layout_blocks_nobody) {
  if (std::string(GetParam()) != "mkdir") GTEST_SKIP() << "one kind is enough";
  for (int step = 1;; step += kStride) {
    const std::string lock = root() + "/.locks/files/b";
    fs::create_directories(lock);
    Held looker(stage_.launch("looker", {"layout", "list"}), nth(kCalls, step));
    if (!looker.stands()) {
      EXPECT_GT(step, 10) << "it was never held: " << looker.go_on().all();
      break;
    }
    Process remover = removing();
    static_cast<void>(looker.go_on());
    EXPECT_EQ(remover.wait(), 0) << remover.err();
    stage_.expect(0, "ann", {"acquire", "b"});
    stage_.expect(0, "ann", {"release", "b"});
    fs::remove_all(lock);
    add();
    expect_nothing_left();
    if (HasFailure()) {
      ADD_FAILURE() << "held at step " << step;
      return;
    }
  }
}

// An artefact that an older version has left is recognised by the history.
TEST_P(RegistryRaces, A17_a_leftover_of_ours_is_recognised) {
  if (std::string(GetParam()) == "coordmcp") GTEST_SKIP() << "its ghosts are known already";
  stage_.expect(0, "ann", {"acquire", "a"});
  const fs::path copy = stage_.path("copy");
  fs::copy(root(), copy, fs::copy_options::recursive);
  stage_.pass_ms(2'100);  // shorter ones could be another tool's of the same second
  stage_.expect(0, "ann", {"release", "a"});
  fs::copy(copy, root(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  stage_.expect(75, "bob", {"acquire", "a"});
  const Answer told = stage_.json("", {"doctor"});
  EXPECT_NE(told.status, 0);
  EXPECT_NE(told.out.find("was left by lease"), std::string::npos) << told.all();
  stage_.expect(0, "", {"layout", "list"});
  stage_.expect(0, "bob", {"acquire", "a"});
  stage_.expect(0, "bob", {"release", "a"});
  expect_nothing_left();
}

}  // namespace
}  // namespace lockkeeper::stage
