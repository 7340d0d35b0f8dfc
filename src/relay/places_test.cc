// A place in a hub's queue is left for a process that has gone, unless another one goes on with the
// request.
#include "relay/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace lockkeeper::relay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Json acquire(const char* request_id, const char* agent = "ann") {
  const Json caller{{"agent", agent}, {"session", "s"}, {"request_id", request_id}};
  return {{"call", "acquire"}, {"with", {{"caller", caller}, {"wait", true}}}};
}

Json await(const char* id) {
  return {{"call", "await"}, {"with", {{"id", id}}}};
}

std::string answer(const char* outcome, const char* id) {
  return Json{{"reply", {{"value", {{"outcome", outcome}, {"lease", {{"id", id}}}}}}}}.dump();
}

class PlacesTest : public testing::Test {
 protected:
  void ask(const std::string& process, const Json& call, const char* outcome, const char* id) {
    const Places::Turn turn = places_.begin("app", call);
    places_.note(process, "app", call, answer(outcome, id));
  }
  bool leaves(const char* id) { return places_.begin_to_leave(id).second.has_value(); }
  Places places_;
};

TEST_F(PlacesTest, WhatAProcessWaitedForIsLeftWhenItsLastConnectionCloses) {
  places_.joined("p");
  places_.joined("p");
  ask("p", acquire("r1"), "queued", "L1");
  ask("p", acquire("r2"), "granted", "L2");
  EXPECT_EQ(places_.left("p"), std::nullopt);
  EXPECT_THAT(places_.left("p").value(), ElementsAre("L1"));
  const auto [turn, waiting] = places_.begin_to_leave("L1");
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->realm, "app");
  EXPECT_EQ(waiting->caller["agent"], "ann");
  EXPECT_FALSE(waiting->caller.contains("request_id"));
}

TEST_F(PlacesTest, WhatWasGrantedOrHasAnotherIdIsFollowed) {
  places_.joined("p");
  ask("p", acquire("r1"), "queued", "L1");
  ask("p", await("L1"), "queued", "L9");
  ask("p", acquire("r2"), "queued", "L2");
  ask("p", await("L2"), "granted", "L2");
  EXPECT_THAT(places_.left("p").value(), ElementsAre("L9"));
}

TEST_F(PlacesTest, AnotherProcessThatAsksForTheSameKeepsIt) {
  places_.joined("p");
  places_.joined("q");
  ask("p", acquire("r1"), "queued", "L1");
  ask("p", await("L1"), "queued", "L1");
  ask("q", acquire("r1"), "granted", "L1");
  EXPECT_THAT(places_.left("p").value(), IsEmpty());
}

TEST_F(PlacesTest, AlsoIfTheFirstHasGoneAlready) {
  places_.joined("p");
  places_.joined("q");
  ask("p", acquire("r1"), "queued", "L1");
  ask("p", acquire("r1", "bob"), "queued", "L2");
  EXPECT_THAT(places_.left("p").value(), ElementsAre("L1", "L2"));
  EXPECT_TRUE(leaves("L1"));
  ask("q", acquire("r1"), "queued", "L1");
  EXPECT_FALSE(leaves("L1"));
  EXPECT_TRUE(leaves("L2")) << "that was another agent's";
  EXPECT_THAT(places_.left("q").value(), ElementsAre("L1"));
  EXPECT_TRUE(leaves("L1"));
  places_.forget("L1");
  EXPECT_FALSE(leaves("L1"));
}

TEST_F(PlacesTest, NobodyLeavesWhileAnotherAsks) {
  places_.joined("p");
  ask("p", acquire("r1"), "queued", "L1");
  ASSERT_TRUE(places_.left("p"));
  std::optional<Places::Turn> asking = places_.begin("app", acquire("r1"));
  bool left = true;
  std::thread leaver([&] { left = leaves("L1"); });
  asking.reset();
  leaver.join();
  EXPECT_FALSE(left);
}

}  // namespace
}  // namespace lockkeeper::relay
