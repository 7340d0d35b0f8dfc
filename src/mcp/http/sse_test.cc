#include "mcp/http/sse.h"

#include <gtest/gtest.h>

namespace lockkeeper::mcp {
namespace {

TEST(Sse, an_event_is_a_name_an_id_and_one_line) {
  EXPECT_EQ(sse_event("{\"a\":1}", std::nullopt), "event: message\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(sse_event("{}", EventId{3, 14}), "event: message\nid: 3-14\ndata: {}\n\n");
  EXPECT_EQ(sse_priming({3, 0}, 500), "id: 3-0\nretry: 500\ndata: \n\n");
}

TEST(Sse, ids_come_back_as_they_went) {
  const auto id = parse_event_id(EventId{7, 18446744073709551615U}.text());
  ASSERT_TRUE(id);
  EXPECT_EQ(id->stream, 7U);
  EXPECT_EQ(id->number, 18446744073709551615U);
  for (const char* const text : {"", "-", "1-", "-1", "1", "1-2-3", "a-1", "1-a", " 1-1", "1- 1",
                                 "1-99999999999999999999", "+1-1"}) {
    EXPECT_FALSE(parse_event_id(text)) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::mcp
