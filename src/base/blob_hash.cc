#include "base/blob_hash.h"

#include "base/bytes.h"

namespace lockkeeper {

BlobHash::BlobHash(std::uint64_t size) {
  sha1_init(&hash_);
  const std::string head = "blob " + std::to_string(size);
  add({head.c_str(), head.size() + 1});
}

void BlobHash::add(std::string_view bytes) {
  sha1_update(&hash_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string BlobHash::hex() {
  std::uint8_t digest[SHA1_DIGEST_SIZE];
  sha1_digest(&hash_, sizeof digest, digest);
  return to_hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace lockkeeper
