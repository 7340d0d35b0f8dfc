// The lock service, called directly, over a wire, and over a wire that loses replies: what a caller
// sees is the same.
#include "service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "service/local/test_site.h"
#include "service/locks.h"
#include "service/messages.h"

namespace lockkeeper::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServiceTest : public testing::TestWithParam<Over> {
 protected:
  Service& service() { return *site_->service().value(); }

  static std::vector<core::Claim> claims(const std::vector<std::string>& texts) {
    std::vector<core::Claim> wanted;
    for (const std::string& text : texts) {
      wanted.push_back({key::parse(text, {}).value().resource, core::Mode::kExclusive, 0});
    }
    return wanted;
  }
  static std::vector<key::Resource> resources(const std::vector<std::string>& texts) {
    std::vector<key::Resource> named;
    for (const core::Claim& claim : claims(texts)) named.push_back(claim.resource);
    return named;
  }
  static AcquireCall wants(const core::Owner& owner, const std::vector<std::string>& texts) {
    AcquireCall call;
    call.caller.owner = owner;
    call.claims = claims(texts);
    return call;
  }
  AcquireResult acquire(const AcquireCall& call) {
    auto reply = service().acquire(call);
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? std::move(reply->value) : AcquireResult{};
  }
  core::Lease held(const core::Owner& owner, const std::vector<std::string>& texts) {
    const AcquireResult result = acquire(wants(owner, texts));
    EXPECT_EQ(result.outcome, core::Outcome::kGranted);
    return result.lease;
  }
  AcquireResult queued(const core::Owner& owner, const std::string& text) {
    AcquireCall call = wants(owner, {text});
    call.wait = true;
    AcquireResult result = acquire(call);
    EXPECT_EQ(result.outcome, core::Outcome::kQueued);
    return result;
  }
  AcquireResult await(const core::Owner& owner, const core::LeaseId& id, std::int64_t ms) {
    auto reply = service().await({{owner, {}, {}, {}}, id, ms});
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? std::move(reply->value) : AcquireResult{};
  }
  std::vector<std::string> released(const core::Owner& owner, const std::string& text,
                                    const std::string& request_id = {}) {
    ReleaseCall call;
    call.caller = {owner, {}, {}, request_id};
    call.resources = resources({text});
    const auto reply = service().release(call);
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? reply->value.released : std::vector<std::string>();
  }

  const core::Owner ann_{"ann", "s"};
  const core::Owner bob_{"bob", ""};
  TestSite realm_{GetParam()};
  std::unique_ptr<Site> site_ = realm_.site();
};
std::string name_of(const testing::TestParamInfo<Over>& info) {
  if (info.param == Over::kCalls) return "calls";
  return info.param == Over::kWire ? "wire" : "lossy_wire";
}
INSTANTIATE_TEST_SUITE_P(Over, ServiceTest,
                         testing::Values(Over::kCalls, Over::kWire, Over::kLossyWire), name_of);

TEST_P(ServiceTest, OpenRefusesOtherKeyRules) {
  key::Rules other = site_->key_rules();
  other.fold_case = !other.fold_case;
  const auto refused = service().open({other});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  const auto opened = service().open({site_->key_rules()});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->rules.fold_case, site_->key_rules().fold_case);
}

TEST_P(ServiceTest, I1_GrantedHeldReleasedGranted) {
  const core::Lease lease = held(ann_, {"src/a.py", "docs/"});
  const AcquireResult refused = acquire(wants(bob_, {"src/a.py"}));
  EXPECT_EQ(refused.outcome, core::Outcome::kHeld);
  ASSERT_EQ(refused.conflicts.size(), 1U);
  EXPECT_EQ(refused.conflicts[0].holder.id, lease.id);
  EXPECT_EQ(refused.conflicts[0].holder.fence(), lease.fence());
  EXPECT_THAT(released(ann_, "src/a.py"), ElementsAre("src/a.py"));
  held(bob_, {"src/a.py"});
}

TEST_P(ServiceTest, I7_WhatIsReleasedWithTheLeaseThatItLiesInIsNotLost) {
  const core::Lease outer = held(ann_, {"b"});
  AcquireCall inside = wants(ann_, {"c", "d"});
  inside.caller.parent = {outer.id, outer.fence()};
  ASSERT_EQ(acquire(inside).outcome, core::Outcome::kGranted);
  ReleaseCall call;
  call.caller.owner = ann_;
  call.resources = resources({"b", "c", "d"});
  const auto reply = service().release(call);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(reply->value.released, ElementsAre("c", "d", "b"));
  EXPECT_THAT(service().notices({ann_, {}, {}, {}})->lost, IsEmpty());
}

// A process leaves no time of death: whoever looks first starts the grace.
TEST_P(ServiceTest, M7_LookingStartsTheGrace) {
  for (const bool list : {false, true}) {
    AcquireCall call = wants(ann_, {"src/a.py"});
    call.terms.orphan_grace_ms = 30'000;
    {
      const auto slot = site_->table().take_slot();
      ASSERT_TRUE(slot) << slot.error().message;
      call.attachment.slot = slot->offset();
      ASSERT_EQ(acquire(call).outcome, core::Outcome::kGranted);
    }
    if (list) {
      ASSERT_TRUE(service().list({}));
    } else {
      CheckCall check;
      check.caller.owner = bob_;
      check.claims = claims({"src/a.py"});
      const auto seen = service().check(check);
      ASSERT_TRUE(seen) << seen.error().message;
      EXPECT_FALSE(seen->value.free);
    }
    realm_.clock.ahead_ms += 30'001;
    held(bob_, {"src/a.py"});
    released(bob_, "src/a.py");
  }
}

TEST_P(ServiceTest, AcquireTogetherIsAllOrNothing) {
  held(bob_, {"b"});
  auto reply = service().acquire_together({wants(ann_, {"a"}), wants(ann_, {"b"})});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->value[0].outcome, core::Outcome::kHeld);
  EXPECT_THAT(reply->value[0].conflicts, IsEmpty());
  EXPECT_EQ(reply->value[1].outcome, core::Outcome::kHeld);
  EXPECT_EQ(reply->value[1].conflicts.size(), 1U);
  released(bob_, "b");
  reply = service().acquire_together({wants(ann_, {"a"}), wants(ann_, {"b"})});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->value[0].outcome, core::Outcome::kGranted);
  EXPECT_EQ(reply->value[1].outcome, core::Outcome::kGranted);
}

TEST_P(ServiceTest, AWaitIsQueuedThenAwaited) {
  held(ann_, {"a"});
  const AcquireResult waits = queued(bob_, "a");
  EXPECT_EQ(waits.position, 1U);
  AcquireResult still = await(bob_, waits.lease.id, 1);
  EXPECT_EQ(still.outcome, core::Outcome::kQueued);
  ASSERT_EQ(still.conflicts.size(), 1U);
  EXPECT_EQ(still.conflicts[0].holder.owner, ann_);
  released(ann_, "a");
  const AcquireResult granted = await(bob_, still.lease.id, 60'000);
  EXPECT_EQ(granted.outcome, core::Outcome::kGranted);
  EXPECT_EQ(granted.lease.owner, bob_);
  EXPECT_NE(granted.lease.fence(), 0U);
}

TEST_P(ServiceTest, AnotherProcessMayGoOnWaiting) {
  held(ann_, {"a"});
  const AcquireResult waits = queued(bob_, "a");
  const std::unique_ptr<Site> other = realm_.site();
  released(ann_, "a");
  const auto granted =
      other->service().value()->await({{bob_, {}, {}, {}}, waits.lease.id, 60'000});
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(granted->value.outcome, core::Outcome::kGranted);
}

TEST_P(ServiceTest, LeavingTheQueueSaysWhy) {
  held(ann_, {"a"});
  const AcquireResult waits = queued(bob_, "a");
  LeaveCall leave{{bob_, {}, {}, "leave-1"}, waits.lease.id, core::Outcome::kTimeout};
  for (int i = 0; i < 2; ++i) {
    const auto left = service().leave(leave);
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_EQ(left->value.outcome, core::Outcome::kTimeout);
    ASSERT_EQ(left->value.conflicts.size(), 1U);
    EXPECT_EQ(left->value.conflicts[0].holder.owner, ann_);
  }
  const auto listed = service().list({});
  ASSERT_TRUE(listed);
  EXPECT_THAT(listed->value.waiters, IsEmpty());
}

TEST_P(ServiceTest, AGrantThatCameBeforeItCouldLeaveStands) {
  held(ann_, {"a"});
  const AcquireResult waits = queued(bob_, "a");
  released(ann_, "a");
  LeaveCall leave{{bob_, {}, {}, "leave-1"}, waits.lease.id, core::Outcome::kInterrupted};
  for (int i = 0; i < 2; ++i) {
    const auto left = service().leave(leave);
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_EQ(left->value.outcome, core::Outcome::kGranted);
    EXPECT_EQ(left->value.lease.owner, bob_);
  }
}

TEST_P(ServiceTest, I8_ARepeatedReleaseGivesTheSameAnswer) {
  held(ann_, {"a"});
  EXPECT_THAT(released(ann_, "a", "r1"), ElementsAre("a"));
  held(bob_, {"a"});
  EXPECT_THAT(released(ann_, "a", "r1"), ElementsAre("a"));
  EXPECT_EQ(acquire(wants(ann_, {"a"})).outcome, core::Outcome::kHeld);  // bob's was not touched
  ReleaseCall other;
  other.caller = {ann_, {}, {}, "r1"};
  other.all = true;
  const auto refused = service().release(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
}

TEST_P(ServiceTest, I8_ARepeatedRenewalBreakAndMessageGiveTheSameAnswer) {
  const core::Lease lease = held(ann_, {"a"});
  RenewCall renew;
  renew.caller = {ann_, {}, {}, "renew-1"};
  renew.leases = {lease.id};
  BreakCall gone;
  gone.caller = {bob_, {}, {}, "break-1"};
  gone.leases = {lease.id};
  gone.reason = "taking over";
  SendCall send;
  send.caller = {bob_, {}, {}, "send-1"};
  send.to = {ann_};
  send.text = "hello";
  send.type = "update";
  ASSERT_TRUE(service().renew(renew));
  const auto sent = service().send(send);
  ASSERT_TRUE(sent);
  const auto broken = service().break_leases(gone);
  ASSERT_TRUE(broken) << broken.error().message;
  EXPECT_EQ(broken->value.front().id, lease.id);

  const auto renewed_again = service().renew(renew);
  ASSERT_TRUE(renewed_again) << renewed_again.error().message;
  EXPECT_EQ(renewed_again->value.front().id, lease.id);
  const auto broken_again = service().break_leases(gone);
  ASSERT_TRUE(broken_again) << broken_again.error().message;
  EXPECT_EQ(broken_again->value.front().id, lease.id);
  const auto sent_again = service().send(send);
  ASSERT_TRUE(sent_again);
  EXPECT_EQ(sent_again->value.front().id, sent->value.front().id);
  MessagesCall all;
  all.caller.owner = ann_;
  EXPECT_EQ(service().messages(all)->value.size(), 1U);
}

// The child ends with its parent, so that the call looks again for what is left of its leases.
TEST_P(ServiceTest, ABreakByNameLeavesTheWaiterThatItMadeRoomFor) {
  const core::Lease parent = held(ann_, {"a"});
  AcquireCall inside = wants({"ann", "inner"}, {"a"});
  inside.caller.parent = {parent.id, parent.fence()};
  ASSERT_EQ(acquire(inside).outcome, core::Outcome::kGranted);
  const AcquireResult waiter = queued(bob_, "a");
  BreakCall gone;
  gone.caller.owner = {"carl", "3"};
  gone.resources = resources({"a"});
  gone.reason = "stuck";

  const auto broken = service().break_leases(gone);

  ASSERT_TRUE(broken) << broken.error().message;
  for (const core::Lease& lease : broken->value) EXPECT_EQ(lease.owner.agent, "ann");
  EXPECT_EQ(await(bob_, waiter.lease.id, 0).outcome, core::Outcome::kGranted);
}

TEST_P(ServiceTest, MessagesMarkedReadStayTheAnswerOfTheCallThatMarkedThem) {
  for (int i = 0; i < 25; ++i) {
    SendCall send;
    send.caller.owner = bob_;
    send.to = {ann_};
    send.text = std::to_string(i);
    send.type = "update";
    ASSERT_TRUE(service().send(send));
  }
  MessagesCall read;
  read.caller = {ann_, {}, {}, "read-1"};
  read.unread_only = read.mark_read = true;
  EXPECT_EQ(service().messages(read)->value.size(), 25U);
  EXPECT_EQ(service().messages(read)->value.size(), 25U);
  read.caller.request_id = "read-2";
  EXPECT_EQ(service().messages(read)->value.size(), 0U);
}

TEST_P(ServiceTest, EveryReplyBringsWhatItsOwnerMustBeTold) {
  const core::Lease lost = held(ann_, {"a"});
  held(ann_, {"b"});
  BreakCall gone;
  gone.caller.owner = bob_;
  gone.leases = {lost.id};
  gone.reason = "taking over";
  ASSERT_TRUE(service().break_leases(gone));
  SendCall send;
  send.caller.owner = bob_;
  send.to = {ann_};
  send.text = "may I?";
  send.type = "request";
  ASSERT_TRUE(service().send(send));
  queued(bob_, "b");

  CheckCall check;
  check.caller = {ann_, {}, {true, true, true}, {}};
  check.claims = claims({"c"});
  const auto first = service().check(check);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->value.free);
  const Notices& told = first->notices;
  ASSERT_EQ(told.waiting.size(), 1U);
  EXPECT_EQ(told.waiting[0].request.owner, bob_);
  if (GetParam() == Over::kLossyWire) return;  // what a lost reply told is not told twice
  ASSERT_EQ(told.lost.size(), 1U);
  EXPECT_EQ(told.lost[0].id, lost.id);
  ASSERT_EQ(told.messages.size(), 1U);
  EXPECT_EQ(told.messages[0].text, "may I?");
  const auto second = service().check(check);
  ASSERT_TRUE(second);
  EXPECT_THAT(second->notices.lost, IsEmpty());
  EXPECT_THAT(second->notices.messages, IsEmpty());
}

TEST_P(ServiceTest, ListFindsByIdOwnerNameAndOverlap) {
  const core::Lease lease = held(ann_, {"src/a.py"});
  held(bob_, {"docs/"});
  const auto found = [&](ListCall call) {
    std::vector<std::string> agents;
    const auto reply = service().list(call);
    EXPECT_TRUE(reply) << reply.error().message;
    if (!reply) return agents;
    for (const ListedLease& one : reply->value.leases) agents.push_back(one.lease.owner.agent);
    return agents;
  };
  ListCall call;
  call.leases = {lease.id};
  EXPECT_THAT(found(call), ElementsAre("ann"));
  call = {};
  call.owner = bob_;
  EXPECT_THAT(found(call), ElementsAre("bob"));
  call = {};
  call.exact = resources({"docs/"});
  EXPECT_THAT(found(call), ElementsAre("bob"));
  call = {};
  call.overlapping = resources({"src/*.py"});
  EXPECT_THAT(found(call), ElementsAre("ann"));
  call.agent = "bob";
  EXPECT_THAT(found(call), IsEmpty());
}

TEST_P(ServiceTest, AWaitThroughTheVerbsEndsWithTheGrant) {
  Locks holder(*site_, ann_);
  AcquireCommand command;
  command.wanted.texts = {"a"};
  ASSERT_EQ(holder.acquire(command)->outcome, core::Outcome::kGranted);
  command.wait_ms = kWaitForever;
  bool asked = false;
  command.on_wait = [&](const WaitProgress& progress) {
    EXPECT_EQ(progress.position, 1U);
    if (!std::exchange(asked, true)) {
      ReleaseCommand all;
      all.all = true;
      EXPECT_TRUE(holder.release(all));
    }
    return true;
  };
  const auto granted = Locks(*site_, bob_).acquire(command);
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(granted->outcome, core::Outcome::kGranted);
  EXPECT_TRUE(asked);
}

TEST_P(ServiceTest, AWaitThroughTheVerbsCanBeGivenUp) {
  held(ann_, {"a"});
  AcquireCommand command;
  command.wanted.texts = {"a"};
  command.wait_ms = kWaitForever;
  command.on_wait = [](const WaitProgress&) { return false; };
  const auto left = Locks(*site_, bob_).acquire(command);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->outcome, core::Outcome::kInterrupted);
  EXPECT_EQ(left->conflicts.size(), 1U);
}

TEST_P(ServiceTest, CallsThatNameNothingAreRefused) {
  const auto acquired = service().acquire(wants(ann_, {}));
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, Code::kUsage);
  AdoptCall call;
  call.caller.owner = ann_;
  const auto adopted = service().adopt(call);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, Code::kUsage);
}

TEST_P(ServiceTest, ARequestCannotLeaveTheQueueAsGranted) {
  held(ann_, {"a"});
  const core::LeaseId id = queued(bob_, "a").lease.id;
  const auto answer = service().leave({{bob_, {}, {}, {}}, id, core::Outcome::kGranted});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInvalidInput);
  EXPECT_EQ(await(bob_, id, 0).outcome, core::Outcome::kQueued);
}

TEST_P(ServiceTest, AnUnknownIdIsLost) {
  const auto answer = service().await(
      {{bob_, {}, {}, {}}, *core::LeaseId::from_text("000102030405060708090a0b0c0d0e0f"), 1});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kLost);
}

}  // namespace
}  // namespace lockkeeper::service
