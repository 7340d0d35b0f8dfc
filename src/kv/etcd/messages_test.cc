#include "kv/etcd/messages.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "kv/etcd/wire.h"

namespace lockkeeper::kv::etcd {
namespace {

using namespace std::string_literals;

// Bytes as protoc 3 writes these messages (by hand, from their field numbers).

TEST(EtcdMessages, ARangeRequestIsWrittenAsEtcdReadsIt) {
  RangeRequest request;
  request.key = "a";
  request.range_end = "b";
  request.limit = 300;
  request.revision = 7;
  request.serializable = true;
  EXPECT_EQ(to_hex(encode(request)),
            "0a0161120162"
            "18ac02"
            "2007"
            "3801");
  request = {};
  request.key = "a";
  request.order = RangeRequest::Order::kCreateDescending;
  request.min_create_revision = 1;
  request.max_create_revision = 2;
  EXPECT_EQ(to_hex(encode(request)),
            "0a0161"
            "2802"
            "3002"
            "6001"
            "6802");
}

TEST(EtcdMessages, ATransactionIsWrittenAsEtcdReadsIt) {
  TxnRequest request;
  Compare compare;
  compare.target = Compare::Target::kCreate;
  compare.key = "k";
  request.compares = {compare};
  compare.target = Compare::Target::kMod;
  compare.result = Compare::Result::kLess;
  compare.range_end = "l";
  compare.revision = 5;
  request.compares.push_back(compare);
  request.then = {Put{"k", "", 9}, Delete{"d"}};
  request.otherwise = {Get{"g"}};
  EXPECT_EQ(to_hex(encode(request)),
            // A zero that is compared with is written: a oneof says by its presence which it is.
            "0a07"
            "1001"
            "1a016b"
            "2800"
            "0a0d"
            "0802"
            "1002"
            "1a016b"
            "3005"
            "8204016c"
            "1207"
            "1205"
            "0a016b"
            "1809"
            "1205"
            "1a03"
            "0a0164"
            "1a05"
            "0a03"
            "0a0167");
}

std::string message(const std::function<void(MessageWriter&)>& fill) {
  MessageWriter out;
  fill(out);
  return out.take();
}

TEST(EtcdMessages, AnAnswerIsRead) {
  const std::string header = message([](MessageWriter& out) {
    out.number(1, 11);
    out.number(2, 22);
    out.number(3, 33);
    out.number(4, 44);
  });
  const std::string kv = message([](MessageWriter& out) {
    out.bytes(1, "key");
    out.number(2, 5);
    out.number(3, 6);
    out.number(4, 2);
    out.bytes(5, "value");
    out.number(6, 77);
  });
  const std::string range = message([&](MessageWriter& out) {
    out.kept_bytes(1, header);
    out.kept_bytes(2, kv);
    out.number(3, 1);
    out.bytes(99, "of a newer etcd");
  });
  const std::string txn = message([&](MessageWriter& out) {
    out.kept_bytes(1, header);
    out.number(2, 1);
    out.kept_bytes(3, message([&](MessageWriter& op) { op.kept_bytes(1, range); }));
    out.kept_bytes(3, message([&](MessageWriter& op) { op.kept_bytes(3, "\x10\x03"); }));
  });
  const auto read = decode_txn(txn);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->succeeded);
  EXPECT_EQ(read->header.cluster_id, 11U);
  EXPECT_EQ(read->header.member_id, 22U);
  EXPECT_EQ(read->header.revision, 33U);
  ASSERT_EQ(read->responses.size(), 2U);
  ASSERT_EQ(read->responses[0].range.kvs.size(), 1U);
  EXPECT_TRUE(read->responses[0].range.more);
  const KeyValue& found = read->responses[0].range.kvs[0];
  EXPECT_EQ(found.key, "key");
  EXPECT_EQ(found.value, "value");
  EXPECT_EQ(found.create_revision, 5U);
  EXPECT_EQ(found.mod_revision, 6U);
  EXPECT_EQ(found.lease, 77U);
  EXPECT_EQ(read->responses[1].deleted, 3U);
}

TEST(EtcdMessages, MembersAlarmsAndSizesAreRead) {
  const auto members = decode_members(message([](MessageWriter& out) {
    out.kept_bytes(1, "");
    out.kept_bytes(2, message([](MessageWriter& member) {
                     member.number(1, 7);
                     member.bytes(2, "m0");
                     member.bytes(3, "http://peer");
                     member.bytes(4, "http://a:1");
                     member.bytes(4, "http://b:2");
                     member.number(5, 1);
                   }));
    out.kept_bytes(2, "");
  }));
  ASSERT_TRUE(members.has_value());
  ASSERT_EQ(members->size(), 2U);
  EXPECT_EQ((*members)[0].id, 7U);
  EXPECT_EQ((*members)[0].name, "m0");
  EXPECT_EQ((*members)[0].client_urls, (std::vector<std::string>{"http://a:1", "http://b:2"}));
  EXPECT_TRUE((*members)[0].is_learner);
  EXPECT_FALSE((*members)[1].is_learner);
  const auto alarms = decode_alarms("\x12\x04\x08\x07\x10\x01\x12\x02\x10\x02\x12\x02\x10\x09"s);
  ASSERT_TRUE(alarms.has_value());
  ASSERT_EQ(alarms->size(), 3U);
  EXPECT_EQ((*alarms)[0].member, 7U);
  EXPECT_EQ((*alarms)[0].kind, Alarm::Kind::kNoSpace);
  EXPECT_EQ((*alarms)[1].kind, Alarm::Kind::kCorrupt);
  EXPECT_EQ((*alarms)[2].kind, Alarm::Kind::kOther);
  EXPECT_FALSE(decode_members("\x12\x05\x08"s).has_value());
  EXPECT_FALSE(decode_alarms("\x10\x01"s).has_value());
  const auto status = decode_status("\x12\x01v\x18\x64\x48\x32"s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->size, 100U);
  EXPECT_EQ(status->size_in_use, 50U);
}

TEST(EtcdMessages, AMissingTtlIsALostLease) {
  EXPECT_EQ(decode_keep_alive(""), 0U);
  EXPECT_EQ(decode_keep_alive("\x10\x05\x18\x5a"), 90U);
}

TEST(EtcdMessages, WhatIsCutOffIsRefused) {
  const std::string whole = message([](MessageWriter& out) {
    out.bytes(2, message([](MessageWriter& kv) { kv.bytes(1, "a long enough key"); }));
  });
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_range(std::string_view(whole).substr(0, size)).has_value()) << size;
  }
  EXPECT_TRUE(decode_range(whole).has_value());
  EXPECT_FALSE(decode_range("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s).has_value());
  EXPECT_FALSE(decode_range("\x10\x01"s).has_value());  // a number where rows should be
  EXPECT_FALSE(decode_range("\x00"s).has_value());      // field 0
  EXPECT_FALSE(decode_range("\x0b"s).has_value());      // a group
}

TEST(EtcdMessages, SkipsFieldsOfEveryType) {
  const std::string fixed =
      "\x79"
      "12345678"
      "\x7d"
      "1234"
      "\x18\x01"s;
  const auto read = decode_range(fixed);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->more);
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
