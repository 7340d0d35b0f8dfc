#include "plan/denied.h"

#include <algorithm>

namespace lockkeeper::plan {
namespace {

// All of them as one pattern, to find what only several of them together cover.
std::optional<key::Resource> united(const std::vector<key::Resource>& all) {
  std::string text;
  for (const key::Resource& each : all) {
    const bool literal = !each.is_glob();
    if (each.text().find_first_of(literal ? "*?[]{},\\" : ",\\") != std::string::npos) continue;
    if (!text.empty()) text += ",";
    text += each.text();
    if (each.kind() == key::Kind::kFolder) text += "**";
  }
  if (text.empty()) return std::nullopt;
  const auto parsed = key::parse("{" + text + "}", {}, key::Syntax::kGlob);
  return parsed ? std::optional(parsed->resource) : std::nullopt;
}

}  // namespace

std::optional<std::string> left_of(const key::Resource& a, const key::Resource& b,
                                   const std::string& witness,
                                   const std::vector<key::Resource>& denied) {
  if (denied.empty()) return witness;
  const auto name = key::parse(witness, {}, key::Syntax::kLiteral);
  if (!name) return witness;
  std::vector<key::Resource> near;  // those that deny something here
  std::ranges::copy_if(denied, std::back_inserter(near),
                       [&](const key::Resource& each) { return key::may_overlap(each, a); });
  if (!key::covered_by_any(name->resource, near)) return witness;
  if (near.size() > 1) {
    if (const auto all = united(near)) near.push_back(*all);
  }
  if (key::covered_by_any(a, near) || key::covered_by_any(b, near)) return std::nullopt;
  // The common part is the inner one of the two, and not all of it is denied.
  if (key::covers(a, b)) return b.text();
  return a.text();
}

}  // namespace lockkeeper::plan
