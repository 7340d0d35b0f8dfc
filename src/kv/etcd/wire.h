// The encoding of protocol buffers, as far as etcd's messages need it: varints and length-prefixed
// bytes. Unknown fields are skipped, so a newer server may say more.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::kv::etcd {

// Writes one message. A zero, an empty text and `false` are what an absent field means, and are
// left out. The kept_ forms write them all the same: a oneof says by its presence which it is.
class MessageWriter {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    if (value != 0) kept_number(field, value);
  }
  void bytes(std::uint32_t field, std::string_view value) {
    if (!value.empty()) kept_bytes(field, value);
  }
  void kept_number(std::uint32_t field, std::uint64_t value);
  void kept_bytes(std::uint32_t field, std::string_view value);
  // A message within this one, which `write` writes here.
  template <class Write>
  void message(std::uint32_t field, const Write& write) {
    const std::size_t begin = begin_message(field);
    write();
    end_message(begin);
  }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  std::string take() { return std::move(out_); }

 private:
  void varint(std::uint64_t value);
  std::size_t begin_message(std::uint32_t field);
  void end_message(std::size_t begin);
  std::string out_;
};

// Reads one message, field by field, and never outside of `bytes`. After a field that is malformed,
// or read as the wrong type, failed() is true and there are no more fields.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  bool next();  // false: the end, or failed()
  std::uint32_t field() const { return field_; }
  std::uint64_t number();    // 0 if it is not a number
  std::string_view bytes();  // empty if it is not bytes
  bool flag() { return number() != 0; }
  bool failed() const { return failed_; }

 private:
  enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  bool varint(std::uint64_t& value);
  bool fail();

  std::string_view rest_;
  std::uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace lockkeeper::kv::etcd
