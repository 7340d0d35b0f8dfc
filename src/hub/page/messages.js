// Messages to the visitor and to everybody, and what the visitor has sent.
import { may, sendMessage } from "./actions.js";
import { badge, h, setText } from "./dom.js";
import { plural, timeText } from "./words.js";

export class Messages {
  title = "Messages";

  constructor(page) {
    this.page = page;
  }

  mount(root) {
    this.sentence = h("p", { class: "sentence" }, "Asking for messages…");
    this.to = h("input", {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "everybody",
    });
    this.write = h(
      "form",
      { class: "filters", hidden: true, onsubmit: (event) => this.compose(event) },
      h("label", null, "To agent", this.to),
      h("button", { class: "primary" }, "Write…"),
    );
    this.got = h("div", { class: "messages" });
    this.sent = h("div", { class: "messages" });
    root.append(
      h("h1", { class: "hidden" }, "Messages"),
      this.sentence,
      h("div", { class: "bar" }, this.write),
      h(
        "div",
        { class: "cards" },
        h("section", null, h("h2", null, "To you"), this.got),
        h("section", null, h("h2", null, "Sent from the page"), this.sent),
      ),
    );
    this.load();
  }

  unmount() {
    this.gone = true;
  }

  // Who the hub takes this page for.
  me = () => (this.page.link.who.name ? `page@${this.page.link.who.name}` : "page");

  compose(event) {
    event.preventDefault();
    const agent = this.to.value.trim();
    sendMessage(this.page, agent ? { agent } : {}).then(() => this.load());
  }

  async load() {
    if (!this.page.link.who) return;
    this.loaded = true;
    this.write.hidden = !may(this.page.link, "lock");
    if (this.write.hidden) {
      setText(this.sentence, "Messages need the role lock. Your token may only look.");
      return;
    }
    try {
      const [got, sent] = await Promise.all([
        this.page.api.get("messages", { all: "1" }),
        this.page.api.get("messages", { sent: "1" }),
      ]);
      if (this.gone) return;
      const show = (box, all, none, who) =>
        box.replaceChildren(
          all.length === 0
            ? h("p", { class: "note" }, none)
            : h(
                "ul",
                { class: "plain" },
                ...all
                  .reverse()
                  .slice(0, 200)
                  .map((each) =>
                    h(
                      "li",
                      { class: "message" },
                      h(
                        "p",
                        { class: "from" },
                        badge(who(each)),
                        h("span", { class: "name" }, who(each)),
                        h("span", { class: "tag" }, each.type),
                        h("time", { class: "number", datetime: each.at }, timeText(each.at)),
                      ),
                      h("p", null, each.text),
                    ),
                  ),
              ),
        );
      show(
        this.got,
        got.messages,
        `No message to you. Agents write to you with: lockkeeper message send ${this.me()} "…"`,
        (each) => each.from,
      );
      show(this.sent, sent.messages, "Nothing sent.", (each) => each.to ?? "everybody");
      const unread = got.messages.filter((each) => !each.read).length;
      setText(
        this.sentence,
        got.messages.length === 0
          ? `No messages to ${this.me()}.`
          : `${plural(got.messages.length, "message")} to ${this.me()}, ${unread} unread.`,
      );
    } catch (error) {
      setText(this.sentence, [error.message, error.hint].filter(Boolean).join(". "));
    }
  }

  update() {
    if (!this.loaded) this.load();
  }

  // The stream does not tell of messages.
  tick() {
    this.ticks = (this.ticks ?? 0) + 1;
    if (this.ticks % 10 === 0) this.load();
  }
}
