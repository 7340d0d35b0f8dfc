#include "linear/brute.h"

#include <algorithm>
#include <numeric>

namespace lockkeeper::linear::brute {
namespace {

bool overlap(const std::string& a, const std::string& b) {
  return a == b || a == "src/" || b == "src/";
}

bool covers(const std::string& outer, const std::string& inner) {
  return outer == inner || outer == "src/";
}

bool same(const Told& expected, const Told& told) {
  if (expected.word != told.word) return false;
  if (told.word == "renewed") {
    return expected.lease == told.lease && expected.fence == told.fence;
  }
  if (told.word == "checked") {
    return expected.free == told.free && expected.mine == told.mine &&
           expected.current == told.current && expected.by == told.by;
  }
  return told.word != "held" || expected.by == told.by;
}

// In this order, and those without an answer only if they are in it.
bool holds(const History& history, const std::vector<std::size_t>& order) {
  Table table;
  for (const std::size_t i : order) {
    const Call& call = history.calls[i];
    const Told expected = table.answer(call, true);
    if (call.answered() && !same(expected, call.told)) return false;
    if (expected.word == "backward") return false;
  }
  return true;
}

bool in_real_time(const History& history, const std::vector<std::size_t>& order) {
  for (std::size_t later = 0; later < order.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (history.calls[order[later]].returned < history.calls[order[earlier]].invoked) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::set<std::string> Table::in_the_way(const Call& call) const {
  const Wish& wish = call.asked.wishes.front();
  std::set<std::string> owners;
  for (const Lease& lease : leases_) {
    const bool both_read = lease.mode == core::Mode::kShared && wish.mode == core::Mode::kShared;
    if (lease.owner != call.owner && !both_read && overlap(lease.resource, wish.resource)) {
      owners.insert(lease.owner);
    }
  }
  return owners;
}

Told Table::acquire(const Call& call, bool apply) {
  const Wish& wish = call.asked.wishes.front();
  Told told;
  for (const Lease& lease : leases_) {
    if (lease.owner == call.owner && lease.resource == wish.resource && lease.mode == wish.mode) {
      told.word = "renewed";
      told.lease = lease.name;
      told.fence = lease.fence;
      return told;
    }
  }
  told.by = in_the_way(call);
  told.word = told.by->empty() ? "granted" : "held";
  if (told.word == "held" || !apply) return told;
  // The name and the fence are whatever it was told, if that fence may come now.
  const bool known = call.told.word == "granted";
  if (known && call.told.fence <= fence_) {
    told.word = "backward";
    return told;
  }
  if (known) fence_ = call.told.fence;
  leases_.push_back({known ? call.told.lease : "?", call.owner, wish.resource, wish.mode,
                     known ? call.told.fence : 0});
  return told;
}

Told Table::release(const Call& call, bool apply) {
  Told told;
  const auto found = std::ranges::find(leases_, call.asked.lease, &Lease::name);
  told.word = found == leases_.end()       ? "not_found"
              : found->owner != call.owner ? "not_owner"
                                           : "released";
  // Not yet granted is not the same as gone: nobody could name it.
  if (found == leases_.end() && !released_.contains(call.asked.lease)) told.word = "backward";
  if (told.word == "released" && apply) {
    released_.insert(call.asked.lease);
    leases_.erase(found);
  }
  return told;
}

Told Table::check(const Call& call) const {
  const Wish& wish = call.asked.wishes.front();
  Told told;
  told.word = "checked";
  told.by = in_the_way(call);
  told.free = told.by->empty();
  for (const Lease& lease : leases_) {
    const bool enough = lease.mode >= wish.mode && covers(lease.resource, wish.resource);
    told.mine |= enough && lease.owner == call.owner;
    told.current |= enough && call.asked.fence && lease.fence == *call.asked.fence;
  }
  return told;
}

Told Table::answer(const Call& call, bool apply) {
  switch (call.asked.verb) {
    case Verb::kAcquire:
      return acquire(call, apply);
    case Verb::kRelease:
      return release(call, apply);
    default:
      return check(call);
  }
}

bool is_linearizable(const History& history) {
  const std::size_t count = history.calls.size();
  for (std::size_t set = 0; set < std::size_t{1} << count; ++set) {
    std::vector<std::size_t> order;
    bool whole = true;
    for (std::size_t i = 0; i < count; ++i) {
      const bool in = (set >> i & 1U) != 0;
      if (in) order.push_back(i);
      whole &= in || !history.calls[i].answered();
    }
    if (!whole) continue;
    do {
      if (in_real_time(history, order) && holds(history, order)) return true;
    } while (std::ranges::next_permutation(order).found);
  }
  return false;
}

}  // namespace lockkeeper::linear::brute
