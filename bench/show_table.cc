#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "bench/show.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kNameWidth = 40;

// fmt counts code points, which is what a terminal shows for the characters used here.
void show_rows(const Answer& answer, const char* dim, const char* plain) {
  if (answer.rows.empty()) return;
  const bool rates = answer.rows.front().per_second > 0;
  fmt::print("  {}{:<{}} {:<12} {:>9} {:>9} {:>9} {:>9}{}\n", dim, "", kNameWidth, "durability",
             "p50 µs", "p99 µs", "max µs", rates ? "per s" : "count", plain);
  for (const Row& row : answer.rows) {
    fmt::print("  {:<{}} {:<12} {:>9} {:>9} {:>9} {:>9}\n", row.name, kNameWidth, row.durability,
               short_number(row.samples.p50()), short_number(row.samples.at(0.99)),
               short_number(row.samples.max()),
               rates ? short_number(row.per_second)
                     : grouped(static_cast<long long>(row.samples.count())));
    if (!row.lacks.empty()) fmt::print("    {}without {}{}\n", dim, row.lacks, plain);
  }
}

void show_targets(const Answer& answer) {
  for (const Target& target : answer.targets) {
    const std::string must = bound_text(target, target.must);
    const std::string aim = bound_text(target, target.aim);
    fmt::print("  {:<9} {:>12} {:<52}{}{}\n", verdict_text(target), value_text(target), target.what,
               must.empty() ? "" : "must " + must, aim.empty() ? "" : ", aim " + aim);
  }
}

}  // namespace

void show_table(const Report& report) {
  const bool colours = ::isatty(STDOUT_FILENO) == 1;
  const char* bold = colours ? "\033[1m" : "";
  const char* dim = colours ? "\033[2m" : "";
  const char* plain = colours ? "\033[0m" : "";
  std::string line;
  for (const auto& [name, value] : report.facts) {
    const std::string fact = name + " " + value;
    if (line.size() + fact.size() > 90) {
      fmt::print("{}{}{}\n", dim, line, plain);
      line.clear();
    }
    line += (line.empty() ? "" : " · ") + fact;
  }
  fmt::print("{}{}{}\n", dim, line, plain);
  for (const Answer& answer : report.answers) {
    fmt::print("\n{}{}{}  {}\n", bold, answer.id, plain, answer.title);
    show_rows(answer, dim, plain);
    for (const std::string& note : answer.notes) fmt::print("  {}{}{}\n", dim, note, plain);
    for (const std::string& skipped : answer.skipped) fmt::print("  skipped: {}\n", skipped);
    show_targets(answer);
  }
}

}  // namespace lockkeeper::bench
