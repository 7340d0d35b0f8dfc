#include <fmt/format.h>

#include <algorithm>

#include "bench/show.h"

namespace lockkeeper::bench {
namespace {

void show_targets(const Report& report) {
  fmt::print("| question | measured | | must | aim | |\n|---|---:|---|---|---|---|\n");
  for (const Answer& answer : report.answers) {
    std::string id = "`" + answer.id + "`";
    for (const Target& target : answer.targets) {
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", id, value_text(target), target.what,
                 bound_text(target, target.must), bound_text(target, target.aim),
                 verdict_text(target));
      id.clear();
    }
  }
}

void show_answer(const Answer& answer) {
  if (answer.rows.empty()) return;
  fmt::print("\n### `{}`: {}\n\n", answer.id, answer.title);
  const bool rates = answer.rows.front().per_second > 0;
  const bool peers =
      std::ranges::any_of(answer.rows, [](const Row& r) { return !r.lacks.empty(); });
  fmt::print("| | durability | p50 µs | p99 µs | max µs | {} |{}\n", rates ? "per s" : "count",
             peers ? " what it does without |" : "");
  fmt::print("|---|---|---:|---:|---:|---:|{}\n", peers ? "---|" : "");
  for (const Row& row : answer.rows) {
    const auto count = static_cast<long long>(row.samples.count());
    fmt::print("| {} | {} | {} | {} | {} | {} |{}\n", row.name, row.durability,
               short_number(row.samples.p50()), short_number(row.samples.at(0.99)),
               short_number(row.samples.max()),
               rates ? short_number(row.per_second) : grouped(count),
               peers ? " " + row.lacks + " |" : "");
  }
  for (const std::string& note : answer.notes) fmt::print("\n{}.\n", note);
  for (const std::string& skipped : answer.skipped) fmt::print("\nSkipped: {}.\n", skipped);
}

}  // namespace

void show_markdown(const Report& report) {
  std::string line;
  for (const auto& [name, value] : report.facts) {
    line += (line.empty() ? "" : ", ") + name + " " + value;
  }
  fmt::print("{}.\n\n", line);
  show_targets(report);
  for (const Answer& answer : report.answers) show_answer(answer);
}

}  // namespace lockkeeper::bench
