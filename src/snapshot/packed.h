// Contents as they lie on disk: one zstd frame each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::snapshot {

Result<std::string> compressed(std::string_view content);
// How long compressed(…) of so many bytes can be.
std::size_t compressed_at_most(std::uint64_t size);
// Exactly `size` bytes. Nullopt: that is not what was compressed.
std::optional<std::string> decompressed(std::string_view bytes, std::uint64_t size);

}  // namespace lockkeeper::snapshot
