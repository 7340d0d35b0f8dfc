// Between the library and its callers: Result becomes Answer, and exceptions become an Error.
#pragma once

#include <lockkeeper/answer.h>

#include <exception>
#include <utility>

#include "base/error.h"

namespace lockkeeper::embed {

inline Error thrown(const std::exception& exception) {
  return {Code::kFailed, std::string("failed inside: ") + exception.what(), ""};
}

inline Error in_child_error() {
  return {Code::kLost, "this realm was opened by the parent of this process",
          "open a realm in the child"};
}

template <class T, class Work>
Answer<T> answer(const Work& work) {
  try {
    auto result = work();
    if (!result) return std::move(result.error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return T(std::move(*result));
    }
  } catch (const std::exception& exception) {
    return thrown(exception);
  }
}

}  // namespace lockkeeper::embed
