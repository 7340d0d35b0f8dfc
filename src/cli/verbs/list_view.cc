#include "cli/verbs/list_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "core/encoding.h"
#include "core/sessions.h"
#include "service/report.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kNarrowest = 8;  // no column is cut below this

const char* mode_text(core::Mode mode) {
  return mode == core::Mode::kShared ? "shared" : "exclusive";
}

// The end of an id says more than its beginning, which all leases of one owner share.
std::size_t id_digits(const service::ListReply& reply) {
  constexpr std::size_t kLeast = 6;
  constexpr std::size_t kAll = 32;
  for (std::size_t digits = kLeast; digits < kAll; ++digits) {
    std::set<std::string> ends;
    for (const service::ListedLease& listed : reply.leases) {
      ends.insert(listed.lease.id.text().substr(kAll - digits));
    }
    if (ends.size() == reply.leases.size()) return digits;
  }
  return kAll;
}

std::string short_id(const core::Lease& lease, std::size_t digits) {
  const std::string text = lease.id.text();
  return text.substr(text.size() - std::min(digits, text.size()));
}

// In one line: a long reason is cut, so that the fence can be seen.
std::string details(const core::Lease& lease, std::size_t digits, std::size_t columns) {
  constexpr std::size_t kShortest = 20;
  const std::string first = "  lease " + short_id(lease, digits);
  std::string rest;
  const auto add = [&](const std::string& part) { rest += ", " + part; };
  if (!lease.terms.task.empty()) add("task " + shown(lease.terms.task));
  if (!lease.owner.session.empty()) add("session " + shown(lease.owner.session));
  if (!lease.foreign) add("fence " + std::to_string(lease.fence()));
  if (lease.terms.reason.empty()) return cut(printable(first + rest), columns);
  const std::size_t taken = width(first) + 2 + width(rest);
  const std::size_t room = columns > taken + kShortest ? columns - taken : kShortest;
  const std::string reason = cut(printable(quote(lease.terms.reason)), room);
  return cut(first + ", " + reason + printable(rest), columns);
}

struct Held {
  const service::ListedLease* listed;
  core::Claim claim;
};

// Every claim of every lease, by path.
std::vector<Held> by_path(const service::ListReply& reply) {
  std::vector<Held> all;
  for (const service::ListedLease& listed : reply.leases) {
    for (core::Claim& claim : service::spelled_claims(listed.lease)) {
      all.push_back({&listed, std::move(claim)});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Held& held) {
    return std::pair(!held.claim.resource.is_path(), held.claim.resource.text());
  });
  return all;
}

std::vector<Line> narrow_leases(const service::ListReply& reply, const Viewer& viewer,
                                std::size_t columns) {
  std::vector<Row> rows = {header({"RESOURCE", "MODE", "AGENT", "SINCE", "ENDS", "ALIVE"})};
  const std::vector<Held> all = by_path(reply);
  for (const auto& [listed, claim] : all) {
    const core::Lease& lease = listed->lease;
    rows.push_back({{shown(claim.resource.text())},
                    {mode_text(claim.mode)},
                    {agent_text(lease, viewer), viewer.owns(lease) ? Style::kBold : Style::kPlain},
                    {rough(viewer.now_wall_ms - lease.acquired_wall_ms)},
                    {end_cell(*listed, viewer.now_wall_ms)},
                    alive_span(*listed)});
  }
  const std::size_t digits = id_digits(reply);
  std::vector<Line> table = table_lines(std::move(rows), columns);
  std::vector<Line> lines = {std::move(table.front())};
  for (std::size_t i = 0; i < all.size(); ++i) {
    lines.push_back(std::move(table[i + 1]));
    if (i + 1 < all.size() && all[i + 1].listed == all[i].listed) continue;
    lines.push_back({{details(all[i].listed->lease, digits, columns), Style::kDim}});
  }
  return lines;
}

std::vector<Line> wide_leases(const service::ListReply& reply, const Viewer& viewer) {
  std::vector<Row> rows = {header({"RESOURCE", "MODE", "AGENT", "SESSION", "SINCE", "ENDS", "ALIVE",
                                   "LEASE", "FENCE", "REASON"})};
  const std::size_t digits = id_digits(reply);
  constexpr std::size_t kWhole = std::string::npos;  // a pipe gets all of it
  for (const auto& [listed, claim] : by_path(reply)) {
    const core::Lease& lease = listed->lease;
    rows.push_back({{shown(claim.resource.text(), kWhole)},
                    {mode_text(claim.mode)},
                    {agent_text(lease, viewer)},
                    {lease.owner.session.empty() ? "-" : shown(lease.owner.session)},
                    {rough(viewer.now_wall_ms - lease.acquired_wall_ms)},
                    {end_cell(*listed, viewer.now_wall_ms)},
                    alive_span(*listed),
                    {short_id(lease, digits)},
                    {lease.foreign ? "-" : std::to_string(lease.fence())},
                    {lease.terms.reason.empty() ? "-" : quote(lease.terms.reason, kWhole)}});
  }
  return table_lines(std::move(rows), 0);
}

std::vector<Line> waiter_lines(const service::ListReply& reply, const Viewer& viewer,
                               std::size_t columns) {
  std::vector<Row> rows = {header({"WAITING FOR", "MODE", "AGENT", "SINCE", "BEHIND"})};
  for (const core::Waiter& waiter : reply.waiters) {
    for (const core::Claim& claim : service::spelled_claims(waiter.request)) {
      rows.push_back({{shown(claim.resource.text())},
                      {mode_text(claim.mode)},
                      {agent_text(waiter.request, viewer)},
                      {rough(viewer.now_wall_ms - waiter.request.acquired_wall_ms)},
                      {blocker_text(reply, waiter)}});
    }
  }
  return table_lines(std::move(rows), columns);
}

// --- tree ----------------------------------------------------------------------------------------

struct Node {
  std::map<std::string, Node> below;
  std::vector<Line> holders;
};

// The agents that are there in more than one session: their names alone do not tell them apart.
std::set<std::string> many_sessions(const service::ListReply& reply) {
  std::map<std::string, std::string> first;
  std::set<std::string> many;
  const auto add = [&](const core::Owner& owner) {
    const auto [known, fresh] = first.emplace(owner.agent, owner.session);
    if (!fresh && known->second != owner.session) many.insert(owner.agent);
  };
  for (const service::ListedLease& listed : reply.leases) add(listed.lease.owner);
  for (const core::Waiter& waiter : reply.waiters) add(waiter.request.owner);
  return many;
}

// As agent_text(), with the session where it matters.
std::string owner_in_tree(const core::Lease& lease, const Viewer& viewer,
                          const std::set<std::string>& many) {
  constexpr std::size_t kSessionColumns = 20;
  std::string text = agent_text(lease, viewer);
  if (lease.foreign || lease.owner.session.empty() || !many.contains(lease.owner.agent)) {
    return text;
  }
  return text + " (session " + cut_middle(shown(lease.owner.session), kSessionColumns) + ")";
}

// Who and how long, then what may be cut.
Line holder_line(const service::ListedLease& listed, core::Mode mode, const Viewer& viewer,
                 const std::set<std::string>& many) {
  const core::Lease& lease = listed.lease;
  const std::string end = lease.edit && listed.condition.yields
                              ? "gives way to whoever asks"
                              : service::end_text(lease, viewer.now_wall_ms);
  Line line = {{owner_in_tree(lease, viewer, many), Style::kBold},
               {std::string(" ") + mode_text(mode) + ", " + end, Style::kDim}};
  if (listed.condition.alive == core::Alive::kDead) line.push_back({", dead", Style::kRed});
  if (!lease.terms.reason.empty()) {
    line.push_back({", " + quote(lease.terms.reason, 40), Style::kDim});
  }
  return line;
}

// A resource's path in the tree: folders by name, the pattern part of a glob as one leaf.
std::vector<std::string> tree_path(const key::Resource& resource) {
  const std::string& text = resource.text();
  if (!resource.is_path()) {
    const std::size_t colon = text.find(':');
    return {text.substr(0, colon + 1), text.substr(colon + 1)};
  }
  std::vector<std::string> path = {"./"};
  if (text == "./") return path;
  std::size_t begin = 0;
  std::size_t literal = resource.literal().size();
  while (begin < text.size()) {
    const std::size_t slash = text.find('/', begin);
    const bool rest = slash == std::string::npos || (resource.is_glob() && literal == 0);
    path.push_back(text.substr(begin, rest ? std::string::npos : slash + 1 - begin));
    if (rest) break;
    begin = slash + 1;
    if (literal > 0) --literal;
  }
  return path;
}

Node& place(Node& root, const key::Resource& resource) {
  Node* node = &root;
  for (const std::string& name : tree_path(resource)) node = &node->below[name];
  return *node;
}

// `src/some/` and `deep/` in one line if nothing else is in the one, and nobody holds it.
void merge_chains(Node& node) {
  std::map<std::string, Node> merged;
  for (auto& [name, child] : node.below) {
    std::string path = name;
    Node* end = &child;
    while (path.ends_with('/') && end->holders.empty() && end->below.size() == 1 &&
           end->below.begin()->first.ends_with('/')) {
      path += end->below.begin()->first;
      end = &end->below.begin()->second;
    }
    merge_chains(*end);
    Node kept = std::move(*end);
    merged.emplace(std::move(path), std::move(kept));
  }
  node.below = std::move(merged);
}

class TreeView {
 public:
  explicit TreeView(std::size_t columns) : columns_(columns) {}

  void draw(const Node& node, const std::string& indent) {
    std::size_t left = node.below.size();
    for (const auto& [name, child] : node.below) {
      const bool last = --left == 0;
      const std::string deeper = indent + (last ? "    " : "│   ");
      draw_one({indent + (last ? "└── " : "├── ")}, {shown(name)}, child,
               deeper + (child.below.empty() ? " " : "│"));
      draw(child, deeper);
    }
  }

  // `margin`: what stands before the second holder, one column wider than `lead`.
  void draw_one(const Span& lead, Span name, const Node& node, const std::string& margin) {
    const std::string pad(3, ' ');
    if (columns_ > 0) {
      std::size_t wanted = 0;  // by the holders, with a "…" for their reasons
      for (const Line& holder : node.holders) {
        wanted = std::max(wanted, pad.size() + width(holder[0].text) + width(holder[1].text) +
                                      (holder.size() > 2 ? 1 : 0));
      }
      const std::size_t taken = width(lead.text) + wanted;
      const std::size_t room = columns_ > taken ? columns_ - taken : 0;
      name.text = cut_middle(printable(name.text), std::max(room, kShortestName));
    }
    Line line = {lead, name};
    for (std::size_t i = 0; i < node.holders.size(); ++i) {
      if (i == 0) {
        line.push_back({pad});
      } else {
        add(std::move(line));
        line = {{margin + std::string(width(name.text) + pad.size() - 1, ' ')}};
      }
      line.insert(line.end(), node.holders[i].begin(), node.holders[i].end());
    }
    add(std::move(line));
  }

  std::vector<Line> take() { return std::move(lines_); }

 private:
  static constexpr std::size_t kShortestName = 12;

  void add(Line line) { lines_.push_back(fit(std::move(line), columns_)); }

  const std::size_t columns_;
  std::vector<Line> lines_;
};

// As narrow as it must be: the widest columns lose first.
std::vector<std::size_t> column_widths(std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> widths;
  for (Row& row : rows) {
    while (!row.empty() && row.back().text.empty()) row.pop_back();  // no blanks at the end
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i].text = printable(row[i].text);
      widths[i] = std::max(widths[i], width(row[i].text));
    }
  }
  std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t one : widths) total += one;
  while (columns > 0 && total > columns) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrowest) break;
    --*widest;
    --total;
  }
  return widths;
}

Line aligned(const Row& row, const std::vector<std::size_t>& widths) {
  Line line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    line.push_back(row[i]);
    if (i + 1 < row.size()) {
      line.push_back({std::string(widths[i] - width(row[i].text) + 2, ' ')});
    }
  }
  return line;
}

// The text in pieces of at most that width, between words where it can be.
std::vector<std::string> pieces(std::string_view text, std::size_t columns) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  while (width(text.substr(begin)) > columns) {
    const std::string_view front = front_of(text.substr(begin), columns);
    const std::size_t blank = front.rfind(' ');
    const bool between = blank != std::string_view::npos && blank > 0;
    all.emplace_back(front.substr(0, between ? blank : front.size()));
    begin += all.back().size() + (between ? 1 : 0);
  }
  all.emplace_back(text.substr(begin));
  return all;
}

}  // namespace

std::string rough(std::int64_t ms, bool up) {
  constexpr std::int64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  const std::int64_t step = ms >= 24 * kHour ? kHour : ms >= kMinute ? kMinute : kSecond;
  const std::int64_t rounded = (ms + (up ? step - 1 : 0)) / step * step;
  return format_duration(std::max<std::int64_t>(0, rounded));
}

std::string end_cell(const service::ListedLease& listed, std::int64_t now_wall_ms) {
  const core::Lease& lease = listed.lease;
  if (lease.edit) return listed.condition.yields ? "on request" : "with turn";
  if (lease.expires_wall_ms == kNoEnd) return "never";
  return "in " + rough(lease.expires_wall_ms - now_wall_ms, true);
}

Span alive_span(const service::ListedLease& listed) {
  switch (listed.condition.alive) {
    case core::Alive::kAlive:
      return {"yes", Style::kGreen};
    case core::Alive::kDead:
      return {"no", Style::kRed};
    case core::Alive::kUnknown:
      return {"-"};
  }
  return {"-"};
}

std::string blocker_text(const service::ListReply& reply, const core::Waiter& waiter) {
  for (const service::ListedLease& listed : reply.leases) {
    if (listed.lease.id == waiter.blocker) return shown(listed.lease.owner.agent);
  }
  for (const core::Waiter& other : reply.waiters) {
    if (other.request.id == waiter.blocker) return shown(other.request.owner.agent);
  }
  return waiter.blocker.empty() ? "-" : waiter.blocker.text();
}

std::string agent_text(const core::Lease& lease, const Viewer& viewer) {
  return shown(lease.owner.agent) + (viewer.owns(lease) ? " (you)" : "");
}

Row header(std::initializer_list<const char*> names) {
  Row row;
  for (const char* const name : names) row.push_back({name, Style::kBold});
  return row;
}

std::vector<Line> table_lines(std::vector<Row> rows, std::size_t columns) {
  const std::vector<std::size_t> widths = column_widths(rows, columns);
  std::vector<Line> lines;
  for (Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i].text = cut_middle(row[i].text, widths[i]);
    lines.push_back(aligned(row, widths));
  }
  return lines;
}

std::vector<Line> wrapped_table_lines(std::vector<Row> rows, std::size_t columns) {
  const std::vector<std::size_t> widths = column_widths(rows, columns);
  std::vector<Line> lines;
  for (const Row& row : rows) {
    std::vector<Row> parts;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::vector<std::string> cell = pieces(row[i].text, widths[i]);
      for (std::size_t j = 0; j < cell.size(); ++j) {
        if (parts.size() <= j) parts.emplace_back();
        parts[j].resize(std::max(parts[j].size(), i + 1));
        parts[j][i] = {cell[j], row[i].style};
      }
    }
    for (const Row& part : parts) lines.push_back(aligned(part, widths));
  }
  return lines;
}

bool Viewer::owns(const core::Lease& lease) const {
  return service::is_own(lease, owner);
}

std::vector<Line> list_lines(const service::ListReply& reply, const Viewer& viewer,
                             std::size_t columns) {
  std::vector<Line> lines;
  if (!reply.leases.empty()) {
    lines = columns > 0 ? narrow_leases(reply, viewer, columns) : wide_leases(reply, viewer);
  }
  if (reply.waiters.empty()) return lines;
  if (!lines.empty()) lines.push_back({});
  for (Line& line : waiter_lines(reply, viewer, columns)) lines.push_back(std::move(line));
  return lines;
}

std::vector<Line> tree_lines(const service::ListReply& reply, const Viewer& viewer,
                             std::size_t columns) {
  Node root;
  const std::set<std::string> many = many_sessions(reply);
  for (const service::ListedLease& listed : reply.leases) {
    for (const core::Claim& claim : service::spelled_claims(listed.lease)) {
      place(root, claim.resource).holders.push_back(holder_line(listed, claim.mode, viewer, many));
    }
  }
  for (const core::Waiter& waiter : reply.waiters) {
    for (const core::Claim& claim : service::spelled_claims(waiter.request)) {
      place(root, claim.resource)
          .holders.push_back({{owner_in_tree(waiter.request, viewer, many), Style::kYellow},
                              {std::string(" waits (") + mode_text(claim.mode) + ") behind " +
                                   blocker_text(reply, waiter),
                               Style::kDim}});
    }
  }
  TreeView view(columns);
  for (auto& [name, node] : root.below) {
    merge_chains(node);
    view.draw_one({}, {name, Style::kBold}, node, node.below.empty() ? " " : "│");
    view.draw(node, "");
  }
  return view.take();
}

}  // namespace lockkeeper::cli
