// What `top` shows: leases, queue and events as lines that fit a screen.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/picture.h"
#include "cli/verbs/list_view.h"
#include "core/encoding.h"

namespace lockkeeper::cli {

enum class TopSort { kPath, kAgent, kSince, kEnds, kWaiting };
inline constexpr std::string_view kTopSorts[] = {"path", "agent", "since", "ends", "waiting"};

// What is known of the realm.
struct TopFacts {
  std::string realm;
  service::ListReply reply;
  std::vector<core::Event> events;  // oldest first
  Viewer viewer;
};

// What the user has chosen.
struct TopChoice {
  TopSort sort = TopSort::kPath;
  std::string filter;     // a part of a resource, an agent, a session, a task or a reason
  core::LeaseId chosen;   // of a lease or a waiter; empty: none
  std::size_t first = 0;  // the first lease in view
  bool help = false;      // the keys instead of the events
};

// A lease, or a request that waits.
struct TopRow {
  core::LeaseId id;
  core::Owner owner;
  std::string name;  // what it holds or wants, in short: "src/api.c +2"
  bool waits = false;
  bool foreign = false;  // another tool's
  Row cells;
  std::string details;  // one line about it
};

// Without what does not contain the text.
void keep_matching(TopFacts& facts, const std::string& filter);

// All that pass the filter: leases in the order of the choice, then waiters as their turns come.
std::vector<TopRow> top_rows(const TopFacts& facts, const TopChoice& choice);

// What the last line asks for, or tells.
struct TopPrompt {
  std::string question;  // the line above; empty: none
  std::string label;     // "Message to backend:"
  std::string answer;    // as typed so far
};
struct TopFoot {
  std::optional<TopPrompt> prompt;
  std::string told;     // the outcome of the last action; empty: none
  std::string trouble;  // why what is shown may be old; empty: it is not
};

// A whole screen of exactly size.rows lines. Moves choice.first so that the chosen row is in view.
std::vector<Line> top_screen(const TopFacts& facts, const std::vector<TopRow>& rows,
                             TopChoice& choice, const TopFoot& foot, ScreenSize size);

// Everything that passes the filter once, for --once: as many lines as it takes. `columns` 0:
// nothing is cut.
std::vector<Line> top_once(TopFacts facts, const TopChoice& choice, std::size_t columns);

}  // namespace lockkeeper::cli
