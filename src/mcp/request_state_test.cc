#include "mcp/request_state.h"

#include <gtest/gtest.h>

#include "base/test_clock.h"
#include "mcp/test_recorder.h"

namespace lockkeeper::mcp {
namespace {

class RequestStateTest : public ::testing::Test {
 protected:
  static Call call(Json params, const std::string& method = "tools/call") {
    return Call(Client{}, method, std::move(params), std::make_shared<Recorder>());
  }
  Json sealed(const Json& params, const std::string& method = "tools/call") {
    Json again = params;
    again["requestState"] = state_.seal(call(params, method), {{"step", 1}});
    return again;
  }

  TestClock clock_;
  SystemRandom random_;
  const RequestState::Key key_ = RequestState::new_key(random_);
  const RequestState state_{key_, clock_, 500};
  const Json params_{{"name", "t"}, {"arguments", {{"a", 1}, {"b", 2}}}};
};

TEST_F(RequestStateTest, ComesBackAsItWas) {
  const auto opened = state_.open(call(sealed(params_)));
  EXPECT_TRUE(opened.given);
  ASSERT_TRUE(opened.state);
  EXPECT_EQ(*opened.state, Json({{"step", 1}}));
  const auto none = state_.open(call(params_));
  EXPECT_FALSE(none.given);
  EXPECT_FALSE(none.bad());
}

TEST_F(RequestStateTest, TheOrderOfArgumentsIsTheClients) {
  Json again = sealed(params_);
  again["arguments"] = {{"b", 2}, {"a", 1}};
  EXPECT_TRUE(state_.open(call(again)).state);
}

TEST_F(RequestStateTest, EveryChangedByteIsSeen) {
  const Json good = sealed(params_);
  const std::string text = good["requestState"].get<std::string>();
  for (std::size_t i = 0; i < text.size(); ++i) {
    Json bad = good;
    std::string changed = text;
    changed[i] = changed[i] == '0' ? '1' : '0';
    bad["requestState"] = changed;
    EXPECT_TRUE(state_.open(call(bad)).bad()) << i;
  }
  for (const std::string& changed :
       {std::string(), text + "-TAMPERED", text + "00", text.substr(0, 64), text.substr(2)}) {
    Json bad = good;
    bad["requestState"] = changed;
    EXPECT_TRUE(state_.open(call(bad)).bad()) << changed;
  }
}

TEST_F(RequestStateTest, ItBelongsToOneCall) {
  const Json good = sealed(params_);
  Json other = good;
  other["arguments"]["a"] = 2;
  EXPECT_TRUE(state_.open(call(other)).bad());
  other = good;
  other["name"] = "u";
  EXPECT_TRUE(state_.open(call(other)).bad());
  EXPECT_TRUE(state_.open(call(good, "prompts/get")).bad());
}

TEST_F(RequestStateTest, ItEnds) {
  const Json good = sealed(params_);
  clock_.at.mono_ms += 500;
  EXPECT_FALSE(state_.open(call(good)).bad());
  clock_.at.mono_ms += 1;
  EXPECT_TRUE(state_.open(call(good)).bad());
}

TEST_F(RequestStateTest, AnotherServersIsForeign) {
  const RequestState other(RequestState::new_key(random_), clock_, 500);
  EXPECT_TRUE(other.open(call(sealed(params_))).bad());
  EXPECT_EQ(RequestState::refusal().error->code, code::kInvalidParams);
}

}  // namespace
}  // namespace lockkeeper::mcp
