#include "git/lfs.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/blob_hash.h"
#include "base/bytes.h"
#include "base/fd.h"

namespace lockkeeper::git {
namespace {

constexpr off_t kFileBytesMax = off_t{256} << 20;  // about half a second
constexpr std::size_t kChunkBytes = 256U << 10;

std::string sha256_of(const Fd& file) {
  sha256_ctx hash;
  sha256_init(&hash);
  std::vector<char> buffer(kChunkBytes);
  ssize_t got = 0;
  while ((got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
    sha256_update(&hash, static_cast<std::size_t>(got),
                  reinterpret_cast<const std::uint8_t*>(buffer.data()));
  }
  if (got < 0) return {};
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&hash, digest.size(), digest.data());
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

bool is_kept_by_lfs(const std::string& file, const std::string& blob_id) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_size > kFileBytesMax) return false;
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + sha256_of(fd) + "\nsize " +
      std::to_string(info.st_size) + "\n";
  BlobHash hash(pointer.size());
  hash.add(pointer);
  return hash.hex() == blob_id;
}

}  // namespace lockkeeper::git
