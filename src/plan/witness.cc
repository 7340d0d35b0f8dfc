#include "plan/witness.h"

#include <algorithm>
#include <deque>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

constexpr std::size_t kNamesOfOne = 2'000;
constexpr std::size_t kNamesInTotal = 50'000;

// The folder that everything both cover lies in; "" is the root.
std::string folder_above(const key::Resource& a, const key::Resource& b) {
  const auto& deeper = a.literal().size() < b.literal().size() ? b.literal() : a.literal();
  std::string folder;
  for (const std::string& part : deeper) folder += part + "/";
  return folder;
}

}  // namespace

Witness WitnessFinder::find(const key::Resource& a, const key::Resource& b,
                            const std::string& common, const std::vector<key::Resource>& denied) {
  Witness witness{common, common != a.text() && common != b.text(), {}};
  if (!a.is_path() || !children_) return witness;
  if (witness.made_up) {
    if (auto found = search(a, b, denied)) return {std::move(*found), false, true};
  }
  if (common.find_first_of("*?[{") == std::string::npos) witness.exists = exists(common);
  return witness;
}

// Level by level, so that the shortest name is found first.
std::optional<std::string> WitnessFinder::search(const key::Resource& a, const key::Resource& b,
                                                 const std::vector<key::Resource>& denied) {
  std::size_t left = std::min(kNamesOfOne, kNamesInTotal - looked_at_);
  for (std::deque<std::string> folders{folder_above(a, b)}; !folders.empty(); folders.pop_front()) {
    const auto names = children_(folders.front());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (left == 0) return std::nullopt;
      --left;
      ++looked_at_;
      const auto parsed = key::parse(folders.front() + name, {}, key::Syntax::kLiteral);
      if (!parsed) continue;
      const key::Resource& path = parsed->resource;
      if (path.kind() == key::Kind::kFolder) {
        if (key::may_overlap(a, path) && key::may_overlap(b, path)) folders.push_back(path.text());
      } else if (key::covers(a, path) && key::covers(b, path) &&
                 !key::covered_by_any(path, denied)) {
        return path.text();
      }
    }
  }
  return std::nullopt;
}

std::optional<bool> WitnessFinder::exists(const std::string& path) const {
  std::string folder;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    const auto names = children_(folder);
    if (!names) return std::nullopt;
    const bool last = end + 1 >= path.size();
    const bool as_folder = std::ranges::find(*names, name + "/") != names->end();
    const bool as_file = std::ranges::find(*names, name) != names->end();
    if (!as_folder && !(last && as_file)) return false;
    folder += name + "/";
    at = end + 1;
  }
  return true;
}

std::string included_text(const Witness& witness) {
  if (!witness.made_up) return " " + quote(witness.name);
  return ", for example, " + quote(witness.name) +
         (witness.exists == false ? ", which does not exist yet" : "");
}

}  // namespace lockkeeper::plan
