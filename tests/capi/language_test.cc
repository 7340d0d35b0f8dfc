// The shared library as other languages load it, and the examples in those languages.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSource = LOCKKEEPER_SOURCE_DIR;
const std::string kLibrary = LOCKKEEPER_C_LIBRARY;

class Language : public testing::Test {
 protected:
  Language() {
    stage_.env["LOCKKEEPER_LIBRARY"] = kLibrary;
    stage_.env["NODE_PATH"] = LOCKKEEPER_NODE_MODULES;
    stage_.env["PYTHONDONTWRITEBYTECODE"] = "1";
    stage_.env["PYTHONPATH"] = kSource + "/examples/python";
  }

  std::string shell(const std::string& script) {
    const Answer answer = stage_.finish(stage_.command({"sh", "-c", script}));
    EXPECT_EQ(answer.status, 0) << script << "\n" << answer.all();
    return answer.out;
  }

  bool works(const std::string& script) {
    return stage_.finish(stage_.command({"sh", "-c", script})).status == 0;
  }
  bool has_python() { return works("python3 -c 'import ctypes'"); }
  bool has_node() { return works("node -e 'require(\"koffi\")'"); }

  // A program that checks the module of its language, and says "ok".
  void expect_ok(const Words& argv) {
    stage_.expect(0, "ann", {"acquire", "taken", "--reason", "a rewrite"});
    Launch launch = stage_.command(argv);
    launch.env["LOCKKEEPER"] = Stage::program();
    const Answer answer = stage_.finish(std::move(launch));
    EXPECT_EQ(answer.status, 0) << answer.all();
    EXPECT_EQ(answer.out, "ok\n");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(stage_.list()["leases"].size(), 1U) << "only ann's is left";
  }

  Stage stage_;
};

TEST_F(Language, TheLibraryExportsWhatTheHeaderDeclaresAndNothingElse) {
  std::set<std::string> exported;
  std::istringstream symbols(shell("nm -D --defined-only " + kLibrary));
  for (std::string address, type, name; symbols >> address >> type >> name;) {
    if (type != "A") exported.insert(name);
  }
  std::set<std::string> declared;
  const std::string header = read_text(kSource + "/include/lockkeeper.h");
  static const std::regex kFunction(R"((lockkeeper_[a-z_]+)\()");
  for (std::sregex_iterator at(header.begin(), header.end(), kFunction), end; at != end; ++at) {
    declared.insert((*at)[1].str() + "@@LOCKKEEPER_0.2");
  }
  EXPECT_EQ(exported, declared);
}

TEST_F(Language, TheLibraryNeedsTheCLibraryAndLmdbAlone) {
  const std::string dynamic = shell("readelf -d " + kLibrary);
  EXPECT_THAT(dynamic, HasSubstr("[liblockkeeper.so.0]"));
  EXPECT_THAT(dynamic, HasSubstr("NODELETE"));
  EXPECT_THAT(dynamic, Not(HasSubstr("TEXTREL")));
  for (const char* const inside : {"libstdc++", "libgcc_s", "libutf8proc", "libnettle"}) {
    EXPECT_THAT(dynamic, Not(HasSubstr(inside)));
  }
}

TEST_F(Language, I1_TheExamplesCountInOneFile) {
  std::vector<Words> programs = {{LOCKKEEPER_C_COUNTER, "count", "10"}};
  if (has_python()) {
    programs.push_back({"python3", kSource + "/examples/python/counter.py", "count", "10"});
  }
  if (has_node()) {
    programs.push_back({"node", kSource + "/examples/node/counter.js", "count", "10"});
  }
  stage_.file("count", "0\n");
  std::vector<Process> crowd;
  for (const Words& argv : programs) {
    for (int twice = 0; twice < 2; ++twice) crowd.emplace_back(stage_.command(argv));
  }
  for (Process& one : crowd) EXPECT_EQ(one.wait(), 0) << one.err();
  EXPECT_EQ(read_text(stage_.repo() + "/count"), std::to_string(crowd.size() * 10) + "\n");
}

TEST_F(Language, PythonHasTheWholeApi) {
  if (!has_python()) GTEST_SKIP() << "no python3 with ctypes";
  expect_ok({"python3", kSource + "/tests/capi/python_test.py"});
}

TEST_F(Language, NodeHasTheWholeApi) {
  if (!has_node()) {
    GTEST_SKIP() << "no node, or no koffi; to have it: npm install --ignore-scripts --prefix "
                    "build/example-node koffi@3.3.4";
  }
  stage_.env["LOCKKEEPER_MODULE"] = kSource + "/examples/node/lockkeeper.js";
  expect_ok({"node", kSource + "/tests/capi/node_test.js"});
}

}  // namespace
}  // namespace lockkeeper::stage
