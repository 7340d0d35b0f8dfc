// Elements without a template language. Texts of agents are only ever set as text.
const kSvg = "http://www.w3.org/2000/svg";

function put(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined));
  return element;
}

export const h = (tag, props, ...children) => put(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) =>
  put(document.createElementNS(kSvg, tag), props, children);

// What "waited" is filled with, for a picture that has waits.
export const hatch = () =>
  svg(
    "defs",
    null,
    svg(
      "pattern",
      {
        id: "hatch",
        width: "5",
        height: "5",
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
      },
      svg("rect", { width: "2", height: "5", class: "hatch" }),
    ),
  );

// Instead of what the element has; null is nothing.
export const refill = (element, ...children) =>
  element.replaceChildren(...children.flat().filter((each) => each !== null && each !== undefined));

// The same, but what is like before stays: it keeps the focus, and a click that has begun. For
// elements without listeners. Those with `data-key` are the same only with the same key.
export function patch(element, ...children) {
  const wanted = children.flat().filter((each) => each !== null && each !== undefined);
  const keyOf = (node) => node.dataset?.key;
  const ahead = new Set(wanted.map(keyOf)); // keys whose turn has not come
  wanted.forEach((next, at) => {
    ahead.delete(keyOf(next));
    const known = () => element.childNodes[at];
    while (known() && keyOf(known()) !== keyOf(next) && !ahead.has(keyOf(known())))
      known().remove();
    const now = known();
    if (!now || keyOf(now) !== keyOf(next)) element.insertBefore(next, now ?? null);
    else if (now.nodeName !== next.nodeName) now.replaceWith(next);
    else if (now.nodeType === Node.TEXT_NODE) setText(now, next.textContent);
    else become(now, next);
  });
  while (element.childNodes.length > wanted.length) element.lastChild.remove();
}

function become(now, next) {
  for (const { name } of [...now.attributes])
    if (!next.hasAttribute(name)) now.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (name !== "style") setAttribute(now, name, value);
    else if (now.style.cssText !== value) now.style.cssText = value; // as the policy wants it
  }
  patch(now, ...next.childNodes);
}

export const byId = (id) => document.getElementById(id);

// Writes only what has changed: the lists are filled again every second.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// The same picture for an agent everywhere: two letters and one of twelve colours.
export function hueOf(agent) {
  let sum = 7;
  for (const char of agent) sum = (sum * 31 + char.codePointAt(0)) % 9973;
  return sum % 12;
}

export function initials(agent) {
  const parts = agent
    .split("@")[0]
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const letters = parts.length > 1 ? parts[0][0] + parts[1][0] : (parts[0] ?? "?").slice(0, 2);
  return letters.toUpperCase();
}

// `waits`: hatched, as everything that waits.
export function badge(agent, waits = false) {
  const kind = `badge hue-${hueOf(agent)}${waits ? " waits" : ""}`;
  return h("span", { class: kind, "aria-hidden": "true" }, initials(agent));
}

export const historyOf = (what) => `#/history?${new URLSearchParams(what)}`;

// One that is filled again and again, in a row of a long list.
export function agentCell() {
  const mark = h("span", { "aria-hidden": "true" });
  const name = h("span", { class: "name" });
  const part = h("span", { class: "session" });
  const link = h("a", { class: "agent", tabindex: "-1" }, mark, name, part);
  let shown = null;
  link.show = (agent, session, waits = false) => {
    const key = `${agent}\n${session}\n${waits}`;
    if (key === shown) return;
    shown = key;
    link.href = historyOf({ agent });
    link.title = `What ${agent} did`;
    mark.className = `badge hue-${hueOf(agent)}${waits ? " waits" : ""}`;
    mark.textContent = initials(agent);
    name.textContent = agent;
    part.textContent = session && !session.startsWith("-") ? session : "";
  };
  return link;
}

export function agentLink(agent, session, waits = false) {
  return h(
    "a",
    { class: "agent", href: historyOf({ agent }), title: `What ${agent} did` },
    badge(agent, waits),
    h("span", { class: "name" }, agent),
    session && !session.startsWith("-") ? h("span", { class: "session" }, session) : null,
  );
}
