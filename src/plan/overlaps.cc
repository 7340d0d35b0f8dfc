#include "plan/overlaps.h"

#include <map>
#include <optional>
#include <unordered_map>

#include "plan/place_index.h"

namespace lockkeeper::plan {
namespace {

// A resource that many packages name is compared once for all of them.
class OverlapSearch {
 public:
  using Apart = std::function<bool(std::uint32_t, std::uint32_t)>;
  using Found = std::function<bool(const Overlap&)>;

  OverlapSearch(const std::vector<Want>& wants, const Apart& apart, const Found& found)
      : apart_(apart), found_(found) {
    std::unordered_map<std::string, std::size_t> known;
    for (const Want& want : wants) {
      const key::Resource& resource = want.resource;
      const char kind = static_cast<char>('0' + static_cast<int>(resource.kind()));
      const auto [at, fresh] = known.try_emplace(resource.text() + kind, same_.size());
      if (fresh) {
        index_.add(resource, same_.size());
        same_.emplace_back();
      }
      same_[at->second].push_back(&want);
    }
    index_.sort();
  }

  // Each pair is found from its deeper side: the other one is above, or at the same place with a
  // smaller or equal number.
  Result<void> run() {
    for (std::size_t i = 0; i < same_.size() && going_; ++i) {
      const key::Resource& resource = same_[i].front()->resource;
      const auto look = [&](std::size_t other) {
        if (++pairs_ > kPairsLookedAt) {
          stop({Code::kLimitExceeded,
                "more than " + std::to_string(kPairsLookedAt) +
                    " pairs of names; the rest was not compared",
                "name folders instead of many patterns"});
          return false;
        }
        compare(other, i);
        return going_;
      };
      index_.above(resource, look);
      index_.beside(resource, [&](std::size_t other) { return other > i || look(other); });
    }
    if (error_) return fail(*error_);
    return {};
  }

 private:
  void compare(std::size_t one, std::size_t other) {
    std::optional<std::string> witness;  // computed when needed
    for (std::size_t i = 0; i < same_[one].size(); ++i) {
      const std::size_t from = one == other ? i + 1 : 0;
      for (std::size_t j = from; j < same_[other].size(); ++j) {
        const Want* a = same_[one][i];
        const Want* b = same_[other][j];
        if (a->package == b->package || apart_(a->package, b->package)) continue;
        if (!witness) witness = common(*a, *b);
        if (!witness) return;
        if (a->package > b->package) std::swap(a, b);
        going_ = found_({a, b, *witness});
        if (!going_) return;
      }
    }
  }

  std::optional<std::string> common(const Want& a, const Want& b) {
    const bool pattern = a.resource.is_glob() || b.resource.is_glob();
    if (pattern && ++patterns_compared_ > kPatternsCompared) {
      stop({Code::kLimitExceeded,
            "more than " + std::to_string(kPatternsCompared) +
                " comparisons with patterns; the rest was not compared",
            "name files and folders instead of patterns such as '" +
                (a.resource.is_glob() ? a : b).resource.text() + "'"});
      return std::nullopt;
    }
    auto witness = key::overlap(a.resource, b.resource);
    if (witness) return *std::move(witness);
    stop(witness.error());
    return std::nullopt;
  }

  void stop(Error error) {
    error_ = std::move(error);
    going_ = false;
  }

  const Apart& apart_;
  const Found& found_;
  std::vector<std::vector<const Want*>> same_;  // wants of one and the same resource
  PlaceIndex index_;
  std::size_t patterns_compared_ = 0;
  std::size_t pairs_ = 0;
  std::optional<Error> error_;
  bool going_ = true;
};

}  // namespace

Result<void> find_overlaps(const std::vector<Want>& wants,
                           const std::function<bool(std::uint32_t, std::uint32_t)>& apart,
                           const std::function<bool(const Overlap&)>& found) {
  return OverlapSearch(wants, apart, found).run();
}

}  // namespace lockkeeper::plan
