// toml++, as every source that reads TOML must include it.
//
// toml++ 3.3 assumes things that are not true of every text: its parser asserts that a key begins
// after "[" (with NDEBUG clang may rely on it), and its search for blanks calls U+00E9 unreachable.
// Without these it reaches its own error message.
#pragma once

#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// clang-format off: the order matters.
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#include <toml++/toml.h>
// clang-format on

namespace lockkeeper {

// Dots of one line, those in values included. Each dot of a key is a table in a table, and toml++
// goes down into them by recursion: a line with more is refused before toml++ sees it.
inline constexpr std::ptrdiff_t kTomlDotsMax = 1'000;

}  // namespace lockkeeper
