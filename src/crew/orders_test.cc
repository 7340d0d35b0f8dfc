// Orders of any bytes are read back unchanged; the channel loses nothing unnoticed.
#include "crew/orders.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace lockkeeper::crew {
namespace {

Orders some_orders() {
  Orders orders;
  orders.number = 3;
  orders.agent = "a";
  orders.session = "s/a.3";
  orders.locks = {"src/", "task:x"};
  orders.ttl_ms = -1;
  orders.reason = "because \"it\"";
  orders.task = "T-1";
  orders.feature = "shop";
  orders.command = {{"sh", "-c", "echo \xff\xfe\n\t\x01"}, false};
  orders.environment = {{"A", "\x80\xff"}, {"B", ""}};
  orders.folder = "/r\xff";
  orders.timeout_ms = 5;
  orders.grace_ms = 6;
  orders.log_bytes_max = UINT64_MAX;
  orders.detect_changes = false;
  orders.leave_out = {"/o\xc3"};
  orders.tree =
      TreeOrders{"/r\xff", "/t\xff", "lk/r/a", "b", {"c", "d"}, "m\xff", {{".env"}, {"x/"}}};
  return orders;
}

TEST(Orders, ThereAndBack) {
  const Orders orders = some_orders();
  const auto read = orders_from(orders_text(orders));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->command, orders.command);
  EXPECT_EQ(read->environment, orders.environment);
  EXPECT_EQ(read->folder, orders.folder);
  EXPECT_EQ(read->leave_out, orders.leave_out);
  EXPECT_EQ(read->log_bytes_max, orders.log_bytes_max);
  EXPECT_EQ(orders_text(*read), orders_text(orders));
  ASSERT_TRUE(read->tree);
  EXPECT_EQ(read->tree->folder, orders.tree->folder);
  EXPECT_EQ(read->tree->message, orders.tree->message);
  EXPECT_EQ(read->tree->patterns.link, orders.tree->patterns.link);
  Orders without = orders;
  without.tree.reset();
  EXPECT_FALSE(orders_from(orders_text(without))->tree);
}

TEST(Orders, AnyBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    Orders orders = some_orders();
    std::string word;
    for (std::size_t n = random() % 40; n > 0; --n) word += static_cast<char>(random());
    orders.command = {{word, ""}, false};
    orders.environment["W"] = word;
    const auto read = orders_from(orders_text(orders));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->command, orders.command);
    ASSERT_EQ(read->environment, orders.environment);
  }
}

TEST(Orders, NothingElseIsTaken) {
  const auto whole = nlohmann::ordered_json::parse(orders_text(some_orders()));
  for (const auto& [name, value] : whole.items()) {
    auto less = whole;
    less.erase(name);
    EXPECT_EQ(orders_from(less.dump()).has_value(), name == "tree") << name;
  }
  auto nothing = whole;
  nothing["argv"] = nlohmann::ordered_json::array();
  EXPECT_FALSE(orders_from(nothing.dump())) << "no command";
  for (const char* const text : {"", "{", "[]", "null", "\xff"}) EXPECT_FALSE(orders_from(text));
}

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() : ends_(*Channel::pair()) {}
  std::pair<Channel, Channel> ends_;
};

TEST_F(ChannelTest, MessagesComeWholeAndInOrder) {
  EXPECT_FALSE(ends_.second.receive(0)) << "silence";
  EXPECT_TRUE(ends_.first.send({{"say", "one"}}));
  EXPECT_TRUE(ends_.first.send({{"say", "\xff"}})) << "no text, but no reason to fall silent";
  EXPECT_EQ((*ends_.second.receive(0))["say"], "one");
  EXPECT_EQ((*ends_.second.receive(0))["say"], "\uFFFD");
  EXPECT_FALSE(ends_.second.receive(0));
  EXPECT_FALSE(ends_.second.gone());
}

TEST_F(ChannelTest, WhatWasSaidBeforeTheEndIsHeard) {
  EXPECT_TRUE(ends_.first.send({{"say", "go"}}));
  {
    const Channel gone = std::move(ends_.first);
  }
  EXPECT_EQ((*ends_.second.receive(0))["say"], "go");
  EXPECT_FALSE(ends_.second.gone());
  EXPECT_FALSE(ends_.second.receive(0));
  EXPECT_TRUE(ends_.second.gone());
  EXPECT_FALSE(ends_.second.send({{"say", "x"}})) << "no signal kills the speaker either";
}

TEST_F(ChannelTest, WhoIsNotHeardIsTold) {
  int said = 0;
  while (said < 1'000'000 && ends_.first.send({{"say", "x"}})) ++said;
  ASSERT_LT(said, 1'000'000) << "it never fills";
  int heard = 0;
  while (ends_.second.receive(0)) ++heard;
  EXPECT_EQ(heard, said);
  EXPECT_TRUE(ends_.first.send({{"say", "again"}}));
}

TEST_F(ChannelTest, TooLongIsNoMessage) {
  EXPECT_TRUE(ends_.first.send({{"say", std::string(70'000, 'x')}}));
  EXPECT_TRUE(ends_.second.receive(0)->empty());
  EXPECT_FALSE(ends_.first.send({{"say", std::string(8 << 20, 'x')}}));
}

}  // namespace
}  // namespace lockkeeper::crew
