// The tokens that clients must send, in a file that only its owner can read.
#pragma once

#include <string>

#include "base/error.h"

namespace lockkeeper::http {

// The file's content without the final line break: one token, or several, one a line, so that each
// client may have its own. Created with 256 random bits if it is missing (two servers that start at
// once agree on one). It must be a regular file of our own user that nobody else can read or write,
// with 16 to 512 visible ASCII characters a line and at most 64 lines. Otherwise
// operation_not_permitted or invalid_input, which name the file but never its content.
Result<std::string> read_or_make_token(const std::string& path);

}  // namespace lockkeeper::http
