// Whole numbers from JSON that may be damaged: a number that is not whole, or that its type cannot
// hold, is refused instead of converted.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/json.h"

namespace lockkeeper::crew {

template <class Number>
std::optional<Number> whole_number_if(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.template get<std::uint64_t>();
    if (std::in_range<Number>(value)) return static_cast<Number>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.template get<std::int64_t>();
    if (std::in_range<Number>(value)) return static_cast<Number>(value);
  }
  return std::nullopt;
}

// Throws std::invalid_argument.
template <class Number>
Number whole_number(const Json& json) {
  if (const auto value = whole_number_if<Number>(json)) return *value;
  throw std::invalid_argument("not a whole number in range: " + json.dump());
}

// The entry `key` of an object; `otherwise` if it is missing or refused.
template <class Number>
Number whole_number_or(const Json& json, const char* key, Number otherwise) {
  const auto entry = json.find(key);
  return entry == json.end() ? otherwise : whole_number_if<Number>(*entry).value_or(otherwise);
}

}  // namespace lockkeeper::crew
