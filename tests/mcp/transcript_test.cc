// Transcripts: each file of transcripts/ is a conversation with the shipped program over stdio.
//
//   > MESSAGE     sent; what the server says until it has answered follows
//   >> MESSAGE    sent; its answer is not waited for
//   ? ID          now it is
//   $ WORDS       the program, called by another agent, in the same repository
//   % N           until so many requests stand in the queue
//   ! EVENT       until a notification of that method has come
//   < MESSAGE     what the server said, with times, ids and fences named
//
// `@modern` stands for the `_meta` that a modern request has. LOCKKEEPER_UPDATE_GOLDEN=1 writes the
// files anew: then read the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "golden/normaliser.h"
#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(LOCKKEEPER_MCP_TRANSCRIPTS)) {
    all.push_back(entry.path().stem());
  }
  std::ranges::sort(all);
  return all;
}

std::string expanded(const std::string& line) {
  static const std::string kMeta = modern_params(Json::object())["_meta"].dump();
  return std::regex_replace(line, std::regex("@modern"), kMeta);
}

class Play {
 public:
  Play()
      : normalised_(fs::canonical(stage_.path(".")).string()),
        client_(stage_, {.revision = "", .agent = "alice", .session = "s-1", .opens = false}) {
    stage_.file("src/a.py");
    stage_.file("src/b.py");
  }

  // The transcript again, with what is said now.
  std::string operator()(const std::string& expected) {
    std::istringstream stream(expected);
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("< ")) continue;
      text_ += line + "\n";
      step(line);
      tell();
    }
    client_.close_stdin();
    EXPECT_EQ(client_.finish(), 0);
    tell();
    return text_;
  }

 private:
  void step(const std::string& line) {
    const std::size_t blank = line.find(' ');
    const std::string rest = blank == std::string::npos ? "" : expanded(line.substr(blank + 1));
    if (line.starts_with("> ")) {
      client_.raw(rest);
      client_.settle();
    } else if (line.starts_with(">> ")) {
      client_.raw(rest);
    } else if (line.starts_with("? ")) {
      client_.wait_for(Json::parse(rest));
    } else if (line.starts_with("% ")) {
      EXPECT_TRUE(stage_.queue_grows_to(std::stoul(rest)));
    } else if (line.starts_with("! ")) {
      client_.wait_for_notification(rest, heard_);
      heard_ = client_.notifications().size();
    } else if (line.starts_with("$ ")) {
      std::istringstream words(rest);
      stage::Words argv;
      for (std::string word; words >> word;) argv.push_back(word);
      EXPECT_EQ(stage_.as("bob", argv).status, 0) << rest;
    }
  }

  // In which order two answers come is chance, where one was not waited for; a transcript has none.
  void tell() {
    for (; told_ < client_.lines().size(); ++told_) {
      std::string line = normalised_(client_.lines()[told_]);
      line =
          std::regex_replace(line, std::regex(R"("version":"[^"]*")"), "\"version\":\"VERSION\"");
      text_ += "< " + line + "\n";
    }
  }

  stage::Stage stage_;
  golden::Normaliser normalised_;
  Client client_;
  std::string text_;
  std::size_t told_ = 0;
  std::size_t heard_ = 0;
};

class Transcript : public testing::TestWithParam<std::string> {};

TEST_P(Transcript, is_as_it_was) {
  const fs::path path = fs::path(LOCKKEEPER_MCP_TRANSCRIPTS) / (GetParam() + ".txt");
  const std::string expected = stage::read_text(path);
  ASSERT_NE(expected.find("\n> "), std::string::npos) << path << " says nothing";
  const std::string actual = Play()(expected);
  if (std::getenv("LOCKKEEPER_UPDATE_GOLDEN") != nullptr) {
    stage::write_text(path, actual);
    return;
  }
  EXPECT_EQ(actual, expected) << path;
}

INSTANTIATE_TEST_SUITE_P(Transcripts, Transcript, testing::ValuesIn(names()), [](const auto& file) {
  std::string name = file.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// The default suite says what it leaves to the long one.
TEST(Skipped, the_official_suites_run_in_the_long_tests) {
  if (std::getenv("LOCKKEEPER_MCP_SCHEMAS") != nullptr) return;
  GTEST_SKIP() << "left to ./dev test --long: the published schemas, the conformance suite, the "
                  "inspector and the SDKs, all from npm";
}

}  // namespace
}  // namespace lockkeeper::proof
