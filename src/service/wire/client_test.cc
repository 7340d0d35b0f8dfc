// A client whose server, or the network in between, does not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "service/wire/wire.h"

namespace lockkeeper::service::wire {
namespace {

class ClientTest : public testing::Test {
 protected:
  Result<Reply<Done>> purge_answered(const std::string& reply) {
    const auto exchange = [&](const std::string&) -> Result<std::string> { return reply; };
    return make_client(exchange, clock_, random_)->purge({});
  }

  const SystemClock clock_;
  SeededRandom random_{1};
};

TEST_F(ClientTest, AReplyThatCannotBeReadIsUnknown) {
  for (const char* const reply :
       {"", "{", "[]", "7", "null", "{}", R"({"reply":7})", R"({"reply":{"value":[]}})",
        R"({"error":{}})", R"({"error":{"code":"nonsense"}})"}) {
    const auto answer = purge_answered(reply);
    ASSERT_FALSE(answer) << reply;
    EXPECT_EQ(answer.error().code, Code::kUnknown) << reply;
  }
}

TEST_F(ClientTest, AnErrorOfTheServiceIsItsAnswer) {
  const auto answer =
      purge_answered(R"({"error":{"code":"store_busy","message":"busy","hint":"again"}})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kStoreBusy);
}

TEST_F(ClientTest, I8_ALostReplyIsAskedForAgainWithTheSameId) {
  std::vector<std::string> requests;
  const auto exchange = [&](const std::string& request) -> Result<std::string> {
    requests.push_back(request);
    return fail(Code::kUnknown, "the reply was lost");
  };
  const auto answer = make_client(exchange, clock_, random_)->release({});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnknown);
  EXPECT_GT(requests.size(), 1U);
  EXPECT_EQ(std::set(requests.begin(), requests.end()).size(), 1U);
  EXPECT_THAT(requests.front(), testing::HasSubstr("\"request_id\":\"wire:"));
}

TEST_F(ClientTest, WhatDidNotArriveIsNotAskedAgain) {
  int calls = 0;
  const auto exchange = [&](const std::string&) -> Result<std::string> {
    ++calls;
    return fail(Code::kStoreUnavailable, "nobody listens");
  };
  EXPECT_FALSE(make_client(exchange, clock_, random_)->release({}));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace lockkeeper::service::wire
