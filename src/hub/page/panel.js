// One lease, in full: beside the view on wide screens, over it on narrow ones.
import { breakLease, isOwn, may, releaseLease, sendMessage } from "./actions.js";
import { agentLink, byId, h, historyOf, patch, refill, setText } from "./dom.js";
import { aliveText, durationText, keysOf, remainingText, timeText } from "./words.js";

const kKeysShown = 200;

export class Panel {
  constructor(page) {
    this.page = page;
    this.element = byId("panel");
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  open(lease) {
    this.before ??= document.activeElement;
    this.lease = lease;
    this.element.hidden = false;
    this.draw();
    this.element.querySelector("h2").focus();
  }

  close() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.lease = null;
    this.before?.isConnected && this.before.focus();
    this.before = null;
  }

  draw() {
    const { page, lease } = this;
    const keys = keysOf(lease);
    const rows = [];
    const row = (name, value, kind) => {
      const cell = h("dd", { class: kind }, value);
      rows.push(h("dt", null, name), cell);
      return cell;
    };
    row("Held by", agentLink(lease.agent, lease.session));
    row("Since", timeText(lease.acquired_at));
    this.until = row("Until", this.untilText(lease));
    this.left = row("Remaining", remainingText(lease, Date.now()), "number");
    this.alive = row("Alive", aliveText(lease));
    row("Fence", lease.fence === null ? "none" : String(lease.fence), "number");
    this.reason = row("Reason", lease.reason ?? "none");
    if (lease.task) row("Task", lease.task);
    if (lease.foreign) row("Other tool", `${lease.foreign.kind}: ${lease.foreign.path}`);
    if (lease.worktree) row("Worktree", lease.worktree);
    row("Lease", lease.id, "code");
    this.waiting = h("ul", { class: "plain" });
    const buttons = [];
    const button = (text, kind, act) =>
      buttons.push(h("button", { type: "button", class: kind, onclick: act }, text));
    if (may(page.link, "lock") && isOwn(page.link, lease)) {
      button("Release", "quiet", () => releaseLease(page, lease));
    }
    if (may(page.link, "lock") && !lease.foreign) {
      button("Message", "quiet", () => sendMessage(page, lease));
    }
    if (may(page.link, "break")) button("Break…", "danger", () => breakLease(page, lease));
    this.buttons = h("div", { class: "buttons" }, ...buttons);
    this.over = h("p", { class: "over", hidden: true }, "This lease has ended.");
    refill(
      this.element,
      h(
        "div",
        { class: "panel-head" },
        h("h2", { tabindex: "-1" }, keys[0]),
        h(
          "button",
          { type: "button", class: "quiet", "aria-label": "Close", onclick: () => this.close() },
          "✕",
        ),
      ),
      this.over,
      this.buttons,
      buttons.length === 0
        ? h(
            "p",
            { class: "note" },
            "Your token may only look. Break needs the role break, messages the role lock.",
          )
        : null,
      h("dl", { class: "facts" }, ...rows),
      h("h3", null, "Waits for it"),
      this.waiting,
      h("h3", null, keys.length === 1 ? "Resource" : `${keys.length} resources`),
      h(
        "ul",
        { class: "plain keys" },
        ...lease.resources
          .slice(0, kKeysShown)
          .map((each) =>
            h(
              "li",
              null,
              h("a", { href: historyOf({ under: each.key }), title: "Its history" }, each.key),
              each.mode === "shared" ? h("span", { class: "tag" }, "shared") : null,
            ),
          ),
        keys.length > kKeysShown ? h("li", null, `and ${keys.length - kKeysShown} more`) : null,
      ),
    );
    this.tick();
  }

  untilText(lease) {
    if (lease.edit) return "its turn ends";
    if (lease.expires_at === undefined) return "…";
    return lease.expires_at === null ? "no end" : timeText(lease.expires_at);
  }

  // What changes by itself.
  tick() {
    if (!this.lease) return;
    const now = Date.now();
    const current = this.page.link.leases.get(this.lease.id);
    this.over.hidden = current !== undefined;
    if (!current && this.buttons.contains(document.activeElement))
      this.element.querySelector("h2").focus();
    this.buttons.hidden = current === undefined;
    if (current) {
      this.lease = current;
      setText(this.until, this.untilText(current));
      setText(this.alive, aliveText(current));
      setText(this.reason, current.reason ?? "none");
    }
    setText(this.left, current ? remainingText(current, now) : "ended");
    const waiters = this.page.link.waiters.filter((each) => each.waits_for === this.lease.id);
    patch(
      this.waiting,
      ...waiters.map((each) =>
        h(
          "li",
          { "data-key": each.id },
          agentLink(each.agent, each.session, true),
          h("span", { class: "number" }, durationText(now - each.acquired_at_ms)),
        ),
      ),
      waiters.length === 0 ? h("li", { class: "note" }, "nobody") : null,
    );
  }
}
