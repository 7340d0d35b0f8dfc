#include "key/resource.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "key/glob.h"
#include "key/logical.h"
#include "key/maker.h"
#include "key/namespaces.h"
#include "key/path.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

std::unexpected<Error> too_long(std::string_view text) {
  return fail(Code::kLimitExceeded,
              in_quotes(text) + ": a resource has at most " + std::to_string(kKeyTextBytesMax) +
                  " bytes; this one has " + std::to_string(text.size()),
              "name something shorter");
}

// A first name with a colon would read as a logical key; `./` says that it is a path.
Result<void> check_first_colon(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('/'));
  const std::size_t colon = first.find(':');
  if (colon == std::string_view::npos) return {};
  if (colon == 1 && is_ascii_letter(text[0]) && text.size() > 2 &&
      (text[2] == '/' || text[2] == '\\')) {
    return refuse(text, "a path is relative to the realm's root and has no drive");
  }
  std::string lower(text);
  std::transform(lower.begin(), lower.begin() + static_cast<std::ptrdiff_t>(colon), lower.begin(),
                 ascii_lower);
  if (looks_logical(lower) && parse_logical(lower, {})) {
    return refuse(text, "a prefix is lowercase", lower);
  }
  return refuse(text, "the first name holds a ':' and would read as a logical key",
                "./" + std::string(text));
}

Result<Resource> make_path(std::vector<std::string> segments, bool folder) {
  std::string text = path_text(segments, folder);
  // Cleaning can bring a blank to the end: `a /x/..` is `a /`.
  if (!segments.empty()) {
    std::string& last = segments.back();
    if (const std::size_t size = trim_end(last).size(); size != last.size()) {
      last.resize(size);
      if (size == 0) segments.pop_back();
      return refuse(text, "a path does not end in a blank", path_text(segments, folder));
    }
  }
  return ResourceMaker::make(std::move(text), folder ? Kind::kFolder : Kind::kFile, kPathSpace,
                             std::move(segments));
}

// What every name that the pattern matches ends with, as far as the text shows it. Not the '/' at
// its beginning: `**/b` matches `b`.
std::string literal_ending(std::string_view pattern) {
  std::string_view ending = pattern.substr(pattern.find_last_of("*?]}\\") + 1);
  if (ending.starts_with('/')) ending.remove_prefix(1);
  // Dots may be cleaned away, and what ends in '/' is everything below.
  if (ending.ends_with('/') || ending.ends_with('.') || ending.contains("./")) return {};
  return std::string(ending);
}

Result<Resource> make_glob(Glob glob) {
  LK_ASSIGN(Automaton automaton, Automaton::compile(glob.patterns));
  std::string text = std::move(glob.text);
  if (text.substr(0, text.find('/')).contains(':')) text.insert(0, "./");
  std::string ending = literal_ending(text);
  return ResourceMaker::make_glob(std::move(text), Kind::kGlob, kPathSpace, std::move(glob.literal),
                                  std::move(ending), std::move(automaton));
}

// Only escapes looked like a pattern: the name itself.
Result<Resource> make_unescaped(const Glob& glob, std::string_view text) {
  for (const std::string& segment : glob.literal) {
    if (segment.contains('\\')) {
      std::string corrected(text);
      std::ranges::replace(corrected, '\\', '/');
      return refuse(text, "a name holds no '\\'", corrected);
    }
    LK_CHECK(check_segment_length(segment, text));
  }
  return make_path(glob.literal, glob.folder || glob.literal.empty());
}

// Empty if the path with '/' is no pattern: then nobody meant that one.
std::string escape_warning(std::string_view text, GlobSyntax syntax) {
  std::string pattern(text);
  std::ranges::replace(pattern, '\\', '/');
  if (!parse_glob(pattern, pattern, syntax)) return {};
  return in_quotes(text) +
         ": '\\' makes the next character stand for itself; for a pattern in a "
         "folder write " +
         in_quotes(pattern);
}

Result<Parsed> parse_path(std::string_view text, const Rules& rules, Syntax syntax) {
  LK_CHECK(check_path_text(text));
  if (syntax != Syntax::kLiteral && !text.starts_with("./")) LK_CHECK(check_first_colon(text));
  Parsed parsed;
  if (syntax == Syntax::kLiteral || !has_pattern_character(text)) {
    const std::string folded = rules.fold_case ? fold_text(text) : std::string();
    LK_ASSIGN(CleanPath clean, clean_path(rules.fold_case ? std::string_view(folded) : text));
    LK_ASSIGN(parsed.resource, make_path(std::move(clean.segments), clean.folder));
    return parsed;
  }
  GlobSyntax glob_syntax;
  glob_syntax.fold_case = rules.fold_case;
  LK_ASSIGN(Glob glob, parse_glob(text, text, glob_syntax));
  if (glob.doubtful_escape && syntax == Syntax::kAuto) {
    std::string warning = escape_warning(text, glob_syntax);
    if (!warning.empty()) parsed.warnings.push_back(std::move(warning));
  }
  LK_ASSIGN(parsed.resource, glob.plain ? make_unescaped(glob, text) : make_glob(std::move(glob)));
  return parsed;
}

// A pattern that no possible name matches locks nothing, so it is refused.
Result<void> check_not_empty(const Resource& glob) {
  static const Automaton kEverything = Automaton::of_path({}, true);
  LK_ASSIGN(const auto name, Automaton::common_name(*ResourceMaker::automaton(glob), kEverything,
                                                    names_of_space(glob.space())));
  if (name) return {};
  return refuse(glob.text(), "no name can match this pattern");
}

bool restorable_path(std::string_view text, Kind kind) {
  const bool folder = kind == Kind::kFolder;
  if (text == "./") return folder;
  const std::string_view body = path_body(text);
  const bool colon = body.substr(0, body.find('/')).contains(':');
  if (colon != (body.size() != text.size())) return false;
  if (body.empty() || body.ends_with('/') != folder) return false;
  std::size_t length = 0;  // of the current segment
  bool only_dots = true;
  for (std::size_t i = 0; i <= body.size(); ++i) {
    if (i == body.size() && folder) break;
    const char c = i < body.size() ? body[i] : '/';
    if (c == '/') {
      if (length == 0 || (only_dots && length <= 2)) return false;
      length = 0;
      only_dots = true;
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\') return false;
    only_dots = only_dots && c == '.';
    ++length;
  }
  return true;
}

bool is_nfc(std::string_view text) {
  if (is_ascii(text)) return true;
  const auto normal = nfc(text);
  return normal && *normal == text;
}

}  // namespace

bool looks_logical(std::string_view text) {
  const std::string_view prefix = text.substr(0, text.find(':'));
  if (prefix.size() == text.size() || prefix.empty()) return false;
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return is_lower(prefix.front()) && std::ranges::all_of(prefix, [&](char c) {
           return is_lower(c) || is_ascii_digit(c) || c == '_' || c == '-';
         });
}

Result<Parsed> parse(std::string_view text, const Rules& rules, Syntax syntax) {
  if (text.size() > kKeyTextBytesMax) return too_long(text);
  LK_ASSIGN(const std::string normal, nfc(text));
  const bool logical = syntax != Syntax::kLiteral && looks_logical(normal);
  LK_ASSIGN(Parsed parsed,
            logical ? parse_logical(normal, rules) : parse_path(normal, rules, syntax));
  if (parsed.resource.text().size() > kKeyTextBytesMax) return too_long(parsed.resource.text());
  if (parsed.resource.is_glob()) LK_CHECK(check_not_empty(parsed.resource));
  if (rules.strict && !parsed.warnings.empty()) {
    return fail(Code::kInvalidResource, parsed.warnings.front(),
                "correct it; to allow it: omit --strict, or set keys.strict = false");
  }
  return parsed;
}

const std::shared_ptr<const Resource::Body>& Resource::nothing() {
  // Never destroyed: a thread that renews a lease may outlive statics.
  static const auto* const kBody = new std::shared_ptr<const Body>(std::make_shared<const Body>());
  return *kBody;
}

Result<Resource> restore(std::string_view text, Kind kind) {
  const auto corrupt = [&] {
    return fail(Code::kStoreCorrupt, in_quotes(text) + " was never written here as a resource",
                "run 'lockkeeper doctor'");
  };
  if (text.empty() || text.size() > kKeyTextBytesMax || !is_nfc(text)) return corrupt();
  switch (kind) {
    case Kind::kFile:
    case Kind::kFolder:
      if (!restorable_path(text, kind)) return corrupt();
      return ResourceMaker::make(std::string(text), kind, kPathSpace, split(path_body(text), '/'));
    case Kind::kGlob: {
      auto parsed = parse_path(text, {}, Syntax::kGlob);
      if (!parsed || parsed->resource.kind() != kind || parsed->resource.text() != text) {
        return corrupt();
      }
      return std::move(parsed->resource);
    }
    case Kind::kLogical:
    case Kind::kLogicalGlob:
      return looks_logical(text) ? restore_logical(text, kind) : Result<Resource>(corrupt());
  }
  return corrupt();
}

}  // namespace lockkeeper::key
