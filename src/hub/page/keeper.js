// Keeps the state of one realm as the hub tells it: who holds what, who waits, what happened last.
// Runs in the shared worker, once for all tabs.
//
// The stream tells at once what changed, but not until when a lease lasts; the list tells all. So
// events are applied as they come, and the list follows, the less often the longer it takes.
import { Api, Refused } from "./api.js";

const kEventsKept = 1_000;
const kTellEveryMs = 100;
const kSyncLeastMs = 300;
const kSyncRest = 10; // of the time between two lists, one tenth is the list
const kLookEveryMs = 15_000;
const kSilenceMs = 40_000; // the hub says something every 15 s
const kEnds = new Set(["released", "expired", "broken", "ended", "withdrawn"]);

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const markOf = (lease) =>
  `${lease.expires_at}|${lease.alive}|${lease.attached}|${lease.resources.length}|${lease.fence}`;

function withTimes(lease) {
  lease.acquired_at_ms = Date.parse(lease.acquired_at ?? lease.waiting_since);
  if (lease.expires_at) lease.expires_at_ms = Date.parse(lease.expires_at);
  return lease;
}

const leaseOf = (event) =>
  withTimes({
    id: event.lease,
    fence: event.fence,
    agent: event.agent,
    session: event.session,
    resources: event.resources.map((key) => ({ key, mode: null })),
    reason: event.reason,
    task: event.task,
    acquired_at: event.at,
    alive: null,
    attached: null,
  });

const waiterOf = (event) =>
  withTimes({
    id: event.lease,
    agent: event.agent,
    session: event.session,
    reason: event.reason,
    task: event.task,
    resources: event.resources.map((key) => ({ key, mode: null })),
    waiting_since: event.at,
    waits_for: null,
  });

export class Keeper {
  constructor({ token, realm, tell }) {
    this.api = new Api(token, realm);
    this.tell = tell;
    this.leases = new Map();
    this.waiters = new Map();
    this.events = [];
    this.phase = { name: "loading", since: Date.now(), why: "" };
    this.who = null;
    this.seq = 0;
    this.fresh(true);
    this.touched = new Set(); // told by events while a list was under way
    this.stopped = false;
  }

  // --- telling ---------------------------------------------------------------

  fresh(all = false) {
    this.news = { put: new Map(), gone: new Set(), events: [], waiters: all, other: all };
  }

  everything() {
    return {
      what: "all",
      phase: this.phase,
      who: this.who,
      events: this.events,
      leases: [...this.leases.values()],
      waiters: [...this.waiters.values()],
    };
  }

  say() {
    if (this.telling) return;
    this.telling = setTimeout(() => {
      this.telling = null;
      const { put, gone, events, waiters, other } = this.news;
      this.fresh();
      this.tell({
        what: "some",
        put: [...put.values()],
        gone: [...gone],
        events,
        waiters: waiters ? [...this.waiters.values()] : null,
        ...(other ? { phase: this.phase, who: this.who } : {}),
      });
    }, kTellEveryMs);
  }

  turn(name, why = "") {
    if (this.phase.name === name && this.phase.why === why) return;
    // A connection that is lost stays lost since the first failure.
    const since = this.phase.name === name ? this.phase.since : Date.now();
    this.phase = { name, since, why };
    this.news.other = true;
    this.say();
  }

  putLease(lease) {
    this.leases.set(lease.id, lease);
    this.news.put.set(lease.id, lease);
    this.news.gone.delete(lease.id);
  }

  dropLease(id) {
    if (!this.leases.delete(id)) return;
    this.news.put.delete(id);
    this.news.gone.add(id);
  }

  // --- what the hub tells ----------------------------------------------------

  apply(event) {
    this.seq = event.seq;
    this.events.push(event);
    this.news.events.push(event);
    if (this.events.length > 2 * kEventsKept) this.events.splice(0, kEventsKept);
    const id = event.lease;
    if (!id) return;
    this.touched.add(id);
    if (event.event === "granted" && !this.leases.has(id)) this.putLease(leaseOf(event));
    if (event.event === "queued") this.waiters.set(id, waiterOf(event));
    else if (["granted", "cancelled"].includes(event.event)) this.waiters.delete(id);
    if (kEnds.has(event.event) && event.cause !== "part") this.dropLease(id);
    this.news.waiters = true;
  }

  async sync() {
    const begun = performance.now();
    this.touched.clear();
    const list = await this.api.get("list");
    const seen = new Set();
    for (const lease of list.leases) {
      seen.add(lease.id);
      const known = this.leases.get(lease.id);
      if (!known && this.touched.has(lease.id)) continue; // has ended since
      if (!known || markOf(known) !== markOf(lease)) this.putLease(withTimes(lease));
    }
    for (const id of this.leases.keys()) {
      if (!seen.has(id) && !this.touched.has(id)) this.dropLease(id);
    }
    // The queue's order is the hub's; what came meanwhile stands behind.
    const waiters = new Map();
    for (const waiter of list.waiters) {
      const left = this.touched.has(waiter.id) && !this.waiters.has(waiter.id);
      if (!left) waiters.set(waiter.id, withTimes(waiter));
    }
    for (const [id, waiter] of this.waiters) {
      if (this.touched.has(id) && !waiters.has(id)) waiters.set(id, waiter);
    }
    this.waiters = waiters;
    this.news.waiters = true;
    this.say();
    this.synced = performance.now();
    this.rest = Math.max(kSyncLeastMs, kSyncRest * (this.synced - begun));
  }

  syncSoon(most = Infinity) {
    if (this.syncing || this.stopped) return;
    const wait = Math.max(0, (this.synced ?? 0) + (this.rest ?? 0) - performance.now());
    this.syncing = setTimeout(
      async () => {
        try {
          await this.sync();
        } catch {
          // the stream tells if the hub is gone
        }
        this.syncing = null;
        if (this.touched.size > 0) this.syncSoon();
      },
      Math.min(most, wait),
    );
  }

  async look() {
    const who = await this.api.get("whoami");
    if (JSON.stringify(who) === JSON.stringify(this.who)) return;
    this.who = who;
    this.news.other = true;
    this.say();
  }

  // --- the stream ------------------------------------------------------------

  async follow() {
    const stop = new AbortController();
    this.stop = stop;
    let quiet = null;
    const heard = () => {
      clearTimeout(quiet);
      quiet = setTimeout(() => stop.abort(), kSilenceMs);
    };
    try {
      heard();
      const headers = { ...this.api.headers(), Accept: "text/event-stream" };
      headers["Last-Event-ID"] = String(this.seq);
      const answer = await fetch(this.api.address("events"), {
        headers,
        signal: stop.signal,
        cache: "no-store",
        credentials: "omit",
      });
      if (!answer.ok)
        throw new Refused(answer.status, { code: "failed", message: await answer.text() });
      this.turn("live");
      this.failures = 0;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) throw new Error("the hub ended the stream");
        heard();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        let came = false;
        for (const part of parts) {
          const data = part.split("\n").filter((line) => line.startsWith("data:"));
          if (data.length === 0) continue;
          this.apply(JSON.parse(data.map((line) => line.slice(5)).join("\n")));
          came = true;
        }
        if (came) {
          this.say();
          this.syncSoon();
        }
      }
    } finally {
      clearTimeout(quiet);
      stop.abort();
    }
  }

  async run() {
    const beat = setInterval(() => {
      if (this.phase.name !== "live") return;
      this.look().catch(() => {});
      this.syncSoon();
    }, kLookEveryMs);
    this.failures = 0;
    while (!this.stopped) {
      try {
        await this.look();
        if (this.seq === 0) {
          const { events } = await this.api.get("events", { last: 500 });
          this.events = events;
          this.seq = events.at(-1)?.seq ?? 0;
          this.news.events = [...events];
        }
        await this.sync();
        await this.follow();
      } catch (error) {
        if (this.stopped) break;
        if (error.status === 401) {
          this.turn("denied", error.message);
          break;
        }
        if (error.status === 400 || error.status === 403 || error.status === 404) {
          this.turn("refused", [error.message, error.hint].filter(Boolean).join("; "));
        } else {
          this.turn("lost", error.status ? error.message : "the hub does not answer");
        }
      }
      if (this.stopped) break;
      this.failures += 1;
      const pause = Math.min(8_000, 400 * 2 ** Math.min(this.failures, 5));
      await sleep(pause * (0.75 + Math.random() / 2));
    }
    clearInterval(beat);
  }

  end() {
    this.stopped = true;
    clearTimeout(this.syncing);
    this.stop?.abort();
  }
}
