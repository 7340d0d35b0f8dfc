#include <fmt/format.h>

#include <cmath>

#include "bench/show.h"

namespace lockkeeper::bench {

std::string short_number(double value) {
  if (value >= 1000) return grouped(std::llround(value));
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string value_text(const Target& target) {
  return short_number(target.value) + " " + target.unit;
}

std::string bound_text(const Target& target, const std::optional<double>& bound) {
  if (!bound) return "";
  const char* sign = target.better == Target::Better::kLess ? "≤" : "≥";
  return fmt::format("{} {:.3g} {}", sign, *bound, target.unit);
}

std::string verdict_text(const Target& target) {
  switch (target.verdict()) {
    case Verdict::kAim:
      return "aim met";
    case Verdict::kMet:
      return "met";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kPublished:
      return "published";
  }
  return "";
}

}  // namespace lockkeeper::bench
