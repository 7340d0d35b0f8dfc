// Compares the result with a naive comparison of everything, over random histories.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "crew/changes/changes_testing.h"

namespace lockkeeper::crew {
namespace {

namespace fs = std::filesystem;

// Every file's kind, executable bit and content, without .git and ignored files.
std::map<std::string, std::string> everything(const std::string& root) {
  std::map<std::string, std::string> found;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    if (it->path().filename() == ".git") it.disable_recursion_pending();
    const std::string path = fs::relative(it->path().parent_path(), root) / it->path().filename();
    if (it->is_symlink()) {
      found[fs::path(path).lexically_normal()] = "link " + fs::read_symlink(it->path()).string();
    } else if (it->is_regular_file() && it->path().extension() != ".o") {
      std::ostringstream content;
      content << std::ifstream(it->path()).rdbuf();
      const bool runs = (it->status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      found[fs::path(path).lexically_normal()] = (runs ? "x " : "- ") + content.str();
    }
  }
  return found;
}

std::set<std::string> naive(const std::map<std::string, std::string>& before,
                            const std::map<std::string, std::string>& after) {
  std::set<std::string> words;
  for (const auto& [path, content] : before) {
    if (!after.contains(path)) {
      words.insert("removed " + path);
    } else if (after.at(path) != content) {
      words.insert("modified " + path);
    }
  }
  for (const auto& [path, content] : after) {
    if (!before.contains(path)) words.insert("added " + path);
  }
  return words;
}

class History {
 public:
  History(unsigned seed, bool git) : random_(seed), git_(git) {
    if (git_) {
      repository_.init("r");
      repository_.write("r/.gitignore", "*.o\n");
    }
    repository_.folder("r");
    for (int i = 0; i < 8; ++i) write(name());
    commit();
    for (int i = 0; i < 4; ++i) step();
  }
  std::string root() const { return repository_.at("r"); }
  const std::set<std::string>& touched() const { return touched_; }
  void forget_touched() { touched_.clear(); }

  void step() {
    const std::string path = name();
    switch (pick(8)) {
      case 0:
      case 1:
        return write(path);
      case 2:
        fs::remove(root() + "/" + path);
        return;
      case 3:
        if (fs::exists(root() + "/" + path)) touch(path);
        return;
      case 4:
        if (exists(path)) ::chmod((root() + "/" + path).c_str(), pick(2) == 0 ? 0644 : 0755);
        touched_.insert(path);
        return;
      case 5:
        fs::remove(root() + "/" + path);
        return repository_.link("to " + std::to_string(++count_), "r/" + path);
      case 6:
        return repository_.write("r/ignored.o", std::to_string(++count_));
      default:
        return commit();
    }
  }

 private:
  std::size_t pick(std::size_t limit) { return random_() % limit; }
  std::string name() {
    const std::vector<std::string> names = {"a", "b", "d/a", "d/b", "d/e/f", "g h", "ü\n", "-n"};
    return names[pick(names.size())];
  }
  bool exists(const std::string& path) const { return fs::is_regular_file(root() + "/" + path); }
  void write(const std::string& path) {
    fs::remove(root() + "/" + path);  // it may be a symlink
    repository_.write("r/" + path, "content " + std::to_string(++count_) + "\n");
  }
  void touch(const std::string& path) {
    touched_.insert(path);
    if (!fs::is_symlink(root() + "/" + path)) {
      fs::last_write_time(root() + "/" + path, fs::file_time_type::clock::now());
    }
  }
  void commit() {
    if (!git_) return;
    repository_.git("r", "add -A");
    repository_.git("r", "commit --allow-empty -m step");
  }

  std::mt19937 random_;
  bool git_;
  int count_ = 0;
  realm::TestRepository repository_;
  std::set<std::string> touched_;
};

class Histories : public testing::TestWithParam<bool> {};

TEST_P(Histories, FindWhatAComparisonOfEverythingFinds) {
  const bool git = GetParam();
  for (int round = 0; round < 12; ++round) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed, git);
    const auto contents_before = everything(history.root());
    const Tree before = tree_of(history.root());
    ASSERT_EQ(before.by_git, git);
    history.forget_touched();
    for (int i = 0; i < 12; ++i) history.step();
    const Tree after = tree_of(history.root());
    const Words list = words_of(changes_between(before, after, history.root()));
    std::set<std::string> found(list.begin(), list.end());
    const std::set<std::string> wanted = naive(contents_before, everything(history.root()));
    if (!git) {
      // Without git, a touched file counts as changed.
      for (const std::string& path : history.touched()) {
        if (!wanted.contains("modified " + path)) found.erase("modified " + path);
      }
      found.erase("added ignored.o");
      found.erase("modified ignored.o");
    }
    EXPECT_EQ(found, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Histories, testing::Bool());

}  // namespace
}  // namespace lockkeeper::crew
