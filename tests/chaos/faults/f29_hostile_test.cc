// F29: hostile input: names with .., NUL, control characters, broken UTF-8, 64 KiB; globs made to
// explode; huge batches; variables and files full of rubbish. The answer is a known error or a
// plain grant, never a signal, never a hang, and the store does not grow (L8).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "chaos/faults/fault_stage.h"

namespace lockkeeper::faults {
namespace {

using stage::read_text;
using stage::write_text;

constexpr std::uint64_t kMemoryMiB = 8 * 1024;  // the store's map alone has 4 GiB of addresses

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

class F29Hostile : public testing::Test {
 protected:
  void SetUp() override {
    stage_.set_durability("process");
    stage_.expect(0, "ann", {"acquire", "held", "dir/"});
    list_ = stage_.list();
  }

  // Under a limit of memory, and killed (which is a failure) if it takes too long.
  Answer limited(Launch launch) const {
    Words argv{"prlimit", stage::kSanitized ? "--cpu=200" : "--cpu=20", "--core=0"};
    // A sanitizer maps terabytes.
    if (!stage::kSanitized) argv.push_back("--as=" + std::to_string(kMemoryMiB << 20));
    argv.insert(argv.end(), launch.argv.begin(), launch.argv.end());
    launch.argv = std::move(argv);
    return stage_.finish(std::move(launch));
  }

  // A known error; what is held is unchanged.
  void expect_error(Launch launch) {
    const Answer answer = limited(std::move(launch));
    EXPECT_NE(answer.status, 0) << answer.all().substr(0, 500);
    expect_named(answer);
    EXPECT_LT(answer.all().size(), 64U << 10) << "L8: the reply grows with the input";
  }

  void expect_untouched() {
    EXPECT_EQ(stage_.list(), list_);
    stage_.expect(0, "", {"doctor"});
  }

  Launch acquire(const std::string& name) {
    return stage_.launch("bob", {"acquire", "--json", name});
  }

  InMemory in_memory_;
  FaultStage stage_;
  Json list_;
};

TEST_F(F29Hostile, F29_L8_NamesAreRefusedWithTheirRule) {
  const std::string names[] = {
      "../outside",
      "a/../../outside",
      "/etc/passwd",
      "..",
      "dir/../../../x",
      repeated("../", 2'000),
      repeated("a/../", 5'000) + "../x",
      std::string("a\x01"
                  "b"),
      "a\tb",
      "a\nb",
      "a\x7f",
      "\x1b]0;title\x07",
      "\xff\xfe",
      "a\xc0\xaf"
      "b",
      "\xed\xa0\x80",
      "\xf4\x90\x80\x80",
      "a\xe2\x82",
      "\xe2\x80\xae"
      "txt.exe\n",
      std::string(65'536, 'x'),
      repeated("x/", 32'768),
      repeated("\xc3\xa9", 32'768),
      repeated("e\xcc\x81", 20'000),
      "a ",
      " ",
      "",
      "src\\a.py",
      "C:\\windows",
      "queue:jobs",
      "db:",
      ":x",
      "db:" + std::string(65'536, 't'),
      "[a",
      "{a",
      "{a,b",
      repeated("{a,b}", 64),
      repeated("**/", 20'000) + "x",
      repeated("{", 5'000),
      repeated("[a-z]*", 5'000),
      repeated("?", 40'000),
      "*" + repeated("a*", 10'000),
      ".git/lockkeeper/gate",
      ".git/lockkeeper/",
  };
  for (const std::string& name : names) {
    SCOPED_TRACE("name of " + std::to_string(name.size()) + " bytes: " + name.substr(0, 40));
    expect_error(acquire(name));
  }
  expect_untouched();
}

// Random rubbish made of what has a meaning somewhere. Whatever is accepted is released again.
TEST_F(F29Hostile, F29_L8_RandomNames) {
  const std::string pieces[] = {"a",
                                "b",
                                "/",
                                "//",
                                "..",
                                ".",
                                "*",
                                "**",
                                "?",
                                "[",
                                "]",
                                "[!a]",
                                "{",
                                "}",
                                ",",
                                "\\",
                                ":",
                                "db:",
                                "api:",
                                "\xc3\xa9",
                                "e\xcc\x81",
                                "\xff",
                                "\x01",
                                " ",
                                "~",
                                "$HOME",
                                "-",
                                "--",
                                "=",
                                "%00",
                                "'",
                                "\"",
                                "\xe2\x80\x8b",
                                "\xf0\x9f\x94\x92",
                                "[a-",
                                "-]",
                                "{a,b}",
                                "./"};
  const std::uint64_t start = seed();
  const std::uint64_t count = trials(150);
  for (std::uint64_t trial = 0; trial < count && !HasFailure(); ++trial) {
    SeededRandom random(start + trial);
    SCOPED_TRACE("LOCKKEEPER_FAULTS_SEED=" + std::to_string(start + trial));
    Words words{"acquire", "--json"};
    if (random_below(random, 4) == 0) words.push_back("--glob");
    words.push_back("--");
    const std::uint64_t names = 1 + random_below(random, 3);
    for (std::uint64_t i = 0; i < names; ++i) {
      std::string name;
      const std::uint64_t length = 1 + random_below(random, 12);
      for (std::uint64_t j = 0; j < length; ++j) {
        name += pieces[random_below(random, std::size(pieces))];
      }
      words.push_back(name);
    }
    const Answer answer = limited(stage_.launch("bob", words));
    if (answer.status == 0) {
      EXPECT_TRUE(answer.json().contains("lease"));
      stage_.expect(0, "bob", {"release", "--all"});
    } else {
      expect_named(answer);
    }
  }
  expect_untouched();
}

TEST_F(F29Hostile, F29_L8_BatchesAreRefusedAsAWholeAndLeaveNothing) {
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += "f" + std::to_string(i) + "\n";
  const std::string inputs[] = {
      many,
      repeated("same\n", 500'000),
      std::string(32 << 20, 'x'),
      repeated("\n", 100'000),
      std::string("a\0b\n", 4),
      std::string(1 << 20, '\0'),
      "\xff\xfe\n",
      "../x\n" + many,
  };
  const auto before = std::filesystem::file_size(stage_.data());
  for (const std::string& input : inputs) {
    SCOPED_TRACE("input of " + std::to_string(input.size()) + " bytes");
    write_text(stage_.path("input"), input);
    Launch launch = stage_.launch("bob", {"acquire", "--json", "-"});
    launch.in = stage_.path("input");
    const Answer answer = limited(std::move(launch));
    if (answer.status == 0) {
      stage_.expect(0, "bob", {"release", "--all"});  // half a million times one name
    } else {
      expect_named(answer);
    }
  }
  Words crowd{"acquire", "--json"};
  for (int i = 0; i < 20'000; ++i) crowd.push_back("g" + std::to_string(i));
  expect_error(stage_.launch("bob", crowd));
  expect_untouched();
  EXPECT_EQ(std::filesystem::file_size(stage_.data()), before) << "the store has grown";
}

TEST_F(F29Hostile, F29_L8_FlagsAndVariables) {
  const std::string huge(100'000, 'v');
  const char* const values[] = {
      "", "-1", "99999999999999999999", "1e9", "NaN", "\xff", "a\x1b[2Jb", "../../etc", "%s%n%s%n"};
  const char* const flags[] = {"--ttl",     "--request-id", "--attach", "--mode", "--agent",
                               "--session", "--realm",      "--store",  "--task"};
  const char* const variables[] = {"LOCKKEEPER_AGENT",
                                   "LOCKKEEPER_SESSION",
                                   "LOCKKEEPER_LEASE",
                                   "LOCKKEEPER_FENCE",
                                   "LOCKKEEPER_REALM",
                                   "LOCKKEEPER_STORE",
                                   "XDG_STATE_HOME",
                                   "HOME",
                                   "USER",
                                   "LOCKKEEPER_TEST_FAULT"};
  const auto judge = [&](Launch launch) {
    const Answer answer = limited(std::move(launch));
    if (answer.status != 75) expect_named(answer);  // `held` is somebody else's: as it should be
  };
  for (const char* flag : flags) {
    for (const char* value : values) {
      SCOPED_TRACE(std::string(flag) + " " + value);
      judge(stage_.launch("bob", {"acquire", "--json", "held", flag, value}));
    }
    SCOPED_TRACE(std::string(flag) + " of 100,000 bytes");
    judge(stage_.launch("bob", {"acquire", "--json", "held", flag, huge}));
  }
  for (const char* variable : variables) {
    for (const std::string& value : {std::string("\xff\x01"), huge, std::string("../x")}) {
      SCOPED_TRACE(std::string(variable) + " of " + std::to_string(value.size()) + " bytes");
      Launch launch = stage_.launch("bob", {"check", "--json", "held"});
      launch.env[variable] = value;
      judge(std::move(launch));
    }
  }
  expect_untouched();
}

TEST_F(F29Hostile, F29_L8_ConfigFiles) {
  const std::string configs[] = {
      repeated("[", 100'000),
      repeated("a.", 50'000) + "b = 1\n",
      std::string(8 << 20, '#'),
      std::string("\0\0\0", 3),
      "\xff\xfe",
      "[lease]\ndefault = \"" + std::string(70'000, '9') + "s\"\n",
      "x = " + repeated("[", 20'000),
      repeated("[[protect]]\n", 50'000),
      "[keys]\nprefixes = [" + repeated("\"p\", ", 100'000) + "]\n",
  };
  for (const std::string& config : configs) {
    SCOPED_TRACE("config of " + std::to_string(config.size()) + " bytes: " + config.substr(0, 20));
    stage_.file("lockkeeper.toml", config);
    expect_error(acquire("held"));
  }
  stage_.set_durability("process");
  expect_untouched();
}

}  // namespace
}  // namespace lockkeeper::faults
