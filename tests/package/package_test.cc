// `cmake --install` into a fresh prefix, and a program of somebody else's built against it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "realm/config.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

const std::string kSource = LOCKKEEPER_SOURCE_DIR;

class Package : public testing::Test {
 protected:
  Package() {
    // What a stranger builds does not come out of our cache.
    stage_.env["CCACHE_DISABLE"] = "1";
    install();
  }

  std::string prefix(const std::string& below = "") const { return stage_.path("prefix") + below; }

  Answer run(const Words& argv, int status = 0) {
    Answer answer = stage_.finish(stage_.command(argv));
    std::string text;
    for (const std::string& word : argv) text += word + " ";
    EXPECT_EQ(answer.status, status) << text << "\n" << answer.all();
    return answer;
  }

  void install() {
    run({LOCKKEEPER_CMAKE, "--install", LOCKKEEPER_BUILD_DIR, "--prefix", prefix()});
  }

  // The examples, by a compiler, into a folder of their own, which it gives.
  std::string examples(const std::string& compiler, const std::string& name) {
    const std::string build = stage_.path(name);
    run({LOCKKEEPER_CMAKE, "-G", "Ninja", "-S", kSource + "/examples/embed", "-B", build,
         "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_STANDARD=20", "-DCMAKE_CXX_EXTENSIONS=OFF",
         "-DCMAKE_CXX_COMPILER=" + compiler, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror",
         "-DCMAKE_PREFIX_PATH=" + prefix()});
    run({LOCKKEEPER_CMAKE, "--build", build});
    return build;
  }

  // A program that uses the C API, with pkg-config alone.
  std::string by_hand(const std::string& compiler, const std::string& source,
                      const std::string& name) {
    stage_.env["PKG_CONFIG_PATH"] = prefix("/lib/pkgconfig");
    stage_.env["LD_LIBRARY_PATH"] = prefix("/lib");
    const std::string program = stage_.path(name);
    run({"sh", "-c",
         compiler + " -Wall -Wextra -Wpedantic -Werror " + source + " -o " + program +
             " $(pkg-config --cflags --libs lockkeeper-c)"});
    return program;
  }

  void expect_counts(const std::string& program) {
    stage_.file("count", "0\n");
    std::vector<Process> crowd;
    for (int i = 0; i < 3; ++i) crowd.emplace_back(stage_.command({program, "count", "10"}));
    for (Process& one : crowd) EXPECT_EQ(one.wait(), 0) << one.err();
    EXPECT_EQ(read_text(stage_.repo() + "/count"), "30\n");
  }

  Stage stage_;
};

TEST_F(Package, HasTheProgramTheLibraryPagesAndCompletions) {
  EXPECT_EQ(run({prefix("/bin/lockkeeper"), "--version"}).out,
            run({prefix("/bin/lk"), "--version"}).out);
  for (const char* header :
       {"acquire", "answer", "error", "guard", "lease", "lockkeeper", "memory", "query", "realm"}) {
    EXPECT_TRUE(exists(prefix("/include/lockkeeper/") + header + ".h")) << header;
  }
  for (const char* of_c :
       {"/include/lockkeeper.h", "/include/lockkeeper/c_types.h", "/lib/liblockkeeper.so",
        "/lib/liblockkeeper.so.0", "/lib/pkgconfig/lockkeeper-c.pc"}) {
    EXPECT_TRUE(exists(prefix(of_c))) << of_c;
  }
  for (const char* file :
       {"/share/man/man1/lockkeeper.1", "/share/man/man1/lockkeeper-acquire.1",
        "/share/man/man1/lockkeeper-demo.1", "/share/man/man5/lockkeeper.toml.5",
        "/share/bash-completion/completions/lockkeeper", "/share/bash-completion/completions/lk",
        "/share/zsh/site-functions/_lockkeeper", "/share/fish/vendor_completions.d/lockkeeper.fish",
        "/share/fish/vendor_completions.d/lk.fish",
        "/share/lockkeeper/schemas/work-packages.schema.json"}) {
    EXPECT_FALSE(read_text(prefix(file)).empty()) << file;
  }
  // One page per verb that the program has.
  std::size_t verbs = 0;
  std::istringstream help(run({prefix("/bin/lockkeeper"), "--help"}).out);
  bool listing = false;
  for (std::string line; std::getline(help, line);) {
    if (line.empty()) listing = false;
    if (listing) {
      ++verbs;
      std::string verb = line.substr(2, line.find(' ', 2) - 2);
      EXPECT_TRUE(exists(prefix("/share/man/man1/lockkeeper-" + verb + ".1"))) << verb;
    }
    if (line.ends_with(':') && !line.starts_with(' ')) listing = true;  // a group of verbs
  }
  EXPECT_GE(verbs, 13U);
}

TEST_F(Package, NamesNoFolderOfTheBuild) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix())) {
    if (!entry.is_regular_file() || entry.path().extension() == ".a") continue;
    if (entry.path().parent_path().filename() == "bin") continue;
    EXPECT_EQ(read_text(entry.path()).find(LOCKKEEPER_BUILD_DIR), std::string::npos)
        << entry.path();
  }
}

TEST_F(Package, RespectsDestdir) {
  stage_.env["DESTDIR"] = stage_.path("staging");
  run({LOCKKEEPER_CMAKE, "--install", LOCKKEEPER_BUILD_DIR, "--prefix", "/opt/lockkeeper"});
  EXPECT_TRUE(exists(stage_.path("staging/opt/lockkeeper/bin/lockkeeper")));
}

TEST_F(Package, I1_TheExamplesAreBuiltWithFindPackageAndRun) {
  const std::string built = examples(LOCKKEEPER_CXX, "examples");
  expect_counts(built + "/counter");
  EXPECT_EQ(run({built + "/in_memory"}).out, "ok\n");
  stage_.expect(0, "ann", {"acquire", "a.py", "--reason", "a rewrite"});
  EXPECT_EQ(run({built + "/questions", "a.py"}).out,
            "a.py is held\n  ann holds a.py: a rewrite\n1 leases, 0 waiters\n");
  run({built + "/questions", "a.py", "taking over"});
  EXPECT_EQ(run({built + "/questions", "a.py"}).out, "a.py is free\n0 leases, 0 waiters\n");
}

TEST_F(Package, TheExamplesAreBuiltByClangToo) {
  const std::string clang = LOCKKEEPER_CLANG_CXX;
  if (clang.empty()) GTEST_SKIP() << "no clang++";
  expect_counts(examples(clang, "examples-clang") + "/counter");
}

TEST_F(Package, TheLibraryWorksInsideASharedObject) {
  stage_.env["PKG_CONFIG_PATH"] = prefix("/lib/pkgconfig");
  const std::string plugin = stage_.path("plugin.so");
  run({"sh", "-c",
       std::string(LOCKKEEPER_CXX) + " -std=c++20 -shared -fPIC -Wl,-z,text,-z,defs " + kSource +
           "/examples/embed/plugin.cc -o " + plugin + " $(pkg-config --cflags --libs lockkeeper)"});
  write_text(stage_.path("host.cc"), R"(#include <dlfcn.h>
int main(int, char** argv) {
  void* const plugin = ::dlopen(argv[1], RTLD_NOW);
  if (plugin == nullptr) return 100;
  return reinterpret_cast<int (*)(const char*)>(::dlsym(plugin, "lock_and_release"))(argv[2]);
})");
  const std::string host = stage_.path("host");
  run({LOCKKEEPER_CXX, stage_.path("host.cc"), "-o", host, "-ldl"});
  run({host, plugin, "a.py"});
  stage_.expect(0, "ann", {"acquire", "a.py"});
  run({host, plugin, "a.py"}, static_cast<int>(Code::kHeld) + 1);
}

TEST_F(Package, TheExampleIsBuiltByHandWithPkgConfig) {
  stage_.env["PKG_CONFIG_PATH"] = prefix("/lib/pkgconfig");
  const std::string program = stage_.path("by-hand");
  run({"sh", "-c",
       std::string(LOCKKEEPER_CXX) + " -std=c++20 -Wall -Wextra -Werror " + kSource +
           "/examples/embed/counter.cc -o " + program +
           " $(pkg-config --cflags --libs lockkeeper)"});
  expect_counts(program);
}

TEST_F(Package, I1_TheExampleInCIsBuiltWithFindPackageAndByHand) {
  // Nothing of C++ is looked for, nor LMDB.
  run({LOCKKEEPER_CMAKE, "-G", "Ninja", "-S", kSource + "/examples/c", "-B", stage_.path("c"),
       "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror", "-DCMAKE_PREFIX_PATH=" + prefix(),
       "-DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON", "-DCMAKE_C_EXTENSIONS=OFF"});
  run({LOCKKEEPER_CMAKE, "--build", stage_.path("c")});
  expect_counts(stage_.path("c/counter"));
  expect_counts(by_hand("cc -std=c11", kSource + "/examples/c/counter.c", "c11"));
  // The header is C++ too.
  write_text(stage_.path("version.cc"), R"(#include <lockkeeper.h>
#include <cstdio>
int main() { std::puts(lockkeeper_version()); })");
  const Answer version = run(
      {by_hand(std::string(LOCKKEEPER_CXX) + " -std=c++11", stage_.path("version.cc"), "cc11")});
  EXPECT_EQ("lockkeeper " + version.out, run({prefix("/bin/lockkeeper"), "--version"}).out);
}

// What ./dev installs for the demo: nothing that only the tests need.
TEST_F(Package, B19_TheProgramIsConfiguredWithoutWhatTheTestsNeed) {
  const std::string script = read_text(kSource + "/dev");
  const std::size_t begin = script.find("program_tools=(");
  const std::size_t end = script.find("# What the tests need", begin);
  ASSERT_LT(end, script.size());
  const std::string packages = script.substr(begin, end - begin);
  for (const char* const name : {"gtest", "gmock", "rapidcheck", "valijson", "zsh", "fish", "jq"}) {
    EXPECT_THAT(packages, testing::Not(HasSubstr(name)));
  }
  EXPECT_THAT(script, testing::Not(HasSubstr("install libvalijson")));
  run({LOCKKEEPER_CMAKE, "-G", "Ninja", "-S", kSource, "-B", stage_.path("alone"),
       "-DLOCKKEEPER_BUILD_TESTS=OFF", "-DLOCKKEEPER_BUILD_BENCH=OFF",
       "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON",
       "-Ddep_valijson_INCLUDE=dep_valijson_INCLUDE-NOTFOUND",
       "-Drapidcheck_LIBRARY=rapidcheck_LIBRARY-NOTFOUND"});
}

// packaging/third-party.txt, from which the notices are made, against what the linker and the
// compiler have read.
TEST_F(Package, TheNoticesAreThoseOfAllThatIsLinked) {
  if (stage_.finish(stage_.command({"sh", "-c", "command -v dpkg-query"})).status != 0 ||
      exists(kSource + "/build/libraries")) {
    GTEST_SKIP() << "the libraries are not Debian's packages";
  }
  run({kSource + "/packaging/notices", "--check", LOCKKEEPER_BUILD_DIR});
}

TEST_F(Package, TheVersionIsTheSameEverywhere) {
  EXPECT_EQ(run({prefix("/bin/lockkeeper"), "--version"}).out,
            "lockkeeper " LOCKKEEPER_VERSION "\n");
  EXPECT_EQ(run({kSource + "/packaging/release", "--version"}).out, LOCKKEEPER_VERSION "\n");
  EXPECT_THAT(read_text(kSource + "/CHANGELOG.md"), HasSubstr("## [" LOCKKEEPER_VERSION "] - "));
}

TEST_F(Package, ThePageOfTheSettingsNamesEveryKey) {
  const std::string page = read_text(prefix("/share/man/man5/lockkeeper.toml.5"));
  const std::string reference = read_text(kSource + "/docs/reference/config.md");
  for (const realm::SettingRow& row : realm::settings_rows(realm::Settings{})) {
    EXPECT_THAT(page, HasSubstr(".B " + row.name + "\n"));
    EXPECT_THAT(reference, HasSubstr("`" + row.name + "`"));
  }
}

TEST_F(Package, ManAndMandocHaveNoObjection) {
  const Answer have = stage_.finish(stage_.command({"sh", "-c", "command -v man mandoc"}));
  if (have.out.empty()) GTEST_SKIP() << "neither man nor mandoc";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix("/share/man"))) {
    if (!entry.is_regular_file()) continue;
    const std::string page = entry.path();
    if (have.out.find("/man\n") != std::string::npos) {
      const Answer shown = run({"man", "--warnings", "-l", "-Tutf8", page});
      EXPECT_EQ(shown.err, "") << page;
    }
    if (have.out.find("/mandoc\n") != std::string::npos) {
      // A page of the build's day would differ from build to build: none has a date.
      EXPECT_EQ(run({"sh", "-c",
                     "mandoc -T lint -W warning " + page + " | grep -v 'missing date' || true"})
                    .all(),
                "");
    }
  }
}

}  // namespace
}  // namespace lockkeeper::stage
