#include "linear/move.h"

#include "linear/matters.h"

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Block;
using sim::Entry;
using sim::Want;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kConfirmNs = 10'000 * kMs;  // rule 5 of core/README.md

// Whoever is over has been taken out of the model; the rest lives.
class AllAlive final : public core::Prober {
 public:
  core::Alive probe(const core::Attachment&) const override { return core::Alive::kAlive; }
};
const AllAlive kAlive;

std::int64_t moment_after(std::int64_t from, std::int64_t ms) {
  return from > kNever - (ms + 1) * kMs ? kNever : (from / kMs + ms + 1) * kMs;
}

}  // namespace

bool Move::happen() {
  if (told_.word == "failed") return true;  // refused before anything was done
  if (step_.phase == Phase::kGet) return finish(get());
  switch (step_.call->asked.verb) {
    case Verb::kAcquire:
      return finish(ask());
    case Verb::kRelease:
      return finish(step_.call->asked.lease.empty() ? release_key() : release_lease());
    case Verb::kRenew:
      return finish(renew());
    case Verb::kCheck:
      return check();
    case Verb::kBreak:
      return finish(break_key());
  }
  return false;
}

bool Move::end_over(const LeaseId& id) {
  const Life life = s_.lives.at(id);
  if (life.from() > latest_) return false;
  s_.now = std::max(s_.now, life.from());
  if (!life.handed && life.death.from > latest_) by_time_ = std::max(by_time_, life.end_from);
  s_.lives.erase(id);
  const bool waited = s_.model.waiters.contains(id);
  auto node = waited ? s_.model.waiters.extract(id) : s_.model.leases.extract(id);
  const Entry& entry = node.mapped();
  s_.formers.push_back({entry, waited, life.to(), s_.next_place});
  forget_formers();
  if (!waited) s_.ghosts.push_back(entry);
  return s_.now <= latest_;
}

// Those that nobody stands under any more.
void Move::forget_formers() {
  std::erase_if(s_.formers, [&](const Former& former) {
    return std::ranges::none_of(s_.model.waiters, [&](const auto& waiter) {
      return stood_under(s_, waiter.second, former);
    });
  });
}

bool Move::serve_before(const LeaseId& waiter, const LeaseId& lease) {
  if (!s_.model.waiters.contains(waiter) || !hand_over_late(waiter)) return false;
  // By one clock what was in its way was over, and the lease that lets it pass was not.
  const auto lender = s_.lives.find(lease);
  if (lender == s_.lives.end() || by_time_ >= lender->second.end_to) return false;
  return s_.now - kSlackNs < lender->second.to() && finish(true);
}

// Fences of one step count as one commit's.
bool Move::finish(bool possible) {
  s_.fence = std::max(s_.fence, issued_);
  forget_formers();
  return possible && s_.now <= latest_;
}

std::set<std::string> Move::owners_of(const std::set<Block>& blocks) const {
  std::set<std::string> names;
  for (const Block& block : blocks) {
    const auto& map = block.waiting ? s_.model.waiters : s_.model.leases;
    names.insert(text_of(map.at(block.id).owner));
  }
  return names;
}

// --- acquire ---

bool Move::ask() {
  if (!were_lost()) return false;
  const Call& call = *step_.call;
  for (const auto& [id, own] : s_.model.leases) {
    if (own.owner != step_.entry.owner || own.wants != step_.entry.wants) continue;
    // Two of its leases are alike where a part was released; which one is for it to say.
    if (!told_.lease.empty() && step_.named != id && is_alike(step_.named)) continue;
    decided_ = true;
    return call.queued == kNever && extend(id);
  }
  const std::set<Block> blocks = s_.model.blocks(step_.entry, 0, kAlive);
  look_at_ghosts(step_.entry);
  clear_away_formers();
  if (blocks.empty()) {
    decided_ = true;
    return call.queued == kNever && is_or_unanswered("granted") && grant(step_.entry) &&
           begin_length(step_.entry.id);
  }
  if (!call.asked.wait) return is("held") && (!told_.by || *told_.by == owners_of(blocks));
  if (s_.model.closes_cycle(step_.entry, blocks, kAlive)) {
    decided_ = true;
    return call.queued == kNever && is("deadlock");
  }
  if (is("renewed") || is("held")) return false;
  Entry waiter = step_.entry;
  waiter.created = s_.next_place++;
  Life life;
  life.death = part_.death_of(call.process);
  life.fence_above = s_.fence;
  s_.lives[waiter.id] = life;
  s_.model.waiters.emplace(waiter.id, std::move(waiter));
  return true;
}

// I7: what it is told of was its own, and ended against its will.
bool Move::were_lost() {
  std::size_t untold = 0;
  for (const LeaseId& id : step_.lost) {
    if (id.empty()) {
      ++untold;
      continue;
    }
    if (part_.asker_of(id)->entry.owner != step_.entry.owner) return false;
    const auto gone = s_.gone.find(id);
    if (ghost(id) == s_.ghosts.end() && (gone == s_.gone.end() || !gone->second)) return false;
  }
  return untold == 0 || untold <= part_.untold(step_.entry.owner, step_.invoked);
}

// Whoever asks ends on record what was in his way and is over by his clock; who stood under that is
// served, or filed under something that is not over.
void Move::clear_away_formers() {
  const bool passes = std::ranges::any_of(s_.model.leases, [&](const auto& lease) {
    return s_.model.on_side(step_.entry, lease.second);
  });
  std::erase_if(s_.formers, [&](const Former& former) {
    const bool unmet = former.waited && (passes || former.entry.owner == step_.entry.owner);
    return !unmet && former.gone_by <= step_.invoked &&
           s_.model.conflict(former.entry, step_.entry);
  });
}

bool Move::is_alike(const LeaseId& id) const {
  const auto found = s_.model.leases.find(id);
  return found != s_.model.leases.end() && found->second.owner == step_.entry.owner &&
         found->second.wants == step_.entry.wants;
}

bool Move::get() {
  const LeaseId& id = step_.entry.id;
  if (s_.model.leases.contains(id)) {
    return !other_way_ && is_or_unanswered("granted") && begin_length(id);
  }
  const auto found = s_.model.waiters.find(id);
  if (found == s_.model.waiters.end()) return is("lost");  // broken before it was taken
  if (!other_way_ && is_or_unanswered("granted")) return hand_over_late(id) && begin_length(id);
  if (is("deadlock")) {
    const Entry& waiter = found->second;
    const auto blocks = s_.model.blocks(waiter, waiter.created, kAlive);
    if (!s_.model.closes_cycle(waiter, blocks, kAlive)) return false;
  } else if (!other_way_ && !is("timeout") && !is("interrupted")) {
    return false;
  }
  s_.model.waiters.erase(found);
  s_.lives.erase(id);
  return hand_off();
}

// I3: greater than every fence of every commit before.
bool Move::issue(std::uint64_t fence) {
  if (fence == 0) return true;  // nobody was told
  if (fence <= s_.fence) return false;
  issued_ = std::max(issued_, fence);
  return true;
}

bool Move::grant(Entry entry) {
  entry.fence = told_.word == "granted" ? told_.fence : 0;
  if (!hand_over_before(entry.fence) || !issue(entry.fence)) return false;
  Life life;
  life.death = part_.death_of(step_.call->asked.attach);
  life.fence_above = s_.fence;
  s_.lives[entry.id] = life;
  s_.model.leases.emplace(entry.id, std::move(entry));
  return true;
}

// Waiters whose recorded fence is not greater were granted before, or in the same commit.
bool Move::hand_over_before(std::uint64_t fence) {
  for (;;) {
    const Entry* first = nullptr;
    std::uint64_t lowest = fence;
    for (const auto& [id, waiter] : s_.model.waiters) {
      const std::uint64_t own = part_.asker_of(id)->call->told.fence;
      if (own == 0 || own > lowest || handing_over_.contains(id)) continue;
      first = &waiter;
      lowest = own;
    }
    if (first == nullptr) return true;
    if (!hand_over_late(LeaseId(first->id))) return false;
  }
}

// All that is in its way must be over.
bool Move::hand_over_late(const LeaseId& id) {
  const Entry waiter = s_.model.waiters.at(id);
  std::set<LeaseId> over;
  for (const Block& block : s_.model.blocks(waiter, waiter.created, kAlive)) {
    over.insert(block.id);
  }
  for (const LeaseId& other : over) {
    if (!end_over(other)) return false;
  }
  return hand_over(id);
}

bool Move::hand_over(const LeaseId& id) {
  handing_over_.insert(id);
  const Call& call = *part_.asker_of(id)->call;
  const bool told = call.told.word == "granted";
  if (!told && call.answered() && call.told.word != "lost" && call.told.word != "unknown") {
    return false;  // I9: it was told that it is not granted
  }
  const std::uint64_t fence = told ? call.told.fence : 0;
  if (!hand_over_before(fence) || !issue(fence)) return false;
  if (!s_.model.waiters.contains(id)) return false;  // over by now itself
  auto node = s_.model.waiters.extract(id);
  node.mapped().fence = fence;
  look_at_ghosts(node.mapped());
  Life& life = s_.lives.at(id);
  life.handed = true;
  life.end_from = s_.now + kConfirmNs;
  s_.model.leases.insert(std::move(node));
  return true;
}

// Rule 5: something was ended on record, so those who now fit are granted in this commit.
bool Move::hand_off() {
  for (bool again = true; again;) {
    again = false;
    const Entry* first = nullptr;
    for (const auto& [id, waiter] : s_.model.waiters) {
      if (is_late(s_, waiter) || (first != nullptr && first->created < waiter.created)) continue;
      if (s_.model.blocks(waiter, waiter.created, kAlive).empty()) first = &waiter;
    }
    if (first == nullptr) return true;
    if (!hand_over(LeaseId(first->id))) return false;
    again = true;
  }
  return true;
}

// --- lengths ---

// A lease begins now, or is taken now by the process it was handed to.
bool Move::begin_length(const LeaseId& id) {
  Life& life = s_.lives.at(id);
  life.handed = false;
  life.death = part_.death_of(step_.call->asked.attach);
  return ends_after(life, step_.call->asked.ttl_ms);
}

// The end is a length from now, as told or as far as it can be known.
bool Move::ends_after(Life& life, std::int64_t ttl_ms) {
  if (ttl_ms == kNoEnd) {
    life.end_from = life.end_to = kNever;
    return unanswered() || !told_.until_ms || *told_.until_ms == kNoEnd;
  }
  if (unanswered() || !told_.until_ms) {
    life.end_from = moment_after(step_.invoked, ttl_ms);
    life.end_to = moment_after(latest_, ttl_ms);
    return true;
  }
  const std::int64_t began = (*told_.until_ms - ttl_ms) * kMs;
  // The clock is read when the transaction begins; what else it sees may be later than that.
  const std::int64_t earliest = std::max(step_.invoked, s_.now - kSlackNs);
  if (*told_.until_ms == kNoEnd || began > latest_ || began + kMs <= earliest) return false;
  if (began < by_time_) return false;  // I6: by this very clock what made way was not over
  s_.now = std::max(s_.now, began);
  life.end_from = life.end_to = (*told_.until_ms + 1) * kMs;
  return true;
}

// Rule 4: renewed, the same fence, never shortened.
bool Move::extend(const LeaseId& id) {
  Entry& lease = s_.model.leases.at(id);
  if (!is_or_unanswered("renewed")) return false;
  if (!unanswered() && !told_.lease.empty() && step_.named != id) return false;
  if (!unanswered() && told_.fence != 0 && lease.fence != 0 && told_.fence != lease.fence) {
    return false;
  }
  const Asked& asked = step_.call->asked;
  const std::int64_t ttl_ms =
      asked.keep_ttl || lease.ttl_ms == kNoEnd ? lease.ttl_ms : asked.ttl_ms;
  Life& life = s_.lives.at(id);
  const Life before = life;
  const bool told_same = !unanswered() && told_.until_ms && *told_.until_ms != kNoEnd &&
                         before.end_from == (*told_.until_ms + 1) * kMs;
  if (told_same) return ttl_ms != kNoEnd && moment_after(step_.invoked, ttl_ms) <= before.end_to;
  // What the clock said is told with the new end: nothing is renewed after its old one.
  const bool told_end = !unanswered() && told_.until_ms && *told_.until_ms != kNoEnd;
  if (told_end && (*told_.until_ms - ttl_ms) * kMs >= before.end_to) return false;
  if (!ends_after(life, ttl_ms)) return false;
  if (life.end_from < before.end_from && life.end_from == life.end_to) return false;
  // A length that would end it earlier changes nothing: the next renewal has the old one.
  const bool shorter = ttl_ms != kNoEnd && life.end_to <= before.end_from;
  life.end_from = std::max(life.end_from, before.end_from);
  life.end_to = std::max(life.end_to, before.end_to);
  if (!shorter) lease.ttl_ms = ttl_ms;
  return true;
}

// --- giving back, keeping, breaking ---

void Move::remember_end(const LeaseId& id, bool lost) {
  const auto uses = part_.uses.find(id);
  const bool by_this = !step_.call->asked.lease.empty() && step_.named == id;
  const std::size_t others = uses == part_.uses.end() ? 0 : uses->second - (by_this ? 1 : 0);
  if (others != 0) s_.gone[id] = lost;
}

void Move::end(const LeaseId& id, bool lost) {
  s_.model.leases.erase(id);
  s_.lives.erase(id);
  remember_end(id, lost);
}

// Who asks for what an ended lease covered puts its end on record.
void Move::look_at_ghosts(const Entry& entry) {
  std::erase_if(s_.ghosts, [&](const Entry& old) {
    if (!s_.model.conflict(old, entry)) return false;
    remember_end(old.id, true);
    return true;
  });
}

bool Move::release_lease() {
  const LeaseId& id = step_.named;
  if (id.empty()) return is("not_found");
  const auto live = s_.model.leases.find(id);
  if (live != s_.model.leases.end()) {
    if (live->second.owner != step_.entry.owner) return is("not_owner");
    if (!is_or_unanswered("released")) return false;
    end(id, false);
    return hand_off();
  }
  if (const auto old = ghost(id); old != s_.ghosts.end()) {
    if (old->owner != step_.entry.owner) return is("not_owner") || is("lost");
    const bool released = is("released");
    s_.ghosts.erase(old);
    remember_end(id, !released);
    return released || is("lost");
  }
  return ended_before(id);
}

// Lost against its will, or given back: the answers differ.
bool Move::ended_before(const LeaseId& id) {
  const auto gone = s_.gone.find(id);
  if (gone == s_.gone.end()) return false;  // not granted yet
  return is(gone->second ? "lost" : "not_found");
}

// Somebody's turn had come without a commit, and this one sees it.
bool Move::hand_over_unseen(int resource) {
  for (const auto& [id, waiter] : s_.model.waiters) {
    if (!has(waiter, resource) || waiter.owner == step_.entry.owner) continue;
    const auto blocks = s_.model.blocks(waiter, waiter.created, kAlive);
    const bool free = std::ranges::all_of(
        blocks, [&](const Block& block) { return s_.lives.at(block.id).from() <= latest_; });
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
    if (old.wants.empty()) remember_end(old.id, false);
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
    if (is("released")) return release_ghosts(resource);
    if (is("not_owner") && !others) return hand_over_unseen(resource);
    return is(others ? "not_owner" : "not_held");
  }
  if (!is_or_unanswered("released")) return false;
  if (other_way_ && !release_ghosts(resource)) return false;
  for (const LeaseId& id : mine) {
    Entry& lease = s_.model.leases.at(id);
    if (lease.wants.size() == 1) {
      end(id, false);
    } else {
      std::erase_if(lease.wants, [&](const Want& want) { return want.resource == resource; });
    }
  }
  return hand_off();
}

bool Move::renew() {
  const LeaseId& id = step_.named;
  if (id.empty()) return is("not_found");
  const auto live = s_.model.leases.find(id);
  if (live != s_.model.leases.end()) {
    if (live->second.owner != step_.entry.owner) return is("not_owner");
    return extend(id);
  }
  if (const auto old = ghost(id); old != s_.ghosts.end()) {
    // Of a lease that was lost its owner alone is told so.
    if (old->owner == step_.entry.owner) return is("lost");
    return is("not_owner") || is("not_found");
  }
  if (part_.asker_of(id)->entry.owner != step_.entry.owner && s_.gone.contains(id)) {
    return is("not_found");
  }
  return ended_before(id);
}

// Handed over unseen, and broken before it was taken.
bool Move::hand_over_to_be_broken(int resource) {
  std::vector<LeaseId> ids;
  for (const auto& [id, waiter] : s_.model.waiters) {
    const Told& told = part_.asker_of(id)->call->told;
    const bool named = told_.by && told_.by->contains(text_of(waiter.owner));
    if (!has(waiter, resource) || !part_.asker_of(id)->call->untold()) continue;
    if (named || (unanswered() && told.word == "lost")) ids.push_back(id);
  }
  return !ids.empty() &&
         std::ranges::all_of(ids, [&](const LeaseId& id) { return hand_over_late(id); });
}

bool Move::break_key() {
  const int resource = step_.entry.wants.front().resource;
  if (other_way_ && !hand_over_to_be_broken(resource)) return false;
  std::vector<LeaseId> holders;
  std::set<std::string> names;
  for (const auto& [id, lease] : s_.model.leases) {
    if (!has(lease, resource)) continue;
    holders.push_back(id);
    names.insert(text_of(lease.owner));
  }
  const bool broken = is("broken");
  if (unanswered() && holders.empty()) return false;
  if (!unanswered() && !broken) return is("not_found") && holders.empty();
  std::set<std::string> rest = broken && told_.by ? *told_.by : names;
  for (const std::string& name : names) {
    if (rest.erase(name) == 0) return false;
  }
  bool any = !holders.empty();
  // What is over and still on record is broken too.
  std::erase_if(s_.ghosts, [&](const Entry& old) {
    const bool match = has(old, resource) && rest.erase(text_of(old.owner)) != 0;
    if (match) remember_end(old.id, true);
    any |= match;
    return match;
  });
  if (!rest.empty() || !any) return false;
  for (const LeaseId& id : holders) end(id, true);
  return hand_off();
}

bool Move::covers(const Entry& held, const Want& want) const {
  return std::ranges::any_of(held.wants, [&](const Want& part) {
    return part.mode >= want.mode && part_.world.covers(part.resource, want.resource);
  });
}

bool Move::check() const {
  const auto blocks = s_.model.blocks(step_.entry, 0, kAlive);
  if (told_.by && *told_.by != owners_of(blocks)) return false;
  const std::uint64_t fence = step_.call->asked.fence.value_or(0);
  bool mine = true;
  bool current = fence != 0;
  bool perhaps = current;  // a fence nobody was told of may be shared with one of its commit
  for (const Want& want : step_.entry.wants) {
    bool own = false;
    bool fenced = false;
    bool unknown = false;
    const auto above = [&](const LeaseId& id) { return fence > s_.lives.at(id).fence_above; };
    for (const auto& [id, held] : s_.model.leases) {
      const bool enough = covers(held, want);
      own |= enough && held.owner == step_.entry.owner;
      fenced |= enough && held.fence == fence;
      unknown |= enough && held.fence == 0 && above(id);
    }
    for (const auto& [id, waiter] : s_.model.waiters) {
      unknown |= part_.asker_of(id)->call->untold() && covers(waiter, want) && above(id);
    }
    mine &= own;
    current &= fenced;
    perhaps &= fenced || unknown;
  }
  if (told_.current ? !perhaps : current) return false;
  return told_.free == blocks.empty() && told_.mine == mine;
}

}  // namespace lockkeeper::linear
