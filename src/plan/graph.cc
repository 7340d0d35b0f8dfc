#include "plan/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/assert.h"

namespace lockkeeper::plan {
namespace {

// The strongly connected components (Tarjan), without recursion: a plan may be a chain of ten
// thousand.
std::vector<std::vector<std::size_t>> groups(const Graph& graph) {
  const std::size_t count = graph.size();
  constexpr std::size_t kUnseen = SIZE_MAX;
  std::vector<std::size_t> number(count, kUnseen), low(count), edge(count, 0);
  std::vector<bool> open(count, false);
  std::vector<std::size_t> stack, path;
  std::vector<std::vector<std::size_t>> found;
  std::size_t next = 0;
  for (std::size_t start = 0; start < count; ++start) {
    if (number[start] != kUnseen) continue;
    path.push_back(start);
    while (!path.empty()) {
      const std::size_t at = path.back();
      if (number[at] == kUnseen) {
        number[at] = low[at] = next++;
        stack.push_back(at);
        open[at] = true;
      }
      if (edge[at] < graph.needs(at).size()) {
        const std::size_t to = graph.needs(at)[edge[at]++];
        if (number[to] == kUnseen) {
          path.push_back(to);
        } else if (open[to]) {
          low[at] = std::min(low[at], number[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[at]);
      if (low[at] != number[at]) continue;
      std::vector<std::size_t>& group = found.emplace_back();
      for (;;) {
        const std::size_t member = stack.back();
        stack.pop_back();
        open[member] = false;
        group.push_back(member);
        if (member == at) break;
      }
    }
  }
  return found;
}

// A shortest cycle through the group's smallest member.
std::vector<std::size_t> cycle_in(const Graph& graph, const std::vector<std::size_t>& group) {
  const std::size_t start = *std::ranges::min_element(group);
  std::vector<bool> member(graph.size(), false);
  for (const std::size_t each : group) member[each] = true;
  std::vector<std::size_t> from(graph.size(), SIZE_MAX);
  std::queue<std::size_t> ahead;
  ahead.push(start);
  while (!ahead.empty()) {
    const std::size_t at = ahead.front();
    ahead.pop();
    for (const std::size_t to : graph.needs(at)) {
      if (to == start) {
        std::vector<std::size_t> cycle;
        for (std::size_t step = at; step != start; step = from[step]) cycle.push_back(step);
        cycle.push_back(start);
        std::ranges::reverse(cycle);
        return cycle;
      }
      if (from[to] != SIZE_MAX || !member[to]) continue;
      from[to] = at;
      ahead.push(to);
    }
  }
  return {start};
}

}  // namespace

Graph::Graph(const std::vector<std::vector<std::size_t>>& needs) : Graph(needs.size()) {
  for (std::size_t i = 0; i < needs.size(); ++i) {
    for (const std::size_t need : needs[i]) add(i, need);
  }
}

void Graph::add(std::size_t later, std::size_t earlier) {
  LOCKKEEPER_ASSERT(later < size() && earlier < size());
  std::vector<std::size_t>& needs = before_[later];
  const auto at = std::ranges::lower_bound(needs, earlier);
  if (at != needs.end() && *at == earlier) return;
  needs.insert(at, earlier);
  after_[earlier].push_back(later);
}

std::vector<std::vector<std::size_t>> Graph::cycles() const {
  std::vector<std::vector<std::size_t>> found;
  for (const std::vector<std::size_t>& group : groups(*this)) {
    const std::size_t first = group.front();
    const bool itself = std::ranges::binary_search(before_[first], first);
    if (group.size() > 1 || itself) found.push_back(cycle_in(*this, group));
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::size_t> Graph::order() const {
  std::vector<std::size_t> missing(size()), sorted;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t i = 0; i < size(); ++i) {
    missing[i] = before_[i].size();
    if (missing[i] == 0) free.push(i);
  }
  while (!free.empty()) {
    const std::size_t at = free.top();
    free.pop();
    sorted.push_back(at);
    for (const std::size_t next : after_[at]) {
      if (--missing[next] == 0) free.push(next);
    }
  }
  LOCKKEEPER_ASSERT(sorted.size() == size());
  return sorted;
}

std::vector<std::int64_t> Graph::time_to_end(const std::vector<std::int64_t>& minutes) const {
  std::vector<std::int64_t> time(size(), 0);
  const std::vector<std::size_t> sorted = order();
  for (auto at = sorted.rbegin(); at != sorted.rend(); ++at) {
    for (const std::size_t later : after_[*at]) time[*at] = std::max(time[*at], time[later]);
    time[*at] += minutes[*at];
  }
  return time;
}

Closure::Closure(const Graph& graph) : words_((graph.size() + 63) / 64) {
  const std::size_t count = graph.size();
  bits_.assign(count * words_, 0);
  for (const std::vector<std::size_t>& members : groups(graph)) {  // needed ones first
    std::vector<std::uint64_t> all(words_, 0);
    const bool cycle = members.size() > 1;
    for (const std::size_t member : members) {
      if (cycle) all[member / 64] |= std::uint64_t{1} << (member % 64);
      for (const std::size_t need : graph.needs(member)) {
        all[need / 64] |= std::uint64_t{1} << (need % 64);
        for (std::size_t w = 0; w < words_; ++w) all[w] |= bits_[need * words_ + w];
      }
    }
    for (const std::size_t member : members) {
      std::ranges::copy(all, bits_.begin() + static_cast<std::ptrdiff_t>(member * words_));
    }
  }
}

}  // namespace lockkeeper::plan
