// Configurations are remembered by 128 bits.
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

Digest digest(const State& state) {
  Digest sum;
  const auto number = [](const LeaseId& id) {
    std::uint64_t value = 0;
    for (const char c : std::string_view(id.bytes))
      value = value << 8U | static_cast<unsigned char>(c);
    return value;
  };
  const auto entry = [&](const Entry& one) {
    sum.add(number(one.id));
    for (const Want& want : one.wants) {
      sum.add(static_cast<std::uint64_t>(want.resource) * 2 +
              static_cast<std::uint64_t>(want.mode));
    }
    const auto life = state.lives.find(one.id);
    if (life == state.lives.end()) return;
    sum.add(static_cast<std::uint64_t>(life->second.from()));
    sum.add(static_cast<std::uint64_t>(life->second.to()));
    sum.add(life->second.handed ? 1U : 0U);
    sum.add(life->second.fence_above);
  };
  for (const auto& [id, lease] : state.model.leases) entry(lease);
  sum.add(~0ULL);
  std::map<kv::Version, const Entry*> queue;
  for (const auto& [id, waiter] : state.model.waiters) queue[waiter.created] = &waiter;
  for (const auto& [place, waiter] : queue) entry(*waiter);
  sum.add(~1ULL);
  for (const Entry& old : state.ghosts) entry(old);
  sum.add(~2ULL);
  for (const Former& former : state.formers) {
    sum.add(number(former.entry.id));
    sum.add(static_cast<std::uint64_t>(former.gone_by));
    sum.add(former.place);
  }
  sum.add(~3ULL);
  for (const auto& [id, lost] : state.gone) sum.add(number(id) * 2 + (lost ? 1U : 0U));
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
