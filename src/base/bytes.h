// Bytes in keys and records. Keys use big-endian integers, so that byte order is number order.
// Records use a small format without tags: varints and length-prefixed strings. One pair of
// functions per record writes and reads them in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockkeeper {

void append_be32(std::string& out, std::uint32_t value);
void append_be64(std::string& out, std::uint64_t value);
std::uint32_t read_be32(std::string_view bytes);  // REQUIRES: bytes.size() >= 4
std::uint64_t read_be64(std::string_view bytes);  // REQUIRES: bytes.size() >= 8

// XXH3 over the concatenation; equal input gives equal output on every machine.
std::uint64_t hash64(std::string_view bytes);
std::uint64_t hash64(std::string_view first, std::string_view second);

class RecordWriter {
 public:
  RecordWriter() : out_(kUsualBytes, '\0') {}
  void number(std::uint64_t value) {  // varint
    make_room(kNumberBytesMax);
    while (value >= 0x80) {
      out_[size_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_[size_++] = static_cast<char>(value);
  }
  void signed_number(std::int64_t value) {  // zig-zag varint
    number(static_cast<std::uint64_t>(value) << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void text(std::string_view value) {  // length, bytes
    number(value.size());
    make_room(value.size());
    value.copy(out_.data() + size_, value.size());
    size_ += value.size();
  }
  std::string take() {
    out_.resize(size_);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kUsualBytes = 256;  // most records fit
  static constexpr std::size_t kNumberBytesMax = 10;
  void make_room(std::size_t bytes) {
    if (out_.size() - size_ < bytes) out_.resize(out_.size() * 2 + bytes);
  }

  std::string out_;       // as long as there is room
  std::size_t size_ = 0;  // written
};

// Reads what RecordWriter wrote. A read past the end or a malformed varint sets failed() and gives
// zero or empty; the caller checks once at the end. Never reads outside `bytes` (I10).
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number();
  std::int64_t signed_number();
  std::string_view text();
  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// Lower-case hexadecimal, and back; empty on a bad digit or an odd length.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view text);
// Strict: whole groups of four, padded, nothing after the padding. nullopt: it is not that.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace lockkeeper
