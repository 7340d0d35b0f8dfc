#include "key/automaton.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

constexpr char32_t kSeparator = 0;

// The names of a space as a small deterministic automaton: from each state, ranges of code points
// and where they lead. State 0 is the start of a segment and the only place where a name may end.
// Ranges that make a readable witness come first.
struct NameStep {
  char32_t low;
  char32_t high;
  std::uint8_t next;
};
constexpr std::size_t kNameStates = 4;

// Paths: 1 is after ".", 2 after "..", 3 inside any other segment. '/' does not occur in a name.
constexpr std::array<NameStep, 8> path_steps(std::uint8_t after_dot) {
  return {{{U'a', U'z', 3},
           {U'A', U'Z', 3},
           {U'0', U'9', 3},
           {U'.', U'.', after_dot},
           {0x20, 0x2D, 3},
           {0x3A, 0x40, 3},
           {0x5B, 0x60, 3},
           {0x7B, 0x7E, 3}}};
}
constexpr auto kPathStart = path_steps(1);
constexpr auto kPathDot = path_steps(2);
constexpr auto kPathInside = path_steps(3);
constexpr std::array<NameStep, 2> kPathRest = {{{0xA0, 0xD7FF, 3}, {0xE000, kCodePointMax, 3}}};
constexpr std::array<NameStep, 1> kSegmentEnd = {{{kSeparator, kSeparator, 0}}};

constexpr std::array<NameStep, 2> kWordStart = {{{U'a', U'z', 3}, {U'0', U'9', 3}}};
constexpr std::array<NameStep, 5> kWordInside = {
    {{U'a', U'z', 3}, {U'0', U'9', 3}, {U'_', U'_', 3}, {U'-', U'-', 3}, {U'.', U'.', 3}}};

using Steps = std::array<std::span<const NameStep>, 3>;

Steps steps_from(Names names, std::uint8_t state) {
  if (names == Names::kPath) {
    if (state == 0) return {kPathStart, kPathRest, {}};
    if (state == 1) return {kPathDot, kPathRest, {}};
    if (state == 2) return {kPathInside, kPathRest, {}};
    return {kSegmentEnd, kPathInside, kPathRest};
  }
  if (state == 0) return {kWordStart, {}, {}};
  const std::size_t characters = names == Names::kEvent ? 4 : 5;  // no '.' inside an event's part
  return {kSegmentEnd, std::span(kWordInside).first(characters), {}};
}

}  // namespace

// Patterns are filed in a tree of tokens, so that those with a common beginning share its states.
class AutomatonBuilder {
 public:
  AutomatonBuilder() { add_state(); }

  void add(const Tokens& pattern) {
    std::uint32_t at = 0;
    for (const Token& token : pattern) at = step(at, token);
    const bool below = !pattern.empty() && pattern.back().kind == TokenKind::kGlobStar;
    // `**` at the end means at least one segment more.
    if (below) at = step(at, {.kind = TokenKind::kStar});
    at = step(at, {.kind = TokenKind::kSeparator});
    made_.states_[at].accepts = true;
  }

  bool too_large() const {
    return made_.states_.size() > kGlobStatesMax || edges_ > 4 * kGlobStatesMax;
  }
  Automaton take() { return std::move(made_); }

 private:
  struct Child {
    Token token;
    std::uint32_t to;
  };

  std::uint32_t add_state() {
    made_.states_.emplace_back();
    children_.emplace_back();
    after_globstar_.push_back(false);
    return static_cast<std::uint32_t>(made_.states_.size() - 1);
  }

  void add_edge(std::uint32_t from, char32_t low, char32_t high, std::uint32_t to) {
    made_.states_[from].edges.push_back({low, high, to});
    ++edges_;
  }

  std::uint32_t step(std::uint32_t from, const Token& token) {
    // The separator after `**` is part of it.
    if (after_globstar_[from] && token.kind == TokenKind::kSeparator) return from;
    for (const Child& child : children_[from]) {
      if (child.token == token) return child.to;
    }
    const std::uint32_t to = add_state();
    children_[from].push_back({token, to});
    switch (token.kind) {
      case TokenKind::kLiteral:
        add_edge(from, token.code_point, token.code_point, to);
        break;
      case TokenKind::kAny:
        add_edge(from, 1, kCodePointMax, to);
        break;
      case TokenKind::kSeparator:
        add_edge(from, kSeparator, kSeparator, to);
        break;
      case TokenKind::kClass:
        add_class(from, token.ranges, to);
        break;
      case TokenKind::kStar:
        made_.states_[from].silent.push_back(to);
        add_edge(to, 1, kCodePointMax, to);
        break;
      case TokenKind::kGlobStar:
        add_globstar(from, to);
        break;
      default:
        LOCKKEEPER_ASSERT(!"braces are expanded before this");
    }
    return to;
  }

  // Ranges with lower-case letters first: the first edge that fits gives the witness its character.
  void add_class(std::uint32_t from, const std::vector<CodePointRange>& ranges, std::uint32_t to) {
    for (const bool letters : {true, false}) {
      for (const auto& [low, high] : ranges) {
        if ((low <= U'z' && high >= U'a') == letters) add_edge(from, low, high, to);
      }
    }
  }

  void add_globstar(std::uint32_t from, std::uint32_t to) {
    made_.states_[from].silent.push_back(to);
    const std::uint32_t inside = add_state();
    add_edge(to, 1, kCodePointMax, inside);
    add_edge(inside, 1, kCodePointMax, inside);
    add_edge(inside, kSeparator, kSeparator, to);
    after_globstar_[to] = true;
  }

  Automaton made_;
  std::vector<std::vector<Child>> children_;
  std::vector<bool> after_globstar_;
  std::size_t edges_ = 0;
};

// Searches (state of a, state of b, state of the name) breadth first, so that the first name found
// is a shortest one.
class CommonNameSearch {
 public:
  CommonNameSearch(const Automaton& a, const Automaton& b, Names names)
      : a_(a), b_(b), names_(names), seen_(a.size() * b.size() * kNameStates) {}

  Result<std::optional<std::u32string>> run() {
    visit({0, 0, 0, 0, 0});
    for (std::size_t at = 0; at < found_.size(); ++at) {
      const Node node = found_[at];
      if (node.name == 0 && a_.states_[node.a].accepts && b_.states_[node.b].accepts) {
        return spelled(at);
      }
      expand(node, at);
      if (found_.size() > kOverlapPairsMax || work_ > 16 * kOverlapPairsMax) {
        return fail(Code::kLimitExceeded,
                    "these two patterns need more than " + std::to_string(kOverlapPairsMax) +
                        " steps to compare",
                    "use simpler patterns");
      }
    }
    return std::nullopt;
  }

 private:
  struct Node {
    std::uint32_t a;
    std::uint32_t b;
    std::uint32_t parent;
    char32_t read;  // between parent and here; 0 for the start and for silent moves
    std::uint8_t name;
    bool reads = false;
  };

  // Files a triple and, at the same depth, all that are reached from it silently.
  void visit(const Node& node) {
    const std::size_t key = (std::size_t{node.a} * b_.size() + node.b) * kNameStates + node.name;
    if (seen_[key]) return;
    seen_[key] = true;
    found_.push_back(node);
    const auto here = static_cast<std::uint32_t>(found_.size() - 1);
    for (const auto to : a_.states_[node.a].silent) visit({to, node.b, here, 0, node.name});
    for (const auto to : b_.states_[node.b].silent) visit({node.a, to, here, 0, node.name});
  }

  void expand(const Node& node, std::size_t at) {
    const Steps all_steps = steps_from(names_, node.name);
    const auto& right = b_.states_[node.b].edges;
    for (const auto& x : a_.states_[node.a].edges) {
      work_ += right.size();
      for (const auto& y : right) {
        const char32_t low = std::max(x.low, y.low);
        const char32_t high = std::min(x.high, y.high);
        if (low > high) continue;
        for (const auto& steps : all_steps) {
          for (const NameStep& step : steps) {
            const char32_t read = std::max(low, step.low);
            if (read > std::min(high, step.high)) continue;
            visit({x.to, y.to, static_cast<std::uint32_t>(at), read, step.next, true});
          }
        }
      }
    }
  }

  std::u32string spelled(std::size_t at) const {
    std::u32string name;
    for (; at != 0; at = found_[at].parent) {
      if (found_[at].reads) name.push_back(found_[at].read);
    }
    std::ranges::reverse(name);
    return name;
  }

  const Automaton& a_;
  const Automaton& b_;
  Names names_;
  std::vector<bool> seen_;
  std::vector<Node> found_;
  std::size_t work_ = 0;
};

// Follows one state of `inner` together with the set of all states that `outer` can be in; a name
// that inner accepts and no state of the set does is the counterexample.
class InclusionSearch {
 public:
  InclusionSearch(const Automaton& outer, const Automaton& inner, Names names)
      : outer_(outer), inner_(inner), names_(names), next_{{}, std::vector<bool>(outer.size())} {}

  bool holds() {
    outer_.add_closed(next_, 0);
    visit(0, sorted_next(), 0);
    while (!pending_.empty()) {
      const auto node = pending_.back();
      pending_.pop_back();
      const auto& [state, set, name] = *node;
      const auto accepts = [this](std::uint32_t s) { return outer_.states_[s].accepts; };
      if (name == 0 && inner_.states_[state].accepts && !std::ranges::any_of(set, accepts)) {
        return false;
      }
      expand(*node);
      if (seen_.size() > kVisitedMax || work_ > kWorkMax) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kVisitedMax = 1 << 14;
  static constexpr std::size_t kWorkMax = 1 << 22;
  using States = std::vector<std::uint32_t>;
  struct Node {
    std::uint32_t state;
    States set;
    std::uint8_t name;
    friend auto operator<=>(const Node&, const Node&) = default;
  };

  void visit(std::uint32_t state, const States& set, std::uint8_t name) {
    const auto [where, fresh] = seen_.insert({state, set, name});
    work_ += 1 + set.size();
    if (!fresh) return;
    pending_.push_back(&*where);
    for (const auto to : inner_.states_[state].silent) visit(to, set, name);
  }

  // Within a piece between two cuts all edges of the set agree, so one code point stands for all.
  void expand(const Node& node) {
    std::vector<char32_t> cuts;
    for (const auto s : node.set) {
      for (const auto& edge : outer_.states_[s].edges) {
        cuts.push_back(edge.low);
        cuts.push_back(edge.high + 1);
      }
    }
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (const auto& steps : steps_from(names_, node.name)) {
      for (const NameStep& step : steps) {
        for (const auto& edge : inner_.states_[node.state].edges) {
          const char32_t high = std::min(edge.high, step.high);
          for (char32_t low = std::max(edge.low, step.low); low <= high;) {
            if (work_ > kWorkMax) return;
            visit(edge.to, after(node.set, low), step.next);
            const auto cut = std::ranges::upper_bound(cuts, low);
            if (cut == cuts.end()) break;
            low = *cut;
          }
        }
      }
    }
  }

  States after(const States& set, char32_t read) {
    next_.clear();
    for (const auto s : set) {
      work_ += outer_.states_[s].edges.size();
      for (const auto& edge : outer_.states_[s].edges) {
        if (edge.low <= read && read <= edge.high) outer_.add_closed(next_, edge.to);
      }
    }
    return sorted_next();
  }

  States sorted_next() const {
    States sorted = next_.list;
    std::ranges::sort(sorted);
    return sorted;
  }

  const Automaton& outer_;
  const Automaton& inner_;
  Names names_;
  Automaton::StateSet next_;
  std::set<Node> seen_;
  std::vector<const Node*> pending_;
  std::size_t work_ = 0;
};

namespace {

std::vector<std::string> segments_of(std::u32string_view name) {
  std::vector<std::string> segments(1);
  for (const char32_t c : name) {
    if (c == kSeparator)
      segments.emplace_back();
    else
      append_utf8(segments.back(), c);
  }
  segments.pop_back();  // the one after the last separator
  return segments;
}

// The shortest name is often `src/.py`; `src/a.py` reads better if both match it too.
std::vector<std::string> readable(std::vector<std::string> name, const Automaton& a,
                                  const Automaton& b) {
  for (std::string& segment : name) {
    const std::size_t dot = segment.find('.');
    if (dot == std::string::npos || (dot > 0 && is_ascii_word(segment[dot - 1]))) continue;
    const std::string short_form = segment;
    segment.insert(dot, 1, 'a');
    if (!a.matches(name) || !b.matches(name)) segment = short_form;
  }
  return name;
}

}  // namespace

Result<Automaton> Automaton::compile(const std::vector<Tokens>& patterns) {
  AutomatonBuilder builder;
  for (const Tokens& pattern : patterns) {
    builder.add(pattern);
    if (builder.too_large()) {
      return fail(Code::kLimitExceeded,
                  "the pattern needs more than " + std::to_string(kGlobStatesMax) +
                      " states when its braces are expanded",
                  "name several patterns, or use '*'");
    }
  }
  return builder.take();
}

Automaton Automaton::of_path(const std::vector<std::string>& segments, bool folder) {
  Tokens tokens;
  for (const std::string& segment : segments) {
    if (!tokens.empty()) tokens.push_back({.kind = TokenKind::kSeparator});
    for (std::string_view rest = segment; !rest.empty();) {
      tokens.push_back({.kind = TokenKind::kLiteral, .code_point = take_code_point(rest)});
    }
  }
  if (folder) {
    if (!tokens.empty()) tokens.push_back({.kind = TokenKind::kSeparator});
    tokens.push_back({.kind = TokenKind::kGlobStar});
  }
  AutomatonBuilder builder;
  builder.add(tokens);
  return builder.take();
}

void Automaton::StateSet::clear() {
  for (const auto state : list) in[state] = false;
  list.clear();
}

void Automaton::add_closed(StateSet& set, std::uint32_t state) const {
  if (set.in[state]) return;
  set.in[state] = true;
  set.list.push_back(state);
  for (const auto to : states_[state].silent) add_closed(set, to);
}

bool Automaton::matches(const std::vector<std::string>& segments) const {
  StateSet now{{}, std::vector<bool>(size())};
  StateSet next{{}, std::vector<bool>(size())};
  add_closed(now, 0);
  const auto read = [&](char32_t c) {
    next.clear();
    for (const auto state : now.list) {
      for (const Edge& edge : states_[state].edges) {
        if (edge.low <= c && c <= edge.high) add_closed(next, edge.to);
      }
    }
    std::swap(now, next);
    return !now.list.empty();
  };
  for (const std::string& segment : segments) {
    for (std::string_view rest = segment; !rest.empty();) {
      if (!read(take_code_point(rest))) return false;
    }
    if (!read(kSeparator)) return false;
  }
  return std::ranges::any_of(now.list, [this](std::uint32_t s) { return states_[s].accepts; });
}

Result<std::optional<std::vector<std::string>>> Automaton::common_name(const Automaton& a,
                                                                       const Automaton& b,
                                                                       Names names) {
  LK_ASSIGN(const std::optional<std::u32string> found, CommonNameSearch(a, b, names).run());
  if (!found) return std::nullopt;
  return readable(segments_of(*found), a, b);
}

bool Automaton::includes(const Automaton& outer, const Automaton& inner, Names names) {
  return InclusionSearch(outer, inner, names).holds();
}

}  // namespace lockkeeper::key
