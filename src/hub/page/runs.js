// The runs of `lockkeeper workflow run`: live while one is at work, and its report.
import { agentLink, h, hatch, hueOf, patch, setText, svg } from "./dom.js";
import { durationText, plural, timeText } from "./words.js";

const kListEvery = 3; // ticks
const kLane = 30;
const kFilesMost = 50;

// In the words of the command line.
const kWaits = {
  dependency: (on) => `needs ${on}`,
  agent: (on) => `waits for ${on}, which holds what it needs`,
  jobs: () => "waits for a free slot",
  lock: (on) => `waits: ${on}`,
  pause: (on) => `paused: ${on}`,
};
const waitText = (wait) => (kWaits[wait.for] ?? ((on) => `waits for ${on}`))(wait.on ?? "");

const kMarks = {
  pending: "○",
  waiting: "○",
  running: "●",
  done: "✓",
  failed: "✗",
  skipped: "–",
  stopped: "■",
};
const kTones = { done: "good", running: "good", failed: "bad", skipped: "warn", stopped: "warn" };
const kOutcomes = {
  running: "is at work",
  done: "is done",
  failed: "failed",
  stopped: "was stopped",
  interrupted: "was interrupted; to go on: lockkeeper workflow run … --resume",
};

const titleOf = (run) => run.feature ?? run.plan.split("/").at(-1);
const openWait = (agent) => agent.waits.find((wait) => !wait.ended_at);

// Printed after its standing, which it need not repeat.
const whyText = (agent) => (agent.why ?? "").replace(/^failed: /, "");

// What the agent does, or why it does not.
function doing(agent) {
  if (agent.standing === "running") return agent.locks.join(", ");
  const wait = openWait(agent);
  if (wait) return waitText(wait);
  if (agent.standing === "done") return agent.worktree?.text ?? "";
  return whyText(agent);
}

export class Runs {
  title = "Runs";

  constructor(page) {
    this.page = page;
  }

  mount(root, query) {
    this.wanted = query.get("run") ?? "";
    this.sentence = h("p", { class: "sentence", "aria-live": "polite" }, "Asking for runs…");
    this.choice = h("select", {
      onchange: () => this.page.go("runs", { run: this.choice.value }),
    });
    this.save = h("button", { type: "button", onclick: () => this.download() }, "Save the report");
    this.bar = h(
      "div",
      { class: "bar", hidden: true },
      h("div", { class: "filters runs" }, h("label", null, "Run", this.choice)),
      this.save,
    );
    this.body = h("div", { class: "run" });
    this.empty = h(
      "div",
      { class: "none", hidden: true },
      h(
        "p",
        null,
        "No plan has run in this realm. To start a plan's agents, each under its locks:",
      ),
      h("pre", null, "lockkeeper workflow run plan.yaml"),
    );
    root.append(
      h("h1", { class: "hidden" }, "Runs"),
      this.sentence,
      this.bar,
      this.body,
      this.empty,
    );
    this.ticks = 0;
    this.load(true);
  }

  unmount() {
    this.gone = true;
  }

  async load(list) {
    if (this.loading) return;
    this.loading = true;
    try {
      if (list) ({ runs: this.runs } = await this.page.api.get("runs"));
      const known = this.runs.find((each) => each.run === this.wanted);
      const run = known ?? this.runs[0];
      const report = run ? await this.page.api.get(`runs/${encodeURIComponent(run.run)}`) : null;
      if (this.gone) return;
      this.report = report;
      this.show(run);
    } catch (error) {
      if (!this.gone)
        setText(this.sentence, [error.message, error.hint].filter(Boolean).join(". "));
    } finally {
      this.loading = false;
    }
  }

  show(run) {
    this.empty.hidden = Boolean(run);
    this.bar.hidden = this.body.hidden = !run;
    if (!run) return setText(this.sentence, "No runs.");
    const { report } = this;
    setText(
      this.sentence,
      `${titleOf(report)} ${kOutcomes[report.outcome] ?? report.outcome}: ${report.text}.`,
    );
    const names = this.runs.map(
      (each) => `${titleOf(each)}, ${each.outcome}, ${timeText(each.started_at)}`,
    );
    if (names.join() !== this.names) {
      this.names = names.join();
      this.choice.replaceChildren(
        ...this.runs.map((each, at) => h("option", { value: each.run }, names[at])),
      );
    }
    this.choice.value = run.run;
    const told = JSON.stringify(report);
    // Only what moves by itself changes every second.
    if (told === this.told && report.outcome !== "running") return;
    this.told = told;
    patch(this.body, this.agents(report), this.lanes(report), this.cards(report));
  }

  // The report was written at some moment; what has not ended goes on since.
  since(at, length) {
    return this.report.outcome === "running" ? Date.now() - Date.parse(at) : length;
  }

  worked(agent) {
    const attempt = agent.attempts.at(-1);
    if (!attempt?.started_at || attempt.ended_at) return agent.worked_ms;
    return (
      agent.worked_ms - attempt.duration_ms + this.since(attempt.started_at, attempt.duration_ms)
    );
  }

  waitLength(wait) {
    return wait.ended_at ? wait.duration_ms : this.since(wait.began_at, wait.duration_ms);
  }

  waited(agent) {
    const wait = openWait(agent);
    return agent.waited_ms + (wait ? this.waitLength(wait) - wait.duration_ms : 0);
  }

  agents(report) {
    const again = report.agents.some((agent) => agent.attempts.length > 1);
    const row = (agent) =>
      h(
        "tr",
        { "data-key": agent.id, "data-tone": kTones[agent.standing] ?? null },
        h(
          "td",
          { class: "standing" },
          h("span", { class: "sign", "aria-hidden": "true" }, kMarks[agent.standing] ?? "○"),
          h("span", null, agent.standing),
        ),
        h("td", null, agentLink(agent.id, null, agent.standing === "waiting")),
        h("td", { class: "number" }, agent.attempts.length ? durationText(this.worked(agent)) : ""),
        h(
          "td",
          { class: "number less" },
          this.waited(agent) >= 1_000 ? durationText(this.waited(agent)) : "",
        ),
        again ? h("td", { class: "number less" }, String(agent.attempts.length)) : null,
        h("td", { class: "doing" }, doing(agent)),
      );
    const { counts } = report;
    const over = counts.done + counts.failed + counts.skipped;
    return h(
      "section",
      { class: "card", "aria-label": "Agents" },
      h("progress", {
        max: counts.agents || 1,
        value: over,
        "aria-label": `${over} of ${plural(counts.agents, "agent")} over`,
      }),
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", null, "Standing"),
            h("th", null, "Agent"),
            h("th", { class: "number" }, "Worked"),
            h("th", { class: "number less" }, "Waited"),
            again ? h("th", { class: "number less" }, "Attempts") : null,
            h("th", null, "Holds, waits or why"),
          ),
        ),
        h("tbody", null, ...report.agents.map(row)),
      ),
    );
  }

  // Attempts are solid, waits are hatched, as in the timeline.
  lanes(report) {
    const from = Date.parse(report.started_at);
    const over = report.ended_at ? Date.parse(report.ended_at) : from + report.duration_ms;
    const to = Math.max(from + 1_000, report.outcome === "running" ? Date.now() : over);
    const wide = Math.max(200, this.body.clientWidth - 240); // so that nothing is stretched much
    const x = (at) => (((at ? Date.parse(at) : to) - from) / (to - from)) * wide;
    const shape = (begin, end, y, tall) => {
      const left = Math.max(0, x(begin));
      return `M${left.toFixed(1)} ${y}h${Math.max(2, x(end) - left).toFixed(1)}v${tall}H${left.toFixed(1)}z`;
    };
    const lane = (agent, at) => {
      const y = at * kLane;
      const held = agent.attempts
        .filter((each) => each.started_at)
        .map((each) => shape(each.started_at, each.ended_at, y + 8, 9));
      const waited = agent.waits
        .filter((each) => each.began_at)
        .map((each) => shape(each.began_at, each.ended_at, y + 19, 6));
      return svg(
        "g",
        { class: `lane hue-${hueOf(agent.id)}` },
        svg("path", { class: "rule", d: `M0 ${y + kLane - 0.5}h${wide}` }),
        svg("path", { class: "held", d: held.join("") }),
        svg("path", { class: "waited", d: waited.join("") }),
      );
    };
    const high = report.agents.length * kLane;
    return h(
      "section",
      { class: "card run-lanes", "aria-label": "Timeline of the run" },
      h("ul", { class: "plain names" }, ...report.agents.map((each) => h("li", null, each.id))),
      svg(
        "svg",
        {
          viewBox: `0 0 ${wide} ${Math.max(1, high)}`,
          height: String(high),
          preserveAspectRatio: "none",
          role: "img",
          "aria-label": `Work and waits of ${plural(report.agents.length, "agent")}`,
        },
        hatch(),
        ...report.agents.map(lane),
      ),
      h(
        "p",
        { class: "note run-times" },
        h("span", null, timeText(report.started_at)),
        h("span", null, `Solid: worked. Hatched: waited. ${durationText(to - from)} in all.`),
        h("span", null, report.outcome === "running" ? "now" : timeText(to)),
      ),
    );
  }

  cards(report) {
    const list = (title, items, none) =>
      h(
        "section",
        null,
        h("h2", null, title),
        items.length === 0
          ? h("p", { class: "note" }, none)
          : h(
              "ul",
              { class: "plain" },
              ...items.map((each) => h("li", { class: "message" }, each)),
            ),
      );
    const wrong = [
      ...report.problems,
      ...report.agents
        .filter((agent) => ["failed", "skipped", "stopped"].includes(agent.standing))
        .map((agent) =>
          [`${agent.id} ${agent.standing}`, whyText(agent)].filter(Boolean).join(": "),
        ),
    ];
    const waits = report.agents
      .flatMap((agent) =>
        agent.waits.map((wait) => ({ agent, wait, length: this.waitLength(wait) })),
      )
      .filter(({ length }) => length >= 1_000)
      .sort((a, b) => b.length - a.length)
      .slice(0, kFilesMost)
      .map(({ agent, wait, length }) => `${agent.id} ${waitText(wait)} (${durationText(length)})`);
    const changes = report.agents.flatMap((agent) =>
      agent.attempts.flatMap((attempt) =>
        attempt.changes.map(
          (each) =>
            `${each.path} ${each.change} by ${agent.id}${each.outside ? ", outside its scope" : ""}`,
        ),
      ),
    );
    const shown = changes.slice(0, kFilesMost);
    if (changes.length > shown.length) {
      shown.push(`and ${plural(changes.length - shown.length, "more file")}; the report has all`);
    }
    return h(
      "div",
      { class: "cards" },
      list("What went wrong", wrong, "Nothing so far."),
      list("Who waited", waits, "Nobody waited for a second or longer."),
      list("Changed files", shown, "None known yet."),
    );
  }

  download() {
    const file = new Blob([this.report.markdown], { type: "text/markdown" });
    const address = URL.createObjectURL(file);
    h("a", { href: address, download: `${titleOf(this.report)}-report.md` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  update() {}

  tick() {
    this.ticks += 1;
    const list = this.ticks % kListEvery === 0;
    if (list || this.report?.outcome === "running") this.load(list);
  }
}
