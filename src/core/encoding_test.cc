#include "core/encoding.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/bytes.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

Lease full_lease() {
  Lease lease;
  lease.id = make_id({"ann", "s"}, 77);
  lease.owner = {"ann", "s/x"};
  lease.claims = {x("src/a.c"), s("docs/"), x("**/*.{h,c}"), x("api:GET /v1/users"), s("./")};
  for (std::size_t i = 0; i < lease.claims.size(); ++i) {
    lease.claims[i].slot = static_cast<std::uint16_t>(i * 9'000);
  }
  lease.terms.reason = std::string("why\0not", 7);
  lease.terms.task = "T-1";
  lease.terms.ttl_ms = kNoEnd;
  lease.deadline_mono_ms = 123'456'789;
  lease.acquired_wall_ms = -5;
  lease.expires_wall_ms = INT64_MAX;
  lease.holds = {{.slot = UINT64_MAX, .pid_namespace = 3, .pid = -4, .start_ticks = 5}};
  lease.then = {.slot = 6, .pid_namespace = 7, .pid = 8, .start_ticks = 9};
  lease.terms.orphan_grace_ms = 30'000;
  lease.orphaned_mono_ms = 11;
  lease.confirm_by_mono_ms = 12;
  lease.due_mono_ms = 13;
  lease.epoch = 14;
  lease.fence_offset = -15;
  lease.parent = make_id({"p", ""}, 1);
  lease.terms.request_id = "r";
  lease.overtook = true;
  return lease;
}

void expect_same(const Lease& a, const Lease& b) {
  EXPECT_EQ(encode_lease(a), encode_lease(b));
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.claims, b.claims);
  for (std::size_t i = 0; i < a.claims.size(); ++i) EXPECT_EQ(a.claims[i].slot, b.claims[i].slot);
  EXPECT_EQ(a.terms.reason, b.terms.reason);
  EXPECT_EQ(a.deadline_mono_ms, b.deadline_mono_ms);
  EXPECT_EQ(a.holds, b.holds);
  EXPECT_EQ(a.then, b.then);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.overtook, b.overtook);
}

TEST(Record, ALeaseComesBackWhole) {
  const Lease lease = full_lease();
  const auto back = decode_lease(lease.id, encode_lease(lease), 99);
  ASSERT_TRUE(back.has_value());
  expect_same(lease, *back);
  EXPECT_EQ(back->id, lease.id);
  EXPECT_EQ(back->created, 99U);
  EXPECT_EQ(back->fence(), 84U);
}

TEST(Record, AWaiterComesBackWhole) {
  const Waiter waiter{full_lease(), make_id({"b", ""}, 2), true, 42};
  const auto back = decode_waiter(waiter.request.id, encode_waiter(waiter), 7);
  ASSERT_TRUE(back.has_value());
  expect_same(waiter.request, back->request);
  EXPECT_EQ(back->blocker, waiter.blocker);
  EXPECT_TRUE(back->alone);
  EXPECT_EQ(back->wake, 42U);
  EXPECT_EQ(back->request.created, 7U);
}

TEST(Record, TheAgentsTypeComesBackWithLeaseAndWaiter) {
  Lease lease = full_lease();
  lease.terms.agent_type = "claude_code";
  const auto back = decode_lease(lease.id, encode_lease(lease), 99);
  ASSERT_TRUE(back.has_value());
  expect_same(lease, *back);
  EXPECT_EQ(back->terms.agent_type, "claude_code");
  const Waiter waiter{lease, make_id({"b", ""}, 2), true, 42};
  const auto waits = decode_waiter(waiter.request.id, encode_waiter(waiter), 7);
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(waits->request.terms.agent_type, "claude_code");
  EXPECT_EQ(waits->wake, 42U);
}

TEST(Record, AnEventComesBackWholeWithItsNumberAndFence) {
  Event event;
  event.what = "granted";
  event.at_wall_ms = 5;
  event.owner = {"ann", "s"};
  event.resources = {"a", "", "b"};
  event.lease = make_id({"ann", "s"}, 3);
  event.fence_is_version = true;
  event.fence_offset = 1'000;
  event.cause = "handoff";
  event.reason = "r";
  event.by = {"bob", ""};
  event.task = "T";
  const std::string value = encode_event(event);
  const auto back = decode_event({777, "key", value, 300});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->seq, 777U);
  EXPECT_EQ(back->fence, 1'300U);
  EXPECT_EQ(back->resources, event.resources);
  EXPECT_EQ(back->by, event.by);
  EXPECT_EQ(back->task, "T");
  EXPECT_FALSE(decode_event({0, "key", value, 300}));  // a damaged key
}

// Under the sanitizer: a signed sum would overflow.
TEST(Record, F16AFenceOffsetOfAnySizeIsRead) {
  Event event;
  event.what = "granted";
  event.fence_is_version = true;
  event.fence_offset = INT64_MAX;
  const std::string value = encode_event(event);
  const auto back = decode_event({1, "key", value, INT64_MAX - 7});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->fence, std::uint64_t{INT64_MAX} - 7 + INT64_MAX);
}

TEST(Record, ALostLeaseAndARequestComeBackWhole) {
  LostLease lost;
  lost.id = lost.filed = make_id({"ann", ""}, 4);
  lost.owner = {"ann", ""};
  lost.resources = {"a"};
  lost.cause = "broken";
  lost.reason = "stuck";
  lost.by = {"bob", "s"};
  lost.fence = 12;
  lost.at_wall_ms = 13;
  lost.told = true;
  const auto back = decode_lost(lost.id, encode_lost(lost));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(encode_lost(*back), encode_lost(lost));
  EXPECT_EQ(back->by, lost.by);
  EXPECT_TRUE(back->told);

  const RememberedRequest request{"r1", UINT64_MAX, lost.id};
  const auto again = decode_request(encode_request(request));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->request_id, "r1");
  EXPECT_EQ(again->arguments, UINT64_MAX);
  EXPECT_EQ(again->lease, lost.id);
}

TEST(Record, AClaimKeepsItsKind) {
  const key::Resource file = resource("app/[ab]", key::Syntax::kLiteral);
  const key::Resource glob = resource("app/[ab]", key::Syntax::kGlob);
  EXPECT_EQ(decode_claim(encode_claim(file)).value(), file);
  EXPECT_EQ(decode_claim(encode_claim(glob)).value(), glob);
}

// Every record and the function that reads it, as "did it read?".
struct Sample {
  const char* name;
  std::string bytes;
  std::function<bool(std::string_view)> reads;
};

std::vector<Sample> samples() {
  const LeaseId id = make_id({"ann", ""}, 1);
  Event event;
  event.what = "granted";
  event.resources = {"a", "b"};
  LostLease lost;
  lost.owner = {"ann", ""};
  lost.resources = {"a"};
  return {
      {"lease", encode_lease(full_lease()),
       [=](std::string_view b) { return decode_lease(id, b, 1).has_value(); }},
      {"waiter", encode_waiter({full_lease(), id, true, 3}),
       [=](std::string_view b) { return decode_waiter(id, b, 1).has_value(); }},
      {"claim", encode_claim(resource("src/*.h")),
       [](std::string_view b) { return decode_claim(b).has_value(); }},
      {"request", encode_request({"r", 5, id}),
       [](std::string_view b) { return decode_request(b).has_value(); }},
      {"lost", encode_lost(lost),
       [=](std::string_view b) { return decode_lost(id, b).has_value(); }},
      {"event", encode_event(event),
       [=](std::string_view b) { return decode_event({9, "e", b, 9}).has_value(); }},
  };
}

TEST(Record, I10WhatIsCutOffOrTooLongIsDamage) {
  for (const Sample& sample : samples()) {
    ASSERT_TRUE(sample.reads(sample.bytes)) << sample.name;
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      // A copy of its own size, so that a read beyond it is seen by the sanitizers.
      const std::vector<char> cut(sample.bytes.begin(),
                                  sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(sample.reads({cut.data(), cut.size()})) << sample.name << " cut at " << size;
    }
    EXPECT_FALSE(sample.reads(sample.bytes + '\0')) << sample.name;
    EXPECT_FALSE(sample.reads(sample.bytes + "more")) << sample.name;
  }
}

TEST(Record, I10AnotherFormatIsDamageToUs) {
  for (const Sample& sample : samples()) {
    if (std::string_view(sample.name) == "claim") continue;
    std::string other = sample.bytes;
    other[0] = 2;
    EXPECT_FALSE(sample.reads(other)) << sample.name;
  }
}

TEST(Record, I10ChangedBytesNeverCrash) {
  std::uint64_t random = 88172645463325252U;  // xorshift: the same run every time
  const auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  std::size_t read = 0;
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 3'000; ++round) {
      std::string bytes = sample.bytes;
      const std::uint64_t changes = 1 + next() % 3;
      for (std::uint64_t i = 0; i < changes; ++i) {
        bytes[next() % bytes.size()] = static_cast<char>(next() & 0xff);
      }
      read += sample.reads(bytes) ? 1U : 0U;
    }
    // Every single byte set to the values that lengths and counts fear most.
    for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
      for (const unsigned value : {0x00U, 0x7fU, 0x80U, 0xffU}) {
        std::string bytes = sample.bytes;
        bytes[i] = static_cast<char>(value);
        read += sample.reads(bytes) ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(read, 0U);  // some changes hit only a text
}

class Damaged : public OnBothFlavours {
 protected:
  void overwrite(const std::string& key, const std::string& value) {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->put(key, value));
    ASSERT_TRUE((*txn)->commit());
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Damaged);

TEST_P(Damaged, I10ADamagedRowGrantsNothing) {
  realm_.auditing = false;
  const Lease lease = realm_.granted({"ann", ""}, {x("a")});
  const auto good = realm_.rows();
  for (const auto& [key, value] : good) {
    if (key.size() < 17 || (key[0] != 'l' && key[0] != 'x')) continue;
    overwrite(key, "\x01garbage");
    const auto reply = realm_.acquire(realm_.ask({key[0] == 'x' ? "bob" : "ann", ""}, {x("a")}));
    ASSERT_FALSE(reply.has_value()) << key[0];
    EXPECT_EQ(reply.error().code, Code::kStoreCorrupt);
    overwrite(key, value);
  }
  EXPECT_EQ(realm_.outcome(realm_.ask({"bob", ""}, {x("a")})), Outcome::kHeld);
}

TEST_P(Damaged, I10AClaimWithoutItsLeaseIsNotFree) {
  realm_.auditing = false;
  const Lease lease = realm_.granted({"ann", ""}, {x("a")});
  auto txn = realm_.store().begin(kv::Access::kWrite);
  ASSERT_TRUE((*txn)->erase(lease_key(lease.id)));
  ASSERT_TRUE((*txn)->commit());
  txn->reset();
  EXPECT_EQ(realm_.acquire(realm_.ask({"bob", ""}, {x("a")})).error().code, Code::kStoreCorrupt);
  EXPECT_EQ(realm_.check(realm_.ask({"bob", ""}, {x("a")})).error().code, Code::kStoreCorrupt);
}

TEST_P(Damaged, I10ADueRowOfNoKnownKindRemovesNothing) {
  realm_.auditing = false;
  const Lease lease = realm_.granted({"ann", ""}, {x("a")});
  // As if a claim's key had got into the index of due rows.
  std::string claim;
  for (const auto& [key, value] : realm_.rows()) {
    if (key[0] == 'x') claim = key;
  }
  std::string due = due_key(0, 1, Due::kLost, claim.substr(1));
  due[17] = 'x';
  overwrite(due, "");
  const auto reply = realm_.run([](Table& table) { return table.maintain(10); });
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kStoreCorrupt);
  EXPECT_TRUE(realm_.rows().contains(claim));
}

}  // namespace
}  // namespace lockkeeper::core
