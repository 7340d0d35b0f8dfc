// A tab's side of the state: joins the shared worker, or keeps the state itself where a browser has
// none.
import { Keeper } from "./keeper.js";

const kEventsKept = 1_000;

export class Link {
  constructor(changed) {
    this.changed = changed;
    this.clear();
  }

  clear() {
    this.leases = new Map();
    this.waiters = [];
    this.events = [];
    this.phase = { name: "loading", since: Date.now(), why: "" };
    this.who = null;
    this.version = 0; // grows with every change of leases or waiters
  }

  enter(token, realm) {
    this.leave();
    this.clear();
    if (typeof SharedWorker === "undefined") {
      this.keeper = new Keeper({ token, realm, tell: (news) => this.take(news) });
      this.keeper.run();
      return;
    }
    const { port } = new SharedWorker("/page/worker.js", { type: "module", name: "lockkeeper" });
    this.port = port;
    port.onmessage = ({ data }) => this.take(data);
    const lock = `lockkeeper-tab-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
    const enter = () => port.postMessage({ what: "enter", token, realm, lock });
    if (!navigator.locks) return enter();
    // The worker waits for this lock: it must be ours first.
    navigator.locks.request(lock, () => {
      enter();
      return new Promise((done) => (this.unlock = done));
    });
  }

  leave() {
    this.keeper?.end();
    this.port?.postMessage({ what: "leave" });
    this.port?.close();
    this.unlock?.();
    this.keeper = this.port = this.unlock = null;
  }

  // After an action of this page: do not wait for the next look.
  lookAgain() {
    this.port?.postMessage({ what: "look" });
    this.keeper?.syncSoon(0);
    this.keeper?.look().catch(() => {});
  }

  take(news) {
    if (news.what === "all") {
      this.leases = new Map(news.leases.map((lease) => [lease.id, lease]));
      this.waiters = news.waiters;
      this.events = news.events;
      this.version += 1;
    } else {
      for (const lease of news.put) this.leases.set(lease.id, lease);
      for (const id of news.gone) this.leases.delete(id);
      if (news.waiters) this.waiters = news.waiters;
      if (news.waiters || news.put.length > 0 || news.gone.length > 0) this.version += 1;
      this.events.push(...news.events);
      if (this.events.length > 2 * kEventsKept) this.events.splice(0, kEventsKept);
    }
    if (news.phase) this.phase = news.phase;
    if (news.phase) this.who = news.who;
    this.changed(news);
  }
}
