#include "plan/overlaps.h"

#include <algorithm>
#include <string_view>

#include "core/rows.h"

namespace lockkeeper::plan {
namespace {

struct Filed {
  std::string place;  // as in the lock table: space and literal segments
  const Want* want;
};

class Search {
 public:
  Search(const std::vector<Want>& wants,
         const std::function<bool(std::uint32_t, std::uint32_t)>& apart,
         const std::function<bool(const Overlap&)>& found)
      : apart_(apart), found_(found) {
    filed_.reserve(wants.size());
    for (const Want& want : wants) {
      filed_.push_back({core::Place(want.resource).space_and_segments, &want});
    }
    std::ranges::stable_sort(filed_, {}, &Filed::place);
  }

  // Each pair is met from its deeper side: there the other one stands at an ancestor, or at the
  // same place and earlier in the list.
  Result<void> run() {
    for (std::size_t i = 0; i < filed_.size() && going_; ++i) {
      const core::Place place(filed_[i].want->resource);
      for (const std::size_t end : place.ancestor_ends) {
        LK_CHECK(look_at(place.space_and_segments.substr(0, end), i, filed_.size()));
      }
      LK_CHECK(look_at(filed_[i].place, i, i));
    }
    return {};
  }

 private:
  Result<void> look_at(const std::string& place, std::size_t deeper, std::size_t before) {
    auto at = std::ranges::lower_bound(filed_, place, {}, &Filed::place);
    const auto end = filed_.begin() + static_cast<std::ptrdiff_t>(before);
    for (; at < end && at->place == place && going_; ++at) {
      const Want* a = at->want;
      const Want* b = filed_[deeper].want;
      if (a->package == b->package || apart_(a->package, b->package)) continue;
      LK_ASSIGN(std::optional<std::string> witness, key::overlap(a->resource, b->resource));
      if (!witness) continue;
      if (a->package > b->package) std::swap(a, b);
      going_ = found_({a, b, std::move(*witness)});
    }
    return {};
  }

  std::vector<Filed> filed_;
  const std::function<bool(std::uint32_t, std::uint32_t)>& apart_;
  const std::function<bool(const Overlap&)>& found_;
  bool going_ = true;
};

}  // namespace

Result<void> find_overlaps(const std::vector<Want>& wants,
                           const std::function<bool(std::uint32_t, std::uint32_t)>& apart,
                           const std::function<bool(const Overlap&)>& found) {
  return Search(wants, apart, found).run();
}

}  // namespace lockkeeper::plan
