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
  if (!expected.lease.empty() && expected.lease != told.lease) return false;
  if (expected.fence != 0 && expected.fence != told.fence) return false;
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

bool Table::is_known(const std::string& name) const {
  return ended_.contains(name) || std::ranges::find(leases_, name, &Lease::name) != leases_.end();
}

// An own lease, which the asker now keeps too. What nobody knew of it is learned from the answer.
Told Table::meet(const Call& call, Lease& lease, const char* word, bool apply) {
  Told told;
  told.word = word;
  if (!apply) {
    told.lease = lease.name;
    told.fence = lease.fence;
    return told;
  }
  const bool met = call.told.word == word;
  if (met && lease.name.empty()) {
    const bool fits = call.told.fence > lease.above && call.told.fence < lease.below;
    if (!fits || is_known(call.told.lease)) {
      told.word = "backward";
      return told;
    }
    lease.name = call.told.lease;
    lease.fence = call.told.fence;
    fence_ = std::max(fence_, lease.fence);
  }
  lease.holds.insert(call.asked.attach);
  told.lease = lease.name;
  told.fence = lease.fence;
  return told;
}

Told Table::repeat(const Call& call, const Request& known, bool apply) {
  const Wish& wish = call.asked.wishes.front();
  Told told;
  told.word = "misused";
  if (known.resource != wish.resource || known.mode != wish.mode) return told;
  const auto lease = std::ranges::find(leases_, known.lease, &Lease::key);
  told.word = "lost";
  if (lease == leases_.end()) return told;
  const bool first = lease->request_id == call.asked.request_id;
  return meet(call, *lease, first ? "granted" : "renewed", apply);
}

Told Table::acquire(const Call& call, bool apply) {
  const Wish& wish = call.asked.wishes.front();
  const std::string request = call.owner + " " + call.asked.request_id;
  const bool named = !call.asked.request_id.empty();
  const auto known = requests_.find(request);
  if (named && known != requests_.end()) return repeat(call, known->second, apply);
  for (Lease& lease : leases_) {
    if (lease.owner == call.owner && lease.resource == wish.resource && lease.mode == wish.mode) {
      if (named && apply) requests_[request] = {lease.key, wish.resource, wish.mode};
      return meet(call, lease, "renewed", apply);
    }
  }
  Told told;
  told.by = in_the_way(call);
  told.word = "held";
  if (!told.by->empty()) return told;
  if (named && apply) requests_[request] = {next_key_, wish.resource, wish.mode};
  return grant(call, apply);
}

// The name and the fence are whatever it was told, if that fence may come now.
Told Table::grant(const Call& call, bool apply) {
  Told told;
  told.word = "granted";
  if (!apply) return told;
  const Wish& wish = call.asked.wishes.front();
  const bool known = call.told.word == "granted";
  if (known && (call.told.fence <= fence_ || is_known(call.told.lease))) {
    told.word = "backward";
    return told;
  }
  const std::uint64_t before = fence_;
  if (known) {
    fence_ = call.told.fence;
    for (Lease& lease : leases_) lease.below = std::min(lease.below, fence_);
  }
  leases_.push_back({next_key_++,
                     known ? call.told.lease : "",
                     call.owner,
                     wish.resource,
                     wish.mode,
                     known ? call.told.fence : 0,
                     before,
                     ~0ULL,
                     {call.asked.attach},
                     call.asked.request_id});
  return told;
}

Told Table::release(const Call& call, bool apply) {
  Told told;
  const std::string& name = call.asked.lease;
  const auto found = std::ranges::find(leases_, name, &Lease::name);
  if (found == leases_.end()) {
    // Not yet granted is not the same as gone: nobody could name it.
    told.word = ended_.contains(name) ? "not_found" : "backward";
    return told;
  }
  told.word = "not_owner";
  if (found->owner != call.owner) return told;
  std::set<std::string> others = found->holds;
  const bool kept = others.erase(call.asked.attach) == 0 || !others.empty();
  told.word = call.asked.only_own_hold && kept ? "kept" : "released";
  if (!apply) return told;
  if (call.asked.only_own_hold && kept) {
    found->holds = others;
    return told;
  }
  ended_.insert(name);
  leases_.erase(found);
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
    const bool own = enough && lease.owner == call.owner;
    told.mine |= own;
    told.current |= own && call.asked.fence && lease.fence == *call.asked.fence;
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
