// Each check is shown something bad: a check that cannot fail proves nothing.
#include "house/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "house/plan.h"
#include "house/source_text.h"

namespace lockkeeper::house {
namespace {

using testing::HasSubstr;

std::vector<std::string> whats(const std::vector<Violation>& violations) {
  std::vector<std::string> out;
  out.reserve(violations.size());
  for (const Violation& violation : violations) out.push_back(violation.what);
  return out;
}

std::vector<Violation> includes(const std::string& path, const std::string& target) {
  return check_includes({{path, "#pragma once\n#include " + target + "\n"}});
}

std::vector<Violation> purity(const std::string& code) {
  return check_purity({{"src/core/a.cc", code}});
}

TEST(Includes, arrows_of_the_plan_are_fine) {
  EXPECT_TRUE(includes("src/core/a.cc", "\"kv/store.h\"").empty());
  EXPECT_TRUE(includes("src/core/a.cc", "\"core/b.h\"").empty());
  EXPECT_TRUE(includes("src/cli/a.cc", "\"service/b.h\"").empty());
  EXPECT_TRUE(includes("src/cli/verbs/a.cc", "\"dialect/mkdir/b.h\"").empty());
  EXPECT_TRUE(includes("src/app/main.cc", "\"kv/lmdb/store.h\"").empty());
  EXPECT_TRUE(includes("src/base/a.cc", "<vector>").empty());
  EXPECT_TRUE(includes("src/core/a_test.cc", "\"kv/memory/store.h\"").empty());
}

TEST(Includes, arrows_up_and_sideways_are_found) {
  for (const auto& [path, target] : std::vector<std::pair<std::string, std::string>>{
           {"src/base/a.h", "\"key/resource.h\""},
           {"src/key/a.h", "\"kv/store.h\""},
           {"src/kv/store.h", "\"kv/lmdb/gate.h\""},
           {"src/kv/lmdb/a.h", "\"kv/memory/a.h\""},
           {"src/kv/lmdb/a.h", "\"host/process.h\""},
           {"src/core/a.h", "\"kv/memory/a.h\""},
           {"src/core/a.h", "\"host/process.h\""},
           {"src/core/a.h", "<service/service.h>"},
           {"src/host/a.h", "\"core/table.h\""},
           {"src/service/a.h", "\"kv/lmdb/store.h\""},
           {"src/service/a.h", "\"cli/main.h\""},
           {"src/plan/a.h", "\"dialect/a.h\""},
           {"src/cli/a.h", "\"mcp/a.h\""},
           {"src/cli/a.h", "\"cli/verbs/a.h\""},
           {"src/realm/a.h", "\"core/types.h\""},
           {"src/plan/a.h", "\"service/a.h\""},
           {"src/plan/a.h", "\"core/types.h\""},
           {"src/core/a_test.cc", "\"service/a.h\""}}) {
    EXPECT_EQ(includes(path, target).size(), 1U) << path << " " << target;
  }
  EXPECT_EQ(includes("src/core/a.h", "\"host/process.h\"").front().line, 2U);
}

TEST(Includes, of_kv_the_interface_alone) {
  EXPECT_THAT(whats(includes("src/core/a.h", "\"kv/other.h\"")),
              testing::ElementsAre(HasSubstr("only kv/store.h")));
  EXPECT_TRUE(includes("src/kv/lmdb/a.h", "\"kv/other.h\"").empty());
}

TEST(Includes, an_unknown_room_and_an_unrooted_path_are_found) {
  EXPECT_EQ(includes("src/attic/a.h", "<vector>").size(), 1U);
  EXPECT_EQ(includes("src/main.cc", "<vector>").size(), 1U);
  EXPECT_EQ(includes("src/core/a.cc", "\"table.h\"").size(), 1U);
  EXPECT_EQ(includes("src/core/a.cc", "\"../key/resource.h\"").size(), 1U);
}

TEST(Includes, helpers_of_tests_stay_in_tests) {
  EXPECT_EQ(includes("src/host/a.cc", "\"base/test_folder.h\"").size(), 1U);
  EXPECT_TRUE(includes("src/host/a_test.cc", "\"base/test_folder.h\"").empty());
}

TEST(Includes, comments_and_strings_do_not_count) {
  EXPECT_TRUE(check_includes({{"src/base/a.cc",
                               "// #include \"core/a.h\"\n/*\n#include \"core/a.h\"\n*/\n"
                               "const char* s = R\"x(\n#include \"core/a.h\"\n)x\";\n"}})
                  .empty());
  EXPECT_EQ(check_includes({{"src/base/a.cc", "  #  include \"core/a.h\"  // why\n"}}).size(), 1U);
}

TEST(Purity, headers_of_time_chance_processes_and_files_are_found) {
  for (const char* header : {"<chrono>", "<random>", "<thread>", "<filesystem>", "<fstream>",
                             "<unistd.h>", "<fcntl.h>", "<sys/stat.h>", "<time.h>", "<ctime>",
                             "\"base/random.h\"", "\"base/fd.h\"", "<linux/futex.h>"}) {
    EXPECT_EQ(purity(std::string("#include ") + header + "\n").size(), 1U) << header;
  }
  EXPECT_TRUE(purity("#include \"base/clock.h\"\n#include <vector>\n").empty());
}

TEST(Purity, calls_of_time_chance_processes_and_files_are_found) {
  for (const char* code :
       {"auto t = time(nullptr);", "auto t = std::time(nullptr);", "auto t = ::time(nullptr);",
        "int p = getpid();", "int r = rand();", "int r = std::rand();", "sleep(1);", "usleep(1);",
        "std::this_thread::sleep_for(x);", "SystemClock clock;", "const Clock& clock_;",
        "SystemRandom r;", "int fd = ::open(path, 0);", "char* e = getenv(\"A\");",
        "return time (0);"}) {
    EXPECT_EQ(purity(code).size(), 1U) << code;
  }
}

TEST(Purity, other_names_are_fine) {
  for (const char* code :
       {"auto t = event.time();", "auto t = event->time();", "int expiry_time(int);",
        "// call time(nullptr)", "const char* s = \"getpid\";", "Now now;", "int Clockwork;",
        "auto s = store.open(x);", "auto s = Store::open(x);", "int brand(int);"}) {
    EXPECT_TRUE(purity(code).empty()) << code;
  }
  EXPECT_TRUE(check_purity({{"src/host/a.cc", "int p = getpid();"}}).empty());
  EXPECT_TRUE(check_purity({{"src/core/a_test.cc", "int p = getpid();"}}).empty());
  EXPECT_EQ(check_purity({{"src/key/a.h", "int p = getpid();"}}).size(), 1U);
}

std::vector<Violation> portability(const std::string& code, const std::string& room = "crew") {
  return check_portability({{"src/" + room + "/a.cc", code}});
}

TEST(Portability, what_every_unix_has_is_fine) {
  EXPECT_TRUE(portability("int f = open(path, O_RDONLY | O_NOFOLLOW); poll(&p, 1, 0);").empty());
  EXPECT_TRUE(portability("#include <sys/stat.h>\n#include <signal.h>\n").empty());
  EXPECT_TRUE(portability("// Reads \"/proc/self/stat\" and calls prctl().\n").empty());
  EXPECT_TRUE(portability("auto t = \"see /proc for more\";").empty());
  EXPECT_TRUE(portability("row.state(); rename(a, b);").empty());
}

TEST(Portability, what_only_linux_has_is_found) {
  for (const char* const code : {"fcntl(fd, F_OFD_SETLK, &lock);",
                                 "syscall(SYS_futex, word);",
                                 "int i = inotify_init1(0);",
                                 "auto f = signalfd(-1, &set, 0);",
                                 "Fd e(::eventfd(0, 0));",
                                 "epoll_wait(fd, e, 1, 0);",
                                 "int p = pidfd_open(pid, 0);",
                                 "prctl(1, 2);",
                                 "int a = PR_SET_PDEATHSIG;",
                                 "renameat2(a, b, c, d, 1);",
                                 "int r = RENAME_EXCHANGE;",
                                 "open(p, O_TMPFILE);",
                                 "openat(f, n, O_PATH | O_DIRECTORY);",
                                 "getrandom(&v, 8, 0);",
                                 "unshare(CLONE_NEWPID);",
                                 "pipe2(ends, O_CLOEXEC);",
                                 "execvpe(a, b, c);",
                                 "clock_gettime(CLOCK_BOOTTIME, &t);",
                                 "auto f = read_file(\"/proc/self/stat\");",
                                 "opendir(\"/proc\");",
                                 "read_file(\"/sys/kernel/x\");",
                                 "#include <sys/prctl.h>\n",
                                 "#include <linux/futex.h>\n"}) {
    EXPECT_EQ(portability(code).size(), 1U) << code;
    EXPECT_EQ(portability(code, "base").size(), 1U) << code;
    EXPECT_TRUE(portability(code, "host").empty()) << code;
    EXPECT_TRUE(portability(code, "kv/lmdb").empty()) << code;
    EXPECT_TRUE(check_portability({{"src/crew/a_test.cc", code}}).empty()) << code;
  }
}

TEST(Links, of_the_plan_are_fine) {
  EXPECT_TRUE(
      check_links(
          {{"src/base/CMakeLists.txt", "lockkeeper_room(NAME base SOURCES a.cc)"},
           {"src/kv/CMakeLists.txt", "lockkeeper_room(NAME kv SOURCES store.cc LINKS base)\n"},
           {"src/kv/lmdb/CMakeLists.txt",
            "# LINKS core\nlockkeeper_room(NAME kv_lmdb\n SOURCES a.cc\n LINKS kv DEPS dep_lmdb)"},
           {"src/kv/lmdb/a.cc", "#include \"base/error.h\"\n"}})
          .empty());
}

TEST(Links, up_misnamed_or_missing_are_found) {
  EXPECT_EQ(whats(check_links({{"src/core/CMakeLists.txt",
                                "lockkeeper_room(NAME core SOURCES a.cc LINKS kv host)"}})),
            std::vector<std::string>{"core must not link host"});
  EXPECT_EQ(whats(check_links(
                {{"src/service/CMakeLists.txt", "lockkeeper_room(NAME service LINKS kv_lmdb)"}})),
            std::vector<std::string>{"service must not link kv_lmdb"});
  EXPECT_EQ(check_links({{"src/core/CMakeLists.txt", "lockkeeper_room(NAME kernel)"}}).size(), 1U);
  EXPECT_EQ(whats(check_links({{"src/core/CMakeLists.txt", "lockkeeper_room(NAME core LINKS kv)"},
                               {"src/core/a.cc", "#include \"key/resource.h\"\n"}})),
            std::vector<std::string>{"core includes but does not link key"});
}

TEST(Libraries, read_through_a_header_and_not_named_are_found) {
  const auto check = [](const std::string& deps) {
    return whats(check_libraries(
        {{"src/base/CMakeLists.txt", "lockkeeper_room(NAME base SOURCES a.cc DEPS dep_fmt)"},
         {"src/base/json.h", "#include <nlohmann/json.hpp>\n#include <vector>\n"},
         {"src/kv/CMakeLists.txt", "lockkeeper_room(NAME kv SOURCES a.cc LINKS base" + deps + ")"},
         {"src/kv/a.h", "#include \"base/json.h\"\n"},
         {"src/kv/a.cc", "#include \"kv/a.h\"\n"}}));
  };
  EXPECT_TRUE(check(" DEPS nlohmann_json::nlohmann_json").empty());
  EXPECT_EQ(check(" DEPS dep_fmt"),
            std::vector<std::string>{"kv reads headers of nlohmann_json::nlohmann_json (in "
                                     "src/base/json.h) and does not name it in DEPS"});
}

TEST(Style, sizes_are_found) {
  const Limits limits{.header_lines = 3, .source_lines = 4, .function_lines = 3, .columns = 20};
  const auto check = [&](const std::string& path, const std::string& text) {
    return whats(check_style({{path, text}}, limits));
  };
  EXPECT_TRUE(check("src/a/a.h", "#pragma once\n\n\n").empty());
  EXPECT_EQ(check("src/a/a.h", "#pragma once\n\n\n\n").size(), 1U);
  EXPECT_TRUE(check("src/a/a.cc", "\n\n\n\n").empty());
  EXPECT_EQ(check("src/a/a.cc", "\n\n\n\n\n").size(), 1U);
  EXPECT_TRUE(check("src/a/a.cc", "//3456789012345678…0").empty()) << "code points, not bytes";
  EXPECT_EQ(check("src/a/a.cc", "//34567890123456789…1").size(), 1U);
  EXPECT_EQ(check("src/a/a.h", "int a;\n").size(), 1U) << "no #pragma once";
  EXPECT_EQ(check("src/a/a.cc",
                  "// TO"
                  "DO later\n")
                .size(),
            1U);
  EXPECT_EQ(check("src/a/a.cc",
                  "// FIX"
                  "ME\n")
                .size(),
            1U);
}

TEST(Style, long_functions_are_found) {
  const Limits limits{.function_lines = 3};
  const auto count = [&](const std::string& text) {
    return check_style({{"src/a/a.cc", text}}, limits).size();
  };
  EXPECT_EQ(count("int f() {\n  return 1;\n}\n"), 0U);
  EXPECT_EQ(count("int f() {\n  int a = 1;\n  return a;\n}\n"), 1U);
  EXPECT_EQ(count("namespace a {\nint f(int b = 1) const noexcept {\n\n\n}\n}\n"), 1U);
  EXPECT_EQ(count("class A {\n  bool operator==(const A& o) {\n\n\n  }\n};\n"), 1U);
  EXPECT_EQ(count("class A {\n\n\n\n\n};\nnamespace b {\n\n\n\n}\n"), 0U) << "no functions";
  EXPECT_EQ(count("const int kRows[] = {\n1,\n2,\n3,\n};\n"), 0U);
  EXPECT_EQ(count("void f(struct stat& s) {\n  if (a) {\n  }\n\n}\n"), 1U);
  EXPECT_EQ(count("int f() { return '{'; }\nint g() { return 1'000; }\n\n\n\n"), 0U);
  EXPECT_EQ(count("#define A() { \\\n  \\\n  \\\n\nint f() {\n}\n"), 0U);
  EXPECT_EQ(check_style({{"src/a/a_test.cc", "int f() {\n\n\n\n}\n"}}, limits).size(), 0U);
}

TEST(PublicHeaders, include_the_standard_library_and_each_other) {
  const auto found = [](const std::string& path, const std::string& target) {
    return !check_public_headers({{path, "#include " + target + "\n"}}).empty();
  };
  EXPECT_FALSE(found("include/lockkeeper/a.h", "<vector>"));
  EXPECT_FALSE(found("include/lockkeeper/a.h", "\"lockkeeper/b.h\""));
  EXPECT_FALSE(found("include/lockkeeper.h", "<stdint.h>"));
  EXPECT_FALSE(found("src/base/a.h", "<sys/types.h>"));
  EXPECT_TRUE(found("include/lockkeeper/a.h", "<nlohmann/json.hpp>"));
  EXPECT_TRUE(found("include/lockkeeper/a.h", "<lmdb.h>"));
  EXPECT_TRUE(found("include/lockkeeper/a.h", "\"base/error.h\""));
  EXPECT_TRUE(found("include/lockkeeper/a.h", "<expected>")) << "C++20 must be enough";
}

TEST(SourceText, comments_and_literals_become_blanks) {
  EXPECT_EQ(code_only("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_only("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(code_only(R"(f("a\"b"); g)"), "f(      ); g");
  EXPECT_EQ(code_only("x = 1'000; y = 'a';"), "x = 1'000; y =    ;");
  EXPECT_EQ(code_only("R\"(\")\" b"), "R      b");
  EXPECT_EQ(code_only("#include \"a/b.h\"  // c\n"), "#include \"a/b.h\"      \n");
}

TEST(Plan, has_every_folder) {
  EXPECT_THAT(
      all_rooms(),
      testing::UnorderedElementsAre(
          "app", "base", "capi", "cli", "cli/verbs", "core", "crew", "crew/changes", "crew/record",
          "crew/report", "crew/trees", "demo", "dialect", "dialect/coordinator", "dialect/coordmcp",
          "dialect/dirlock", "dialect/mkdir", "dialect/workflow", "draw", "embed", "enforce",
          "enforce/hook", "enforce/shell", "git", "guard", "host", "http", "hub", "hub/people",
          "install", "key", "kv", "kv/etcd", "kv/lmdb", "kv/memory", "layout", "mcp", "mcp/http",
          "mcp/locks", "plan", "realm", "relay", "remote", "service", "service/local",
          "service/wire", "snapshot", "snapshot/site", "wiring", "wiring/etcd", "yaml"));
  EXPECT_EQ(room_of("kv/lmdb/gate.h"), "kv/lmdb");
  EXPECT_EQ(room_of("kv/store.h"), "kv");
  EXPECT_EQ(room_of("keyboard/a.h"), "");
}

TEST(Doors, the_table_is_reached_through_the_service) {
  const auto found = [](const std::string& path, const std::string& code) {
    return check_doors({{path, code}}).size();
  };
  EXPECT_EQ(found("src/cli/verbs/a.cc", "void f(core::Table& table);"), 1U);
  EXPECT_EQ(found("src/dialect/mkdir/a.cc", "kv::Txn& txn = open();"), 1U);
  EXPECT_EQ(found("src/embed/a.cc", "core::State& state;"), 1U);
  EXPECT_EQ(found("src/mcp/locks/a.cc", "core::Lease lease;  // core::Table is below"), 0U);
  EXPECT_EQ(found("src/service/local/a.cc", "void f(core::Table& table);"), 0U);
  EXPECT_EQ(found("src/cli/a_test.cc", "void f(core::Table& table);"), 0U);
}

TEST(Plan, has_no_cycle) {
  for (const std::string& room : all_rooms()) {
    for (const std::string& below : allowed_rooms(room, false)) {
      EXPECT_FALSE(allowed_rooms(below, false).contains(room)) << room << " and " << below;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::house
