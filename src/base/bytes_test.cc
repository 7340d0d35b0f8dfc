#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lockkeeper {
namespace {

TEST(Bytes, big_endian_keeps_number_order_and_reads_back) {
  const std::vector<std::uint64_t> numbers = {
      0,          1,          255,        256,
      0xffffffff, 1ULL << 32, 1ULL << 62, std::numeric_limits<std::uint64_t>::max()};
  std::string before;
  for (const std::uint64_t number : numbers) {
    std::string bytes;
    append_be64(bytes, number);
    ASSERT_EQ(bytes.size(), 8U);
    EXPECT_EQ(read_be64(bytes), number);
    EXPECT_LT(before, bytes) << number;
    before = bytes;
  }
  std::string small;
  append_be32(small, 0x01020380);
  EXPECT_EQ(small, std::string("\x01\x02\x03\x80", 4));
  EXPECT_EQ(read_be32(small), 0x01020380U);
}

TEST(Bytes, hash_is_the_same_on_every_machine_and_keeps_parts_apart) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2U);  // XXH3's published value for no input
  EXPECT_NE(hash64("ab", "c"), hash64("a", "bc"));
  EXPECT_NE(hash64("a", "b"), hash64("b", "a"));
  EXPECT_EQ(hash64("a", "b"), hash64(std::string("a"), std::string("b")));
}

TEST(Records, read_back_what_was_written) {
  const std::vector<std::int64_t> numbers = {0,
                                             -1,
                                             1,
                                             63,
                                             -64,
                                             64,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
  RecordWriter writer;
  for (const std::int64_t number : numbers) {
    writer.signed_number(number);
    writer.number(static_cast<std::uint64_t>(number));
  }
  writer.text("");
  writer.text(std::string("a\0b", 3));
  const std::string bytes = writer.take();

  RecordReader reader(bytes);
  for (const std::int64_t number : numbers) {
    EXPECT_EQ(reader.signed_number(), number);
    EXPECT_EQ(reader.number(), static_cast<std::uint64_t>(number));
  }
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.text(), std::string("a\0b", 3));
  EXPECT_TRUE(reader.at_end());
}

TEST(Records, I10_every_truncation_is_a_failure_and_never_a_wrong_value) {
  RecordWriter writer;
  writer.number(300);
  writer.text("hello");
  writer.signed_number(-70000);
  const std::string whole = writer.take();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    RecordReader reader(std::string_view(whole).substr(0, size));
    reader.number();
    reader.text();
    reader.signed_number();
    EXPECT_TRUE(reader.failed()) << size;
    EXPECT_FALSE(reader.at_end()) << size;
  }
}

TEST(Records, I10_hostile_lengths_and_endless_varints_fail) {
  RecordReader endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12));
  EXPECT_EQ(endless.number(), 0U);
  EXPECT_TRUE(endless.failed());

  RecordReader too_large(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  too_large.number();
  EXPECT_TRUE(too_large.failed());

  RecordWriter writer;
  writer.number(std::numeric_limits<std::uint64_t>::max());
  const std::string length = writer.take() + "abc";
  RecordReader long_text(length);
  EXPECT_EQ(long_text.text(), "");
  EXPECT_TRUE(long_text.failed());
  EXPECT_EQ(long_text.text(), "") << "a failed reader stays failed";
}

TEST(Records, left_over_bytes_are_not_the_end) {
  RecordReader reader(std::string_view("\x01\x02", 2));
  EXPECT_EQ(reader.number(), 1U);
  EXPECT_FALSE(reader.failed());
  EXPECT_FALSE(reader.at_end());
}

TEST(Hex, both_ways_and_refusals) {
  EXPECT_EQ(to_hex(std::string("\x00\x7f\xff", 3)), "007fff");
  EXPECT_EQ(from_hex("007fff"), std::string("\x00\x7f\xff", 3));
  EXPECT_EQ(from_hex("0"), "");
  EXPECT_EQ(from_hex("0g"), "");
  EXPECT_EQ(from_hex("FF"), "") << "one spelling only";
}

}  // namespace
}  // namespace lockkeeper
