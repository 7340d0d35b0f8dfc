#include "key/glob.h"

#include <algorithm>
#include <optional>

#include "key/glob_text.h"
#include "key/path.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

using Segments = std::vector<Tokens>;

// The name, if the segment has no pattern character.
std::optional<std::string> literal_text(const Tokens& segment) {
  std::string text;
  for (const Token& token : segment) {
    if (token.kind != TokenKind::kLiteral) return std::nullopt;
    append_utf8(text, token.code_point);
  }
  return text;
}

bool is_lone(const Tokens& segment, TokenKind kind) {
  return segment.size() == 1 && segment.front().kind == kind;
}

bool has_kind(const Tokens& segment, TokenKind kind) {
  return std::ranges::any_of(segment, [&](const Token& t) { return t.kind == kind; });
}

Segments split_segments(const Tokens& tokens) {
  Segments segments(1);
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::kOpen) ++depth;
    if (token.kind == TokenKind::kClose) --depth;
    if (token.kind == TokenKind::kSeparator && depth == 0)
      segments.emplace_back();
    else
      segments.back().push_back(token);
  }
  return segments;
}

Tokens join_segments(const Segments& segments) {
  Tokens tokens;
  for (const Tokens& segment : segments) {
    if (&segment != &segments.front()) tokens.push_back({.kind = TokenKind::kSeparator});
    tokens.insert(tokens.end(), segment.begin(), segment.end());
  }
  return tokens;
}

class Cleaner {
 public:
  Cleaner(std::string_view shown, const GlobSyntax& syntax) : shown_(shown), syntax_(syntax) {}

  // Lexical cleaning of the pattern as a whole; what is inside braces is left to expansions().
  Result<Segments> clean(const Tokens& tokens, bool& folder) const {
    const Segments raw = split_segments(tokens);
    Segments kept;
    for (const Tokens& segment : raw) {
      const auto literal = literal_text(segment);
      const bool dot = syntax_.dots && literal && (*literal == "." || *literal == "..");
      if (&segment == &raw.back()) folder = segment.empty() || dot;
      if (segment.empty() || (dot && literal->size() == 1)) continue;
      if (!dot) {
        kept.push_back(segment);
        continue;
      }
      if (kept.empty()) {
        return refuse(shown_, "'..' leaves the realm's root; only what is below it can be locked");
      }
      if (!literal_text(kept.back())) {
        return refuse(shown_, "'..' after a pattern is ambiguous; name the folder itself");
      }
      kept.pop_back();
    }
    return kept;
  }

  // `a/**/**/b` is `a/**/b`, `a/**/*` is `a/**`.
  static void shorten(Segments& segments) {
    const auto both = [](const Tokens& a, const Tokens& b) {
      return is_lone(a, TokenKind::kGlobStar) && is_lone(b, TokenKind::kGlobStar);
    };
    segments.erase(std::unique(segments.begin(), segments.end(), both), segments.end());
    const std::size_t count = segments.size();
    if (count >= 2 && is_lone(segments[count - 1], TokenKind::kStar) &&
        is_lone(segments[count - 2], TokenKind::kGlobStar)) {
      segments.pop_back();
    }
  }

  // One pattern without braces, held to the rules of a plain one.
  Result<Tokens> check_expansion(const Tokens& expansion) const {
    Segments segments = split_segments(expansion);
    if (segments.size() > 1 && segments.back().empty() && syntax_.folders) {
      segments.back().push_back({.kind = TokenKind::kGlobStar});
    }
    for (Tokens& segment : segments) {
      if (segment.empty()) {
        return refuse(shown_, "its braces give " + in_quotes(spell_tokens(expansion, syntax_)) +
                                  ", in which a name is empty");
      }
      if (has_kind(segment, TokenKind::kGlobStar) && segment.size() > 1)
        return refuse_partial_globstar();
      const auto literal = literal_text(segment);
      if (literal && syntax_.dots && (*literal == "." || *literal == "..")) {
        return refuse(shown_, "'.' and '..' inside braces are not cleaned away; write the names");
      }
      if (literal) LK_CHECK(check_segment_length(*literal, shown_));
      const auto stars = [](const Token& a, const Token& b) {
        return a.kind == TokenKind::kStar && b.kind == TokenKind::kStar;
      };
      segment.erase(std::unique(segment.begin(), segment.end(), stars), segment.end());
    }
    return join_segments(segments);
  }

 private:
  std::unexpected<Error> refuse_partial_globstar() const {
    std::string corrected(shown_);
    for (std::size_t at = 0; (at = corrected.find("**", at)) != std::string::npos; ++at) {
      const bool left = at == 0 || corrected[at - 1] == syntax_.separator;
      const bool right = at + 2 == corrected.size() || corrected[at + 2] == syntax_.separator;
      if (!left || !right) corrected.erase(at, 1);
    }
    return refuse(shown_, "'**' stands for whole segments and has nothing beside it", corrected);
  }

  std::string_view shown_;
  const GlobSyntax& syntax_;
};

// Expands the first brace group and continues with each result. The number of results was counted
// before, so this ends soon.
void expand(const Tokens& tokens, std::vector<Tokens>& results) {
  const auto open = std::ranges::find(tokens, TokenKind::kOpen, &Token::kind);
  if (open == tokens.end()) {
    results.push_back(tokens);
    return;
  }
  std::vector<Tokens> alternatives(1);
  int depth = 1;
  auto at = open + 1;
  for (; depth > 0; ++at) {
    if (at->kind == TokenKind::kOpen) ++depth;
    if (at->kind == TokenKind::kClose && --depth == 0) continue;
    if (at->kind == TokenKind::kComma && depth == 1)
      alternatives.emplace_back();
    else
      alternatives.back().push_back(*at);
  }
  for (const Tokens& alternative : alternatives) {
    Tokens next(tokens.begin(), open);
    next.insert(next.end(), alternative.begin(), alternative.end());
    next.insert(next.end(), at, tokens.end());
    expand(next, results);
  }
}

}  // namespace

bool has_pattern_character(std::string_view text) {
  return text.find_first_of("*?[{") != std::string_view::npos;
}

Result<Glob> parse_glob(std::string_view text, std::string_view shown, const GlobSyntax& syntax) {
  Glob glob;
  LK_ASSIGN(const Tokens tokens, tokenise(text, shown, syntax, glob.doubtful_escape));
  // A letter and a mark that meet by sorting, folding or a class of one would compose when read
  // again.
  const std::string spelled = spell_tokens(tokens, syntax);
  if (auto normal = nfc(spelled); !normal || *normal != spelled) {
    return refuse(shown, "a class holds whole characters, no combining mark on its own");
  }
  const Cleaner cleaner(shown, syntax);
  LK_ASSIGN(Segments segments, cleaner.clean(tokens, glob.folder));

  for (const Tokens& segment : segments) {
    auto literal = literal_text(segment);
    if (!literal) break;
    glob.literal.push_back(*std::move(literal));
  }
  glob.plain = glob.literal.size() == segments.size();
  if (glob.plain) return glob;

  if (glob.folder) {
    if (!syntax.folders) {
      return refuse(shown, "a key is not a folder and does not end in a separator",
                    std::string(shown) + "**");
    }
    segments.push_back(Tokens{Token{.kind = TokenKind::kGlobStar}});
    glob.folder = false;
  }
  Cleaner::shorten(segments);
  const Tokens canonical = join_segments(segments);
  glob.text = spell_tokens(canonical, syntax);
  std::vector<Tokens> expansions;
  expand(canonical, expansions);
  for (const Tokens& expansion : expansions) {
    LK_ASSIGN(Tokens pattern, cleaner.check_expansion(expansion));
    glob.patterns.push_back(std::move(pattern));
  }
  return glob;
}

}  // namespace lockkeeper::key
