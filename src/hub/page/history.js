// What happened: to a resource, by an agent, in a time. Live.
import { h, setText } from "./dom.js";
import { eventGrid, fillEventRow, makeEventRow } from "./feed.js";
import { overlap } from "./keys.js";
import { List } from "./list.js";
import { standingText } from "./standing.js";
import { plural } from "./words.js";

const kHour = 3_600_000;
const kRanges = [
  ["1h", kHour, "last hour"],
  ["1d", 24 * kHour, "last day"],
  ["7d", 168 * kHour, "last week"],
  ["all", 0, "all that is kept"],
];
const kKinds = [
  ["", "everything"],
  ["granted", "grants"],
  ["queued", "waits"],
  ["refused", "refusals"],
  ["released", "releases"],
  ["broken", "breaks"],
  ["expired", "expiries"],
  ["warned", "warnings"],
];

export class History {
  title = "History";

  constructor(page) {
    this.page = page;
  }

  mount(root, query) {
    this.query = {
      agent: query.get("agent") ?? "",
      under: query.get("under") ?? "",
      range: query.get("range") ?? "1h",
      kind: query.get("kind") ?? "",
    };
    const field = (name, props) =>
      h("input", {
        type: "text",
        value: this.query[name],
        autocomplete: "off",
        spellcheck: "false",
        ...props,
      });
    this.agent = field("agent", { placeholder: "all", list: "agents" });
    this.under = field("under", { placeholder: "all" });
    const choice = (name, choices) =>
      h(
        "select",
        { onchange: () => this.go() },
        ...choices.map(([value, text]) =>
          h("option", { value, selected: value === this.query[name] }, text),
        ),
      );
    this.range = choice(
      "range",
      kRanges.map(([name, , text]) => [name, text]),
    );
    this.kind = choice("kind", kKinds);
    this.known = h("datalist", { id: "agents" });
    const form = h(
      "form",
      {
        class: "filters",
        onsubmit: (event) => {
          event.preventDefault();
          this.go();
        },
      },
      h("label", null, "Agent", this.agent),
      h("label", null, "Resource", this.under),
      h("label", null, "Time", this.range),
      h("label", null, "Kind", this.kind),
      this.known,
      h("button", { class: "primary" }, "Show"),
    );
    this.sentence = h("p", { class: "sentence" }, "Reading the history…");
    this.standing = h("p", { class: "note", hidden: !this.query.agent });
    this.grid = eventGrid("History, the newest first");
    this.empty = h("div", { class: "empty", hidden: true });
    root.append(
      h("h1", { class: "hidden" }, "History"),
      this.sentence,
      this.standing,
      h("div", { class: "bar" }, form),
      h("section", { class: "pane pane-history", "aria-label": "Events" }, this.grid, this.empty),
    );
    this.list = new List(this.grid, {
      make: makeEventRow,
      fill: fillEventRow,
      keyOf: (event) => event.seq,
      lasts: false,
      open: (event) => {
        const lease = this.page.link.leases.get(event.lease);
        if (lease) this.page.open(lease);
      },
    });
    this.load();
  }

  unmount() {
    this.list.end();
    this.gone = true;
  }

  go() {
    const all = {
      agent: this.agent.value.trim(),
      under: this.under.value.trim(),
      range: this.range.value,
      kind: this.kind.value,
    };
    this.page.go("history", Object.fromEntries(Object.entries(all).filter(([, value]) => value)));
  }

  async load() {
    const { agent, under, range, kind } = this.query;
    const length = kRanges.find(([name]) => name === range)?.[1] ?? kHour;
    const query = { ...(agent ? { agent } : {}), ...(under ? { under } : {}) };
    try {
      this.events = await this.page.api.eventsSince(length ? Date.now() - length : 0, query);
    } catch (error) {
      setText(this.sentence, [error.message, error.hint].filter(Boolean).join(". "));
      this.sentence.classList.add("fault");
      return;
    }
    if (this.gone) return;
    if (kind) this.events = this.events.filter((event) => event.event === kind);
    this.show(true);
  }

  isWanted(event) {
    const { agent, under, kind } = this.query;
    return (
      (!agent || event.agent === agent || event.by?.agent === agent) &&
      (!kind || event.event === kind) &&
      (!under || event.resources.some((key) => overlap(key, under)))
    );
  }

  tellAgents() {
    const names = [
      ...new Set(
        [
          ...this.page.link.leases.values(),
          ...this.page.link.waiters,
          ...this.page.link.events,
        ].map((each) => each.agent),
      ),
    ].sort();
    if (names.join() !== this.names) {
      this.names = names.join();
      this.known.replaceChildren(...names.slice(0, 200).map((value) => h("option", { value })));
    }
  }

  update(news) {
    if (this.query.agent)
      setText(this.standing, `Now: ${standingText(this.page.link, this.query.agent)}`);
    if (!this.events || !news?.events?.length) return;
    const last = this.events.at(-1)?.seq ?? 0;
    const more = news.events.filter((event) => event.seq > last && this.isWanted(event));
    if (more.length === 0) return;
    this.events.push(...more);
    this.show();
  }

  show(byHand = false) {
    const { agent, under, range, kind } = this.query;
    this.list.show([...this.events].reverse(), byHand);
    const what = kKinds.find(([name]) => name === kind)?.[1] ?? "everything";
    const when = kRanges.find(([name]) => name === range)?.[2] ?? "last hour";
    const of = [agent ? `of ${agent}` : "", under ? `on ${under}` : "", kind ? `(${what})` : ""]
      .filter(Boolean)
      .join(" ");
    setText(this.sentence, `${plural(this.events.length, "event")}${of ? ` ${of}` : ""}, ${when}.`);
    this.empty.hidden = this.events.length > 0;
    const flags = [
      range !== "all" && `--since ${range}`,
      agent && `--agent ${agent}`,
      under && `--under ${under}`,
    ];
    this.empty.replaceChildren(
      h("p", null, "Nothing of this kind happened in this time. The same in a terminal:"),
      h("pre", null, ["lockkeeper log", ...flags.filter(Boolean)].join(" ")),
    );
  }

  tick() {
    this.ticks = (this.ticks ?? -1) + 1;
    if (this.ticks % 5 === 0) this.tellAgents();
  }
}
