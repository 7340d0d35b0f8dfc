// Properties over random resources. The oracle is a backtracking matcher over the pattern's text
// that shares no code with the automata, asked about ALL names up to a small size.
//
// One seed for everything: LOCKKEEPER_SEED, else a fixed one, so that every run is the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bitset>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "key/key_testing.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

std::string seed_text() {
  const char* given = std::getenv("LOCKKEEPER_SEED");
  return given != nullptr ? given : "20260117";
}

// rapidcheck reads its parameters once, at the first property.
const bool kConfigured = [] {
  return setenv("RC_PARAMS", ("seed=" + seed_text() + " max_success=150").c_str(), 1) == 0;
}();

std::string seed_note() {
  return "reproduce with LOCKKEEPER_SEED=" + seed_text();
}

// ---- The oracle -------------------------------------------------------------------------------

// Where the class or escape or single character at `at` ends.
std::size_t unit_end(const std::string& p, std::size_t at) {
  if (p[at] == '\\') return at + 2;
  if (p[at] != '[') return at + 1;
  std::size_t i = at + 1;
  if (p[i] == '!' || p[i] == '^') ++i;
  for (bool first = true; first || p[i] != ']'; first = false) i += p[i] == '\\' ? 2U : 1U;
  return i + 1;
}

// `**` as written; two stars that braces bring together, as in `{*,a}*`, are just stars.
const std::string kGlobStar = "\x01";

std::string mark_globstars(const std::string& p) {
  std::string marked;
  for (std::size_t at = 0; at < p.size();) {
    const std::size_t end = unit_end(p, at);
    const bool globstar = p[at] == '*' && end < p.size() && p[end] == '*';
    marked += globstar ? kGlobStar : p.substr(at, end - at);
    at = globstar ? end + 1 : end;
  }
  return marked;
}

// Textual brace expansion.
std::vector<std::string> oracle_expand(const std::string& p) {
  for (std::size_t at = 0; at < p.size(); at = unit_end(p, at)) {
    if (p[at] != '{') continue;
    std::vector<std::string> alternatives(1);
    int depth = 1;
    std::size_t i = at + 1;
    while (true) {
      const std::size_t end = unit_end(p, i);
      if (p[i] == '{') ++depth;
      if (p[i] == '}' && --depth == 0) break;
      if (p[i] == ',' && depth == 1)
        alternatives.emplace_back();
      else
        alternatives.back() += p.substr(i, end - i);
      i = end;
    }
    std::vector<std::string> all;
    for (const std::string& alternative : alternatives) {
      for (std::string& s : oracle_expand(p.substr(0, at) + alternative + p.substr(i + 1))) {
        all.push_back(std::move(s));
      }
    }
    return all;
  }
  return {p};
}

bool class_has(const std::string& unit, char c) {
  std::size_t i = 1;
  const bool negated = unit[i] == '!' || unit[i] == '^';
  if (negated) ++i;
  const auto take = [&] {
    if (unit[i] == '\\') ++i;
    return unit[i++];
  };
  bool in = false;
  for (const std::size_t end = unit.size() - 1; i < end;) {
    const char low = take();
    char high = low;
    if (unit[i] == '-' && i + 1 < end) {
      ++i;
      high = take();
    }
    in = in || (low <= c && c <= high);
  }
  return in != negated;
}

bool segment_matches(const std::string& p, std::size_t at, const std::string& s, std::size_t from) {
  if (at == p.size()) return from == s.size();
  if (p[at] == '*') {
    for (std::size_t skip = from; skip <= s.size(); ++skip) {
      if (segment_matches(p, at + 1, s, skip)) return true;
    }
    return false;
  }
  if (from == s.size()) return false;
  const std::size_t end = unit_end(p, at);
  bool good = false;
  if (p[at] == '?')
    good = true;
  else if (p[at] == '[')
    good = class_has(p.substr(at, end - at), s[from]);
  else
    good = s[from] == p[end - 1];
  return good && segment_matches(p, end, s, from + 1);
}

using Strings = std::vector<std::string>;

Strings cut(const std::string& text, char separator) {
  Strings parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool path_matches(const Strings& p, std::size_t at, const Strings& name, std::size_t from) {
  if (at == p.size()) return from == name.size();
  if (p[at] == kGlobStar) {
    if (at + 1 == p.size()) return from < name.size();
    for (std::size_t skip = from; skip <= name.size(); ++skip) {
      if (path_matches(p, at + 1, name, skip)) return true;
    }
    return false;
  }
  return from < name.size() && segment_matches(p[at], 0, name[from], 0) &&
         path_matches(p, at + 1, name, from + 1);
}

// What a resource covers, from its text alone.
class Oracle {
 public:
  Oracle(const std::string& text, char separator) {
    for (const std::string& one : oracle_expand(mark_globstars(text))) {
      Strings segments;
      const Strings raw = cut(one, separator);
      for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] == ".") continue;
        if (!raw[i].empty())
          segments.push_back(raw[i]);
        else if (i + 1 == raw.size())
          segments.push_back(kGlobStar);  // a folder
      }
      if (raw.back() == ".") segments.push_back(kGlobStar);
      patterns_.push_back(segments);
    }
  }
  bool covers_name(const Strings& name) const {
    for (const Strings& pattern : patterns_) {
      if (path_matches(pattern, 0, name, 0)) return true;
    }
    return false;
  }

 private:
  std::vector<Strings> patterns_;
};

// ---- All small names --------------------------------------------------------------------------

Strings words(const std::string& alphabet, std::size_t length_max) {
  Strings all;
  Strings last = {""};
  for (std::size_t length = 1; length <= length_max; ++length) {
    Strings next;
    for (const std::string& word : last) {
      for (const char c : alphabet) next.push_back(word + c);
    }
    all.insert(all.end(), next.begin(), next.end());
    last = next;
  }
  return all;
}

void add_names(std::vector<Strings>& names, const Strings& parts, std::size_t depth) {
  std::vector<Strings> made = {{}};
  for (std::size_t level = 0; level < depth; ++level) {
    std::vector<Strings> longer;
    for (const Strings& name : made) {
      for (const std::string& part : parts) {
        longer.push_back(name);
        longer.back().push_back(part);
      }
    }
    made = longer;
  }
  names.insert(names.end(), made.begin(), made.end());
}

constexpr std::size_t kNamesMax = 2048;
using Covered = std::bitset<kNamesMax>;

struct World {
  std::string prefix;  // "", "flag:", "event:"
  char separator;
  Strings atoms;
  std::vector<Strings> names;
};

World path_world() {
  World world{"", '/', {}, {}};
  world.atoms = {"a",      "b",        ".",     "*",      "?",       "[ab]",   "[!a]",
                 "[a-b.]", "\\*",      "{a,b}", "{,a}",   "{a/b,b}", "{*,.b}", "{a,{b,.}}",
                 "{a/,}",  "{**/a,b}", "{b,?}", "{/a,b}", "[*b]",    "a",      "b"};
  const auto drop_dots = [](Strings parts) {
    std::erase_if(parts, [](const std::string& s) { return s == "." || s == ".."; });
    return parts;
  };
  add_names(world.names, drop_dots(words("ab.*", 3)), 1);
  add_names(world.names, drop_dots(words("ab.*", 2)), 2);
  add_names(world.names, drop_dots(words("ab.", 2)), 3);
  return world;
}

World word_world(std::string prefix, char separator) {
  World world{std::move(prefix), separator, {}, {}};
  const std::string s(1, separator);
  world.atoms = {"a",
                 "b",
                 "-",
                 "*",
                 "?",
                 "[ab]",
                 "[!a]",
                 "[!b-]",
                 "{a,b}",
                 "{a" + s + "b,b}",
                 "{a,{b,?}}",
                 "{a" + s + ",}",
                 "{**" + s + "a,b}"};
  Strings parts = words("ab-", 2);
  std::erase_if(parts, [](const std::string& part) { return part.front() == '-'; });
  for (std::size_t depth = 1; depth <= 3; ++depth) add_names(world.names, parts, depth);
  return world;
}

// A pattern, file or folder as somebody might write it; not always valid.
rc::Gen<std::string> any_text(const World& world) {
  return rc::gen::exec([&world] {
    std::string text = world.prefix;
    const int segments = *rc::gen::inRange(1, 4);
    for (int i = 0; i < segments; ++i) {
      if (i > 0) text += world.separator;
      if (*rc::gen::inRange(0, 6) == 0) {
        text += "**";
        continue;
      }
      const int atoms = *rc::gen::weightedElement<int>({{5, 1}, {3, 2}, {1, 3}});
      for (int k = 0; k < atoms; ++k) text += *rc::gen::elementOf(world.atoms);
    }
    if (world.separator == '/' && *rc::gen::inRange(0, 5) == 0) text += '/';
    return text;
  });
}

struct Entry {
  std::string given;
  Resource resource;
  Covered covered;
};

// The literal part as DESIGN defines it, from the canonical text.
Strings literal_part(const Resource& resource) {
  Strings literal;
  for (std::string segment : cut(resource.text(), '/')) {
    if (segment.empty() || segment == ".") continue;
    if (resource.is_glob()) {
      std::string plain;
      for (std::size_t i = 0; i < segment.size(); ++i) {
        if (std::string_view("*?[{").contains(segment[i])) return literal;
        if (segment[i] == '\\') ++i;
        plain += segment[i];
      }
      segment = plain;
    }
    literal.push_back(segment);
  }
  return literal;
}

bool lies_below(const Resource& path, const Resource& other) {
  if (path.kind() != Kind::kFile && path.kind() != Kind::kFolder) return false;
  const Strings above = literal_part(path);
  const Strings below = literal_part(other);
  return above.size() <= below.size() && std::equal(above.begin(), above.end(), below.begin());
}

Covered covered_by(const Oracle& oracle, const World& world) {
  Covered covered;
  for (std::size_t i = 0; i < world.names.size(); ++i) {
    covered[i] = oracle.covers_name(world.names[i]);
  }
  return covered;
}

// Plain names with pattern characters are not patterns: escape them for the oracle.
std::string as_pattern(const Resource& resource, const World& world) {
  std::string text = resource.text().substr(world.prefix.size());
  if (resource.is_glob()) return text;
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("*?[{").contains(c)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::vector<Entry> parse_all(const Strings& texts, const World& world) {
  std::vector<Entry> pool;
  for (const std::string& text : texts) {
    auto parsed = parse(text, {});
    if (!parsed) continue;
    Entry entry{text, parsed->resource, {}};
    // Canonical form keeps the meaning.
    entry.covered = covered_by(Oracle(text.substr(world.prefix.size()), world.separator), world);
    RC_ASSERT(entry.covered ==
              covered_by(Oracle(as_pattern(entry.resource, world), world.separator), world));
    pool.push_back(std::move(entry));
  }
  return pool;
}

Strings witness_segments(const std::string& name, const World& world) {
  std::string body = name.substr(world.prefix.size());
  if (body.ends_with('/')) body += "a";  // of two folders: anything below the deeper one
  if (body == "./a") body = "a";
  return cut(body, world.separator);
}

// Both answers are checked: "no" against every small name, "yes" by its witness.
bool check_pair(const Entry& x, const Entry& y, const World& world) {
  const auto forth = overlap(x.resource, y.resource);
  const auto back = overlap(y.resource, x.resource);
  RC_ASSERT(forth.has_value() && back.has_value());
  RC_ASSERT(forth->has_value() == back->has_value());
  const bool addition = world.prefix.empty() &&
                        (lies_below(x.resource, y.resource) || lies_below(y.resource, x.resource));
  if (!forth->has_value()) {
    RC_ASSERT((x.covered & y.covered).none());
    RC_ASSERT(!addition);
    return false;
  }
  const Strings name = witness_segments(**forth, world);
  const Oracle a(as_pattern(x.resource, world), world.separator);
  const Oracle b(as_pattern(y.resource, world), world.separator);
  RC_ASSERT(addition || (a.covers_name(name) && b.covers_name(name)));
  return true;
}

void check_inclusions(const std::vector<Entry>& pool) {
  for (const Entry& outer : pool) {
    for (const Entry& inner : pool) {
      if (covers(outer.resource, inner.resource)) {
        RC_ASSERT((inner.covered & ~outer.covered).none());
        // What is covered is some name, as a pattern without one is refused.
        RC_ASSERT(overlap(outer.resource, inner.resource)->has_value());
      }
      if (!subsumes(outer.resource, inner.resource)) continue;
      RC_ASSERT(covers(outer.resource, inner.resource));
      for (const Entry& third : pool) {
        if (!overlap(third.resource, inner.resource)->has_value()) continue;
        RC_ASSERT(overlap(third.resource, outer.resource)->has_value());
      }
    }
  }
}

struct Tally {
  std::size_t pairs = 0;
  std::size_t overlapping = 0;
};

Tally check_world(const World& world, const char* what) {
  Tally tally;
  EXPECT_LE(world.names.size(), kNamesMax);
  const bool held = rc::check(what, [&] {
    const auto texts = *rc::gen::container<Strings>(64, any_text(world));
    const std::vector<Entry> pool = parse_all(texts, world);
    for (std::size_t i = 0; i < pool.size(); ++i) {
      for (std::size_t k = i; k < pool.size(); ++k) {
        tally.overlapping += check_pair(pool[i], pool[k], world) ? 1U : 0U;
        ++tally.pairs;
      }
    }
    const std::size_t few = std::min<std::size_t>(pool.size(), 16);
    check_inclusions({pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(few)});
  });
  EXPECT_TRUE(held) << seed_note();
  std::cout << what << ": " << tally.pairs << " pairs, " << tally.overlapping << " overlap\n";
  return tally;
}

}  // namespace

TEST(Property, OverlapAgreesWithBruteForceInPathSpace) {
  const Tally tally = check_world(path_world(), "overlap of paths and globs");
  EXPECT_GE(tally.pairs, 200000U) << seed_note();
  EXPECT_GE(tally.overlapping, 20000U);  // both answers are well represented
  EXPECT_GE(tally.pairs - tally.overlapping, 20000U);
}

TEST(Property, OverlapAgreesWithBruteForceInFlagSpace) {
  const Tally tally = check_world(word_world("flag:", '/'), "overlap of flags");
  EXPECT_GE(tally.pairs, 50000U) << seed_note();
}

TEST(Property, OverlapAgreesWithBruteForceInEventSpace) {
  const Tally tally = check_world(word_world("event:", '.'), "overlap of events");
  EXPECT_GE(tally.pairs, 50000U) << seed_note();
}

TEST(Property, CanonicalFormIsIdempotentAndRestorable) {
  const Strings pieces = {
      "a",     "B",          ".",          "..",     "/",         "/",     "*",       "**",
      "?",     "[",          "]",          "{",      "}",         ",",     "\\",      ":",
      "!",     "-",          "é",          "ß",      " ",         "^",     "e\u0301", "J\u030C",
      "İ",     "api:",       "flag:",      "event:", "contract:", "[a-z]", "{a,B}",   "./",
      "GET /", "db:schema:", "feature:x:", "env:",   "task:",     "[!A]"};
  std::size_t accepted = 0;
  const bool held = rc::check("parse(parse(x).text()) is parse(x)", [&] {
    const auto given = *rc::gen::container<std::vector<Strings>>(
        100, rc::gen::resize(8, rc::gen::container<Strings>(rc::gen::elementOf(pieces))));
    for (const Strings& parts : given) {
      std::string text;
      for (const std::string& part : parts) text += part;
      for (const bool fold_case : {false, true}) {
        Rules rules;
        rules.fold_case = fold_case;
        const auto once = parse(text, rules);
        if (!once) {
          RC_ASSERT(!once.error().message.empty());
          RC_ASSERT(once.error().code != Code::kStoreCorrupt);
          continue;
        }
        ++accepted;
        const Resource& first = once->resource;
        const bool plain = first.kind() == Kind::kFile || first.kind() == Kind::kFolder;
        const auto again = parse(first.text(), rules, plain ? Syntax::kLiteral : Syntax::kAuto);
        RC_ASSERT(again.has_value());
        RC_ASSERT(again->resource == first);
        RC_ASSERT(again->resource.literal() == first.literal());
        const auto restored = restore(first.text(), first.kind());
        RC_ASSERT(restored.has_value());
        RC_ASSERT(*restored == first);
        RC_ASSERT(restored->literal() == first.literal());
        RC_ASSERT(restored->space() == first.space());
        RC_ASSERT(overlap(first, *restored)->has_value());
      }
    }
  });
  EXPECT_TRUE(held) << seed_note();
  EXPECT_GE(accepted, 2000U);
}

// Bytes of any kind are accepted or refused, never more; what is shown back is always printable.
TEST(Property, ArbitraryBytesAreAnsweredInUtf8) {
  const bool held = rc::check("parse answers any bytes", [] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto parsed = parse(bytes, {});
    if (parsed) {
      RC_ASSERT(*nfc(parsed->resource.text()) == parsed->resource.text());
      return;
    }
    RC_ASSERT(nfc(parsed.error().message).has_value());
    for (std::string_view rest = parsed.error().message; !rest.empty();) {
      RC_ASSERT(!is_control(take_code_point(rest)));
    }
  });
  EXPECT_TRUE(held) << seed_note();
}

}  // namespace lockkeeper::key
