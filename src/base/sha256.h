// SHA-256, for names that other tools derive from it.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper {

// 64 lowercase hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace lockkeeper
