#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.h"

namespace lockkeeper {

void append_be32(std::string& out, std::uint32_t value) {
  char bytes[4];
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (24 - 8 * i));
  out.append(bytes, sizeof bytes);
}

void append_be64(std::string& out, std::uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  out.append(bytes, sizeof bytes);
}

std::uint32_t read_be32(std::string_view bytes) {
  LOCKKEEPER_ASSERT(bytes.size() >= 4);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint64_t read_be64(std::string_view bytes) {
  LOCKKEEPER_ASSERT(bytes.size() >= 8);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint64_t hash64(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash64(std::string_view first, std::string_view second) {
  // Seeding with the first hash keeps ("ab","c") and ("a","bc") apart without copying.
  const std::uint64_t seed = hash64(first);
  return XXH3_64bits_withSeed(second.data(), second.size(), seed);
}

std::uint64_t RecordReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if ((byte & 0x80) == 0) return value;
  }
  failed_ = true;
  rest_ = {};
  return 0;
}

std::int64_t RecordReader::signed_number() {
  const std::uint64_t bits = number();
  return static_cast<std::int64_t>(bits >> 1 ^ (~(bits & 1) + 1));
}

std::string_view RecordReader::text() {
  const std::uint64_t size = number();
  if (failed_ || size > rest_.size()) {
    failed_ = true;
    rest_ = {};
    return {};
  }
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return {};
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

namespace {

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = base64_value(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xffU);
  }
  const bool clean = (bits & ((1U << count) - 1)) == 0;
  return clean ? std::optional(out) : std::nullopt;
}

}  // namespace lockkeeper
