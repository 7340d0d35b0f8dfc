// Who waits, in the order in which grants come; who blocks whom, as a graph; refused deadlocks.
import {
  agentCell,
  agentLink,
  badge,
  h,
  historyOf,
  setAttribute,
  setText,
} from "./dom.js";
import { pictureOf } from "./graph.js";
import { List } from "./list.js";
import { barsOf, deadlocksOf } from "./past.js";
import { durationText, keysOf, keysText, plural, timeText } from "./words.js";

const kDay = 86_400_000;

const cell = (name, ...children) =>
  h("div", { class: `cell ${name}`, role: "gridcell" }, ...children);

function makeRow() {
  const row = h("div", { class: "row waiter" });
  row.parts = {
    place: h("span"),
    who: agentCell(),
    key: h("span", { class: "key" }),
    more: h("span", { class: "more" }),
    mode: h("span", { class: "tag", hidden: true }, "shared"),
    blocker: h("span"),
    time: h("span"),
    turn: h("span"),
    reason: h("span"),
  };
  const { parts } = row;
  row.append(
    cell("place number", parts.place),
    cell("holder", parts.who),
    cell("resource", parts.key, parts.more, parts.mode),
    cell("blocker", parts.blocker),
    cell("since number", parts.time),
    cell("turn number", parts.turn),
    cell("reason", parts.reason),
  );
  return row;
}

export class Queue {
  title = "Queue";

  constructor(page) {
    this.page = page;
  }

  mount(root) {
    const head = h(
      "div",
      { class: "row head waiter", role: "row" },
      ...[
        ["place number", "#"],
        ["holder", "Waits"],
        ["resource", "Wants"],
        ["blocker", "Blocked by"],
        ["since number", "Waiting"],
        ["turn number", "Turn at the latest"],
        ["reason", "Reason"],
      ].map(([kind, text]) => h("div", { class: `cell ${kind}`, role: "columnheader" }, text)),
    );
    this.grid = h(
      "div",
      { class: "grid waiters", role: "grid", "aria-label": "Queue, in the order of grants" },
      head,
    );
    this.empty = h(
      "div",
      { class: "empty", hidden: true },
      h("p", null, "Nobody waits. To queue for something:"),
      h("pre", null, "lockkeeper acquire src/auth/ --wait=10m"),
    );
    this.sentence = h("p", { class: "sentence" });
    this.graph = h("div", {
      class: "graph",
      tabindex: "0",
      role: "region",
      "aria-label": "Who waits for whom",
    });
    this.deadlocks = h(
      "div",
      { class: "deadlocks" },
      h("p", { class: "note" }, "Looking through the last day…"),
    );
    root.append(
      h("h1", { class: "hidden" }, "Queue"),
      this.sentence,
      h(
        "div",
        { class: "queue-body" },
        h("section", { class: "pane", "aria-label": "Queue" }, this.grid, this.empty),
        h(
          "section",
          { class: "pane pane-graph", "aria-label": "Graph" },
          h("h2", null, "Who waits for whom"),
          this.graph,
        ),
        h(
          "section",
          { class: "pane pane-deadlocks", "aria-label": "Deadlocks" },
          h("h2", null, "Refused deadlocks, last day"),
          this.deadlocks,
        ),
      ),
    );
    this.list = new List(this.grid, {
      make: makeRow,
      fill: (row, waiter) => this.fill(row, waiter),
      keyOf: (waiter) => waiter.id,
      meaningOf: (waiter) => `${waiter.id}\n${waiter.waits_for}`,
      open: (waiter) => {
        const lease = this.page.link.leases.get(waiter.waits_for);
        if (lease) this.page.open(lease);
      },
    });
    this.past = null;
    this.load();
  }

  unmount() {
    this.list.end();
    this.gone = true;
  }

  async load() {
    try {
      this.past = await this.page.api.eventsSince(Date.now() - kDay);
    } catch (error) {
      this.deadlocks.replaceChildren(h("p", { class: "fault" }, error.message));
      return;
    }
    if (!this.gone) this.tellDeadlocks();
  }

  // The lease or the request that a request stands behind.
  blockerOf(waiter) {
    const { link } = this.page;
    return link.leases.get(waiter.waits_for) ?? this.byId?.get(waiter.waits_for) ?? null;
  }

  update(news) {
    const { waiters, phase } = this.page.link;
    this.byId = new Map(waiters.map((each) => [each.id, each]));
    this.places = new Map(waiters.map((each, at) => [each.id, String(at + 1)]));
    this.list.show(waiters);
    this.empty.hidden = waiters.length > 0 || phase.name === "loading";
    const edges = this.edges();
    setText(
      this.sentence,
      waiters.length === 0
        ? "Nobody waits."
        : waiters.length === 1 && edges.length === 1
          ? `${edges[0].from} waits for ${edges[0].to}: ${keysText([...edges[0].keys], 2)}.`
          : `${plural(waiters.length, "request waits", "requests wait")}. ${this.worst(edges)}`,
    );
    const text = edges.map((edge) => `${edge.from}>${edge.to}:${edge.count}`).join();
    if (text !== this.drawn) {
      this.drawn = text;
      this.draw(edges);
    }
    const fresh = news?.events?.some((event) => event.cause === "deadlock");
    if (fresh && this.past) {
      const last = this.past.at(-1)?.seq ?? 0;
      this.past.push(...this.page.link.events.filter((event) => event.seq > last));
      this.tellDeadlocks();
    }
  }

  worst(edges) {
    const sums = new Map();
    for (const edge of edges) sums.set(edge.to, (sums.get(edge.to) ?? 0) + edge.count);
    const [[who, count] = []] = [...sums].sort((a, b) => b[1] - a[1]);
    return who ? `${who} blocks ${plural(count, "of them", "of them")}.` : "";
  }

  fill(row, waiter) {
    const { parts } = row;
    const now = Date.now();
    const keys = keysOf(waiter);
    setText(parts.place, this.places.get(waiter.id) ?? "");
    parts.who.show(waiter.agent, waiter.session, true);
    setText(parts.key, keys[0]);
    setText(parts.more, keys.length > 1 ? ` +${keys.length - 1}` : "");
    parts.mode.hidden = waiter.resources[0].mode !== "shared";
    const blocker = this.blockerOf(waiter);
    const text = blocker ? `${blocker.agent}${blocker.id}` : "";
    if (parts.blocker.text !== text) {
      parts.blocker.text = text;
      parts.blocker.replaceChildren(
        ...(blocker
          ? [
              badge(blocker.agent, this.byId.has(blocker.id)),
              h("span", { class: "name" }, blocker.agent),
              h("span", { class: "key" }, keysText(keysOf(blocker))),
            ]
          : [h("span", { class: "note" }, "an earlier request")]),
      );
    }
    const over = this.list.hasEnded(waiter.id);
    setText(parts.time, over ? "over" : durationText(now - waiter.acquired_at_ms));
    setText(
      parts.turn,
      blocker?.expires_at ? timeText(blocker.expires_at_ms, now) : "no end known",
    );
    setText(parts.reason, waiter.reason ?? "");
    setAttribute(parts.reason, "title", waiter.reason);
  }

  // --- the graph -------------------------------------------------------------

  edges() {
    const edges = new Map();
    for (const waiter of this.page.link.waiters) {
      const blocker = this.blockerOf(waiter);
      if (!blocker) continue;
      const name = `${waiter.agent}\n${blocker.agent}`;
      if (!edges.has(name))
        edges.set(name, { from: waiter.agent, to: blocker.agent, count: 0, keys: new Set() });
      const edge = edges.get(name);
      edge.count += 1;
      edge.keys.add(keysOf(waiter)[0]);
    }
    return [...edges.values()].sort((a, b) => b.count - a.count);
  }

  draw(edges) {
    const picture = pictureOf(edges, this.graph.clientWidth);
    if (!picture) {
      this.graph.replaceChildren(h("p", { class: "note" }, "Nobody waits for anybody."));
      return;
    }
    const words = edges.map(
      (edge) => `${edge.from} waits for ${edge.to}: ${keysText([...edge.keys], 2)}`,
    );
    this.graph.replaceChildren(
      picture,
      h(
        "ul",
        { class: "plain said" },
        ...words.slice(0, 20).map((text) => h("li", null, text)),
        words.length > 20 ? h("li", null, `and ${words.length - 20} more`) : null,
      ),
    );
  }

  // --- deadlocks -------------------------------------------------------------

  tellDeadlocks() {
    const { link } = this.page;
    const now = Date.now();
    const bars = barsOf(this.past, [...link.leases.values()], link.waiters, now - kDay, now);
    const found = deadlocksOf(this.past, bars);
    if (found.length === 0) {
      this.deadlocks.replaceChildren(
        h(
          "p",
          { class: "note" },
          "None. A wait that would never end is refused, and shown here with its cycle.",
        ),
      );
      return;
    }
    this.deadlocks.replaceChildren(
      h(
        "ol",
        { class: "plain" },
        ...found.map(({ event, cycle }) =>
          h(
            "li",
            { class: "deadlock" },
            h(
              "p",
              null,
              h("time", { class: "number", datetime: event.at }, timeText(event.at)),
              " ",
              agentLink(event.agent, event.session),
              " was refused ",
              h(
                "a",
                { class: "key", href: historyOf({ under: event.resources[0] }) },
                keysText(event.resources, 2),
              ),
            ),
            cycle.length > 0
              ? h(
                  "ol",
                  { class: "cycle" },
                  ...cycle.map((step, at) =>
                    h(
                      "li",
                      null,
                      badge(step.agent, true),
                      h(
                        "span",
                        null,
                        `${step.agent} ${at === 0 ? "wanted" : "waited for"} `,
                        h("code", null, step.key),
                        step.held === step.key
                          ? `, held by ${step.holder}`
                          : `, in ${step.held} of ${step.holder}`,
                      ),
                    ),
                  ),
                )
              : h("p", { class: "note" }, "The history no longer tells the cycle."),
          ),
        ),
      ),
    );
  }

  tick() {
    this.list.draw();
  }
}
