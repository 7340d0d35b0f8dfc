#include "key/glob_text.h"

#include <algorithm>

#include "base/assert.h"
#include "key/path.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

using Ranges = std::vector<CodePointRange>;

constexpr std::u32string_view kEscapable = U"*?[]{},!^-\\";

// Sorted and apart: overlapping and touching ranges become one.
Ranges merged(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges out;
  for (const auto& [low, high] : ranges) {
    if (!out.empty() && low <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, high);
    } else {
      out.emplace_back(low, high);
    }
  }
  return out;
}

// Everything but the separator (0) that is not in `ranges`.
Ranges complement(const Ranges& ranges) {
  Ranges out;
  char32_t next = 1;
  for (const auto& [low, high] : ranges) {
    if (low > next) out.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kCodePointMax) out.emplace_back(next, kCodePointMax);
  return out;
}

struct Folding {
  char32_t from;
  char32_t to;
};

// All code points that folding changes; none is beyond the planes scanned here.
const std::vector<Folding>& foldings() {
  // Never destroyed: a thread that reads patterns may outlive statics.
  static const auto* const kTable = [] {
    auto* const made = new std::vector<Folding>;
    for (char32_t c = 1; c < 0x1F000; ++c) {
      if (const char32_t to = fold(c); to != c) made->push_back({c, to});
    }
    return made;
  }();
  return *kTable;
}

// A class over folded names: `[A-z]` means the lower-case letters and what is between the cases.
Ranges folded(const Ranges& ranges) {
  Ranges out;
  for (auto [low, high] : ranges) {
    for (const Folding& folding : foldings()) {
      if (folding.from < low || folding.from > high) continue;
      out.emplace_back(folding.to, folding.to);
      if (folding.from > low) out.emplace_back(low, folding.from - 1);
      low = folding.from + 1;
    }
    if (low <= high) out.emplace_back(low, high);
  }
  return merged(std::move(out));
}

// Folding can make characters compose that did not before; files are NFC after folding, so literal
// runs are too.
Tokens recomposed(const Tokens& tokens) {
  Tokens out;
  std::string run;
  const auto flush = [&] {
    auto composed = nfc(run);
    LOCKKEEPER_ASSERT(composed.has_value());
    for (std::string_view rest = *composed; !rest.empty();) {
      out.push_back({.kind = TokenKind::kLiteral, .code_point = take_code_point(rest)});
    }
    run.clear();
  };
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::kLiteral) {
      append_utf8(run, token.code_point);
      continue;
    }
    flush();
    out.push_back(token);
  }
  flush();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view shown, const GlobSyntax& syntax)
      : shown_(shown), syntax_(syntax) {
    while (!text.empty()) text_.push_back(take_code_point(text));
  }

  Result<Tokens> run(bool& doubtful_escape) {
    while (at_ < text_.size()) LK_CHECK(next_token());
    if (!frames_.empty()) return unclosed("'{' has no '}'", frames_.back().at);
    if (top_product_ > kBraceAlternativesMax) return too_many_alternatives();
    doubtful_escape = doubtful_escape_;
    return syntax_.fold_case ? recomposed(tokens_) : std::move(tokens_);
  }

 private:
  struct Frame {
    std::size_t at;       // of the '{'
    std::size_t commas;   // at this level
    std::size_t sum;      // expansions of the finished alternatives
    std::size_t product;  // expansions of the current one
  };

  Result<void> next_token() {
    const char32_t c = text_[at_];
    if (c == U'[') return take_class();
    if (c == U'\\') return take_escape();
    if (c == U'*') return take_stars();
    if (c == U'{') return open_brace();
    ++at_;
    if (c == U'?')
      push({.kind = TokenKind::kAny});
    else if (c == static_cast<char32_t>(syntax_.separator))
      push({.kind = TokenKind::kSeparator});
    else if (c == U',' && !frames_.empty())
      next_alternative();
    else if (c == U'}' && !frames_.empty())
      return close_brace();
    else
      push_literal(c);
    return {};
  }

  void push(Token token) { tokens_.push_back(std::move(token)); }
  void push_literal(char32_t c) {
    push({.kind = TokenKind::kLiteral, .code_point = syntax_.fold_case ? fold(c) : c});
  }

  Result<void> take_stars() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] == U'*') ++at_;
    if (at_ - begin > 2) {
      return refuse(shown_, "'*' and '**' are patterns, three stars are not",
                    with(begin, at_ - begin, U"**"));
    }
    push({.kind = at_ - begin == 2 ? TokenKind::kGlobStar : TokenKind::kStar});
    return {};
  }

  Result<void> take_escape() {
    const bool after_name = at_ > 0 && text_[at_ - 1] != static_cast<char32_t>(syntax_.separator);
    LK_ASSIGN(const char32_t c, escaped());
    if (after_name && std::u32string_view(U"*?[{").contains(c)) doubtful_escape_ = true;
    push_literal(c);
    return {};
  }

  // The character after a backslash. Any other backslash comes from a path of another system.
  Result<char32_t> escaped() {
    if (at_ + 1 < text_.size() && kEscapable.contains(text_[at_ + 1])) {
      at_ += 2;
      return text_[at_ - 1];
    }
    std::string corrected(shown_);
    std::ranges::replace(corrected, '\\', '/');
    return refuse(shown_,
                  "a path is written with '/', not '\\'; in a pattern '\\' stands before "
                  "a pattern character",
                  corrected);
  }

  Result<void> take_class() {
    const std::size_t begin = at_++;
    Token token{.kind = TokenKind::kClass};
    token.negated = at_ < text_.size() && (text_[at_] == U'!' || text_[at_] == U'^');
    if (token.negated) ++at_;
    const std::size_t first = at_;
    while (at_ < text_.size() && (text_[at_] != U']' || at_ == first)) {
      LK_CHECK(take_range(token.ranges));
    }
    if (at_ >= text_.size()) return unclosed("'[' has no ']'", begin);
    ++at_;
    token.ranges = merged(std::move(token.ranges));
    if (syntax_.fold_case) token.ranges = folded(token.ranges);
    const bool single =
        token.ranges.size() == 1 && token.ranges.front().first == token.ranges.front().second;
    if (single && !token.negated) {
      push_literal(token.ranges.front().first);
      return {};
    }
    if (token.negated) token.ranges = complement(token.ranges);
    push(std::move(token));
    return {};
  }

  Result<void> take_range(Ranges& ranges) {
    if (text_[at_] == U'[' && at_ + 1 < text_.size() && text_[at_ + 1] == U':') {
      return refuse(shown_,
                    "named classes such as [:alpha:] are not known; write the range, "
                    "as in [a-z]");
    }
    LK_ASSIGN(const char32_t low, class_character());
    char32_t high = low;
    if (at_ + 1 < text_.size() && text_[at_] == U'-' && text_[at_ + 1] != U']') {
      ++at_;
      LK_ASSIGN(high, class_character());
    }
    if (high < low) {
      return refuse(shown_,
                    "the range " + utf8({low, U'-', high}) + " runs backwards and is empty");
    }
    ranges.emplace_back(low, high);
    return {};
  }

  Result<char32_t> class_character() {
    const char32_t c = text_[at_];
    if (c == U'\\') return escaped();
    if (c == static_cast<char32_t>(syntax_.separator)) {
      return refuse(shown_, "a class never matches '" + std::string(1, syntax_.separator) +
                                "' and cannot hold one");
    }
    ++at_;
    return c;
  }

  Result<void> open_brace() {
    if (frames_.size() == kBraceDepthMax) {
      return fail(
          Code::kLimitExceeded,
          in_quotes(shown_) + ": braces nest at most " + std::to_string(kBraceDepthMax) + " deep",
          "name several patterns instead");
    }
    frames_.push_back({.at = at_, .commas = 0, .sum = 0, .product = 1});
    push({.kind = TokenKind::kOpen});
    ++at_;
    return {};
  }

  void next_alternative() {
    Frame& frame = frames_.back();
    ++frame.commas;
    frame.sum += frame.product;
    frame.product = 1;
    push({.kind = TokenKind::kComma});
  }

  Result<void> close_brace() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.commas == 0) {
      return unclosed("braces hold at least two alternatives, as in {a,b}",
                      frames_.empty() ? frame.at : frames_.front().at);
    }
    std::size_t& product = frames_.empty() ? top_product_ : frames_.back().product;
    product *= frame.sum + frame.product;
    // Checked at once, so that the number cannot grow beyond its type.
    if (product > kBraceAlternativesMax) return too_many_alternatives();
    push({.kind = TokenKind::kClose});
    return {};
  }

  std::unexpected<Error> too_many_alternatives() const {
    return fail(Code::kLimitExceeded,
                in_quotes(shown_) + ": braces expand to at most " +
                    std::to_string(kBraceAlternativesMax) + " patterns",
                "name several patterns, or use '*'");
  }

  std::unexpected<Error> unclosed(std::string_view rule, std::size_t at) const {
    // One brace that was not meant as a pattern makes all of them doubtful (`{{name}}/a`).
    std::u32string fixed = text_.substr(0, at);
    for (std::size_t i = at; i < text_.size(); ++i) {
      if (i == at || (text_[at] == U'{' && text_[i] == U'{')) fixed += U'\\';
      fixed += text_[i];
    }
    return refuse(shown_, std::string(rule) + "; for the character itself put '\\' before it",
                  with(0, text_.size(), fixed));
  }

  // The whole value with a part of the pattern replaced.
  std::string with(std::size_t at, std::size_t count, std::u32string_view other) const {
    std::u32string fixed = text_;
    fixed.replace(at, count, other);
    std::string whole(shown_.substr(0, shown_.find(':') + 1));
    if (shown_.size() == utf8(text_).size()) whole.clear();
    return whole + utf8(fixed);
  }

  static std::string utf8(const std::u32string& text) {
    std::string out;
    for (const char32_t c : text) append_utf8(out, c);
    return out;
  }

  std::u32string text_;
  std::string_view shown_;
  const GlobSyntax& syntax_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  std::size_t top_product_ = 1;
  bool doubtful_escape_ = false;
  Tokens tokens_;
};

void spell_class_character(std::string& out, char32_t c) {
  if (std::u32string_view(U"[]\\-!^").contains(c)) out += '\\';
  append_utf8(out, c);
}

void spell_class(std::string& out, const Token& token) {
  out += token.negated ? "[!" : "[";
  for (const auto& [low, high] : token.negated ? complement(token.ranges) : token.ranges) {
    spell_class_character(out, low);
    if (high > low + 1) out += '-';
    if (high > low) spell_class_character(out, high);
  }
  out += ']';
}

}  // namespace

Result<Tokens> tokenise(std::string_view text, std::string_view shown, const GlobSyntax& syntax,
                        bool& doubtful_escape) {
  return Lexer(text, shown, syntax).run(doubtful_escape);
}

std::string spell_tokens(const Tokens& tokens, const GlobSyntax& syntax) {
  // In the order of TokenKind; the empty ones depend on more than their kind.
  constexpr std::string_view kSpellings[] = {"", "?", "*", "**", "", "", "{", ",", "}"};
  static_assert(std::size(kSpellings) == static_cast<std::size_t>(TokenKind::kClose) + 1);
  std::string out;
  int depth = 0;
  for (const Token& token : tokens) {
    out += kSpellings[static_cast<std::size_t>(token.kind)];
    if (token.kind == TokenKind::kOpen) ++depth;
    if (token.kind == TokenKind::kClose) --depth;
    if (token.kind == TokenKind::kSeparator) out += syntax.separator;
    if (token.kind == TokenKind::kClass) spell_class(out, token);
    if (token.kind != TokenKind::kLiteral) continue;
    const std::u32string_view special = depth > 0 ? U"*?[{\\,}" : U"*?[{\\";
    if (special.contains(token.code_point)) out += '\\';
    append_utf8(out, token.code_point);
  }
  return out;
}

}  // namespace lockkeeper::key
