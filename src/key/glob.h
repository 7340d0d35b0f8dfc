// A glob as written: tokens, canonical spelling, and the plain patterns its braces stand for.
//
//   *  any characters of one segment     ?  one code point     [a-c] [!x]  one code point of a set
//   {a,b}  either; may nest and may hold separators            **  any number of whole segments
//   \  before one of * ? [ ] { } , ! ^ - \ makes that character literal
//
// Braces are expanded, so each expansion follows the rules of plain patterns. The number of
// expansions is limited, which bounds time and memory whatever the nesting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lockkeeper::key {

using CodePointRange = std::pair<char32_t, char32_t>;  // both ends included

enum class TokenKind {
  kLiteral,
  kAny,
  kStar,
  kGlobStar,
  kClass,
  kSeparator,
  kOpen,
  kComma,
  kClose,
};

struct Token {
  TokenKind kind = TokenKind::kLiteral;
  char32_t code_point = 0;                  // kLiteral
  std::vector<CodePointRange> ranges = {};  // kClass: sorted, apart, complemented if negated
  bool negated = false;                     // kClass: for the spelling

  friend bool operator==(const Token&, const Token&) = default;
};
using Tokens = std::vector<Token>;

struct GlobSyntax {
  char separator = '/';
  bool fold_case = false;
  bool dots = true;     // "." and ".." are cleaned away (paths); otherwise refused
  bool folders = true;  // a separator at the end means everything below
};

struct Glob {
  bool plain = false;                // no pattern character is left: a path with escapes, or none
  std::string text;                  // canonical spelling (plain: the name itself, unescaped)
  std::vector<std::string> literal;  // leading segments without pattern characters, unescaped
  bool folder = false;               // plain only: ended in a separator
  std::vector<Tokens> patterns;      // expansions, each clean, none ends in a separator
  bool doubtful_escape = false;      // `src\*.py`: an escape, or a Windows path?
};

// Does the text have a character that would make it a glob?
bool has_pattern_character(std::string_view text);

// `text` is NFC and has passed check_path_text(). `shown` is the whole value, for messages.
Result<Glob> parse_glob(std::string_view text, std::string_view shown, const GlobSyntax& syntax);

}  // namespace lockkeeper::key
