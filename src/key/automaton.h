// A pattern as a nondeterministic automaton over code points. It answers three questions: does it
// match a name, do two share a name, does one include the other?
//
// Encoding. The separator is code point 0 and every segment is followed by one: `a/b` is read as
// "a\0b\0". So `**` is simply (segment\0)* wherever it occurs, and only a separator edge matches a
// separator.
//
// Which names exist is part of each question (Names): no segment is empty, "." or "..", and a
// namespace has only its own characters. Patterns that share only impossible names do not overlap.
//
// Thread safety: immutable after compile().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "key/glob.h"

namespace lockkeeper::key {

// What a name may look like in the space of the question.
enum class Names { kPath, kFlag, kEvent };

class Automaton {
 public:
  // The union of plain patterns (braces already expanded). Patterns with a common beginning share
  // its states. limit_exceeded beyond kGlobStatesMax states or edges.
  static Result<Automaton> compile(const std::vector<Tokens>& patterns);

  // A file or folder as a pattern, so that the same questions can be asked of it.
  static Automaton of_path(const std::vector<std::string>& segments, bool folder);

  bool matches(const std::vector<std::string>& segments) const;

  // The segments of a shortest name that both match, letters preferred. nullopt: there is none.
  // limit_exceeded after kOverlapPairsMax pairs of states.
  static Result<std::optional<std::vector<std::string>>> common_name(const Automaton& a,
                                                                     const Automaton& b,
                                                                     Names names);

  // Does `outer` match every name that `inner` matches? Exact, but a question that is too large to
  // answer in bounded time is answered no.
  static bool includes(const Automaton& outer, const Automaton& inner, Names names);

  std::size_t size() const { return states_.size(); }

 private:
  struct Edge {
    char32_t low;
    char32_t high;
    std::uint32_t to;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<std::uint32_t> silent;  // reached without reading anything
    bool accepts = false;
  };
  friend class AutomatonBuilder;
  friend class CommonNameSearch;
  friend class InclusionSearch;

  // The set of current states; `in` makes adding one take constant time.
  struct StateSet {
    std::vector<std::uint32_t> list;
    std::vector<bool> in;
    void clear();
  };
  // Adds the state and all that are reached from it silently.
  void add_closed(StateSet& set, std::uint32_t state) const;

  std::vector<State> states_;  // 0 is the start
};

}  // namespace lockkeeper::key
