// Who covers a path: the answer to a search. It stays true, and its lines keep their places under a
// hand: what has ended stays, crossed out, until pointer and focus have left it.
import { breakLease, may } from "./actions.js";
import { agentLink, byId, h, setText } from "./dom.js";
import { durationText, timeText } from "./words.js";

const kEndedMs = 10_000; // a resting pointer keeps what has ended for so long

const nameOf = (each) =>
  [each.kind, each.agent, each.session, each.fence, each.held, each.acquired_at].join("\n");

function whyText(path, { held, kind }) {
  if (held === path) return "exactly this";
  if (held.endsWith("/") && path.startsWith(held)) return `the folder ${held} covers it`;
  if (/[*?[{]/.test(held)) return `the pattern ${held} matches it`;
  return kind === "waiter" ? `it asks for ${held}` : `${held} lies in it`;
}

function saidOf(path, each, now) {
  const why = whyText(path, each);
  return [
    each.kind === "waiter" ? ` waits: ${why}` : ` holds it: ${why}`,
    `since ${timeText(each.acquired_at)}`,
    each.expires_at && `for another ${durationText(Date.parse(each.expires_at) - now)}`,
    each.reason && `reason “${each.reason}”`,
  ]
    .filter(Boolean)
    .join(", ");
}

export class Answer {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    this.path = "";
    this.turn = 0;
  }

  async ask(path) {
    if (path !== this.path) this.clear();
    this.path = path;
    const turn = ++this.turn;
    this.askedAt = this.page.link.version;
    if (!path) return;
    let found = null;
    let fault = null;
    try {
      found = await this.page.api.post("check", { resources: [path] });
    } catch (error) {
      if (error.json?.conflicts) found = error.json;
      else fault = error;
    }
    if (turn !== this.turn) return; // there is a later answer
    if (found) this.tell(found);
    else this.fail(fault);
  }

  clear() {
    this.element.replaceChildren();
    this.list = null;
  }

  fail(error) {
    this.clear();
    const text = [error.message, error.hint].filter(Boolean).join(". ");
    this.element.append(h("p", { class: "fault" }, text));
  }

  tell({ conflicts, mine }) {
    if (!this.list) {
      this.list = h("ul", { class: "plain" });
      this.free = h("p", null, h("code", null, this.path), h("span"));
      this.lines = new Map();
      this.element.replaceChildren(this.list, this.free);
    }
    const now = Date.now();
    this.order = [...new Set(conflicts.map(nameOf))];
    for (const [name, line] of this.lines) {
      if (!this.order.includes(name)) this.end(line, now);
    }
    for (const each of conflicts) {
      const name = nameOf(each);
      if (!this.lines.has(name)) {
        this.lines.set(name, this.lineOf(each));
        this.list.append(this.lines.get(name));
      }
      setText(this.lines.get(name).said, saidOf(this.path, each, now));
    }
    this.free.hidden = conflicts.length > 0;
    setText(
      this.free.lastChild,
      mine
        ? " is yours."
        : " is free. Nobody holds it, a folder around it or a pattern that matches it.",
    );
    this.tidy(now);
  }

  lineOf(each) {
    const { page } = this;
    const lease = [...page.link.leases.values()].find(
      (one) => one.fence !== null && one.fence === each.fence && one.agent === each.agent,
    );
    const said = h("span");
    const button = (text, kind, act) =>
      h("button", { type: "button", class: kind, onclick: () => line.endedAt || act() }, text);
    const line = h(
      "li",
      null,
      agentLink(each.agent, each.session, each.kind === "waiter"),
      said,
      lease ? button("Show", "quiet", () => page.open(lease)) : null,
      lease && may(page.link, "break")
        ? button("Break…", "danger quiet", () => breakLease(page, lease))
        : null,
    );
    line.said = said;
    return line;
  }

  end(line, now) {
    if (line.endedAt) return;
    line.endedAt = now;
    line.classList.add("ended");
    for (const each of line.querySelectorAll("button")) each.setAttribute("aria-disabled", "true");
  }

  // Takes away what has ended, and brings the lines into their order, if nobody is there.
  tidy(now) {
    const hand = this.element.matches(":hover");
    const focus = document.activeElement;
    for (const [name, line] of this.lines) {
      if (!line.endedAt || (hand && now - line.endedAt < kEndedMs)) continue;
      if (line.contains(focus)) continue;
      this.lines.delete(name);
      line.remove();
    }
    if (hand || this.list.contains(focus)) return;
    this.order.forEach((name, at) => {
      const line = this.lines.get(name);
      if (this.list.children[at] !== line) this.list.insertBefore(line, this.list.children[at]);
    });
  }

  tick() {
    if (!this.path || byId("ask").open) return;
    if (this.askedAt !== this.page.link.version) this.ask(this.path);
    else if (this.list) this.tidy(Date.now());
  }
}
