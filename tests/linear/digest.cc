// Configurations are remembered by 128 bits.
#include <algorithm>

#include "linear/matters.h"
#include "linear/spec.h"

namespace lockkeeper::linear {

using core::LeaseId;
using sim::Entry;
using sim::Want;

void Digest::add(std::uint64_t value) {
  const auto mix = [](std::uint64_t x) {
    x ^= x >> 30U;
    x *= 0xBF58476D1CE4E5B9U;
    x ^= x >> 27U;
    x *= 0x94D049BB133111EBU;
    return x ^ x >> 31U;
  };
  a = mix(a ^ value);
  b = mix(b + 0x9E3779B97F4A7C15U + value);
}

void Digest::add(const std::string& text) {
  std::uint64_t value = 0xCBF29CE484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  add(value);
}

namespace {

// 0: none, which is not the first.
std::uint64_t number(const LeaseId& id) {
  if (id.empty()) return 0;
  std::uint64_t value = 0;
  for (const char c : std::string_view(id.bytes))
    value = value << 8U | static_cast<unsigned char>(c);
  return value + 1;
}

void add(Digest& sum, const Life& life) {
  sum.add(static_cast<std::uint64_t>(life.end_from));
  sum.add(static_cast<std::uint64_t>(life.end_to));
  for (const auto& [process, keeper] : life.holds) {
    sum.add(process);
    sum.add(keeper.perhaps_forgotten ? 1U : 0U);
  }
  sum.add(static_cast<std::uint64_t>(life.grace_ms));
  sum.add(static_cast<std::uint64_t>(life.orphan_to));
  sum.add((life.orphaned ? 1U : 0U) + (life.handed ? 2U : 0U));
  if (life.handed) sum.add(static_cast<std::uint64_t>(life.handed_to));
  sum.add(life.asker == nullptr ? 0 : life.asker->call->number);
}

// Where its fence may lie matters only if nobody was, or will be, told what it is.
bool is_fence_open(const Entry& entry, const Life& life) {
  if (entry.fence != 0) return false;
  if (life.asker == nullptr) return true;
  const Call& call = *life.asker->call;
  return call.untold() || !call.asked.request_id.empty();
}

}  // namespace

Digest digest(const State& state) {
  Digest sum;
  const auto entry = [&](const Entry& one) {
    sum.add(number(one.id));
    for (const Want& want : one.wants) {
      sum.add(static_cast<std::uint64_t>(want.resource) * 2 +
              static_cast<std::uint64_t>(want.mode));
    }
    sum.add(number(one.parent));
    sum.add(one.fence);
    sum.add(static_cast<std::uint64_t>(one.ttl_ms));
    const auto life = state.lives.find(one.id);
    if (life == state.lives.end()) return;
    add(sum, life->second);
    if (!is_fence_open(one, life->second)) return;
    sum.add(life->second.fence_above);
    sum.add(life->second.fence_below);
  };
  for (const auto& [id, lease] : state.model.leases) entry(lease);
  sum.add(~0ULL);
  std::map<kv::Version, const Entry*> queue;
  for (const auto& [id, waiter] : state.model.waiters) queue[waiter.created] = &waiter;
  for (const auto& [place, waiter] : queue) entry(*waiter);
  sum.add(~1ULL);
  for (const Entry& old : state.ghosts) entry(old);
  sum.add(~2ULL);
  // Their order does not matter, and of their places only who waited before them.
  Digest formers;
  for (const Former& former : state.formers) {
    Digest one;
    one.add(number(former.entry.id) * 2 + (former.waited ? 1U : 0U));
    one.add(static_cast<std::uint64_t>(former.gone_by));
    for (const kv::Version place : {former.place, former.entry.created}) {
      const auto before =
          std::ranges::count_if(queue, [&](const auto& waiter) { return waiter.first < place; });
      one.add(static_cast<std::uint64_t>(before));
    }
    formers.a += one.a;
    formers.b += one.b;
  }
  sum.add(formers.a);
  sum.add(formers.b);
  sum.add(~3ULL);
  for (const auto& [id, how] : state.gone) {
    sum.add(number(id) * 4 + static_cast<std::uint64_t>(how));
  }
  sum.add(~4ULL);
  for (const Sleeper& sleeper : state.sleepers) {
    entry(sleeper.entry);
    add(sum, sleeper.life);
    sum.add(sleeper.waited ? 1U : 0U);
  }
  for (const LeaseId& id : state.fatherless) sum.add(number(id));
  sum.add(~5ULL);
  for (const auto& [name, id] : state.names) sum.add(number(name) << 32U | number(id));
  for (const auto& [id, known] : state.requests) {
    sum.add(number(id) << 32U | number(known.lease));
    sum.add(known.arguments);
  }
  sum.add(state.fence);
  sum.add(static_cast<std::uint64_t>(state.now));
  return sum;
}

std::string describe(const State& state) {
  std::string text;
  const auto line = [&](const char* what, const Entry& entry) {
    text += std::string("  ") + what + " " + text_of(entry.owner);
    for (const Want& want : entry.wants) {
      text += want.mode == core::Mode::kShared ? " s:" : " x:";
      text += state.model.world().resource(want.resource).text();
    }
    const Life& life = state.lives.at(entry.id);
    for (const auto& [process, keeper] : life.holds) {
      text += process.empty() ? " (detached)" : " (" + process + ")";
    }
    if (!entry.parent.empty()) text += " under a lease";
    if (life.orphaned) text += ", left behind";
    if (life.from() != kNever) text += " may end at " + std::to_string(life.from());
    if (life.to() != kNever) text += " over at " + std::to_string(life.to());
    if (life.handed) text += ", handed over and not yet taken";
    if (state.model.waiters.contains(entry.id) && is_late(state, entry))
      text += ", its turn may have come";
    text += "\n";
  };
  for (const auto& [id, lease] : state.model.leases) line("held by", lease);
  for (const auto& [id, waiter] : state.model.waiters) line("waited for by", waiter);
  return text + "  at " + std::to_string(state.now) + " or later, after fence " +
         std::to_string(state.fence) + "\n";
}

}  // namespace lockkeeper::linear
