// Properties over random resources; the oracle is in oracle_testing.h.
//
// One seed for everything: LOCKKEEPER_SEED, or a fixed one, so that every run is the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "key/key_testing.h"
#include "key/oracle_testing.h"
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

std::vector<Entry> parse_all(const Strings& texts, const World& world) {
  std::vector<Entry> pool;
  for (const std::string& text : texts) {
    std::string problem;
    auto entry = read_entry(text, world, problem);
    RC_ASSERT(problem == "");
    if (entry) pool.push_back(std::move(*entry));
  }
  return pool;
}

bool check_pair(const Entry& x, const Entry& y, const World& world) {
  bool overlapping = false;
  RC_ASSERT(pair_problem(x, y, world, overlapping) == "");
  return overlapping;
}

void check_inclusions(const std::vector<Entry>& pool) {
  for (const Entry& outer : pool) {
    for (const Entry& inner : pool) RC_ASSERT(inclusion_problem(outer, inner, pool) == "");
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
