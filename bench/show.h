// The report, for people, for programs and for docs/benchmarks.md.
#pragma once

#include "bench/report.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

void show_table(const Report& report);
void show_json(const Report& report, const Setup& setup);
void show_markdown(const Report& report);

// Of a target: "≤ 4 ×", empty if there is no bound.
std::string bound_text(const Target& target, const std::optional<double>& bound);
std::string value_text(const Target& target);
std::string verdict_text(const Target& target);

// A duration or a count with as many digits as mean something.
std::string short_number(double value);

}  // namespace lockkeeper::bench
