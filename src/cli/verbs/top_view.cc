#include "cli/verbs/top_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "cli/verbs/log_view.h"
#include "service/names.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kEventsOnce = 10;
constexpr std::size_t kLeastRows = 8;
constexpr const char* kNobodyHolds =
    "nothing is held; take something with: lockkeeper acquire src/auth/";

struct HelpLine {
  const char* keys;
  const char* what;
};
constexpr HelpLine kHelp[] = {
    {"↑ ↓ j k", "choose a lease or a request; PgUp, PgDn, Home and End go further"},
    {"/", "show only what contains a text; Esc shows everything again"},
    {"s", "sort by path, agent, since, ends or who is waited for"},
    {"b", "break the chosen lease: its queue goes on, its holder is told"},
    {"m", "send its agent a message"},
    {"q", "quit; Ctrl-L draws the screen again"},
};

// What a filter lets through.
class Sieve {
 public:
  explicit Sieve(const std::string& filter) : part_(lowered(filter)) {
    // A file is found by the folder or pattern that covers it.
    const auto parsed = filter.find_first_of("/.") == std::string::npos
                            ? Result<key::Parsed>(fail(Code::kInvalidInput, ""))
                            : key::parse(filter, {}, key::Syntax::kLiteral);
    if (parsed) place_ = parsed->resource;
  }

  bool passes(const core::Lease& lease) const {
    return names(service::spelled_texts(lease)) || owns(lease.owner) || has(lease.terms.task) ||
           has(lease.terms.reason) || covers(lease);
  }
  bool passes(const core::Event& event) const {
    return names(event.resources) || owns(event.owner) || has(event.reason) || has(event.what);
  }

 private:
  bool has(std::string_view text) const { return lowered(text).find(part_) != std::string::npos; }
  bool names(const std::vector<std::string>& texts) const {
    return std::ranges::any_of(texts, [&](const std::string& each) { return has(each); });
  }
  bool owns(const core::Owner& owner) const { return has(owner.agent) || has(owner.session); }
  bool covers(const core::Lease& lease) const {
    return place_ && std::ranges::any_of(lease.claims, [&](const core::Claim& claim) {
             return key::may_overlap(claim.resource, *place_);
           });
  }

  const std::string part_;  // in small letters
  std::optional<key::Resource> place_;
};

std::string short_names(const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  return shown(texts.front()) + (texts.size() == 1 ? "" : " +" + std::to_string(texts.size() - 1));
}

std::string mode_cell(const core::Lease& lease) {
  const auto is_shared = [](const core::Claim& each) { return each.mode == core::Mode::kShared; };
  if (std::ranges::all_of(lease.claims, is_shared)) return "shared";
  return std::ranges::any_of(lease.claims, is_shared) ? "both" : "exclusive";
}

// What the table has no column for.
std::string details_of(const core::Lease& lease) {
  std::vector<std::string> parts;
  if (!lease.terms.reason.empty()) parts.push_back(quote(lease.terms.reason));
  if (!lease.terms.task.empty()) parts.push_back("task " + shown(lease.terms.task));
  if (!lease.owner.session.empty()) parts.push_back("session " + shown(lease.owner.session));
  if (lease.foreign) parts.emplace_back("another tool's");
  if (lease.created != 0 && !lease.foreign) {
    parts.push_back("fence " + std::to_string(lease.fence()));
  }
  const std::vector<std::string> all = service::spelled_texts(lease);
  if (all.size() > 1) parts.push_back(shown_list(all, 4));
  return join(parts, ", ");
}

struct Sortable {
  const service::ListedLease* listed;
  std::vector<std::string> texts;
  std::size_t waited;
};

void sort_leases(std::vector<Sortable>& all, TopSort sort) {
  const auto path = [](const Sortable& each) {
    return each.texts.empty() ? std::string() : each.texts.front();
  };
  std::ranges::stable_sort(all, {}, path);
  const auto lease = [](const Sortable& each) -> const core::Lease& { return each.listed->lease; };
  switch (sort) {
    case TopSort::kPath:
      return;
    case TopSort::kAgent:
      std::ranges::stable_sort(all, {}, [&](const auto& each) { return lease(each).owner.agent; });
      return;
    case TopSort::kSince:  // the oldest first
      std::ranges::stable_sort(all, {},
                               [&](const auto& each) { return lease(each).acquired_wall_ms; });
      return;
    case TopSort::kEnds:
      std::ranges::stable_sort(all, {},
                               [&](const auto& each) { return lease(each).expires_wall_ms; });
      return;
    case TopSort::kWaiting:
      std::ranges::stable_sort(all, std::greater<>(), &Sortable::waited);
      return;
  }
}

Row lease_cells(const Sortable& each, const Viewer& viewer) {
  const core::Lease& lease = each.listed->lease;
  return {{short_names(each.texts)},
          {mode_cell(lease)},
          {agent_text(lease, viewer), viewer.owns(lease) ? Style::kBold : Style::kPlain},
          {rough(viewer.now_wall_ms - lease.acquired_wall_ms)},
          {end_cell(*each.listed, viewer.now_wall_ms)},
          alive_span(*each.listed),
          {each.waited == 0 ? "" : std::to_string(each.waited), Style::kYellow}};
}

Row waiter_cells(const core::Waiter& waiter, const TopFacts& facts) {
  return {{short_names(service::spelled_texts(waiter.request))},
          {mode_cell(waiter.request)},
          {agent_text(waiter.request, facts.viewer)},
          {rough(facts.viewer.now_wall_ms - waiter.request.acquired_wall_ms)},
          {"behind " + blocker_text(facts.reply, waiter), Style::kYellow}};
}

const Row& lease_header() {
  static const Row kHeader =
      header({"RESOURCE", "MODE", "AGENT", "SINCE", "ENDS", "ALIVE", "WAITED FOR"});
  return kHeader;
}
const Row& waiter_header() {
  static const Row kHeader = header({"WAITING FOR", "MODE", "AGENT", "SINCE", ""});
  return kHeader;
}

// "app  7 leases of 5 agents, 3 wait"
std::string counts_text(const TopFacts& facts) {
  std::set<std::string> agents;
  for (const auto& listed : facts.reply.leases) agents.insert(listed.lease.owner.agent);
  const std::size_t leases = facts.reply.leases.size();
  const std::size_t waiters = facts.reply.waiters.size();
  std::string text = leases == 0
                         ? "nothing is held"
                         : counted(leases, "lease") + " of " + counted(agents.size(), "agent");
  text += ", ";
  return text + (waiters == 0   ? "nobody waits"
                 : waiters == 1 ? "1 request waits"
                                : std::to_string(waiters) + " requests wait");
}

// "91–100 of 102"; empty: all are in view.
std::string range_text(std::size_t first, std::size_t room, std::size_t all) {
  if (all <= room) return "";
  return std::to_string(first + 1) + "–" + std::to_string(std::min(all, first + room)) + " of " +
         std::to_string(all);
}

Line headline(const TopFacts& facts, const TopChoice& choice, const std::string& range,
              std::size_t columns) {
  const std::string time = local_time(facts.viewer.now_wall_ms).substr(11);
  std::string middle =
      counts_text(facts) + "  by " + std::string(kTopSorts[static_cast<std::size_t>(choice.sort)]);
  if (!range.empty()) middle += ", " + range;
  if (!choice.filter.empty()) middle += "  only " + quote(choice.filter, 30);
  const std::size_t taken = width(middle) + width(time) + 4;
  const std::size_t room = columns > taken + kLeastRows ? columns - taken : kLeastRows;
  const std::string realm = cut_middle(printable(facts.realm), room);
  Line line = {{realm + "  ", Style::kBold}, {printable(middle)}};
  const std::size_t before = width(realm) + 2 + width(middle);
  if (before + width(time) + 2 <= columns) {
    line.push_back({std::string(columns - before - width(time), ' ') + time, Style::kDim});
  }
  return fit(std::move(line), columns);
}

// A table with a margin for the mark of the chosen row. All rows decide about the widths, also
// those out of view, so that columns stand still.
struct TopTable {
  std::vector<Line> lines;  // the header first
  void mark(std::size_t row, std::size_t columns) {
    std::string text;
    for (const Span& span : lines[row]) text += span.text;
    text[0] = '>';
    lines[row] = {{padded(cut(text, columns), columns), Style::kChosen}};
  }
};
TopTable table_of(const Row& head, std::span<const TopRow> rows, std::size_t columns) {
  std::vector<Row> cells = {head};
  for (const TopRow& row : rows) cells.push_back(row.cells);
  TopTable table{table_lines(std::move(cells), columns > 2 ? columns - 2 : 0)};
  for (Line& line : table.lines) line.insert(line.begin(), Span{"  "});
  return table;
}

// So many rows of each part; the headers are not counted.
struct TopParts {
  std::size_t leases, waiters, events;
};
TopParts parts_of(std::size_t rows, std::size_t least_events) {
  constexpr std::size_t kOther = 6;  // headline, three headers, two lines below
  const std::size_t body = rows > kOther + 3 ? rows - kOther : 3;
  const std::size_t quarter = std::max<std::size_t>(1, body / 4);
  const std::size_t events = std::min(std::max(quarter, least_events), body - quarter - 1);
  return {body - quarter - events, quarter, events};
}

// The header, and as much of the table as there is room for.
void add_part(std::vector<Line>& lines, TopTable& table, std::size_t first, std::size_t room,
              std::size_t columns, const std::string& none) {
  const std::size_t all = table.lines.size() - 1;
  const std::size_t last = std::min(all, first + room);
  lines.push_back(fit(std::move(table.lines[0]), columns));
  for (std::size_t i = first; i < last; ++i) {
    lines.push_back(fit(std::move(table.lines[i + 1]), columns));
  }
  if (all == 0) lines.push_back(fit({{"  " + none, Style::kDim}}, columns));
  for (std::size_t i = std::max<std::size_t>(last - first, all == 0 ? 1 : 0); i < room; ++i) {
    lines.push_back({});
  }
}

void add_events(std::vector<Line>& lines, const TopFacts& facts, const Sieve& sieve,
                std::size_t room, std::size_t columns) {
  lines.push_back({{"  EVENTS", Style::kBold}});
  const std::size_t end = lines.size() + room;
  LogColumns widths;
  for (const core::Event& event : facts.events) widths.widen(event);
  for (auto event = facts.events.rbegin(); event != facts.events.rend(); ++event) {
    if (lines.size() == end) return;
    if (!sieve.passes(*event)) continue;
    Line line = event_line(*event, columns > 2 ? columns - 2 : columns, widths);
    line.insert(line.begin(), Span{"  "});
    lines.push_back(fit(std::move(line), columns));
  }
  while (lines.size() < end) lines.push_back({});
}

void add_help(std::vector<Line>& lines, std::size_t room, std::size_t columns) {
  lines.push_back({{"  KEYS", Style::kBold}});
  for (std::size_t i = 0; i < room; ++i) {
    if (i >= std::size(kHelp)) {
      lines.push_back({});
      continue;
    }
    lines.push_back(
        fit({{"  " + padded(kHelp[i].keys, 8), Style::kBold}, {kHelp[i].what}}, columns));
  }
}

Line above_foot(const TopFoot& foot, const std::string& details, std::size_t columns) {
  if (foot.prompt && !foot.prompt->question.empty()) {
    return fit({{printable(foot.prompt->question), Style::kYellow}}, columns);
  }
  if (!foot.trouble.empty()) return fit({{printable(foot.trouble), Style::kRed}}, columns);
  return fit({{printable("  " + details), Style::kDim}}, columns);
}

Line foot_line(const TopFoot& foot, std::size_t columns) {
  if (foot.prompt) {
    // The end of a long answer is what is being typed.
    const std::string label = cut(printable(foot.prompt->label), columns / 2) + " ";
    const std::size_t room = columns - std::min(columns, width(label) + 1);
    std::string answer = printable(foot.prompt->answer);
    const bool whole = width(answer) <= room;
    while (!whole && width(answer) + 1 > room && !answer.empty()) {
      answer.erase(0, character_size(answer));
    }
    return {{label, Style::kBold}, {whole ? answer : "…" + answer}, {" ", Style::kChosen}};
  }
  if (!foot.told.empty()) return fit({{printable(foot.told), Style::kBold}}, columns);
  return fit({{"↑↓ choose  / filter  s sort  b break  m message  ? keys  q quit", Style::kDim}},
             columns);
}

}  // namespace

void keep_matching(TopFacts& facts, const std::string& filter) {
  const Sieve sieve(filter);
  std::erase_if(facts.reply.leases, [&](const auto& each) { return !sieve.passes(each.lease); });
  std::erase_if(facts.reply.waiters, [&](const auto& each) { return !sieve.passes(each.request); });
  std::erase_if(facts.events, [&](const core::Event& each) { return !sieve.passes(each); });
}

std::vector<TopRow> top_rows(const TopFacts& facts, const TopChoice& choice) {
  const Sieve sieve(choice.filter);
  std::map<core::LeaseId, std::size_t> waited;
  for (const core::Waiter& waiter : facts.reply.waiters) ++waited[waiter.blocker];
  std::vector<Sortable> leases;
  for (const service::ListedLease& listed : facts.reply.leases) {
    if (!sieve.passes(listed.lease)) continue;
    std::vector<std::string> texts = service::spelled_texts(listed.lease);
    const auto found = waited.find(listed.lease.id);
    leases.push_back({&listed, std::move(texts), found == waited.end() ? 0 : found->second});
  }
  sort_leases(leases, choice.sort);
  std::vector<TopRow> rows;
  for (const Sortable& each : leases) {
    const core::Lease& lease = each.listed->lease;
    rows.push_back({lease.id, lease.owner, short_names(each.texts), false, lease.foreign,
                    lease_cells(each, facts.viewer), details_of(lease)});
  }
  for (const core::Waiter& waiter : facts.reply.waiters) {
    const core::Lease& request = waiter.request;
    if (!sieve.passes(request)) continue;
    const std::vector<std::string> texts = service::spelled_texts(request);
    rows.push_back({request.id, request.owner, short_names(texts), true, false,
                    waiter_cells(waiter, facts), details_of(request)});
  }
  return rows;
}

std::vector<Line> top_screen(const TopFacts& facts, const std::vector<TopRow>& rows,
                             TopChoice& choice, const TopFoot& foot, ScreenSize size) {
  const std::size_t columns = size.columns;
  const auto [room, queue, news] = parts_of(size.rows, choice.help ? std::size(kHelp) : 0);
  const auto first_waiter = std::ranges::find(rows, true, &TopRow::waits);
  const auto leases = std::span(rows.begin(), first_waiter);
  const auto waiters = std::span(first_waiter, rows.end());
  TopTable held = table_of(lease_header(), leases, columns);
  TopTable waiting = table_of(waiter_header(), waiters, columns);
  std::size_t first_waiting = 0;
  const auto chosen = std::ranges::find(rows, choice.chosen, &TopRow::id);
  choice.first = std::min(choice.first, leases.size() - std::min(leases.size(), room));
  if (chosen != rows.end()) {
    const auto at = static_cast<std::size_t>(chosen - rows.begin());
    if (chosen->waits) {
      const std::size_t row = at - leases.size();
      first_waiting = row < queue ? 0 : row - queue + 1;
      waiting.mark(row + 1, columns);
    } else {
      choice.first = std::clamp(choice.first, at < room ? 0 : at - room + 1, at);
      held.mark(at + 1, columns);
    }
  }
  std::vector<Line> lines = {
      headline(facts, choice, range_text(choice.first, room, leases.size()), columns)};
  const bool filtered = !choice.filter.empty();
  add_part(lines, held, choice.first, room, columns, filtered ? "nothing matches" : kNobodyHolds);
  add_part(lines, waiting, first_waiting, queue, columns,
           filtered ? "nothing matches" : "nobody waits");
  choice.help ? add_help(lines, news, columns)
              : add_events(lines, facts, Sieve(choice.filter), news, columns);
  lines.push_back(above_foot(foot, chosen == rows.end() ? "" : chosen->details, columns));
  lines.push_back(foot_line(foot, columns));
  lines.resize(std::min(lines.size(), size.rows));
  return lines;
}

std::vector<Line> top_once(TopFacts facts, const TopChoice& choice, std::size_t columns) {
  std::vector<Line> lines = {{{facts.realm + "  ", Style::kBold}, {counts_text(facts)}}};
  const std::vector<TopRow> rows = top_rows(facts, choice);
  keep_matching(facts, choice.filter);
  const auto first_waiter = std::ranges::find(rows, true, &TopRow::waits);
  const auto add = [&](const Row& head, std::span<const TopRow> some) {
    if (some.empty()) return;
    lines.push_back({});
    for (Line& line : table_of(head, some, columns).lines) {
      line.erase(line.begin());
      lines.push_back(std::move(line));
    }
  };
  add(lease_header(), std::span(rows.begin(), first_waiter));
  add(waiter_header(), std::span(first_waiter, rows.end()));
  if (rows.empty() && !choice.filter.empty()) {
    lines.push_back({{"nothing that is held or waited for contains " + quote(choice.filter)}});
  }
  if (facts.events.empty()) return lines;
  lines.push_back({});
  lines.push_back({{"EVENTS", Style::kBold}});
  LogColumns widths;
  const std::size_t first = facts.events.size() - std::min(facts.events.size(), kEventsOnce);
  for (const core::Event& event : facts.events) widths.widen(event);
  for (std::size_t i = facts.events.size(); i > first; --i) {
    lines.push_back(event_line(facts.events[i - 1], columns, widths));
  }
  return lines;
}

}  // namespace lockkeeper::cli
