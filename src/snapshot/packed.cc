#include "snapshot/packed.h"

#include <zstd.h>

namespace lockkeeper::snapshot {
namespace {

// Faster than it is small: a hook waits for it.
constexpr int kLevel = -3;

}  // namespace

Result<std::string> compressed(std::string_view content) {
  std::string bytes(compressed_at_most(content.size()), '\0');
  const std::size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), content.data(), content.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    return fail(Code::kFailed, std::string("cannot compress: ") + ZSTD_getErrorName(size));
  }
  bytes.resize(size);
  return bytes;
}

std::size_t compressed_at_most(std::uint64_t size) {
  return ZSTD_compressBound(size);
}

std::optional<std::string> decompressed(std::string_view bytes, std::uint64_t size) {
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != size) return std::nullopt;
  std::string content(size, '\0');
  const std::size_t got =
      ZSTD_decompress(content.data(), content.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) return std::nullopt;
  return content;
}

}  // namespace lockkeeper::snapshot
