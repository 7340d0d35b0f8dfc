#include "http/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/fd.h"
#include "base/test_folder.h"

namespace lockkeeper::http {
namespace {

class Token : public testing::Test {
 protected:
  std::string write(const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_.file("token");
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  // Refused with the file named, and nothing of what is in it.
  void refused(const std::string& path, Code code, const std::string& secret = "") {
    const auto token = read_or_make_token(path);
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().code, code);
    EXPECT_NE(token.error().message.find(path), std::string::npos) << token.error().message;
    EXPECT_FALSE(token.error().hint.empty());
    if (secret.empty()) return;
    EXPECT_EQ(token.error().message.find(secret), std::string::npos);
  }

  TestFolder folder_;
};

TEST_F(Token, is_made_once_and_then_read) {
  const std::string path = folder_.file("token");
  const auto made = read_or_make_token(path);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->size(), 64U);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_EQ(*read_or_make_token(path), *made);
  EXPECT_NE(*read_or_make_token(folder_.file("other")), *made);
  // Nothing is left beside them.
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    static_cast<void>(each);
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

TEST_F(Token, M4_EachClientMayHaveItsOwn) {
  const std::string first(20, 'a'), second(20, 'b');
  const auto both = read_or_make_token(write(first + "\n" + second + "\n"));
  ASSERT_TRUE(both);
  EXPECT_EQ(*both, first + "\n" + second);
  refused(write(first + "\n\n" + second), Code::kInvalidInput, first);
  refused(write(first + "\nshort"), Code::kInvalidInput, first);
}

TEST_F(Token, servers_that_start_at_once_agree) {
  constexpr int kServers = 8;
  std::vector<std::string> tokens(kServers);
  std::vector<std::thread> threads;
  for (std::string& each : tokens) {
    threads.emplace_back([&] { each = read_or_make_token(folder_.file("token")).value_or(""); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(tokens[0].size(), 64U);
  for (const std::string& each : tokens) EXPECT_EQ(each, tokens[0]);
}

TEST_F(Token, of_a_person_is_taken_as_it_is) {
  EXPECT_EQ(*read_or_make_token(write("my-own-secret-of-mine\n")), "my-own-secret-of-mine");
  EXPECT_EQ(*read_or_make_token(write("my-own-secret-of-mine\r\n")), "my-own-secret-of-mine");
  EXPECT_EQ(read_or_make_token(write(std::string(512, 'x')))->size(), 512U);
}

TEST_F(Token, that_others_can_use_is_refused) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0666U}) {
    refused(write("my-own-secret-of-mine\n", mode), Code::kOperationNotPermitted, "my-own");
  }
}

TEST_F(Token, that_is_no_plain_file_is_refused) {
  const std::string path = write("my-own-secret-of-mine\n");
  ASSERT_EQ(::symlink(path.c_str(), folder_.file("link").c_str()), 0);
  refused(folder_.file("link"), Code::kOperationNotPermitted);
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  refused(folder_.file("pipe"), Code::kOperationNotPermitted);
  refused(folder_.path(), Code::kOperationNotPermitted);
}

TEST_F(Token, of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const std::string path = write("my-own-secret-of-mine\n");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  refused(path, Code::kOperationNotPermitted);
}

TEST_F(Token, that_is_absurd_is_refused) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("short\n"),
        std::string("two words of it all\n"), std::string("two-lines-of-it\nall-together\n"),
        std::string(513, 'x'), std::string(9000, 'x'), std::string(32, '\0'),
        std::string("nicht-ganz-ascii-\xc3\xa4\n")}) {
    refused(write(text), Code::kInvalidInput, text.size() > 8 ? text.substr(0, 8) : "");
  }
}

TEST_F(Token, without_a_folder_is_an_error) {
  EXPECT_FALSE(read_or_make_token(folder_.file("no/such/folder/token")));
}

}  // namespace
}  // namespace lockkeeper::http
