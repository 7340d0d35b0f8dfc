#include "kv/etcd/wire.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::uint64_t kFieldMax = (1U << 29) - 1;
constexpr std::size_t kVarintBytesMax = 10;
constexpr std::uint64_t kMore = 0x80;  // the bit of a byte that another one follows

}  // namespace

void MessageWriter::varint(std::uint64_t value) {
  while (value >= kMore) {
    out_.push_back(static_cast<char>(value | kMore));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void MessageWriter::kept_number(std::uint32_t field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3);
  varint(value);
}

void MessageWriter::kept_bytes(std::uint32_t field, std::string_view value) {
  varint(std::uint64_t{field} << 3 | 2);
  varint(value.size());
  out_.append(value);
}

std::size_t MessageWriter::begin_message(std::uint32_t field) {
  varint(std::uint64_t{field} << 3 | 2);
  out_.push_back(0);  // the length, which mostly fits one byte
  return out_.size();
}

void MessageWriter::end_message(std::size_t begin) {
  std::size_t length = out_.size() - begin;
  std::size_t at = begin - 1;
  for (; length >= kMore; length >>= 7) {
    out_.insert(at++, 1, static_cast<char>(length | kMore));
  }
  out_[at] = static_cast<char>(length);
}

bool MessageReader::fail() {
  failed_ = true;
  rest_ = {};
  return false;
}

bool MessageReader::varint(std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < kVarintBytesMax; ++i) {
    if (rest_.empty()) return fail();
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < kMore) return true;
  }
  return fail();
}

bool MessageReader::next() {
  if (failed_ || rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > kFieldMax) return fail();
  field_ = static_cast<std::uint32_t>(tag >> 3);
  std::uint64_t size = 0;
  switch (tag & 7) {
    case 0:
      type_ = Type::kVarint;
      return varint(number_);
    case 1:
      type_ = Type::kFixed64;
      size = 8;
      break;
    case 2:
      type_ = Type::kBytes;
      if (!varint(size)) return false;
      break;
    case 5:
      type_ = Type::kFixed32;
      size = 4;
      break;
    default:
      return fail();
  }
  if (size > rest_.size()) return fail();
  bytes_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

std::uint64_t MessageReader::number() {
  if (type_ == Type::kVarint) return number_;
  fail();
  return 0;
}

std::string_view MessageReader::bytes() {
  if (type_ == Type::kBytes) return bytes_;
  fail();
  return {};
}

}  // namespace lockkeeper::kv::etcd
