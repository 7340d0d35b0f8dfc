// Who holds what: a sentence, a search, a table and a tree.
import { Answer } from "./answer.js";
import { agentCell, badge, h, setAttribute, setText } from "./dom.js";
import { isUnder } from "./keys.js";
import { List } from "./list.js";
import { standingText } from "./standing.js";
import {
  aliveText,
  keysOf,
  keysText,
  plural,
  remainingPart,
  remainingText,
  timeText,
  whenText,
} from "./words.js";
import { feedOf } from "./feed.js";
import { Tree } from "./tree.js";

const kMinute = 60_000;
const kNumbers = ["since", "until", "left", "fence"];
const kSorts = {
  resource: (a, b) =>
    a.resources[0].key < b.resources[0].key ? -1 : a.resources[0].key > b.resources[0].key ? 1 : 0,
  holder: (a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0),
  since: (a, b) => b.acquired_at_ms - a.acquired_at_ms,
  until: (a, b) => (a.expires_at_ms ?? Infinity) - (b.expires_at_ms ?? Infinity),
};
const kColumns = [
  ["resource", "Resource", "resource"],
  ["holder", "Held by", "holder"],
  ["waited", "Who waits", null],
  ["since", "Since", "since"],
  ["until", "Until", "until"],
  ["left", "Remaining", "until"],
  ["alive", "Alive", null],
  ["fence", "Fence", null],
  ["reason", "Reason", null],
];

const cell = (name, ...children) =>
  h("div", { class: `cell ${name}`, role: "gridcell" }, ...children);

function makeRow() {
  const row = h("div", { class: "row lease" });
  const gauge = h("span", { class: "gauge" }, h("span"));
  row.parts = {
    resource: h("span", { class: "key" }),
    more: h("span", { class: "more" }),
    mode: h("span", { class: "tag", hidden: true }, "shared"),
    holder: agentCell(),
    waited: h("span"),
    since: h("time"),
    until: h("span"),
    left: h("span"),
    alive: h("span"),
    fence: h("span"),
    reason: h("span"),
    gauge,
  };
  const { parts } = row;
  row.append(
    cell("resource", parts.resource, parts.more, parts.mode),
    cell("holder", parts.holder),
    cell("waited", parts.waited),
    cell("since number", parts.since),
    cell("until number", parts.until),
    cell("left number", gauge, parts.left),
    cell("alive", parts.alive),
    cell("fence number", parts.fence),
    cell("reason", parts.reason),
  );
  return row;
}

// Whoever has the list of choices open keeps the place in it.
function keepChoices(select, values) {
  const known = new Map([...select.options].map((each) => [each.value, each]));
  for (const [value, each] of known) if (!values.includes(value)) each.remove();
  values.forEach((value, at) => {
    const each = known.get(value) ?? h("option", { value }, value || "all");
    if (select.options[at] !== each) select.add(each, at);
  });
}

export class Now {
  title = "Now";

  constructor(page) {
    this.page = page;
    this.sort = "resource";
    this.filter = { agent: "", folder: "", age: 0, only: "" };
  }

  mount(root) {
    this.sentence = h("p", { class: "sentence" });
    const answer = h("div", { class: "answer", role: "status" });
    this.answers = new Answer(this.page, answer);
    this.search = h("input", {
      type: "search",
      id: "search",
      placeholder: "src/auth/login.py",
      autocomplete: "off",
      spellcheck: "false",
      "aria-keyshortcuts": "Control+K",
    });
    const form = h(
      "form",
      { class: "search", role: "search", onsubmit: (event) => this.find(event) },
      h("label", { for: "search" }, "Who covers a path?"),
      this.search,
      h("button", { class: "primary" }, "Look"),
    );
    this.agents = h("select", { onchange: () => this.set("agent", this.agents.value) });
    const folder = h("input", {
      type: "text",
      placeholder: "src/",
      autocomplete: "off",
      spellcheck: "false",
      oninput: (event) => this.set("folder", event.target.value.trim()),
    });
    const choice = (name, choices) =>
      h(
        "select",
        { onchange: (event) => this.set(name, event.target.value) },
        ...choices.map(([value, text]) => h("option", { value }, text)),
      );
    const filters = h(
      "fieldset",
      { class: "filters" },
      h("legend", { class: "hidden" }, "Filter"),
      h("label", null, "Agent", this.agents),
      h("label", null, "Folder", folder),
      h(
        "label",
        null,
        "Age",
        choice("age", [
          ["0", "any"],
          ["10", "over 10m"],
          ["60", "over 1h"],
          ["1440", "over 1d"],
        ]),
      ),
      h(
        "label",
        null,
        "Only",
        choice("only", [
          ["", "all"],
          ["waited", "waited for"],
          ["dead", "dead"],
          ["ending", "ends within 5m"],
        ]),
      ),
    );
    this.shown = h("p", { class: "shown", role: "status" });
    const head = h(
      "div",
      { class: "row head", role: "row" },
      ...kColumns.map(([name, text, sort]) => {
        const kind = `cell ${name}${kNumbers.includes(name) ? " number" : ""}`;
        if (!sort) return h("div", { class: kind, role: "columnheader" }, text);
        const button = h(
          "button",
          {
            type: "button",
            tabindex: name === "left" ? "-1" : "0",
            onclick: () => {
              this.sort = sort;
              this.refresh(true);
            },
          },
          text,
        );
        return h(
          "div",
          { class: kind, role: "columnheader", "data-sort": name === "left" ? null : sort },
          button,
        );
      }),
    );
    this.grid = h("div", { class: "grid leases", role: "grid", "aria-label": "Leases" }, head);
    this.treeBox = h("div", {
      class: "tree",
      role: "tree",
      "aria-label": "Held resources by folder",
    });
    this.empty = h("div", { class: "empty", hidden: true });
    const switches = ["table", "tree"].map((name) =>
      h(
        "button",
        { type: "button", "data-shows": name, onclick: () => this.show(name) },
        name === "table" ? "Table" : "Tree",
      ),
    );
    this.switches = h(
      "div",
      { class: "switch", role: "group", "aria-label": "Show as" },
      ...switches,
    );
    this.feed = feedOf(this.page);
    this.body = h(
      "div",
      { class: "now-body" },
      h("section", { class: "pane pane-table", "aria-label": "Table" }, this.grid, this.empty),
      h("section", { class: "pane pane-tree", "aria-label": "Tree" }, this.treeBox),
      h(
        "section",
        { class: "pane pane-feed", "aria-label": "What happened last" },
        h("h2", null, "What happened last"),
        this.feed.element,
      ),
    );
    root.append(
      h("h1", { class: "hidden" }, "Who holds what"),
      this.sentence,
      form,
      answer,
      h("div", { class: "bar" }, filters, this.shown, this.switches),
      this.body,
    );
    this.table = new List(this.grid, {
      make: makeRow,
      fill: (row, lease) => this.fill(row, lease),
      keyOf: (lease) => lease.id,
      open: (lease) => this.page.open(lease),
    });
    this.tree = new Tree(this.page, this.treeBox);
    this.show(localStorage.getItem("lockkeeper-shows") ?? "table");
  }

  unmount() {
    this.table.end();
    this.tree.end();
    this.feed.end();
  }

  show(name) {
    this.body.dataset.shows = name;
    if (this.leases) this.tree.show(this.leases, this.waitedFor);
    localStorage.setItem("lockkeeper-shows", name);
    for (const each of this.switches.children) {
      each.setAttribute("aria-pressed", String(each.dataset.shows === name));
    }
  }

  set(name, value) {
    this.filter[name] = name === "age" ? Number(value) : value;
    this.refresh(true);
  }

  find(event) {
    event.preventDefault();
    return this.answers.ask(this.search.value.trim());
  }

  // --- what is shown ---------------------------------------------------------

  update() {
    this.refresh();
    this.feed.update();
  }

  // `byHand`: the user has changed what is shown.
  refresh(byHand = false) {
    const { link } = this.page;
    const now = Date.now();
    this.waitedFor = new Map();
    for (const waiter of link.waiters) {
      if (!waiter.waits_for) continue;
      if (!this.waitedFor.has(waiter.waits_for)) this.waitedFor.set(waiter.waits_for, []);
      this.waitedFor.get(waiter.waits_for).push(waiter);
    }
    const { agent, folder, age, only } = this.filter;
    const all = this.inOrder(link.leases);
    const shown = all.filter(
      (lease) =>
        (!agent || lease.agent === agent) &&
        (!folder || keysOf(lease).some((key) => isUnder(key, folder))) &&
        (!age || now - lease.acquired_at_ms > age * kMinute) &&
        (!only ||
          (only === "waited" && this.waitedFor.has(lease.id)) ||
          (only === "dead" && lease.alive === false) ||
          (only === "ending" && lease.expires_at && lease.expires_at_ms - now < 5 * kMinute)),
    );
    for (const each of this.grid.querySelectorAll("[data-sort]")) {
      setAttribute(each, "aria-sort", each.dataset.sort === this.sort ? "ascending" : null);
    }
    this.leases = shown;
    this.table.show(shown, byHand);
    if (this.treeBox.clientHeight > 0) this.tree.show(shown, this.waitedFor, byHand);
    this.tellAgents([...all, ...link.waiters]);
    this.tellSentence(all, link);
    this.tellEmpty(all, shown, link);
    setText(
      this.shown,
      shown.length === all.length
        ? plural(all.length, "lease")
        : `${shown.length.toLocaleString()} of ${plural(all.length, "lease")}`,
    );
  }

  // Sorted; from the last order, because nearly everything is in its place already.
  inOrder(leases) {
    const kept = [];
    const seen = new Set();
    for (const before of this.order ?? []) {
      const lease = leases.get(before.id);
      if (!lease) continue;
      kept.push(lease);
      seen.add(before.id);
    }
    if (kept.length < leases.size)
      for (const lease of leases.values()) if (!seen.has(lease.id)) kept.push(lease);
    this.order = kept.sort(kSorts[this.sort]);
    return this.order;
  }

  tellAgents(all) {
    const names = [...new Set(all.map((lease) => lease.agent))].sort();
    const { agent } = this.filter;
    if (agent && !names.includes(agent)) names.unshift(agent);
    const text = names.join("\n");
    if (text === this.names) return;
    this.names = text;
    keepChoices(this.agents, ["", ...names.slice(0, 500)]);
  }

  tellSentence(all, link) {
    if (link.phase.name === "loading") return setText(this.sentence, "Asking who holds what…");
    const { agent } = this.filter;
    if (agent) return setText(this.sentence, standingText(link, agent));
    const agents = new Set(all.map((lease) => lease.agent)).size;
    const count = all.reduce((sum, lease) => sum + lease.resources.length, 0);
    const first =
      all.length === 0
        ? "Nothing is held."
        : `${plural(agents, "agent holds", "agents hold")} ${plural(count, "resource")}.`;
    const waits = link.waiters.length;
    let second = "Nobody waits.";
    if (waits > 0) {
      const blockers = new Map();
      for (const waiter of link.waiters) {
        const holder = link.leases.get(waiter.waits_for);
        if (holder) blockers.set(holder.agent, (blockers.get(holder.agent) ?? 0) + 1);
      }
      const [[worst, most] = []] = [...blockers].sort((a, b) => b[1] - a[1]);
      const only = link.waiters[0];
      const whom = worst ? `, ${most === waits ? "all" : most.toLocaleString()} for ${worst}` : "";
      if (waits === 1 && worst)
        second = `${only.agent} waits for ${worst}: ${keysText(keysOf(only))}.`;
      else second = `${plural(waits, "request waits", "requests wait")}${whom}.`;
    }
    setText(this.sentence, `${first} ${second}`);
  }

  tellEmpty(all, shown, link) {
    const loading = link.phase.name === "loading";
    this.empty.hidden = shown.length > 0;
    if (shown.length > 0) return;
    const kind = loading ? "loading" : all.length > 0 ? "filtered" : "nothing";
    if (this.emptyKind === kind) return;
    this.emptyKind = kind;
    this.empty.replaceChildren(
      ...{
        loading: [h("p", null, "Loading the leases…")],
        filtered: [h("p", null, "No lease matches the filter.")],
        nothing: [
          h("p", null, "Nothing is held. Take something with"),
          h("pre", null, 'lockkeeper acquire src/auth/ --reason "JWT refresh"'),
        ],
      }[kind],
    );
  }

  fill(row, lease) {
    const { parts } = row;
    const now = Date.now();
    const count = lease.resources.length;
    setText(parts.resource, lease.resources[0].key);
    setText(parts.more, count > 1 ? ` +${count - 1}` : "");
    parts.mode.hidden = lease.resources[0].mode !== "shared";
    parts.holder.show(lease.agent, lease.session);
    const waiters = this.waitedFor?.get(lease.id) ?? [];
    const names = waiters.map((each) => each.agent).join();
    if (parts.waited.names !== names) {
      parts.waited.names = names;
      parts.waited.replaceChildren(
        ...waiters.slice(0, 3).flatMap((each) => [badge(each.agent, true)]),
        waiters.length === 1
          ? h("span", { class: "name" }, waiters[0].agent)
          : waiters.length > 1
            ? h("span", { class: "name" }, String(waiters.length))
            : "",
      );
      setAttribute(
        parts.waited,
        "title",
        names
          ? waiters
              .map((each) => each.agent)
              .slice(0, 20)
              .join(", ")
          : null,
      );
    }
    setText(parts.since, whenText(lease.acquired_at_ms, now));
    setAttribute(parts.since, "title", timeText(lease.acquired_at_ms, now));
    const ends = lease.expires_at ? lease.expires_at_ms : null;
    setText(parts.until, ends === null ? remainingText(lease, now) : whenText(ends, now));
    setAttribute(parts.until, "title", ends === null ? null : timeText(ends, now));
    setText(parts.left, this.table.hasEnded(lease.id) ? "ended" : remainingText(lease, now));
    const part = Math.round(remainingPart(lease, now) * 100);
    if (parts.gauge.part !== part) {
      parts.gauge.part = part;
      parts.gauge.firstChild.style.width = `${part}%`;
      parts.gauge.classList.toggle("low", part <= 10);
    }
    setText(parts.alive, aliveText(lease));
    setAttribute(parts.alive, "data-alive", aliveText(lease));
    setText(parts.fence, lease.fence === null ? "" : String(lease.fence));
    setText(parts.reason, lease.reason ?? "");
    setAttribute(parts.reason, "title", lease.reason);
  }

  // Every second.
  tick() {
    this.table.draw();
    this.answers.tick();
  }
}
