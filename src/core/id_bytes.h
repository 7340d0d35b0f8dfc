// The bytes of a lease's id, stored in place: ids are copied often, and a copy must not allocate.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::core {

class IdBytes {
 public:
  static constexpr std::size_t kMax = 16;

  IdBytes() = default;
  // At most kMax bytes; longer ones are cut and then name no lease.
  IdBytes(std::string_view bytes)  // NOLINT(google-explicit-constructor): they are just bytes
      : size_(static_cast<std::uint8_t>(std::min(bytes.size(), kMax))) {
    std::copy_n(bytes.data(), size_, bytes_.data());
  }
  IdBytes(const std::string& bytes)  // NOLINT(google-explicit-constructor): just bytes
      : IdBytes(std::string_view(bytes)) {}
  operator std::string_view() const { return {bytes_.data(), size_}; }  // NOLINT: just bytes

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char& back() { return bytes_.at(size_ - std::size_t{1}); }
  bool starts_with(std::string_view prefix) const {
    return std::string_view(*this).starts_with(prefix);
  }
  std::string_view first(std::size_t count) const {
    return std::string_view(*this).substr(0, count);
  }

  friend bool operator==(const IdBytes& a, const IdBytes& b) {
    return std::string_view(a) == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const IdBytes& a, const IdBytes& b) {
    return std::string_view(a) <=> std::string_view(b);
  }

 private:
  std::array<char, kMax> bytes_{};
  std::uint8_t size_ = 0;
};

}  // namespace lockkeeper::core
