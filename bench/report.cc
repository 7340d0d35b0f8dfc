#include "bench/report.h"

namespace lockkeeper::bench {

Verdict Target::verdict() const {
  const auto holds = [&](double bound) {
    return better == Better::kLess ? value <= bound : value >= bound;
  };
  if (must && !holds(*must)) return Verdict::kMissed;
  if (aim && holds(*aim)) return Verdict::kAim;
  return must ? Verdict::kMet : Verdict::kPublished;
}

const Row* Answer::find(const std::string& name) const {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

void Answer::ratio(const std::string& above, const std::string& below, Target target) {
  const Row* a = find(above);
  const Row* b = find(below);
  if (a == nullptr || b == nullptr || b->samples.p50() == 0) return;
  target.value = a->samples.p50() / b->samples.p50();
  target.unit = "×";
  targets.push_back(std::move(target));
}

}  // namespace lockkeeper::bench
