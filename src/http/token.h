// The secret that a client must know, in a file that only its owner can read.
#pragma once

#include <string>

#include "base/error.h"

namespace lockkeeper::http {

// What the file says, without the line break at its end; made with 256 random bits if there is no
// such file (two servers that start at once agree on one). Only a regular file of our own user that
// nobody else can read or write, with 16 to 512 visible ASCII characters; operation_not_permitted
// or invalid_input else, naming the file and never what is in it.
Result<std::string> read_or_make_token(const std::string& path);

}  // namespace lockkeeper::http
