// What git calls a content: its SHA-1 of a blob, as the bytes come.
#pragma once

#include <nettle/sha1.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper {

class BlobHash {
 public:
  explicit BlobHash(std::uint64_t size);
  void add(std::string_view bytes);
  std::string hex();  // 40 lowercase digits. REQUIRES: as many bytes as announced

 private:
  sha1_ctx hash_;
};

}  // namespace lockkeeper
