// Events as rows: a sign, a time, who, what. Used beside the table and by the history.
import { agentCell, h, historyOf, setAttribute, setText } from "./dom.js";
import { List } from "./list.js";
import { detailText, keysText, kindOf, timeText } from "./words.js";

export function makeEventRow() {
  const row = h("div", { class: "row event" });
  row.parts = {
    time: h("time"),
    sign: h("span", { class: "sign", "aria-hidden": "true" }),
    agent: agentCell(),
    verb: h("span", { class: "verb" }),
    keys: h("a", { class: "key", tabindex: "-1" }),
    detail: h("span", { class: "detail" }),
  };
  const { parts } = row;
  const cell = (name, ...all) => h("div", { class: `cell ${name}`, role: "gridcell" }, ...all);
  row.append(
    cell("when number", parts.time),
    cell("who", parts.agent),
    cell("what", parts.sign, parts.verb, parts.keys),
    cell("how", parts.detail),
  );
  return row;
}

export function fillEventRow(row, event) {
  if (row.event === event) return;
  row.event = event;
  const { parts } = row;
  const { sign, verb, tone } = kindOf(event);
  setText(parts.time, timeText(event.at));
  setAttribute(parts.time, "datetime", event.at);
  setText(parts.sign, sign);
  setAttribute(row, "data-tone", tone);
  setText(parts.verb, verb);
  parts.agent.show(event.agent, null, event.event === "queued");
  setText(parts.keys, keysText(event.resources, 1));
  setAttribute(parts.keys, "href", historyOf({ under: event.resources[0] ?? "" }));
  setText(parts.detail, detailText(event));
  setAttribute(parts.detail, "title", detailText(event) || null);
}

export function eventGrid(name) {
  const head = h(
    "div",
    { class: "row head event", role: "row" },
    ...[
      ["when number", "At"],
      ["who", "Agent"],
      ["what", "What"],
      ["how", "How and why"],
    ].map(([kind, text]) => h("div", { class: `cell ${kind}`, role: "columnheader" }, text)),
  );
  return h("div", { class: "grid events", role: "grid", "aria-label": name }, head);
}

// The newest first.
export function feedOf(page) {
  const element = eventGrid("What happened last");
  const list = new List(element, {
    make: makeEventRow,
    fill: fillEventRow,
    keyOf: (event) => event.seq,
    lasts: false,
    open: (event) => {
      const lease = page.link.leases.get(event.lease);
      if (lease) page.open(lease);
    },
  });
  return {
    element,
    update: () => {
      if (element.clientHeight > 0) list.show(page.link.events.slice(-500).reverse());
    },
    end: () => list.end(),
  };
}
