// Shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "key/resource.h"

namespace lockkeeper::key {

inline Resource must_parse(std::string_view text, const Rules& rules = {},
                           Syntax syntax = Syntax::kAuto) {
  auto parsed = parse(text, rules, syntax);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? std::move(parsed->resource) : Resource();
}

// The canonical text, or "code: message".
inline std::string outcome(std::string_view text, const Rules& rules = {},
                           Syntax syntax = Syntax::kAuto) {
  auto parsed = parse(text, rules, syntax);
  if (parsed) return parsed->resource.text();
  return std::string(code_name(parsed.error().code)) + ": " + parsed.error().message;
}

inline std::optional<std::string> witness(std::string_view a, std::string_view b) {
  const Resource x = must_parse(a);
  const Resource y = must_parse(b);
  auto forth = overlap(x, y);
  auto back = overlap(y, x);
  EXPECT_TRUE(forth.has_value() && back.has_value()) << a << " × " << b;
  EXPECT_EQ(forth->has_value(), back->has_value()) << a << " × " << b;
  return *forth;
}

}  // namespace lockkeeper::key
