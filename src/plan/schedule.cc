#include "plan/schedule.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>

namespace lockkeeper::plan {
namespace {

using Set = std::uint64_t;  // of packages, or of rounds: both at most kExactPackages

Set one(std::size_t index) {
  return Set{1} << index;
}

std::size_t size_of(Set set) {
  return static_cast<std::size_t>(std::popcount(set));
}

std::size_t first_of(Set set) {
  return static_cast<std::size_t>(std::countr_zero(set));
}

// The rounds that must come before (above) and after (below) each package's own.
struct Depths {
  std::vector<std::size_t> above;
  std::vector<std::size_t> below;
  std::size_t longest = 0;  // rounds of the longest chain
};

Depths depths(const Graph& needs) {
  Depths result;
  const std::vector<std::size_t> order = needs.order();
  result.above.assign(needs.size(), 0);
  result.below.assign(needs.size(), 0);
  for (const std::size_t at : order) {
    for (const std::size_t need : needs.needs(at)) {
      result.above[at] = std::max(result.above[at], result.above[need] + 1);
    }
    result.longest = std::max(result.longest, result.above[at] + 1);
  }
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    for (const std::size_t later : needs.needed_by(*at)) {
      result.below[*at] = std::max(result.below[*at], result.below[later] + 1);
    }
  }
  return result;
}

// The largest group of which no two can share a round (Bron and Kerbosch, with a pivot).
class Cliques {
 public:
  Cliques(const std::vector<Set>& apart, std::size_t steps) : apart_(apart), left_(steps) {}
  std::size_t largest() {
    grow(0, one(apart_.size()) - 1, 0);
    return best_;
  }

 private:
  void grow(std::size_t size, Set open, Set done) {
    if (open == 0) {
      if (done == 0) best_ = std::max(best_, size);
      return;
    }
    if (size + size_of(open) <= best_ || left_ == 0) return;
    --left_;
    std::size_t pivot = first_of(open);
    for (Set rest = open | done; rest != 0; rest &= rest - 1) {
      const std::size_t at = first_of(rest);
      if (size_of(open & apart_[at]) > size_of(open & apart_[pivot])) pivot = at;
    }
    for (Set rest = open & ~apart_[pivot]; rest != 0; rest &= rest - 1) {
      const std::size_t at = first_of(rest);
      grow(size + 1, open & apart_[at], done & apart_[at]);
      open &= ~one(at);
      done |= one(at);
    }
  }

  const std::vector<Set>& apart_;
  std::size_t best_ = 0;
  std::size_t left_;
};

// Searches for the fewest groups such that no two members of a group are apart and the groups can
// be ordered. Groups are unnumbered during the search, so that no division is tried twice. The
// package that fits into the fewest groups is placed next.
class Search {
 public:
  Search(const std::vector<Set>& apart, const std::vector<Set>& before, std::size_t fewer_than,
         std::size_t steps)
      : apart_(apart),
        before_(before),
        best_(fewer_than),
        group_(apart.size(), SIZE_MAX),
        left_(steps) {
    ordered_ = std::ranges::any_of(before, [](Set set) { return set != 0; });
  }

  // Searches for fewer groups, down to `enough`.
  void run(std::size_t enough) {
    enough_ = enough;
    place(0);
  }
  bool gave_up() const { return left_ == 0; }
  // The group of each package, numbered in their order; empty: nothing better was found.
  const std::vector<std::size_t>& found() const { return found_; }

 private:
  struct Group {
    Set members = 0;
    Set before = 0;  // all that must come before a member
  };

  void place(std::size_t count) {
    if (groups_.size() >= best_ || best_ <= enough_ || left_ == 0) return;
    --left_;
    if (count == group_.size()) {
      best_ = groups_.size();
      found_ = in_order();
      return;
    }
    const std::size_t at = narrowest();
    for (std::size_t g = 0; g <= groups_.size() && g + 1 <= best_; ++g) {
      const bool fresh = g == groups_.size();
      if (fresh && groups_.size() + 1 >= best_) break;
      if (!fresh && (groups_[g].members & apart_[at]) != 0) continue;
      if (fresh) groups_.emplace_back();
      const Group was = groups_[g];
      groups_[g].members |= one(at);
      groups_[g].before |= before_[at];
      group_[at] = g;
      if (!ordered_ || can_be_ordered()) place(count + 1);
      group_[at] = SIZE_MAX;
      groups_[g] = was;
      if (fresh) {
        groups_.pop_back();
        break;
      }
    }
  }

  std::size_t narrowest() const {
    std::size_t best = SIZE_MAX;
    std::pair<std::size_t, std::size_t> most;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (group_[i] != SIZE_MAX) continue;
      std::size_t closed = 0;
      for (const Group& group : groups_) closed += (group.members & apart_[i]) != 0 ? 1U : 0U;
      const std::pair now(closed, size_of(apart_[i]));
      if (best == SIZE_MAX || now > most) {
        best = i;
        most = now;
      }
    }
    return best;
  }

  // The groups in order; incomplete if they cannot be ordered.
  std::vector<std::size_t> sorted() const {
    std::vector<std::size_t> order;
    std::vector<bool> taken(groups_.size(), false);
    Set left = 0;
    for (const Group& group : groups_) left |= group.members;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (taken[g] || (groups_[g].before & left) != 0) continue;
        taken[g] = moved = true;
        left &= ~groups_[g].members;
        order.push_back(g);
      }
    }
    return order;
  }

  bool can_be_ordered() const { return sorted().size() == groups_.size(); }

  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> number(groups_.size()), rounds(group_.size());
    const std::vector<std::size_t> order = sorted();
    for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    for (std::size_t i = 0; i < group_.size(); ++i) rounds[i] = number[group_[i]];
    return rounds;
  }

  const std::vector<Set>& apart_;
  const std::vector<Set>& before_;
  std::size_t best_;
  std::size_t enough_ = 0;
  bool ordered_ = false;  // there are dependencies
  std::vector<std::size_t> group_;
  std::vector<Group> groups_;
  std::vector<std::size_t> found_;
  std::size_t left_;  // steps
};

std::vector<std::vector<std::size_t>> as_rounds(const std::vector<std::size_t>& placed) {
  std::vector<std::vector<std::size_t>> rounds;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i] >= rounds.size()) rounds.resize(placed[i] + 1);
    rounds[placed[i]].push_back(i);
  }
  std::erase_if(rounds, [](const auto& round) { return round.empty(); });
  return rounds;
}

// Places those with the longest chain after them first, each into the first round where it fits.
std::vector<std::size_t> greedy(const Graph& needs, const Conflicts& conflicts,
                                const Depths& depths) {
  std::vector<std::size_t> placed(needs.size(), SIZE_MAX), missing(needs.size());
  std::vector<std::size_t> barred(needs.size(), SIZE_MAX);  // the last round that it cannot join
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    missing[i] = needs.needs(i).size();
    if (missing[i] == 0) ready.push_back(i);
  }
  const auto more_urgent = [&](std::size_t a, std::size_t b) {
    return std::tuple(depths.below[a], conflicts[a].size(), b) >
           std::tuple(depths.below[b], conflicts[b].size(), a);
  };
  for (std::size_t round = 0; !ready.empty(); ++round) {
    std::ranges::sort(ready, more_urgent);
    std::vector<std::size_t> left, taken;
    for (const std::size_t at : ready) {
      const bool fits = barred[at] != round;
      (fits ? taken : left).push_back(at);
      if (!fits) continue;
      placed[at] = round;
      for (const std::size_t other : conflicts[at]) barred[other] = round;
    }
    for (const std::size_t at : taken) {
      for (const std::size_t later : needs.needed_by(at)) {
        if (--missing[later] == 0) left.push_back(later);
      }
    }
    ready = std::move(left);
  }
  return placed;
}

// A group of which no two can share a round, grown from each package: quick, perhaps not the
// largest.
std::size_t quick_clique(const Conflicts& conflicts) {
  std::size_t best = conflicts.empty() ? 0 : 1;
  std::vector<std::size_t> order(conflicts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater(), [&](std::size_t i) { return conflicts[i].size(); });
  constexpr std::size_t kTried = 200;
  constexpr std::size_t kSteps = 20'000'000;
  std::size_t steps = 0;
  for (std::size_t s = 0; s < order.size() && s < kTried && steps < kSteps; ++s) {
    std::vector<std::size_t> common = conflicts[order[s]];
    std::size_t size = 1;
    while (!common.empty() && steps < kSteps) {
      steps += 2 * common.size();
      const std::size_t next =
          *std::ranges::max_element(common, {}, [&](std::size_t i) { return conflicts[i].size(); });
      ++size;
      std::erase_if(common, [&](std::size_t i) {
        return i == next || !std::ranges::binary_search(conflicts[next], i);
      });
    }
    best = std::max(best, size);
  }
  return best;
}

// For each package: those that cannot share its round, and those that must come before it.
struct Sets {
  std::vector<Set> apart;
  std::vector<Set> before;
};

Sets sets_of(const Graph& needs, const Conflicts& conflicts) {
  const Closure closure(needs);
  Sets sets{std::vector<Set>(needs.size(), 0), std::vector<Set>(needs.size(), 0)};
  for (std::size_t i = 0; i < needs.size(); ++i) {
    for (const std::size_t other : conflicts[i]) sets.apart[i] |= one(other);
    for (std::size_t j = 0; j < needs.size(); ++j) {
      if (closure.before(j, i)) sets.before[i] |= one(j);
      if (i != j && closure.ordered(i, j)) sets.apart[i] |= one(j);
    }
  }
  return sets;
}

}  // namespace

Waves fewest_rounds(const Graph& needs, const Conflicts& unsorted, std::size_t steps) {
  Conflicts conflicts = unsorted;
  for (std::vector<std::size_t>& others : conflicts) std::ranges::sort(others);
  const Depths known = depths(needs);
  Waves waves;
  waves.rounds = as_rounds(greedy(needs, conflicts, known));
  if (needs.size() > kExactPackages) {
    waves.at_least = std::max(known.longest, quick_clique(conflicts));
    waves.exact = waves.rounds.size() <= waves.at_least;
    return waves;
  }
  const Sets sets = sets_of(needs, conflicts);
  waves.at_least = std::max(known.longest, Cliques(sets.apart, steps).largest());
  if (waves.rounds.size() > waves.at_least) {
    Search search(sets.apart, sets.before, waves.rounds.size(), steps);
    search.run(waves.at_least);
    if (!search.found().empty()) waves.rounds = as_rounds(search.found());
    if (!search.gave_up()) waves.at_least = waves.rounds.size();
  }
  waves.exact = waves.rounds.size() <= waves.at_least;
  return waves;
}

std::vector<Slot> timeline(const Graph& needs, const Conflicts& conflicts,
                           const std::vector<std::int64_t>& minutes, std::size_t jobs) {
  const std::vector<std::int64_t> time = needs.time_to_end(minutes);
  std::vector<std::size_t> missing(needs.size());
  std::set<std::pair<std::int64_t, std::size_t>> ready;  // the longest time first
  const auto is_ready = [&](std::size_t at) { ready.emplace(-time[at], at); };
  for (std::size_t i = 0; i < needs.size(); ++i) {
    missing[i] = needs.needs(i).size();
    if (missing[i] == 0) is_ready(i);
  }
  std::vector<std::size_t> against(needs.size(), 0);  // how many running ones conflict with it
  std::vector<Slot> done, open;
  std::int64_t now = 0;
  while (!ready.empty() || !open.empty()) {
    for (auto at = ready.begin(); at != ready.end() && (jobs == 0 || open.size() < jobs);) {
      const std::size_t package = at->second;
      if (against[package] != 0) {
        ++at;
        continue;
      }
      at = ready.erase(at);
      open.push_back({package, now, now + minutes[package]});
      for (const std::size_t other : conflicts[package]) ++against[other];
    }
    now = std::ranges::min(open, {}, &Slot::end).end;
    for (const Slot& slot : open) {
      if (slot.end != now) continue;
      done.push_back(slot);
      for (const std::size_t other : conflicts[slot.package]) --against[other];
      for (const std::size_t later : needs.needed_by(slot.package)) {
        if (--missing[later] == 0) is_ready(later);
      }
    }
    std::erase_if(open, [&](const Slot& slot) { return slot.end == now; });
  }
  std::ranges::sort(done, {}, [](const Slot& slot) { return std::pair(slot.begin, slot.package); });
  return done;
}

std::pair<std::vector<std::size_t>, std::int64_t> critical_path(
    const Graph& needs, const std::vector<std::int64_t>& minutes) {
  std::vector<std::int64_t> end(needs.size(), 0);
  std::vector<std::size_t> before(needs.size(), SIZE_MAX);
  std::size_t last = SIZE_MAX;
  for (const std::size_t at : needs.order()) {
    for (const std::size_t need : needs.needs(at)) {
      if (before[at] == SIZE_MAX || end[need] > end[before[at]]) before[at] = need;
    }
    end[at] = minutes[at] + (before[at] == SIZE_MAX ? 0 : end[before[at]]);
    if (last == SIZE_MAX || end[at] > end[last]) last = at;
  }
  std::vector<std::size_t> path;
  for (std::size_t at = last; at != SIZE_MAX; at = before[at]) path.push_back(at);
  std::ranges::reverse(path);
  return {path, last == SIZE_MAX ? 0 : end[last]};
}

}  // namespace lockkeeper::plan
