// A step that asks for a lease, and what hands leases over.
#include "linear/move.h"

#include "linear/matters.h"

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Block;
using sim::Entry;

constexpr std::int64_t kConfirmNs = 10'000 * kMs;  // rule 5 of core/README.md

}  // namespace

bool Move::happen() {
  if (told_.word == "failed") return true;  // refused before anything was done
  if (step_.phase == Phase::kGet) return finish(get());
  if (step_.phase == Phase::kHear) return finish(were_lost());
  switch (asked_.verb) {
    case Verb::kAcquire:
      return finish(ask());
    case Verb::kRelease:
      return finish(asked_.lease.empty() ? release_key() : release_lease());
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
  if (!s_.lives.contains(id)) return true;  // it ended with what it worked under
  const Life life = s_.lives.at(id);
  if (life.from() > latest_) return false;
  s_.now = std::max(s_.now, life.from());
  if (!life.handed && life.left().from > latest_) by_time_ = std::max(by_time_, life.end_from);
  leave_unseen(id, life.to());
  end_over_below(id, life.to());
  forget_formers();
  return s_.now <= latest_;
}

void Move::leave_unseen(const LeaseId& id, std::int64_t gone_by) {
  const Life life = s_.lives.at(id);
  s_.lives.erase(id);
  const bool waited = s_.model.waiters.contains(id);
  auto node = waited ? s_.model.waiters.extract(id) : s_.model.leases.extract(id);
  const Entry& entry = node.mapped();
  s_.formers.push_back({entry, waited, gone_by, s_.next_place});
  if (part_.is_repeated(id) && (waited || life.handed)) {
    s_.sleepers.push_back({entry, life, waited});
  }
  if (!waited) s_.ghosts.push_back(entry);
}

// Rule 11: what is over takes along what lies in it.
void Move::end_over_below(const LeaseId& parent, std::int64_t gone_by) {
  std::vector<LeaseId> below;
  for (const auto* entries : {&s_.model.leases, &s_.model.waiters}) {
    for (const auto& [id, entry] : *entries) {
      if (entry.parent == parent) below.push_back(id);
    }
  }
  for (const LeaseId& id : below) {
    if (s_.model.waiters.contains(id)) s_.fatherless.insert(id);
    leave_unseen(id, std::min(gone_by, s_.lives.at(id).to()));
    end_over_below(id, gone_by);
  }
}

bool Move::orphan(const LeaseId& id) {
  const auto life = s_.lives.find(id);
  if (life == s_.lives.end()) return true;
  life->second.orphaned = true;
  s_.now = std::max(s_.now, life->second.gone().from);
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

bool Move::serve(const LeaseId& waiter) {
  return s_.model.waiters.contains(waiter) && hand_over_late(waiter) && finish(true);
}

bool Move::serve_before(const LeaseId& waiter, const LeaseId& lender) {
  if (!s_.model.waiters.contains(waiter) || !hand_over_late(waiter)) return false;
  // By one clock what was in its way was over, and the lease that lets it pass was not.
  const auto life = s_.lives.find(lender);
  if (life == s_.lives.end() || by_time_ >= life->second.end_to) return false;
  return s_.now - kSlackNs < life->second.to() && finish(true);
}

// Fences of one step count as one commit's. A waiter may have been served by the commit of a
// request that was not answered; and whoever looks late, long before: its fence says nothing about
// those of others.
bool Move::finish(bool possible) {
  if (issued_ != 0 && step_.phase != Phase::kGet) {
    for (auto& [id, lease] : s_.model.leases) {
      if (lease.fence != 0 || granted_.contains(id)) continue;
      Life& life = s_.lives.at(id);
      life.fence_below = std::min(life.fence_below, issued_ + (served_.contains(id) ? 1 : 0));
    }
  }
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
  if (const std::optional<bool> repeated = replay()) return *repeated;
  decided_ = true;
  const bool queued = step_.call->queued != kNever;
  if (!may_present()) return !queued && is("lost");
  if (const std::optional<bool> renewed = renew_alike()) return !queued && *renewed;
  Entry entry = step_.entry;
  entry.parent = s_.real(part_, step_.under);
  let_in(entry);
  const std::set<Block> blocks = s_.model.blocks(entry, 0, kAlive);
  meet(entry, blocks);
  if (blocks.empty()) {
    if (queued || !is_or_unanswered("granted") || !grant(entry)) return false;
    remember_request(entry.id);
    return begin_length(entry.id);
  }
  if (!asked_.wait) return is("held") && (!told_.by || *told_.by == owners_of(blocks));
  if (s_.model.closes_cycle(entry, blocks, kAlive)) return !queued && is("deadlock");
  return queue(std::move(entry));
}

// I4: the lease that it works under is there, with this fence.
bool Move::may_present() {
  if (asked_.under.empty()) return true;
  const auto found = s_.model.leases.find(s_.real(part_, step_.under));
  return found != s_.model.leases.end() && found->second.fence == asked_.under_fence;
}

// Rule 11: what is in its way lets it in, if its side works under that already.
void Move::let_in(Entry& entry) {
  if (!entry.parent.empty()) return;
  std::set<LeaseId> hosts;
  for (const Block& block : s_.model.blocks(entry, 0, kAlive)) {
    if (!block.waiting && s_.model.works_under(entry, block.id, kAlive)) hosts.insert(block.id);
  }
  if (hosts.empty()) return;
  entry.parent = *std::next(hosts.begin(), std::ptrdiff_t(choices_.pick(hosts.size())));
}

// Rule 4. Two of its leases are alike where a part was released, or where one was left behind;
// which of them is renewed is for the answer to say.
std::optional<bool> Move::renew_alike() {
  std::vector<LeaseId> alike;
  for (const auto& [id, own] : s_.model.leases) {
    if (own.owner != step_.entry.owner || own.wants != step_.entry.wants) continue;
    if (!s_.lives.at(id).orphaned || may_reclaim(id)) alike.push_back(id);
  }
  if (alike.empty()) return std::nullopt;
  if (!is_or_unanswered("renewed")) return false;
  const LeaseId named = this->named();
  if (!named.empty() && std::ranges::find(alike, named) == alike.end()) return false;
  if (!named.empty()) alike = {named};
  if (part_.is_refused_after(step_.entry.id, latest_)) return false;
  const LeaseId id = alike[choices_.pick(alike.size())];
  remember_request(id);
  return renew_by_asking(id);
}

// A hub gives up a wait when it cannot tell how that goes on, as if its process had died.
void Move::wait_in(Life& life) const {
  const std::string& process = step_.call->process;
  Keeper keeper = part_.keeper(process);
  if (is("unknown")) {
    keeper.death.from = std::min(keeper.death.from, step_.invoked);
    keeper.found_from = std::min(keeper.found_from, step_.invoked);
  }
  life.holds = {{process, keeper}};
  life.asker = &part_.steps[step_.partner];
}

bool Move::queue(Entry waiter) {
  if (is("renewed") || is("held")) return false;
  decided_ = false;
  const LeaseId id = waiter.id;
  waiter.created = s_.next_place++;
  Life life;
  wait_in(life);
  life.fence_above = s_.fence;
  s_.lives[id] = life;
  s_.model.waiters.emplace(id, std::move(waiter));
  remember_request(id);
  return true;
}

// I7: what it is told of was its own, or its part's, and ended against its will. A call that waits
// also tells of what was lost meanwhile, and the program looks once more when it has the answer.
bool Move::were_lost() {
  std::size_t untold = 0;
  for (const LeaseId& lost : step_.lost) {
    const LeaseId id = s_.real(part_, lost);
    if (id.empty()) {
      ++untold;
      continue;
    }
    const core::Owner owner = part_.owner_of_lease(id);
    if (owner != step_.entry.owner && whole_of(owner) != step_.entry.owner) return false;
    const auto gone = s_.gone.find(id);
    const bool on_record = gone != s_.gone.end() && gone->second == Gone::kLost;
    if (ghost(id) == s_.ghosts.end() && !on_record) return false;
  }
  return untold == 0 || untold <= part_.untold(step_.entry.owner, latest_);
}

// Whoever asks ends on record what was in his way and is over by his clock; who stood under that is
// served, or filed under something that is not over. And he records whose processes are gone.
void Move::meet(const Entry& entry, const std::set<Block>& blocks) {
  look_at_ghosts(entry, false);
  const bool passes = std::ranges::any_of(
      s_.model.leases, [&](const auto& lease) { return s_.model.on_side(entry, lease.second); });
  std::erase_if(s_.formers, [&](const Former& former) {
    const bool unmet = former.waited && (passes || s_.model.on_side(entry, former.entry));
    return !unmet && former.gone_by <= step_.invoked && s_.model.conflict(former.entry, entry);
  });
  for (const Block& block : blocks) {
    Life& life = s_.lives.at(block.id);
    if (block.waiting || life.grace_ms == 0 || life.gone().to > step_.invoked) continue;
    life.orphan_to = std::min(life.orphan_to, moment_after(latest_, life.grace_ms));
  }
}

bool Move::get() {
  const LeaseId& id = step_.entry.id;
  const auto life = s_.lives.find(id);
  if (life == s_.lives.end() || life->second.asker != &step_) {
    const bool unseen = is("timeout") || is("interrupted") || is("deadlock");
    return is("lost") || (s_.fatherless.contains(id) && unseen);
  }
  const bool left = step_.optional && choices_.pick(2) == 1;
  const bool granted = !left && is_or_unanswered("granted");
  if (s_.model.leases.contains(id)) {
    if (!granted || !recognize(id)) return false;
    // Another of its owner's processes has met it meanwhile.
    return life->second.handed ? begin_length(id) : ends_as_told(life->second);
  }
  const LeaseId& parent = s_.model.waiters.at(id).parent;
  if (is("lost") && !parent.empty()) return !s_.model.leases.contains(parent);
  if (granted) return hand_over_late(id) && recognize(id) && begin_length(id);
  if (is("deadlock")) {
    const Entry& waiter = s_.model.waiters.at(id);
    const auto blocks = s_.model.blocks(waiter, waiter.created, kAlive);
    if (!s_.model.closes_cycle(waiter, blocks, kAlive)) return false;
  } else if (!left && !is("timeout") && !is("interrupted")) {
    return false;
  }
  leave_queue(id);
  return hand_off();
}

// A wait that was given up is not remembered.
void Move::leave_queue(const LeaseId& id) {
  s_.model.waiters.erase(id);
  s_.lives.erase(id);
  s_.requests.erase(id);
}

// I3: greater than every fence of every commit before. A lease whose fence lies between could not
// be granted any more.
bool Move::issue(std::uint64_t fence) {
  if (fence == 0) return true;  // nobody was told
  if (fence < s_.fence || (fence == s_.fence && fence != shared_)) return false;
  if (part_.is_fence_between(std::max(s_.fence, issued_), fence)) return false;
  issued_ = std::max(issued_, fence);
  return true;
}

bool Move::grant(Entry entry) {
  const LeaseId id = entry.id;
  if (is("granted") && !told_.lease.empty() && step_.named != id) return false;
  if (part_.is_refused_after(id, latest_)) return false;
  entry.fence = is("granted") ? told_.fence : part_.fence_of(id);
  if (!hand_over_before(entry.fence) || !issue(entry.fence)) return false;
  Life life;
  life.fence_above = s_.fence;
  s_.lives[id] = life;
  granted_.insert(id);
  s_.model.leases.insert_or_assign(id, std::move(entry));
  return true;
}

// Waiters whose recorded fence is not greater were granted before, or in the same commit. There one
// may come after this grant, which lets it pass somebody.
bool Move::hand_over_before(std::uint64_t fence) {
  std::set<LeaseId> after;
  for (;;) {
    const Entry* first = nullptr;
    std::uint64_t lowest = fence;
    for (const auto& [id, waiter] : s_.model.waiters) {
      const std::uint64_t own = part_.fence_of(id);
      if (own == 0 || own > lowest || handing_over_.contains(id) || after.contains(id)) continue;
      first = &waiter;
      lowest = own;
    }
    if (first == nullptr) return true;
    const LeaseId id = first->id;
    if (lowest == fence && choices_.pick(2) == 1) {
      after.insert(id);
    } else if (!hand_over_late(id)) {
      return false;
    }
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
    if (!s_.lives.contains(other)) continue;  // it ended with what it lies in
    const std::vector<LeaseId> ends = ends_of(other);
    if (ends.empty() || !end_over(ends[choices_.pick(ends.size())])) return false;
  }
  return hand_over(id);
}

// What may be over by now, and it with that: itself, or a lease that it lies in.
std::vector<LeaseId> Move::ends_of(const LeaseId& id) const {
  const bool waits = s_.model.waiters.contains(id);
  const Entry& entry = waits ? s_.model.waiters.at(id) : s_.model.leases.at(id);
  std::vector<LeaseId> ends;
  for (const auto& [other, life] : s_.lives) {
    const bool takes_along = other == id || s_.model.descends(entry, other);
    if (takes_along && life.from() <= latest_) ends.push_back(other);
  }
  return ends;
}

bool Move::hand_over(const LeaseId& id) {
  handing_over_.insert(id);
  if (part_.is_refused_after(id, latest_)) return false;
  const auto waiting = s_.lives.find(id);
  if (waiting == s_.lives.end()) return false;  // over by now itself
  const Call& call = *waiting->second.asker->call;
  const bool told = call.told.word == "granted";
  if (!told && call.answered() && call.told.word != "lost" && call.told.word != "unknown") {
    return false;  // I9: it was told that it is not granted
  }
  const std::uint64_t fence = told ? call.told.fence : part_.fence_of(id);
  if (!hand_over_before(fence) || !issue(fence)) return false;
  if (!s_.model.waiters.contains(id)) return false;  // over by now itself
  auto node = s_.model.waiters.extract(id);
  node.mapped().fence = fence;
  look_at_ghosts(node.mapped(), true);
  Life& life = s_.lives.at(id);
  life.handed = true;
  life.handed_from = life.asker->call->invoked;  // it may have been long ago, unseen
  life.handed_to = latest_;
  life.end_from = s_.now + kConfirmNs;
  granted_.insert(id);
  s_.model.leases.insert(std::move(node));
  return true;
}

// Rule 5: something was ended on record, so those who now fit are granted in this commit. Who fits
// only because he may pass somebody (rule 2) may be filed under that one, and looks when he wakes.
bool Move::hand_off() {
  std::set<LeaseId> asleep;
  for (;;) {
    const Entry* first = nullptr;
    for (const auto& [id, waiter] : s_.model.waiters) {
      if (asleep.contains(id) || is_late(s_, waiter)) continue;
      if (first != nullptr && first->created < waiter.created) continue;
      if (s_.model.blocks(waiter, waiter.created, kAlive).empty()) first = &waiter;
    }
    if (first == nullptr) return true;
    const LeaseId id = first->id;
    if (passes(s_.model, *first) && choices_.pick(2) == 1) {
      asleep.insert(id);
    } else if (!hand_over(id)) {
      return false;
    }
  }
}

}  // namespace lockkeeper::linear
