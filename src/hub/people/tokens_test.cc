#include "hub/people/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/sha256.h"
#include "base/test_folder.h"

namespace lockkeeper::hub {
namespace {

class HubTokens : public testing::Test {
 protected:
  std::string path() const { return folder_.file("below/tokens"); }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Person person(const std::string& name) const { return {name, 3, {"*"}}; }
  // Another stamp than before, however fast the test is.
  void settle() const { ::usleep(10'000); }

  TestFolder folder_;
};

TEST_F(HubTokens, AreMadeForTheirUserAloneAndKeptAsDigests) {
  const auto token = add_token(path(), person("alice"));
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_GE(token->size(), 64U);
  EXPECT_EQ(text().find(*token), std::string::npos);
  EXPECT_NE(text().find("alice read,lock * sha256:" + sha256_hex(*token)), std::string::npos);
  struct stat info{};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  const auto tokens = Tokens::open(path());
  ASSERT_TRUE(tokens);
  EXPECT_EQ((*tokens)->find(*token)->name, "alice");
  EXPECT_FALSE((*tokens)->find(token->substr(1)));
  EXPECT_FALSE((*tokens)->find(""));
  EXPECT_FALSE((*tokens)->find(sha256_hex(*token)));
}

TEST_F(HubTokens, AreReplacedWithoutAPause) {
  const std::string first = *add_token(path(), person("alice"));
  const auto tokens = *Tokens::open(path());
  settle();
  const std::string second = *add_token(path(), person("alice"));
  ASSERT_TRUE(tokens->follow());
  EXPECT_TRUE(tokens->find(first));
  EXPECT_TRUE(tokens->find(second));
  settle();
  EXPECT_EQ(*remove_tokens(path(), "alice"), 2U);
  ASSERT_TRUE(tokens->follow());
  EXPECT_FALSE(tokens->find(first));
  EXPECT_EQ(remove_tokens(path(), "alice").error().code, Code::kNotFound);
}

TEST_F(HubTokens, AFileThatIsBrokenLaterChangesNothing) {
  const std::string token = *add_token(path(), person("alice"));
  const auto tokens = *Tokens::open(path());
  settle();
  std::ofstream(path(), std::ios::app) << "bob everything\n";
  const auto followed = tokens->follow();
  ASSERT_FALSE(followed);
  EXPECT_NE(followed.error().message.find("line 3"), std::string::npos) << followed.error().message;
  EXPECT_TRUE(tokens->find(token));
}

TEST_F(HubTokens, NothingIsLostWhenSeveralAreAddedAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&, i] { EXPECT_TRUE(add_token(path(), person("p" + std::to_string(i)))); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(read_tokens(path())->size(), 8U);
}

TEST_F(HubTokens, OfAFileThatOthersCanUseAreRefused) {
  ASSERT_TRUE(add_token(path(), person("alice")));
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_EQ(read_tokens(path()).error().code, Code::kOperationNotPermitted);
  }
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  ASSERT_EQ(::symlink(path().c_str(), folder_.file("link").c_str()), 0);
  EXPECT_EQ(read_tokens(folder_.file("link")).error().code, Code::kOperationNotPermitted);
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_tokens(folder_.file("pipe")).error().code, Code::kOperationNotPermitted);
}

TEST_F(HubTokens, ALineThatCannotBeReadIsNamedWithoutWhatIsInIt) {
  const std::string digest = sha256_hex("x");
  for (const std::string& line :
       {std::string("alice read"), "al/ice read * sha256:" + digest,
        "alice owner * sha256:" + digest, "alice read * md5:" + digest,
        "alice read * sha256:" + digest.substr(1), "alice read * sha256:" + digest + "0",
        "alice read , sha256:" + digest, "alice , * sha256:" + digest,
        "alice read * sha256:" + digest + " more"}) {
    const auto parsed = parse_tokens("# fine\n\n" + line + "\n", "FILE");
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().code, Code::kInvalidConfig);
    EXPECT_NE(parsed.error().message.find("line 3"), std::string::npos);
    EXPECT_EQ(parsed.error().message.find(digest.substr(2, 20)), std::string::npos);
  }
}

}  // namespace
}  // namespace lockkeeper::hub
