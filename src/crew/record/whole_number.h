// Whole numbers of a record that may be damaged: a number that is not whole, or too large for its
// type, is refused instead of being converted.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/json.h"

namespace lockkeeper::crew {

// Throws std::invalid_argument.
template <class Number>
Number whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.template get<std::uint64_t>();
    if (std::in_range<Number>(value)) return static_cast<Number>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.template get<std::int64_t>();
    if (std::in_range<Number>(value)) return static_cast<Number>(value);
  }
  throw std::invalid_argument("not a whole number in range: " + json.dump());
}

}  // namespace lockkeeper::crew
