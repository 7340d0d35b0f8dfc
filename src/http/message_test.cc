#include "http/message.h"

#include <gtest/gtest.h>

namespace lockkeeper::http {
namespace {

TEST(Request, finds_headers_in_any_case) {
  Request request;
  request.target = "/mcp?x=/y";
  request.headers = {{"Mcp-Method", "a"}, {"mcp-method", "b"}, {"Other", "c"}};
  EXPECT_EQ(*request.header("MCP-METHOD"), "a");
  EXPECT_EQ(request.count("mcp-method"), 2U);
  EXPECT_EQ(request.header("mcp-metho"), nullptr);
  EXPECT_EQ(request.path(), "/mcp");
}

TEST(Head, says_how_the_body_ends) {
  const std::string sized = head_of(200, {{"A", "b"}}, {true, false, 7}, 784111777);
  EXPECT_EQ(sized,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nA: b\r\nContent-Length: "
            "7\r\n\r\n");
  const std::string stream = head_of(404, {}, {false, true, std::nullopt}, 0);
  EXPECT_TRUE(stream.starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_NE(stream.find("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"),
            std::string::npos);
}

TEST(Head, a_value_cannot_bring_headers_of_its_own) {
  const std::string head = head_of(200, {{"A", "b\r\nSet-Cookie: c"}}, {}, 0);
  EXPECT_NE(head.find("A: b  Set-Cookie: c\r\n"), std::string::npos);
}

TEST(Chunk, has_its_size_in_front_and_never_ends_the_body) {
  EXPECT_EQ(chunk_of("hello world, twice"), "12\r\nhello world, twice\r\n");
  EXPECT_EQ(chunk_of(""), "");
}

}  // namespace
}  // namespace lockkeeper::http
