#include "key/oracle_testing.h"

#include <algorithm>

namespace lockkeeper::key {
namespace {

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

// The literal part (see Resource) from the canonical text.
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

Strings witness_segments(const std::string& name, const World& world) {
  std::string body = name.substr(world.prefix.size());
  if (body.ends_with('/')) body += "a";  // of two folders: anything below the deeper one
  if (body == "./a") body = "a";
  return cut(body, world.separator);
}

}  // namespace

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

std::optional<Entry> read_entry(const std::string& text, const World& world, std::string& problem) {
  const auto parsed = parse(text, {});
  if (!parsed) return std::nullopt;
  Entry entry{text, parsed->resource, {}};
  entry.covered = covered_by(Oracle(text.substr(world.prefix.size()), world.separator), world);
  const Oracle canonical(as_pattern(entry.resource, world), world.separator);
  if (entry.covered != covered_by(canonical, world)) {
    problem = text + ": " + entry.resource.text() + " covers something else";
  }
  return entry;
}

std::string pair_problem(const Entry& x, const Entry& y, const World& world, bool& overlapping) {
  const std::string pair = x.given + " and " + y.given + ": ";
  const auto forth = overlap(x.resource, y.resource);
  const auto back = overlap(y.resource, x.resource);
  if (!forth || !back) return pair + "not decided";
  overlapping = forth->has_value();
  if (overlapping != back->has_value()) return pair + "overlap is not symmetric";
  const bool addition = world.prefix.empty() &&
                        (lies_below(x.resource, y.resource) || lies_below(y.resource, x.resource));
  if (!overlapping) {
    if ((x.covered & y.covered).any()) return pair + "said to be apart, and both cover a name";
    return addition ? pair + "said to be apart, and one lies below the other" : "";
  }
  const Strings name = witness_segments(**forth, world);
  const Oracle a(as_pattern(x.resource, world), world.separator);
  const Oracle b(as_pattern(y.resource, world), world.separator);
  if (addition || (a.covers_name(name) && b.covers_name(name))) return "";
  return pair + "not both cover " + **forth;
}

std::string inclusion_problem(const Entry& outer, const Entry& inner,
                              const std::vector<Entry>& others) {
  const std::string pair = outer.given + " over " + inner.given + ": ";
  const bool covering = covers(outer.resource, inner.resource);
  if (covering && (inner.covered & ~outer.covered).any()) return pair + "does not cover it";
  // What is covered is some name, as a pattern without one is refused.
  if (covering && !overlap(outer.resource, inner.resource)->has_value()) {
    return pair + "covers it, and does not overlap it";
  }
  if (!subsumes(outer.resource, inner.resource)) return "";
  if (!covering) return pair + "subsumes it, and does not cover it";
  for (const Entry& third : others) {
    if (overlap(third.resource, inner.resource)->has_value() &&
        !overlap(third.resource, outer.resource)->has_value()) {
      return pair + "does not subsume it: " + third.given;
    }
  }
  return "";
}

}  // namespace lockkeeper::key
