#include "service/wire/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_clock.h"
#include "service/wire/wire.h"

namespace lockkeeper::service::wire {
namespace {

using testing::HasSubstr;

const TestClock kHere({.mono_ms = 5'000, .wall_ms = 1'700'000'000'000});
// Another machine: neither clock agrees.
const TestClock kThere({.mono_ms = 77, .wall_ms = 1'700'000'090'000});

core::Claim claim(const char* text, key::Kind kind, core::Mode mode) {
  return {key::restore(text, kind).value(), mode, 0};
}

core::Lease some_lease() {
  core::Lease lease;
  lease.id = *core::LeaseId::from_text("000102030405060708090a0b0c0d0e0f");
  lease.owner = {"ann", "s1"};
  lease.claims = {claim("src/a.py", key::Kind::kFile, core::Mode::kExclusive),
                  claim("docs/", key::Kind::kFolder, core::Mode::kShared),
                  claim("src/*.py", key::Kind::kGlob, core::Mode::kExclusive),
                  claim("api:GET /x", key::Kind::kLogical, core::Mode::kExclusive)};
  lease.terms.reason = "why";
  lease.terms.task = "T-1";
  lease.terms.agent_type = "codex";
  lease.terms.ttl_ms = 60'000;
  lease.acquired_wall_ms = 1'700'000'000'000 - 1'000;
  lease.expires_wall_ms = 1'700'000'000'000 + 59'000;
  lease.created = 41;
  lease.holds.front().pid = 12;
  return lease;
}

template <typename T>
T through(const T& value, const Clock& clock = kHere) {
  auto back = from_text<T>(text_of(value, clock), clock);
  EXPECT_TRUE(back) << back.error().message;
  return back ? std::move(*back) : T{};
}

TEST(Codec, ALeaseKeepsWhatDoorsUse) {
  const core::Lease lease = some_lease();
  const core::Lease back = through(std::vector<core::Lease>{lease}).front();
  EXPECT_EQ(back.id, lease.id);
  EXPECT_EQ(back.owner, lease.owner);
  EXPECT_EQ(back.claims, lease.claims);
  EXPECT_EQ(back.claims[2].resource.kind(), key::Kind::kGlob);
  EXPECT_EQ(back.terms.reason, "why");
  EXPECT_EQ(back.terms.task, "T-1");
  EXPECT_EQ(back.terms.agent_type, "codex");
  EXPECT_EQ(back.terms.ttl_ms, 60'000);
  EXPECT_EQ(back.fence(), 41U);
  EXPECT_EQ(back.acquired_wall_ms, lease.acquired_wall_ms);
  EXPECT_EQ(back.expires_wall_ms, lease.expires_wall_ms);
  EXPECT_EQ(back.deadline_mono_ms, 5'000 + 59'000);
  EXPECT_TRUE(back.attached());
  EXPECT_FALSE(back.foreign);
}

TEST(Codec, TheTimeThatRemainsIsTheSameOnBothSides) {
  const std::string text = text_of(std::vector<core::Lease>{some_lease()}, kHere);
  const auto back = from_text<std::vector<core::Lease>>(text, kThere);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->front().expires_wall_ms - kThere.now().wall_ms, 59'000);
  EXPECT_EQ(back->front().deadline_mono_ms - kThere.now().mono_ms, 59'000);
}

TEST(Codec, WhatIsNotCommittedHasNoFence) {
  core::Lease lease = some_lease();
  lease.created = 0;
  lease.fence_offset = 1'000'000;
  EXPECT_EQ(through(std::vector<core::Lease>{lease}).front().created, 0U);
}

TEST(Codec, EndlessStaysEndless) {
  core::Lease lease = some_lease();
  lease.expires_wall_ms = kNoEnd;
  EXPECT_EQ(through(std::vector<core::Lease>{lease}).front().expires_wall_ms, kNoEnd);
}

TEST(Codec, ACallKeepsEveryField) {
  AcquireCall call;
  call.caller = {{"ann", "s"}, {some_lease().id, 7}, {true, false, true}, "r1"};
  call.claims = some_lease().claims;
  call.terms.reason = "why";
  call.ttl_ms = 5'000;
  call.wait = true;
  call.attachment.slot = 9;
  call.replaces = {some_lease().id};
  call.anew = true;
  const AcquireCall back = through(call);
  EXPECT_EQ(back.caller.owner, call.caller.owner);
  EXPECT_EQ(back.caller.parent.lease, call.caller.parent.lease);
  EXPECT_EQ(back.caller.parent.fence, 7U);
  EXPECT_TRUE(back.caller.tell.losses);
  EXPECT_FALSE(back.caller.tell.messages);
  EXPECT_TRUE(back.caller.tell.waiting);
  EXPECT_EQ(back.caller.request_id, "r1");
  EXPECT_EQ(back.claims, call.claims);
  EXPECT_EQ(back.terms.reason, "why");
  EXPECT_EQ(back.ttl_ms, 5'000);
  EXPECT_TRUE(back.wait);
  EXPECT_EQ(back.attachment, call.attachment);
  EXPECT_EQ(back.replaces, call.replaces);
  EXPECT_TRUE(back.anew);
  EXPECT_EQ(through(AcquireCall{}).ttl_ms, std::nullopt);
}

TEST(Codec, ARefusalNamesItsHolder) {
  AcquireResult result;
  result.outcome = core::Outcome::kDeadlock;
  core::Conflict conflict;
  conflict.requested = some_lease().claims[0];
  conflict.held = some_lease().claims[2];
  conflict.witness = "src/a.py";
  conflict.waiting = true;
  conflict.holder = some_lease();
  conflict.alive = core::Alive::kAlive;
  result.conflicts = {conflict};
  result.cycle = {{{"ann", "s"}, {"src/a.py"}}};
  result.position = 3;
  result.reason_before = "JWT";
  const AcquireResult back = through(result);
  EXPECT_EQ(back.outcome, core::Outcome::kDeadlock);
  ASSERT_EQ(back.conflicts.size(), 1U);
  EXPECT_EQ(back.conflicts[0].requested, conflict.requested);
  EXPECT_EQ(back.conflicts[0].held, conflict.held);
  EXPECT_TRUE(back.conflicts[0].waiting);
  EXPECT_EQ(back.conflicts[0].alive, core::Alive::kAlive);
  EXPECT_EQ(back.conflicts[0].holder.id, conflict.holder.id);
  EXPECT_EQ(back.cycle[0].owner.agent, "ann");
  EXPECT_EQ(back.position, 3U);
  EXPECT_EQ(back.reason_before, "JWT");
}

TEST(Codec, AListSaysWhichEditsGiveWay) {
  Reply<ListReply> reply;
  core::Condition now;
  now.alive = core::Alive::kAlive;
  now.yields = true;
  reply.value.leases = {{some_lease(), now}, {some_lease(), {}}};
  const ListReply back = through(reply).value;
  ASSERT_EQ(back.leases.size(), 2U);
  EXPECT_TRUE(back.leases[0].condition.yields);
  EXPECT_EQ(back.leases[0].condition.alive, core::Alive::kAlive);
  EXPECT_FALSE(back.leases[1].condition.yields);
}

TEST(Codec, AnErrorKeepsItsCodeMessageAndHint) {
  const Error back = through(Error{Code::kStoreBusy, "busy", "try again"});
  EXPECT_EQ(back.code, Code::kStoreBusy);
  EXPECT_EQ(back.message, "busy");
  EXPECT_EQ(back.hint, "try again");
}

TEST(Codec, AFieldThatCannotBeReadIsNamed) {
  const auto read = [](const char* text) {
    const auto call = from_text<ReleaseCall>(text, kHere);
    return call ? "" : call.error().message;
  };
  EXPECT_EQ(read("{}"), "");
  EXPECT_THAT(read(R"({"all":"yes"})"), HasSubstr("\"all\""));
  EXPECT_THAT(read(R"({"caller":{"agent":7}})"), HasSubstr("\"agent\""));
  EXPECT_THAT(read(R"({"leases":["nonsense"]})"), HasSubstr("\"leases\""));
  EXPECT_THAT(read(R"({"resources":[{"key":"../x","kind":"file"}]})"), HasSubstr("\"resources\""));
  EXPECT_THAT(read(R"({"resources":[{"key":"x","kind":"thing"}]})"), HasSubstr("\"resources\""));
  EXPECT_THAT(read("[]"), HasSubstr("shape"));
  EXPECT_THAT(read("{"), HasSubstr("not JSON"));
  const auto number = from_text<AwaitCall>(R"({"at_most_ms":18446744073709551615})", kHere);
  ASSERT_FALSE(number);
  EXPECT_THAT(number.error().message, HasSubstr("\"at_most_ms\""));
}

}  // namespace
}  // namespace lockkeeper::service::wire
