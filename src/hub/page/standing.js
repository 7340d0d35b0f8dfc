// How an agent stands now, in a sentence: what it holds, whom it waits for, who waits for it.
import { keysOf, keysText, plural } from "./words.js";

const kWaitsTold = 3;

export function standingText(link, agent) {
  const held = [...link.leases.values()].filter((lease) => lease.agent === agent);
  const waits = link.waiters.filter((waiter) => waiter.agent === agent);
  const ids = new Set(held.map((lease) => lease.id));
  const behind = link.waiters.filter((waiter) => ids.has(waiter.waits_for)).length;
  const parts = [
    held.length === 0
      ? `${agent} holds nothing.`
      : `${agent} holds ${keysText(held.flatMap(keysOf), 2)}.`,
  ];
  for (const waiter of waits.slice(0, kWaitsTold)) {
    const holder = link.leases.get(waiter.waits_for);
    const before = link.waiters.find((each) => each.id === waiter.waits_for);
    const why = holder
      ? `, which ${holder.agent} blocks`
      : before
        ? `, behind ${before.agent} in the queue`
        : "";
    parts.push(`It waits for ${keysText(keysOf(waiter))}${why}.`);
  }
  if (behind > 0) parts.push(`${plural(behind, "request waits", "requests wait")} for it.`);
  return parts.join(" ");
}
