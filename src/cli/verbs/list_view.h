// Leases as text for people: a table, or a tree of folders with their holders.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cli/output.h"
#include "service/locks.h"

namespace lockkeeper::cli {

struct Viewer {
  core::Owner owner;
  std::int64_t now_wall_ms = 0;

  // Is it the viewer's own, or that of a command or subagent of its session?
  bool owns(const core::Lease& lease) const;
};

// In the order of the resources. At a terminal (`columns` > 0) the lines fit: one row per resource,
// then a line with id, fence, session and reason. Otherwise everything in one row, aligned.
std::vector<Line> list_lines(const service::ListReply& reply, const Viewer& viewer,
                             std::size_t columns);

// Folders and files below the root, globs under their literal folder, logical keys by namespace,
// each with its holders and waiters. Folders that hold only one folder share a line. At a terminal
// a long name is cut in the middle, so that its holder can be seen.
std::vector<Line> tree_lines(const service::ListReply& reply, const Viewer& viewer,
                             std::size_t columns = 0);

// The cells that every table of leases has. Enough for one: "20s", "2m", "1h 59m", "2d 23h".
std::string rough(std::int64_t ms, bool up = false);
std::string end_cell(const service::ListedLease& listed, std::int64_t now_wall_ms);
Span alive_span(const service::ListedLease& listed);
// With " (you)".
std::string agent_text(const core::Lease& lease, const Viewer& viewer);
// The agent that a waiter waits for.
std::string blocker_text(const service::ListReply& reply, const core::Waiter& waiter);

using Row = std::vector<Span>;
// The names of a table's columns, as its first row.
Row header(std::initializer_list<const char*> names);
// Aligned rows, columns two spaces apart. With `columns` > 0 the widest cells are cut in the middle
// until a row fits.
std::vector<Line> table_lines(std::vector<Row> rows, std::size_t columns);
// The same, but what is too long is continued on the next line, so nothing is lost.
std::vector<Line> wrapped_table_lines(std::vector<Row> rows, std::size_t columns);

}  // namespace lockkeeper::cli
