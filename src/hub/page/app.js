// The live page: who is here, which view, and what all views share.
import { drain, may } from "./actions.js";
import { Api } from "./api.js";
import { byId, h, setAttribute, setText } from "./dom.js";
import { History } from "./history.js";
import { Hubs } from "./hubs.js";
import { Link } from "./link.js";
import { Messages } from "./messages.js";
import { Now } from "./now.js";
import { Panel } from "./panel.js";
import { Queue } from "./queue.js";
import { Runs } from "./runs.js";
import { forgetToken, keepToken, takeToken } from "./session.js";
import { Timeline } from "./timeline.js";
import { eventText, kindOf, plural, timeText } from "./words.js";

const kViews = {
  now: Now,
  queue: Queue,
  timeline: Timeline,
  history: History,
  runs: Runs,
  messages: Messages,
};
const kDrawEveryMs = 200;
const kSayEveryMs = 5_000;
const kThemes = ["auto", "light", "dark"];

class Page {
  constructor() {
    this.link = new Link((news) => this.came(news));
    this.panel = new Panel(this);
    this.hubs = new Hubs();
    this.unsaid = [];
    this.news = { events: [] };
  }

  // --- who -------------------------------------------------------------------

  async start() {
    this.theme(localStorage.getItem("lockkeeper-theme") ?? "auto");
    byId("theme").addEventListener("click", () =>
      this.theme(kThemes[(kThemes.indexOf(this.themeName) + 1) % 3]),
    );
    byId("drain").addEventListener("click", () => drain(this));
    byId("leave").addEventListener("click", () => this.logOut());
    byId("realm").addEventListener("change", (event) => this.enter(event.target.value));
    addEventListener("hashchange", () => this.route());
    addEventListener("pagehide", () => this.link.leave());
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    addEventListener("keydown", (event) => this.press(event));
    setInterval(() => this.tick(), 1_000);
    try {
      this.token = await takeToken();
    } catch (error) {
      return this.askForToken(`${error.message}. In a terminal: lockkeeper open`);
    }
    this.logIn();
  }

  async logIn() {
    this.api = new Api(this.token);
    let realms = null;
    while (!realms) {
      try {
        ({ realms } = await this.api.get("realms"));
      } catch (error) {
        if (error.status === 401)
          return this.askForToken(this.token ? "This hub does not know the token." : "");
        this.state("lost", error.status ? error.message : "the hub does not answer; trying again");
        await new Promise((done) => setTimeout(done, 2_000));
      }
    }
    const names = realms.map((each) => each.name);
    const select = byId("realm");
    select.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    select.disabled = names.length < 2;
    byId("leave").hidden = !this.token;
    const kept = sessionStorage.getItem("lockkeeper-realm");
    if (names.length === 0) return this.state("refused", "your token may use no realm of this hub");
    this.enter(names.includes(kept) ? kept : names[0]);
  }

  enter(realm) {
    sessionStorage.setItem("lockkeeper-realm", realm);
    byId("realm").value = realm;
    this.panel.close();
    this.api = new Api(this.token, realm);
    this.link.enter(this.token, realm);
    this.route();
  }

  logOut() {
    forgetToken();
    this.link.leave();
    this.link.clear();
    this.token = "";
    this.askForToken("");
  }

  askForToken(why) {
    this.view?.unmount();
    this.view = null;
    this.panel.close();
    byId("leave").hidden = byId("drain").hidden = true;
    this.hubs.clear();
    byId("realm").replaceChildren();
    this.state("denied", "not logged in");
    const input = h("input", {
      type: "password",
      id: "token",
      autocomplete: "off",
      required: true,
      placeholder: "lk_…",
    });
    const form = h(
      "form",
      {
        class: "login",
        onsubmit: (event) => {
          event.preventDefault();
          this.token = input.value.trim();
          keepToken(this.token);
          this.logIn();
        },
      },
      h("h1", null, "Who holds what, and who waits"),
      h(
        "p",
        null,
        "Log in with a token of this hub. It stays in this tab and is forgotten with it.",
      ),
      why ? h("p", { class: "fault", role: "alert" }, why) : null,
      h("label", { class: "field", for: "token" }, h("span", null, "Token"), input),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, "Log in")),
      h("p", { class: "note" }, "On the hub's own machine you need none:"),
      h("pre", null, "lockkeeper open"),
      h("p", { class: "note" }, "Elsewhere, whoever runs the hub makes one for you:"),
      h("pre", null, "lockkeeper token add alice"),
    );
    byId("main").replaceChildren(form);
    input.focus();
  }

  // --- where -----------------------------------------------------------------

  go(name, query = {}) {
    const more = new URLSearchParams(query).toString();
    location.hash = `/${name}${more ? `?${more}` : ""}`;
  }

  route() {
    if (/^#(token|pass)=/.test(location.hash)) return location.reload();
    if (!this.api?.realm) return;
    const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
    const View = kViews[name] ?? Now;
    this.view?.unmount();
    const main = byId("main");
    main.replaceChildren();
    main.dataset.view = name in kViews ? name : "now";
    this.view = new View(this);
    this.view.mount(main, new URLSearchParams(query));
    document.title = `${this.view.title} · ${this.api.realm} · Lockkeeper`;
    for (const each of byId("views").children) {
      setAttribute(each, "aria-current", each.hash === `#/${main.dataset.view}` ? "page" : null);
    }
    this.draw();
  }

  press(event) {
    if (event.key === "Escape" && !byId("ask").open) this.panel.close();
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!byId("search")) this.go("now");
      setTimeout(() => byId("search")?.focus());
    }
  }

  open(lease) {
    this.panel.open(lease);
  }

  theme(name) {
    this.themeName = kThemes.includes(name) ? name : "auto";
    localStorage.setItem("lockkeeper-theme", this.themeName);
    document.documentElement.dataset.theme = this.themeName;
    setText(byId("theme"), `Theme: ${this.themeName}`);
  }

  // --- what changes ----------------------------------------------------------

  came(news) {
    if (news.what === "all") this.unsaid = [];
    else this.unsaid.push(...news.events);
    this.news.events.push(...(news.events ?? []));
    if (this.drawing) return;
    // What takes long is done less often.
    const pause = Math.max(kDrawEveryMs, 8 * (this.cost ?? 0));
    const wait = Math.max(0, (this.drawn ?? 0) + pause - performance.now());
    this.drawing = setTimeout(() => this.draw(), wait);
  }

  draw() {
    this.drawing = null;
    const begun = performance.now();
    const { news } = this;
    this.news = { events: [] };
    const { phase, who } = this.link;
    if (phase.name === "denied") {
      forgetToken();
      return this.askForToken("This hub does not know the token.");
    }
    this.state(phase.name, phase.why);
    byId("drain").hidden = !may(this.link, "admin");
    setText(byId("drain"), who?.draining ? "End the drain" : "Drain");
    setText(
      byId("count-queue"),
      this.link.waiters.length > 0 ? String(this.link.waiters.length) : "",
    );
    this.view?.update(news);
    this.panel.tick();
    this.drawn = performance.now();
    this.cost = this.drawn - begun;
  }

  state(name, why) {
    const words = {
      loading: "loading",
      live: "live",
      lost: "disconnected",
      refused: "refused",
      denied: "not logged in",
    };
    const draining = name === "live" && this.link.who?.draining;
    const state = byId("state");
    setAttribute(state, "data-state", draining ? "draining" : name);
    setText(state, draining ? "draining" : words[name]);
    document.body.dataset.state = name;
    const box = byId("trouble");
    const trouble = name === "lost" || name === "refused";
    box.hidden = !trouble && !draining;
    if (draining) setText(box, "The hub drains: it grants nothing new. Holders finish.");
    if (name === "lost")
      setText(
        box,
        `Disconnected since ${timeText(this.link.phase.since)}: ${why}. ` +
          "What you see is from then; the page tries again by itself.",
      );
    if (name === "refused") setText(box, `The hub refuses: ${why}`);
  }

  // After an action.
  done(text) {
    this.link.lookAgain();
    byId("said").textContent = text;
    const note = h("div", { class: "done", role: "status" }, text);
    document.body.append(note);
    setTimeout(() => note.remove(), 6_000);
  }

  tick() {
    if (document.hidden) return;
    this.view?.tick();
    this.panel.tick();
    this.hubs.tick(this.token === undefined ? null : this.api);
    this.say();
  }

  // Screen readers hear the events, but not more often than one can listen.
  say() {
    const now = performance.now();
    if (this.unsaid.length === 0 || now - (this.said ?? 0) < kSayEveryMs) return;
    this.said = now;
    const events = this.unsaid;
    this.unsaid = [];
    if (events.length <= 2) {
      byId("said").textContent = events.map(eventText).join(". ");
      return;
    }
    const counts = new Map();
    for (const event of events)
      counts.set(kindOf(event).verb, (counts.get(kindOf(event).verb) ?? 0) + 1);
    byId("said").textContent =
      `${plural(events.length, "event")}: ` +
      [...counts].map(([verb, count]) => `${count} ${verb}`).join(", ");
  }
}

new Page().start();
