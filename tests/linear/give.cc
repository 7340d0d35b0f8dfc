// Giving back, renewing, breaking and checking.
#include "linear/matters.h"
#include "linear/move.h"

namespace lockkeeper::linear {

using core::LeaseId;
using sim::Block;
using sim::Entry;
using sim::Want;

bool Move::overlap(const Entry& a, const Entry& b) const {
  return std::ranges::any_of(a.wants, [&](const Want& one) {
    return std::ranges::any_of(b.wants, [&](const Want& other) {
      return part_.world.overlap(one.resource, other.resource);
    });
  });
}

void Move::remember_end(const LeaseId& id, Gone how) {
  const auto used = [&](const LeaseId& name) {
    const auto uses = part_.uses.find(name);
    return uses == part_.uses.end() ? 0 : uses->second;
  };
  std::size_t uses = used(id);
  for (const auto& [name, lease] : s_.names) {
    if (lease == id) uses += used(name);
  }
  if (!asked_.lease.empty() && named() == id) --uses;
  if (uses != 0) s_.gone[id] = how;
}

// On record. What lies in it is lost, and who waits under it leaves the queue (rule 11).
void Move::end(const LeaseId& id, Gone how) {
  s_.model.leases.erase(id);
  s_.lives.erase(id);
  remember_end(id, how);
  std::vector<LeaseId> leases, waiters;
  for (const auto& [child, lease] : s_.model.leases) {
    if (lease.parent == id) leases.push_back(child);
  }
  for (const auto& [child, waiter] : s_.model.waiters) {
    if (waiter.parent == id) waiters.push_back(child);
  }
  for (const LeaseId& child : waiters) leave_queue(child);
  for (const LeaseId& child : leases) end(child, Gone::kLost);
}

// Processes that keep it, beside the one that asks, were not asked: they can find out (rule 7).
Gone Move::released(const Life& life) const {
  Gone how = Gone::kReleased;
  for (const auto& [process, keeper] : life.holds) {
    if (process.empty() || process == asked_.attach) continue;
    if (!keeper.perhaps_forgotten) return Gone::kNoted;
    how = Gone::kReleasedOrNoted;
  }
  return how;
}

// Whoever asks for what an ended lease covered puts its end on record, and perhaps also that of its
// own leases which do not conflict. A waiter whose turn comes asks nobody on its own side.
void Move::look_at_ghosts(const Entry& entry, bool handed) {
  std::erase_if(s_.ghosts, [&](const Entry& old) {
    const bool own = old.owner == entry.owner && !handed && overlap(old, entry);
    const bool in_its_way = s_.model.conflict(old, entry);
    if (!own && !in_its_way) return false;
    // Whether the table comes across what is only the asker's own depends on who waits.
    if (!in_its_way && choices_.pick(2) == 1) return false;
    if (handed && s_.model.on_side(entry, old)) return false;
    remember_end(old.id, Gone::kLost);
    return true;
  });
}

bool Move::release_lease() {
  const LeaseId id = named();
  if (id.empty()) return is("not_found");
  const auto live = s_.model.leases.find(id);
  if (live != s_.model.leases.end()) {
    if (live->second.owner != step_.entry.owner) return is("not_owner");
    if (asked_.only_own_hold) return give_back(id);
    if (!is_or_unanswered("released")) return false;
    end(id, released(s_.lives.at(id)));
    return hand_off();
  }
  return ghost(id) != s_.ghosts.end() ? release_ghost(id) : ended_before(id);
}

// Rule 7: its hold goes, and with the last one the lease. Without a grace, the dead keep nothing.
bool Move::give_back(const LeaseId& id) {
  Life& life = s_.lives.at(id);
  const bool handoff = life.handed && life.asker->call->asked.attach == asked_.attach;
  if (life.holds.erase(asked_.attach) == 0 && !handoff) return is_or_unanswered("kept");
  const bool forgotten = std::ranges::all_of(
      life.holds, [](const auto& hold) { return hold.second.perhaps_forgotten; });
  const Death rest = life.gone();
  const bool last = life.holds.empty() || handoff;
  const bool surely = last || (life.grace_ms == 0 && rest.to <= step_.invoked);
  const bool perhaps = (life.grace_ms == 0 || forgotten) && rest.from <= latest_;
  const bool ends = surely || (perhaps && (unanswered() ? choices_.pick(2) == 1 : is("released")));
  if (!ends) return is_or_unanswered("kept");
  if (!is_or_unanswered("released")) return false;
  if (!last) s_.now = std::max(s_.now, rest.from);
  end(id, Gone::kReleased);
  return hand_off();
}

// It is over, and on record until somebody has looked.
bool Move::release_ghost(const LeaseId& id) {
  const auto old = ghost(id);
  if (old->owner != step_.entry.owner) return is("not_owner") || is("lost");
  if (asked_.only_own_hold && is("kept")) return true;
  const bool released = is_or_unanswered("released");
  s_.ghosts.erase(old);
  remember_end(id, released ? Gone::kReleasedOrNoted : Gone::kLost);
  return released || is("lost");
}

// Lost against its will, or given back: the answers differ. Whoever comes to release what another
// of its processes has released is told that there is nothing left to release.
bool Move::ended_before(const LeaseId& id) {
  const auto gone = s_.gone.find(id);
  if (gone == s_.gone.end()) return false;  // not granted yet
  if (asked_.verb == Verb::kRelease) return is(gone->second == Gone::kLost ? "lost" : "not_found");
  const bool may_be_known = gone->second != Gone::kReleased;
  const bool may_be_unknown =
      gone->second == Gone::kReleased || gone->second == Gone::kReleasedOrNoted;
  return (may_be_known && is("lost")) || (may_be_unknown && is("not_found"));
}

// Somebody's turn had come without a commit, and this one sees it.
bool Move::hand_over_unseen(int resource) {
  for (const auto& [id, waiter] : s_.model.waiters) {
    if (!has(waiter, resource) || waiter.owner == step_.entry.owner) continue;
    const auto blocks = s_.model.blocks(waiter, waiter.created, kAlive);
    const bool free =
        std::ranges::all_of(blocks, [&](const Block& block) { return !ends_of(block.id).empty(); });
    if (free) return hand_over_late(LeaseId(id));
  }
  return false;
}

// What is over and still on record is given back like the rest. False: there is none.
bool Move::release_ghosts(int resource) {
  bool any = false;
  std::erase_if(s_.ghosts, [&](Entry& old) {
    if (old.owner != step_.entry.owner || !has(old, resource)) return false;
    any = true;
    std::erase_if(old.wants, [&](const Want& want) { return want.resource == resource; });
    if (old.wants.empty()) remember_end(old.id, Gone::kReleasedOrNoted);
    return old.wants.empty();
  });
  return any;
}

bool Move::release_key() {
  const int resource = step_.entry.wants.front().resource;
  std::vector<LeaseId> mine;
  bool others = false;
  for (const auto& [id, lease] : s_.model.leases) {
    if (!has(lease, resource)) continue;
    if (lease.owner == step_.entry.owner) mine.push_back(id);
    others |= lease.owner != step_.entry.owner;
  }
  if (mine.empty()) {
    if (is_or_unanswered("released")) return release_ghosts(resource);
    if (is("not_owner") && !others) return hand_over_unseen(resource);
    return is(others ? "not_owner" : "not_held");
  }
  if (!is_or_unanswered("released")) return false;
  if (choices_.pick(2) == 1 && !release_ghosts(resource)) return false;
  // What lies in another of them is given back before that one, and not lost with it.
  std::ranges::stable_sort(mine, std::greater{}, [&](const LeaseId& id) {
    return s_.model.depth(s_.model.leases.at(id));
  });
  for (const LeaseId& id : mine) {
    if (!s_.model.leases.contains(id)) continue;
    Entry& lease = s_.model.leases.at(id);
    if (lease.wants.size() == 1) {
      end(id, released(s_.lives.at(id)));
    } else {
      std::erase_if(lease.wants, [&](const Want& want) { return want.resource == resource; });
    }
  }
  return hand_off();
}

bool Move::renew() {
  const LeaseId id = named();
  if (id.empty()) return is("not_found");
  const auto live = s_.model.leases.find(id);
  if (live != s_.model.leases.end()) {
    if (live->second.owner != step_.entry.owner) return is("not_owner");
    // What was left behind is given back only to a process.
    if (s_.lives.at(id).orphaned) return is("lost");
    if (!is_or_unanswered("renewed") || !recognize(id)) return false;
    if (s_.lives.at(id).handed) confirm(id);
    const std::int64_t own_ms = live->second.ttl_ms;
    return extend(id, asked_.keep_ttl || own_ms == kNoEnd ? own_ms : asked_.ttl_ms);
  }
  if (const auto old = ghost(id); old != s_.ghosts.end()) {
    // Of a lease that was lost its owner alone is told so.
    if (old->owner == step_.entry.owner) return is("lost");
    return is("not_owner") || is("not_found");
  }
  if (part_.owner_of_lease(id) != step_.entry.owner && s_.gone.contains(id)) {
    return is("not_found");
  }
  return ended_before(id);
}

// Handed over unseen, and broken before it was taken. Whoever broke it and was killed named nobody:
// then it may be any of those that lost what they waited for, by whatever they lost it.
bool Move::hand_over_to_be_broken(int resource) {
  std::map<kv::Version, LeaseId> ids;  // in queue order
  for (const auto& [id, waiter] : s_.model.waiters) {
    const Call& call = *s_.lives.at(id).asker->call;
    const bool named = told_.by && told_.by->contains(text_of(waiter.owner));
    if (!has(waiter, resource) || !call.untold()) continue;
    const bool perhaps = unanswered() && call.told.word == "lost";
    if (named || (perhaps && choices_.pick(2) == 1)) ids.emplace(waiter.created, id);
  }
  return !ids.empty() &&
         std::ranges::all_of(ids, [&](const auto& id) { return hand_over_late(id.second); });
}

bool Move::break_key() {
  const int resource = step_.entry.wants.front().resource;
  if (choices_.pick(2) == 1 && !hand_over_to_be_broken(resource)) return false;
  std::vector<LeaseId> holders;
  for (const auto& [id, lease] : s_.model.leases) {
    if (has(lease, resource)) holders.push_back(id);
  }
  // What lies in another of them ends with that, or is broken and named before it.
  std::set<std::string> names, inner;
  for (const LeaseId& id : holders) {
    const Entry& lease = s_.model.leases.at(id);
    const bool below = std::ranges::any_of(
        holders, [&](const LeaseId& other) { return s_.model.descends(lease, other); });
    (below ? inner : names).insert(text_of(lease.owner));
  }
  const bool broken = is("broken");
  if (unanswered() && holders.empty()) return false;
  if (!unanswered() && !broken) return is("not_found") && holders.empty();
  std::set<std::string> rest = broken && told_.by ? *told_.by : names;
  for (const std::string& name : names) {
    if (rest.erase(name) == 0) return false;
  }
  for (const std::string& name : inner) rest.erase(name);
  bool any = !holders.empty();
  // What is over and still on record is broken too.
  std::erase_if(s_.ghosts, [&](const Entry& old) {
    const bool match = has(old, resource) && rest.erase(text_of(old.owner)) != 0;
    if (match) remember_end(old.id, Gone::kLost);
    any |= match;
    return match;
  });
  if (!rest.empty() || !any) return false;
  for (const LeaseId& id : holders) {
    if (s_.model.leases.contains(id)) end(id, Gone::kLost);  // not yet, with what it lay in
  }
  return hand_off();
}

bool Move::covers(const Entry& held, const Want& want) const {
  return std::ranges::any_of(held.wants, [&](const Want& part) {
    return part.mode >= want.mode && part_.world.covers(part.resource, want.resource);
  });
}

// Does a live lease on its side with the fence that is checked cover all of it? A fence that nobody
// was told of may be shared with one of its commit.
bool Move::is_current(const Entry& entry) const {
  const std::uint64_t fence = asked_.fence.value_or(0);
  bool current = fence != 0;
  bool perhaps = current;
  for (const Want& want : entry.wants) {
    bool fenced = false;
    bool unknown = false;
    const auto fits = [&](const LeaseId& id) {
      const Life& life = s_.lives.at(id);
      return fence > life.fence_above && fence < life.fence_below;
    };
    for (const auto& [id, held] : s_.model.leases) {
      const bool enough = covers(held, want) && s_.model.on_side(entry, held);
      fenced |= enough && held.fence == fence;
      unknown |= enough && held.fence == 0 && fits(id);
    }
    for (const auto& [id, waiter] : s_.model.waiters) {
      unknown |= s_.lives.at(id).asker->call->untold() && covers(waiter, want) && fits(id) &&
                 s_.model.on_side(entry, waiter);
    }
    current &= fenced;
    perhaps &= fenced || unknown;
  }
  return told_.current ? perhaps : !current;
}

bool Move::check() {
  if (!may_present()) return is("lost");
  if (!is("checked")) return false;
  Entry entry = step_.entry;
  entry.parent = s_.real(part_, step_.under);
  let_in(entry);
  const auto blocks = s_.model.blocks(entry, 0, kAlive);
  if (told_.by && *told_.by != owners_of(blocks)) return false;
  const bool mine = std::ranges::all_of(entry.wants, [&](const Want& want) {
    return std::ranges::any_of(s_.model.leases, [&](const auto& lease) {
      return s_.model.on_side(entry, lease.second) && covers(lease.second, want);
    });
  });
  return told_.free == blocks.empty() && told_.mine == mine && is_current(entry);
}

}  // namespace lockkeeper::linear
