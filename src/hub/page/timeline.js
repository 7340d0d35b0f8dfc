// The last hour to the last week: a lane for each agent, solid bars for leases, hatched ones for
// waits; then who blocked whom, the hottest paths, and what was refused.
import { agentLink, h, hatch, historyOf, hueOf, patch, setText, svg } from "./dom.js";
import { barsOf, blocksOf, hottest, kRefusals } from "./past.js";
import {
  dayText,
  durationText,
  eventText,
  hourText,
  keysText,
  kindOf,
  plural,
  timeText,
  causeText,
} from "./words.js";

const kHour = 3_600_000;
const kRanges = [
  ["10m", kHour / 6, "10 minutes"],
  ["1h", kHour, "1 hour"],
  ["6h", 6 * kHour, "6 hours"],
  ["1d", 24 * kHour, "1 day"],
  ["7d", 168 * kHour, "7 days"],
];
const kLane = 34;
const kAxis = 24; // above the lanes
const kLanesMost = 200;
const kRowsMost = 12;

const kSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map(
  (minutes) => minutes * 60_000,
);

// Round local times between two.
function ticksOf(from, to, room) {
  const step = kSteps.find((each) => (to - from) / each <= room) ?? kSteps.at(-1);
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const all = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at < to; at += step) all.push(at);
  return {
    all,
    label:
      step >= 24 * kHour
        ? dayText
        : (at) =>
            new Date(at).getHours() === 0 && new Date(at).getMinutes() === 0
              ? dayText(at)
              : hourText(at),
  };
}

export class Timeline {
  title = "Timeline";

  constructor(page) {
    this.page = page;
    this.range = sessionStorage.getItem("lockkeeper-range") ?? "1h";
  }

  mount(root) {
    this.switch = h(
      "div",
      { class: "switch", role: "group", "aria-label": "Time" },
      ...kRanges.map(([name, , text]) =>
        h(
          "button",
          { type: "button", "data-range": name, title: text, onclick: () => this.choose(name) },
          name,
        ),
      ),
    );
    this.sentence = h("p", { class: "sentence" }, "Reading the history…");
    this.lanes = h("div", { class: "lanes", role: "region", tabindex: "0", "aria-label": "Lanes" });
    this.hint = h(
      "p",
      { class: "bar-hint" },
      "Solid: held. Hatched: waited. Point at a bar, or choose an agent for its history.",
    );
    this.blocks = h("div");
    this.hot = h("div");
    this.refused = h("div");
    root.append(
      h("h1", { class: "hidden" }, "Timeline"),
      h("div", { class: "bar" }, this.sentence, this.switch),
      this.lanes,
      this.hint,
      h(
        "div",
        { class: "cards" },
        h("section", null, h("h2", null, "Who blocked whom"), this.blocks),
        h("section", null, h("h2", null, "Hottest paths"), this.hot),
        h("section", null, h("h2", null, "Refused, or would have been"), this.refused),
      ),
    );
    this.watch = new ResizeObserver(() => this.drawLanes());
    this.watch.observe(this.lanes);
    this.lanes.addEventListener("pointermove", (event) => this.point(event));
    this.events = null;
    this.choose(this.range);
  }

  unmount() {
    this.watch.disconnect();
    this.gone = true;
  }

  async choose(name) {
    this.range = name;
    sessionStorage.setItem("lockkeeper-range", name);
    for (const each of this.switch.children)
      each.setAttribute("aria-pressed", String(each.dataset.range === name));
    this.length = kRanges.find((each) => each[0] === name)[1];
    try {
      this.events = await this.page.api.eventsSince(Date.now() - this.length);
    } catch (error) {
      setText(this.sentence, error.message);
      return;
    }
    if (this.gone || this.range !== name) return;
    this.build();
  }

  update(news) {
    if (!this.events || !news?.events?.length) return;
    const last = this.events.at(-1)?.seq ?? 0;
    for (const event of news.events) if (event.seq > last) this.events.push(event);
    this.stale = true;
  }

  tick() {
    const now = performance.now();
    // The picture moves on by itself, but costs little.
    const due = this.stale ? 1_000 : this.length / 600;
    if (this.events && now - (this.built ?? 0) > Math.max(due, 10 * (this.cost ?? 0))) this.build();
  }

  build() {
    const begun = performance.now();
    const { link } = this.page;
    this.to = Date.now();
    this.from = this.to - this.length;
    while (this.events.length > 0 && Date.parse(this.events[0].at) < this.from) this.events.shift();
    this.bars = barsOf(this.events, [...link.leases.values()], link.waiters, this.from, this.to);
    this.drawLanes();
    this.drawCards();
    this.stale = false;
    this.built = performance.now();
    this.cost = this.built - begun;
  }

  // --- lanes -----------------------------------------------------------------

  laneList() {
    const lanes = new Map();
    for (const bar of this.bars) {
      if (!lanes.has(bar.agent)) lanes.set(bar.agent, { agent: bar.agent, bars: [], last: 0 });
      const lane = lanes.get(bar.agent);
      lane.bars.push(bar);
      lane.last = Math.max(lane.last, bar.to);
    }
    for (const event of this.events) {
      if (!kRefusals.has(event.event)) continue;
      if (!lanes.has(event.agent))
        lanes.set(event.agent, { agent: event.agent, bars: [], last: Date.parse(event.at) });
      (lanes.get(event.agent).refused ??= []).push(event);
    }
    return [...lanes.values()].sort((a, b) => a.agent.localeCompare(b.agent));
  }

  drawLanes() {
    if (!this.bars) return;
    const lanes = this.laneList();
    const shown = lanes.slice(0, kLanesMost);
    const label = this.lanes.clientWidth < 600 ? 104 : 168;
    const width = Math.max(200, this.lanes.clientWidth - label - 8);
    this.label = label;
    const scale = width / (this.to - this.from);
    this.scale = scale;
    this.shown = shown;
    const high = shown.length * kLane + kAxis;
    const ticks = ticksOf(this.from, this.to, Math.max(2, Math.floor(width / 90)));
    // Bars that touch on the screen are one shape.
    const shape = (bars, y, tall) => {
      const spans = bars
        .map((bar) => [Math.max(0, (bar.from - this.from) * scale), (bar.to - this.from) * scale])
        .sort((a, b) => a[0] - b[0]);
      let path = "";
      let end = -1;
      let start = 0;
      const flush = () => {
        const wide = Math.max(2, end - start).toFixed(1);
        if (end >= 0) path += `M${start.toFixed(1)} ${y}h${wide}v${tall}h-${wide}z`;
      };
      for (const [a, b] of spans) {
        if (end >= 0 && a <= end + 0.5) end = Math.max(end, b);
        else {
          flush();
          [start, end] = [a, b];
        }
      }
      flush();
      return path;
    };
    const rows = shown.map((lane, at) => {
      const y = at * kLane + kAxis;
      const held = lane.bars.filter((bar) => bar.kind === "lease");
      const waited = lane.bars.filter((bar) => bar.kind === "wait");
      const marks = (lane.refused ?? []).map((event) => {
        const x = (Date.parse(event.at) - this.from) * scale;
        return `M${(x - 3).toFixed(1)} ${y + 3}l6 6m0 -6l-6 6`;
      });
      return svg(
        "g",
        { class: `lane hue-${hueOf(lane.agent)}` },
        svg("path", { class: "rule", d: `M0 ${y + kLane - 0.5}h${width}` }),
        svg("path", { class: "held", d: shape(held, y + 12, 9) }),
        svg("path", { class: "waited", d: shape(waited, y + 23, 6) }),
        svg("path", { class: "refusals", d: [...new Set(marks)].join("") }),
      );
    });
    const picture = svg(
      "svg",
      {
        width: String(width),
        height: String(high),
        role: "img",
        "aria-label": `Leases and waits of ${plural(lanes.length, "agent")}`,
      },
      hatch(),
      ...ticks.all.map((at) =>
        svg(
          "g",
          { class: "tick" },
          svg("path", { d: `M${((at - this.from) * scale).toFixed(1)} ${kAxis - 4}v${high}` }),
          svg(
            "text",
            { x: String(Math.min(width - 20, Math.max(20, (at - this.from) * scale))), y: "14" },
            ticks.label(at),
          ),
        ),
      ),
      ...rows,
    );
    const names = h(
      "ul",
      { class: "plain names" },
      ...shown.map((lane) => h("li", { "data-key": lane.agent }, agentLink(lane.agent, null))),
    );
    names.style.width = `${label}px`;
    patch(
      this.lanes,
      lanes.length === 0
        ? h("p", { class: "note" }, "Nothing happened in this time.")
        : h("div", { class: "lanes-in" }, names, picture),
    );
    const leases = this.bars.filter((bar) => bar.kind === "lease").length;
    const counts = [
      plural(lanes.length, "agent"),
      `${plural(leases, "lease")} and ${plural(this.bars.length - leases, "wait")}`,
    ].join(", ");
    const more = lanes.length > kLanesMost ? ` The first ${kLanesMost} are drawn.` : "";
    setText(this.sentence, `${counts} since ${timeText(this.from)}.${more}`);
  }

  point(event) {
    const picture = this.lanes.querySelector("svg");
    if (!picture) return;
    const box = picture.getBoundingClientRect();
    const lane = this.shown[Math.floor((event.clientY - box.top - kAxis) / kLane)];
    const at = this.from + (event.clientX - box.left) / this.scale;
    const near = 3 / this.scale;
    const low = (event.clientY - box.top - kAxis) % kLane > 21;
    const kind = low ? "wait" : "lease";
    const bars = lane?.bars.filter((bar) => bar.from - near <= at && bar.to + near >= at) ?? [];
    const bar = bars.find((each) => each.kind === kind) ?? bars[0];
    if (!bar) return;
    const verb = bar.kind === "wait" ? "waited for" : "held";
    const end = bar.end
      ? bar.kind === "wait" && bar.end === "granted"
        ? "then got it"
        : `then ${kindOf({ event: bar.end }).verb}`
      : "still";
    const by = bar.by && bar.by !== bar.agent ? ` by ${bar.by}` : "";
    const parts = [
      `${timeText(bar.from)} to ${bar.end ? timeText(bar.to) : "now"}`,
      durationText(bar.to - bar.from),
      `${end}${by}`,
    ];
    if (bar.reason) parts.push(`“${bar.reason}”`);
    setText(this.hint, `${bar.agent} ${verb} ${keysText(bar.keys, 2)}: ${parts.join(", ")}`);
  }

  // --- cards -----------------------------------------------------------------

  drawCards() {
    const keyOf = (cells) => cells.map((each) => each.href ?? "").join(" ");
    const table = (head, rows, none) => {
      if (rows.length === 0) return h("p", { class: "note" }, none);
      return h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ...head.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)),
          ),
        ),
        h(
          "tbody",
          null,
          ...rows
            .slice(0, kRowsMost)
            .map((cells) =>
              h(
                "tr",
                { "data-key": keyOf(cells) },
                ...cells.map((each, at) => h("td", { class: head[at][1] }, each)),
              ),
            ),
        ),
      );
    };
    const put = (box, content, text) => {
      if (box.text === text) return;
      box.text = text;
      patch(box, content());
    };
    const blocks = blocksOf(this.bars);
    put(
      this.blocks,
      () =>
        table(
          [
            ["Blocked", ""],
            ["by", ""],
            ["times", "number"],
            ["in all", "number"],
            ["longest", "number"],
          ],
          blocks.map((each) => [
            agentLink(each.waiter, null, true),
            agentLink(each.holder, null),
            each.times.toLocaleString(),
            durationText(each.ms),
            durationText(each.longest),
          ]),
          "Nobody had to wait.",
        ),
      JSON.stringify(
        blocks
          .slice(0, kRowsMost)
          .map((each) => [each.waiter, each.holder, each.times, Math.floor(each.ms / 1000)]),
      ),
    );
    const hot = hottest(this.bars, this.events);
    put(
      this.hot,
      () =>
        table(
          [
            ["Path", "key"],
            ["waited", "number"],
            ["waits", "number"],
            ["refused", "number"],
          ],
          hot.map((each) => [
            h("a", { href: historyOf({ under: each.key }) }, each.key),
            durationText(each.ms),
            each.waits.toLocaleString(),
            each.refused.toLocaleString(),
          ]),
          "No path was contended.",
        ),
      JSON.stringify(
        hot
          .slice(0, kRowsMost)
          .map((each) => [each.key, Math.floor(each.ms / 1000), each.waits, each.refused]),
      ),
    );
    const refused = this.events.filter((event) => kRefusals.has(event.event)).reverse();
    put(
      this.refused,
      () =>
        h(
          "div",
          null,
          h("p", null, refused.length > 0 ? this.countsOf(refused) : ""),
          table(
            [
              ["At", "number"],
              ["Agent", ""],
              ["What", "key"],
              ["Why", ""],
            ],
            refused.map((event) => [
              timeText(event.at),
              agentLink(event.agent, null),
              h(
                "a",
                { href: historyOf({ under: event.resources[0] ?? "" }), title: eventText(event) },
                keysText(event.resources),
              ),
              this.whyOf(event),
            ]),
            "Nothing was refused.",
          ),
        ),
      `${refused.length} ${refused[0]?.seq}`,
    );
  }

  whyOf(event) {
    const held = event.by?.agent && event.cause === "held";
    const why = held ? `held by ${event.by.agent}` : causeText(event.cause ?? event.event);
    return event.event === "refused" ? why : `${kindOf(event).verb}, ${why}`;
  }

  countsOf(refused) {
    const counts = new Map();
    for (const event of refused) {
      const name =
        event.event === "refused" ? `refused: ${event.cause ?? "policy"}` : kindOf(event).verb;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([name, count]) => `${count.toLocaleString()} ${name}`)
      .join(" · ");
  }
}
