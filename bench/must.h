// What must go well in a benchmark: else the figures would be of something else.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace lockkeeper::bench {

// The value; ends the process with the error's words if there is none.
template <class T>
T must(Result<T> result) {
  if (!result) {
    const Error& error = result.error();
    std::fprintf(stderr, "lockkeeper_bench: %s: %s\n", std::string(code_name(error.code)).c_str(),
                 error.message.c_str());
    std::_Exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace lockkeeper::bench
