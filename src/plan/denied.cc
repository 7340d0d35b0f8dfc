#include "plan/denied.h"

#include <algorithm>

namespace lockkeeper::plan {
namespace {

// All of them as one pattern, to find what only several of them together cover.
std::optional<key::Resource> united(const std::vector<key::Resource>& all,
                                    const key::Rules& rules) {
  std::string text;
  for (const key::Resource& each : all) {
    const bool literal = !each.is_glob();
    if (each.text().find_first_of(literal ? "*?[]{},\\" : ",\\") != std::string::npos) continue;
    if (!text.empty()) text += ",";
    text += each.text();
    if (each.kind() == key::Kind::kFolder) text += "**";
  }
  if (text.empty()) return std::nullopt;
  const auto parsed = key::parse("{" + text + "}", rules, key::Syntax::kGlob);
  if (!parsed) return std::nullopt;
  return parsed->resource;
}

}  // namespace

std::optional<std::string> left_of(const key::Resource& a, const key::Resource& b,
                                   const std::string& witness,
                                   const std::vector<key::Resource>& denied,
                                   const key::Rules& rules) {
  const auto name = key::parse(witness, rules, key::Syntax::kLiteral);
  if (!name) return witness;
  std::vector<key::Resource> near;  // those that deny something here
  for (const key::Resource& each : denied) {
    const auto touches = key::overlap(each, a);
    if (!touches || touches->has_value()) near.push_back(each);
  }
  const auto covered_by = [](const key::Resource& inner) {
    return [&inner](const key::Resource& outer) { return key::covers(outer, inner); };
  };
  if (std::ranges::none_of(near, covered_by(name->resource))) return witness;
  if (near.size() > 1) {
    if (const auto all = united(near, rules)) near.push_back(*all);
  }
  for (const key::Resource* const side : {&a, &b}) {
    if (std::ranges::any_of(near, covered_by(*side))) return std::nullopt;
  }
  // The common part is the inner one of the two, and not all of it is denied.
  if (key::covers(a, b)) return b.text();
  return a.text();
}

}  // namespace lockkeeper::plan
