// Looking back: leases and waits as bars, who blocked whom, what was hot, what was refused, and the
// cycles of refused deadlocks. Made from the events of a time and from what is held now.
import { foldersOf, isPattern, overlap } from "./keys.js";
import { keysOf } from "./words.js";

const kEnds = new Set(["released", "expired", "broken", "ended", "withdrawn"]);
export const kRefusals = new Set(["refused", "warned", "asked", "overwrote", "changed"]);

const ownerOf = (each) => `${each.agent}\n${each.session ?? ""}`;

// Leases and waits of [from, to]; what has not ended has no `end`.
export function barsOf(events, leases, waiters, from, to) {
  const open = new Map(); // "wait ID" and "lease ID"
  const bars = [];
  const begin = (kind, event, at) => {
    const name = `${kind} ${event.lease ?? event.id}`;
    if (open.has(name)) return open.get(name);
    const bar = {
      kind,
      id: event.lease ?? event.id,
      agent: event.agent,
      session: event.session,
      keys: keysOf(event),
      from: at,
      to,
      end: null,
      reason: event.reason,
    };
    open.set(name, bar);
    bars.push(bar);
    return bar;
  };
  const finish = (kind, event, at) => {
    const name = `${kind} ${event.lease}`;
    // Begun before the time that we look at.
    const bar = open.get(name) ?? (kind === "lease" ? begin(kind, event, from) : null);
    if (!bar) return;
    bar.to = at;
    bar.end = event.event;
    bar.cause = event.cause;
    bar.by = event.by?.agent;
    open.delete(name);
  };
  for (const event of events) {
    if (!event.lease) continue;
    const at = Date.parse(event.at);
    if (event.event === "queued") begin("wait", event, at);
    if (event.event === "cancelled") finish("wait", event, at);
    if (event.event === "granted") {
      if (open.has(`wait ${event.lease}`)) finish("wait", event, at);
      begin("lease", event, at);
    }
    if (kEnds.has(event.event) && event.cause !== "part") finish("lease", event, at);
  }
  for (const lease of leases) begin("lease", lease, Math.max(from, lease.acquired_at_ms));
  for (const waiter of waiters) begin("wait", waiter, Math.max(from, waiter.acquired_at_ms));
  // What the events left open is over if the hub no longer has it.
  const now = new Set([...leases, ...waiters].map((each) => each.id));
  for (const bar of open.values())
    if (!now.has(bar.id)) bar.to = Math.min(bar.to, Math.max(bar.from, to));
  return bars;
}

// Finds the bars whose keys overlap a key, without comparing all with all.
function indexOf(bars) {
  const exact = new Map();
  const patterns = [];
  for (const bar of bars) {
    for (const key of bar.keys) {
      if (isPattern(key)) patterns.push([key, bar]);
      for (const name of [key, ...foldersOf(key)]) {
        if (!exact.has(name)) exact.set(name, { at: [], below: [] });
        exact.get(name)[name === key ? "at" : "below"].push(bar);
      }
    }
  }
  return (key) => {
    const found = new Set();
    const add = (all) => all?.forEach((bar) => found.add(bar));
    for (const folder of foldersOf(key)) add(exact.get(folder)?.at);
    for (const name of [key, `${key}/`]) {
      add(exact.get(name)?.at);
      add(exact.get(name)?.below);
    }
    for (const [pattern, bar] of patterns) if (overlap(pattern, key)) found.add(bar);
    if (isPattern(key))
      for (const bar of bars) if (bar.keys.some((k) => overlap(k, key))) found.add(bar);
    return found;
  };
}

// [{holder, waiter, ms, longest, times, keys}], the most costly first. Two that blocked one waiter
// at the same time both count.
export function blocksOf(bars) {
  const find = indexOf(bars.filter((bar) => bar.kind === "lease"));
  const pairs = new Map();
  for (const wait of bars) {
    if (wait.kind !== "wait") continue;
    const seen = new Set();
    for (const key of wait.keys) {
      for (const lease of find(key)) {
        if (seen.has(lease) || lease.id === wait.id || ownerOf(lease) === ownerOf(wait)) continue;
        seen.add(lease);
        const ms = Math.min(lease.to, wait.to) - Math.max(lease.from, wait.from);
        if (ms <= 0) continue;
        const name = `${lease.agent}\n${wait.agent}`;
        const pair = pairs.get(name) ?? {
          holder: lease.agent,
          waiter: wait.agent,
          ms: 0,
          longest: 0,
          times: 0,
          keys: new Set(),
        };
        pair.ms += ms;
        pair.longest = Math.max(pair.longest, ms);
        pair.times += 1;
        pair.keys.add(key);
        pairs.set(name, pair);
      }
    }
  }
  return [...pairs.values()].sort((a, b) => b.ms - a.ms);
}

// [{key, ms, waits, refused, grants}]: what cost most waiting, then what was refused most.
export function hottest(bars, events) {
  const all = new Map();
  const at = (key) => {
    if (!all.has(key)) all.set(key, { key, ms: 0, waits: 0, refused: 0, grants: 0 });
    return all.get(key);
  };
  for (const bar of bars) {
    for (const key of bar.keys) {
      if (bar.kind === "lease") at(key).grants += 1;
      else {
        at(key).waits += 1;
        at(key).ms += bar.to - bar.from;
      }
    }
  }
  for (const event of events) {
    if (event.event === "refused") for (const key of event.resources) at(key).refused += 1;
  }
  return [...all.values()]
    .filter((each) => each.waits + each.refused > 0)
    .sort((a, b) => b.ms - a.ms || b.refused - a.refused || b.grants - a.grants);
}

export const isDeadlock = (event) =>
  event.cause === "deadlock" && (event.event === "refused" || event.event === "cancelled");

// The refused deadlocks, newest first, each with its cycle: who asked for what, whose lease has it,
// and for what that one waited at the time. [] where the history no longer tells.
export function deadlocksOf(events, bars) {
  const found = events.filter(isDeadlock);
  if (found.length === 0) return [];
  const leases = indexOf(bars.filter((bar) => bar.kind === "lease"));
  const waits = bars.filter((bar) => bar.kind === "wait");
  return found
    .reverse()
    .slice(0, 50)
    .map((event) => {
      const at = Date.parse(event.at);
      const then = (bar) => bar.from <= at && bar.to >= at;
      const walk = (who, keys, path) => {
        for (const key of keys) {
          for (const lease of leases(key)) {
            if (!then(lease) || ownerOf(lease) === ownerOf(who)) continue;
            const step = {
              agent: who.agent,
              key,
              held: lease.keys.find((k) => overlap(k, key)) ?? key,
              holder: lease.agent,
            };
            const steps = [...path, step];
            if (ownerOf(lease) === ownerOf(event)) return steps;
            if (path.some((each) => each.agent === lease.agent) || steps.length > 12) continue;
            for (const wait of waits) {
              if (ownerOf(wait) !== ownerOf(lease) || !then(wait)) continue;
              const cycle = walk(wait, wait.keys, steps);
              if (cycle) return cycle;
            }
          }
        }
        return null;
      };
      return { event, cycle: walk(event, event.resources, []) ?? [] };
    });
}
