// The live page in a browser: what a person sees, with data of the real command line.
//   page.mjs chromium|firefox [--pictures FOLDER] [PART OF A CHECK'S TITLE]
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { handChecks } from "./hand.mjs";
import {
  assert,
  axeFile,
  folderForPictures,
  hasEtcd,
  morning,
  openBrowser,
  Scene,
  sleep,
} from "./support.mjs";

const { values, positionals } = parseArgs({
  options: { pictures: { type: "string" } },
  allowPositionals: true,
});
const [name = "chromium", ...title] = positionals;
const only = title.join(" ");
const pictures = values.pictures && folderForPictures(values.pictures);
const kPatience = 20_000;
const kSizes = [
  [360, 780],
  [1280, 800],
  [2560, 1300],
];

// Code of a test runs in Chromium alone: in Firefox the page's policy keeps it out, as it should.
const kScripts = name === "chromium";

const browser = await openBrowser(name);
const checks = [];
const check = (title, body) => checks.push({ title, body });

// A tab that fails the test for any error of the page, a refused policy among them.
async function openTab(context, url) {
  const tab = await context.newPage();
  tab.faults = [];
  tab.on("pageerror", (error) => tab.faults.push(String(error.stack ?? error)));
  tab.on("console", (said) => {
    if (said.type() === "error" && !tab.expectsErrors) tab.faults.push(said.text());
  });
  await tab.goto(url);
  return tab;
}

const see = async (tab, text, within = "main") => {
  const wanted = tab.locator(within).getByText(text).filter({ visible: true }).first();
  try {
    await wanted.waitFor({ timeout: kPatience });
  } catch (error) {
    const asked = await tab.evaluate(() => document.querySelector("#ask[open]")?.innerText);
    if (asked) error.stack += `\nthe open dialog says: ${asked}`;
    throw error;
  }
};

// A row that has come just now cannot have been meant: such a click does nothing.
const clickRow = async (row) => {
  await row.waitFor();
  await sleep(500);
  await row.click();
};

const visit = (tab, view) => tab.locator(`#views a[href="#/${view}"]`).click();

async function stage(body, options = {}) {
  const scene = new Scene();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const tabs = [];
  const open = async (url) => {
    const tab = await openTab(context, url);
    tabs.push(tab);
    return tab;
  };
  try {
    const tokens = await morning(scene);
    await body({
      scene,
      context,
      open,
      ...tokens,
      enter: (token = tokens.admin, to = "") =>
        open(`${scene.url}#token=${token}`).then(async (tab) => {
          await tab.locator("#state[data-state=live]").waitFor({ timeout: kPatience });
          if (to) await visit(tab, to);
          return tab;
        }),
    });
    for (const tab of tabs) assert.deepEqual(tab.faults, [], "errors of the page");
  } finally {
    await context.close();
    await scene.end();
  }
}

check("a visitor sees who holds what and who waits", () =>
  stage(async ({ enter, scene }) => {
    const tab = await enter();
    await see(tab, "8 agents hold 9 resources. 4 requests wait, 2 for backend.");
    const row = tab.locator(".lease.row", { hasText: "src/auth/" });
    for (const text of ["backend", "JWT refresh", "detached", /^1h 59m$/])
      await row.getByText(text).first().waitFor();
    await tab.locator(".lease.row", { hasText: "web/" }).getByText("alive").waitFor();
    await tab.locator(".lease.row", { hasText: "docs/guide.md" }).getByText("shared").waitFor();
    await tab.locator(".lease.row", { hasText: "docs/" }).getByText("no end").first().waitFor();
    // It follows by itself.
    scene.run("codex", "release", "--all");
    await see(tab, "3 requests wait, 2 for backend.");
    await tab.locator(".lease.row", { hasText: "src/api/users.py" }).getByText("backend").waitFor();
    scene.run("helper", "acquire", "Makefile", "--reason", "faster builds");
    await see(tab, "faster builds");
  }),
);

check("the token leaves the address and stays in the tab", () =>
  stage(async ({ enter, open, scene, admin }) => {
    const tab = await enter();
    assert.ok(!tab.url().includes(admin), tab.url());
    const stranger = await open(scene.url);
    stranger.expectsErrors = true; // 401 is one for the browser
    await see(stranger, "Log in with a token of this hub");
    assert.equal((await stranger.locator("main").innerText()).includes("src/auth"), false);
    stranger.faults.length = 0;
    await stranger.locator("#token").fill("lk_wrong");
    await stranger.getByRole("button", { name: "Log in" }).click();
    await see(stranger, "This hub does not know the token.");
    await stranger.locator("#token").fill(admin);
    await stranger.getByRole("button", { name: "Log in" }).click();
    await see(stranger, "8 agents hold 9 resources.");
    stranger.faults.length = 0;
  }),
);

check("lockkeeper open logs in once, and no address keeps a secret", () =>
  stage(async ({ open, scene }) => {
    const way = scene.openPage();
    assert.ok(way.startsWith("file:///") && !way.includes("lkp_"), way);
    const tab = await open(way);
    await tab.locator("#state[data-state=live]").waitFor({ timeout: kPatience });
    await see(tab, "8 agents hold 9 resources.");
    assert.equal(tab.url(), `${scene.url}#/now`);
    await tab.reload();
    await tab.locator("#state[data-state=live]").waitFor({ timeout: kPatience });
    const second = await open(way);
    second.expectsErrors = true; // 401 is one for the browser
    await see(second, "This link was used already, or is older than a minute.");
    second.faults.length = 0;
  }),
);

check("a plan at work, and its report", () =>
  stage(async ({ enter, scene }) => {
    const tab = await enter(undefined, "runs");
    await see(tab, "No plan has run in this realm.");
    const run = scene.startPlan();
    const over = new Promise((done) => run.once("exit", done));
    await see(tab, /^users-by-page\.yaml is at work: .*1 running/);
    const row = (agent) => tab.locator("tr", { hasText: agent });
    await row("api").getByText("running").first().waitFor();
    await row("client").getByText("waits for api, which holds what it needs").waitFor();
    await row("lint").getByText("failed", { exact: true }).waitFor({ timeout: kPatience });
    scene.file("go");
    await over;
    await see(tab, /^users-by-page\.yaml failed: 2 of 3 agents done, 1 failed\./);
    await see(tab, "lint failed: ");
    await see(tab, "out/a.txt added by api");
    if (!kScripts) return; // WebDriver BiDi of Firefox 140 tells of no downloads
    const [saved] = await Promise.all([
      tab.waitForEvent("download"),
      tab.getByRole("button", { name: "Save the report" }).click(),
    ]);
    assert.equal(saved.suggestedFilename(), "users-by-page.yaml-report.md");
  }),
);

check("search says who covers a path, and why", () =>
  stage(async ({ enter }) => {
    const tab = await enter();
    await tab.keyboard.press("Control+k");
    await tab.keyboard.type("src/auth/token.py");
    await tab.keyboard.press("Enter");
    tab.expectsErrors = true; // 409 is the answer
    await see(tab, /the folder src\/auth\/ covers it/);
    await see(tab, /waits: exactly this/);
    await tab.locator("#search").fill("tests/api/users.py");
    await tab.keyboard.press("Enter");
    await see(tab, /the pattern tests\/\*\*\/\*\.py matches it/);
    await tab.locator("#search").fill("README.md");
    await tab.keyboard.press("Enter");
    await see(tab, /is free\. Nobody holds it/);
    await tab.locator("#search").fill("mcp:x");
    await tab.keyboard.press("Enter");
    await see(tab, /unknown prefix/);
    tab.faults.length = 0;
  }),
);

check("who blocks an agent is said wherever it is chosen", () =>
  stage(async ({ enter }) => {
    const tab = await enter();
    await tab.getByLabel("Agent").selectOption("backend");
    await see(
      tab,
      "backend holds src/auth/. It waits for src/api/users.py, which codex blocks. 2 requests wait for it.",
    );
    await tab.getByLabel("Agent").selectOption("frontend"); // it only waits
    await see(tab, "frontend holds nothing. It waits for src/auth/login.py, which backend blocks.");
    await tab.getByLabel("Agent").selectOption("");
    await clickRow(tab.locator(".lease.row", { hasText: "src/auth/" }).getByText("backend"));
    await see(tab, /^Now: backend holds src\/auth\/\. It waits for .* which codex blocks\./);
  }),
);

check("a stuck file is freed where it was searched for", () =>
  stage(async ({ enter }) => {
    const tab = await enter();
    tab.expectsErrors = true; // 409 is the answer
    await tab.locator("#search").fill("src/auth/token.py");
    await tab.keyboard.press("Enter");
    await see(tab, /the folder src\/auth\/ covers it/);
    await tab.locator(".answer").getByRole("button", { name: "Break…" }).first().click();
    await see(tab, "The queue is kept: frontend is next.", "#ask");
    await tab.locator("#ask").getByRole("button", { name: "Break the lease" }).click();
    // Two waited for it, and mobile is the one for this file.
    await tab
      .locator(".answer", { hasText: "mobile" })
      .getByText(/holds it: exactly/)
      .waitFor();
    tab.faults.length = 0;
  }),
);

check("filters and the tree", () =>
  stage(async ({ enter }) => {
    const tab = await enter();
    await tab.getByLabel("Agent").selectOption("codex");
    await see(tab, "1 of 8 leases");
    await tab.getByLabel("Agent").selectOption("");
    await tab.getByRole("textbox", { name: "Folder" }).fill("src/");
    await see(tab, "3 of 8 leases");
    await tab.getByLabel("Only").selectOption("waited");
    await see(tab, "2 of 8 leases");
    await tab.getByLabel(/^Age/).last().selectOption("60");
    await see(tab, "No lease matches the filter.");
    await tab.getByLabel(/^Age/).last().selectOption("0");
    await tab.getByRole("textbox", { name: "Folder" }).fill("");
    await tab.getByLabel("Only").selectOption("");
    await tab.getByRole("button", { name: "Tree" }).click();
    const tree = tab.getByRole("tree");
    await tree.getByText("routes.py").waitFor();
    await tree.focus();
    for (let i = 0; i < 4; ++i) await tab.keyboard.press("ArrowDown");
    assert.equal(await tree.locator("[aria-selected=true] .key").innerText(), "src/");
    await tab.keyboard.press("ArrowLeft");
    await tree.getByText("4 held").waitFor();
    assert.equal(await tree.getByText("routes.py").count(), 0);
  }),
);

check("the queue, the graph, and a refused deadlock with its cycle", () =>
  stage(async ({ enter }) => {
    const tab = await enter(undefined, "queue");
    await see(tab, "4 requests wait. backend blocks 2 of them.");
    const places = tab.locator(".waiter.row .holder .name");
    const names = [];
    for (let at = 0; at < (await places.count()); ++at)
      names.push(await places.nth(at).innerText());
    assert.deepEqual(names, ["frontend", "mobile", "tester", "backend"]);
    await see(tab, "frontend waits for backend: src/auth/login.py", ".graph");
    assert.equal(await tab.locator(".graph svg .node").count(), 6);
    await see(tab, /design wanted src\/ui\/button\.tsx, in src\/ui\/ of mobile/, ".deadlocks");
    await see(
      tab,
      /mobile waited for src\/icons\/arrow\.svg, in src\/icons\/ of design/,
      ".deadlocks",
    );
  }),
);

if (kScripts)
  check("no arrow of the graph runs behind a box", () =>
    stage(async ({ enter }) => {
      const tab = await enter(undefined, "queue");
      const hidden = await tab.evaluate(async () => {
        const { pictureOf } = await import("/page/graph.js");
        // Two agents that wait for each other, and one for itself, in different sessions.
        const pairs = ["ab", "bc", "cd", "de", "ae", "ac", "be", "xe", "ax", "by", "da", "ea", "cc"];
        const edges = pairs.map(([from, to]) => ({ from, to, count: 1, keys: new Set(["k"]) }));
        const picture = pictureOf(edges, 900);
        document.querySelector(".graph").replaceChildren(picture);
        const boxes = [...picture.querySelectorAll(".node rect")].map((box) => {
          const { e: x, f: y } = box.parentNode.transform.baseVal.getItem(0).matrix;
          return { x, y, width: box.width.baseVal.value, height: box.height.baseVal.value };
        });
        const inside = (point) => (box) =>
          point.x > box.x + 1 &&
          point.x < box.x + box.width - 1 &&
          point.y > box.y &&
          point.y < box.y + box.height;
        return [...picture.querySelectorAll(".edge > path")].filter((path) => {
          const steps = Math.ceil(path.getTotalLength());
          for (let at = 0; at <= steps; ++at) {
            if (boxes.some(inside(path.getPointAtLength(at)))) return true;
          }
          return false;
        }).length;
      });
      assert.equal(hidden, 0);
    }),
  );

check("agents that wait for each other in different sessions are shown", () =>
  stage(async ({ enter, scene, admin }) => {
    // No deadlock: another session of each could go on.
    scene.run("ping", "acquire", "ping/", "--session", "1", "--ttl", "1h");
    scene.run("pong", "acquire", "pong/", "--session", "1", "--ttl", "1h");
    scene.start("ping", "acquire", "pong/a", "--session", "2", "--wait=1h");
    await scene.waiting(admin, 5);
    scene.start("pong", "acquire", "ping/a", "--session", "2", "--wait=1h");
    scene.start("ping", "acquire", "ping/b", "--session", "3", "--wait=1h");
    await scene.waiting(admin, 7);
    const tab = await enter(undefined, "queue");
    for (const text of ["ping waits for pong", "pong waits for ping", "ping waits for ping"])
      await see(tab, new RegExp(text), ".graph");
    assert.equal(await tab.locator(".graph svg .node").count(), 8);
  }),
);

check("the timeline: lanes, who blocked whom, hot paths, refusals", () =>
  stage(async ({ enter }) => {
    const tab = await enter(undefined, "timeline");
    await see(tab, /11 agents, 1\d leases and 5 waits since/);
    assert.equal(await tab.locator(".lane").count(), 11);
    await see(tab, "2 refused: held · 1 refused: deadlock");
    const blocked = tab.locator(".cards section").first();
    await blocked.locator("tr", { hasText: "frontend" }).getByText("backend").waitFor();
    await tab.locator(".cards section").nth(1).getByText("src/auth/token.py").waitFor();
    await tab.getByRole("button", { name: "7d" }).click();
    await see(tab, /11 agents/);
    await tab.locator(".names").getByText("codex").click();
    await see(tab, /events of codex, last hour/);
  }),
);

check("history of an agent and of a resource, live", () =>
  stage(async ({ enter, scene }) => {
    const tab = await enter(undefined, "history");
    await tab.getByLabel("Agent").fill("codex");
    await tab.getByRole("button", { name: "Show" }).click();
    await see(tab, "4 events of codex, last hour.");
    await see(tab, "held by backend");
    scene.run("codex", "release", "--all");
    await see(tab, "5 events of codex, last hour.");
    await tab.getByLabel("Agent").fill("");
    await tab.getByLabel("Resource").fill("db/001.sql");
    await tab.getByRole("button", { name: "Show" }).click();
    await see(tab, "2 events on db/001.sql, last hour.");
    await see(tab, "broken by ana · “went home”");
  }),
);

check("break frees a stuck file, keeps the queue, and is on record", () =>
  stage(async ({ enter, scene, admin }) => {
    const tab = await enter();
    await clickRow(tab.locator(".lease.row", { hasText: "src/auth/" }));
    await see(tab, "frontend", "#panel");
    await tab.getByRole("button", { name: "Break…" }).click();
    await see(tab, "The queue is kept: frontend is next.", "#ask");
    await tab.getByRole("button", { name: "Cancel" }).click();
    assert.equal(
      (await scene.ask(admin, "GET", "/v1/list")).leases.some((each) => each.agent === "backend"),
      true,
    );
    await tab.getByRole("button", { name: "Break…" }).click();
    await tab.getByRole("button", { name: "Break the lease" }).click();
    await see(tab, "The lease of backend on src/auth/ is broken.", "body");
    await see(tab, "This lease has ended.", "#panel");
    await tab.keyboard.press("Escape");
    await tab
      .locator(".lease.row", { hasText: "src/auth/login.py" })
      .getByText("frontend")
      .waitFor();
    const { events } = await scene.ask(admin, "GET", "/v1/events?agent=page@ana");
    assert.equal(events.at(-1).event, "broken");
    assert.equal(events.at(-1).by.agent, "page@ana");
    assert.equal(events.at(-1).reason, "broken on the page");
  }),
);

check("release of one's own, a message, a drain", () =>
  stage(async ({ enter, scene, admin }) => {
    const tab = await enter();
    await scene.ask(admin, "POST", "/v1/acquire", { resources: ["notes.txt"] });
    await clickRow(tab.locator(".lease.row", { hasText: "notes.txt" }));
    await tab.locator("#panel").getByRole("button", { name: "Release" }).click();
    await tab.locator("#ask").getByRole("button", { name: "Release" }).click();
    await see(tab, "notes.txt is released.", "body");
    await tab.keyboard.press("Escape");
    await clickRow(tab.locator(".lease.row", { hasText: "src/auth/" }));
    await tab.getByRole("button", { name: "Message" }).click();
    await see(tab, "Message to backend", "#ask");
    await tab.locator("#ask textarea").fill("please hurry");
    await tab.getByRole("button", { name: "Send" }).click();
    await see(tab, "The message to backend is sent.", "body");
    await tab.keyboard.press("Escape");
    await tab.getByRole("link", { name: "Messages" }).click();
    await see(tab, "please hurry");
    await tab.getByRole("button", { name: "Drain" }).click();
    await tab.locator("#ask").getByRole("button", { name: "Drain" }).click();
    await see(tab, "The hub drains: it grants nothing new. Holders finish.", "body");
    // The command line beside it is no client of the hub.
    assert.equal(scene.run("late", "acquire", "late.txt").status, 0);
    const refused = await scene.ask(admin, "POST", "/v1/acquire", { resources: ["later.txt"] });
    assert.equal(refused.error.code, "store_unavailable");
    await tab.getByRole("button", { name: "End the drain" }).click();
    await tab.locator("#ask").getByRole("button", { name: "End the drain" }).click();
    await tab.locator("#state[data-state=live]").waitFor();
  }),
);

handChecks({ check, stage, see, clickRow, scripts: kScripts });

check("whoever may only look is offered nothing else", () =>
  stage(async ({ enter, guest }) => {
    const tab = await enter(guest);
    await see(tab, "8 agents hold 9 resources.");
    assert.equal(await tab.getByRole("button", { name: "Drain" }).count(), 0);
    await clickRow(tab.locator(".lease.row", { hasText: "src/auth/" }));
    await see(tab, "Your token may only look.", "#panel");
    assert.equal(await tab.locator("#panel").getByRole("button", { name: "Break…" }).count(), 0);
  }),
);

check("a hub that is gone is told, and the page comes back by itself", () =>
  stage(async ({ enter, scene }) => {
    const tab = await enter();
    tab.expectsErrors = true;
    const gone = new Promise((done) => scene.hub.once("exit", done));
    scene.hub.kill("SIGTERM");
    await gone;
    await see(tab, /Disconnected since .*What you see is from then/, "#trouble");
    await see(tab, "backend"); // and it still shows it
    scene.run("helper", "acquire", "Makefile");
    await scene.serve(`127.0.0.1:${scene.port}`);
    await tab.locator("#state[data-state=live]").waitFor({ timeout: 30_000 });
    await see(tab, "Makefile");
  }),
);

// The page asks for them every ten seconds.
const kNextLookAtHubs = { timeout: 30_000 };

if (hasEtcd) {
  check("hubs that share a table are listed", async () => {
    const scene = new Scene();
    const context = await browser.newContext();
    try {
      const admin = scene.token("ana", "read", "lock", "admin");
      const store = await scene.startEtcd();
      await scene.serve("127.0.0.1:0", store);
      const [first, url] = [scene.hub, scene.url];
      const tab = await openTab(context, `${url}#token=${admin}`);
      const hubs = tab.locator("#hubs");
      await hubs.getByText("1 hub", { exact: true }).waitFor(kNextLookAtHubs);
      await scene.serve("127.0.0.1:0", store, join(scene.folder, "second"));
      await hubs.getByText("2 hubs", { exact: true }).waitFor(kNextLookAtHubs);
      await hubs.locator("summary").click();
      const rows = hubs.locator("li");
      assert.equal(await rows.count(), 2);
      await rows.filter({ hasText: new URL(url).host }).getByText("this page").waitFor();
      await rows.filter({ hasText: new URL(scene.url).host }).waitFor();
      assert.equal(await hubs.getByText("this page").count(), 1);
      // Each shows what the other is asked for.
      await scene.ask(admin, "POST", "/v1/acquire", { resources: ["src/"] });
      await see(tab, "src/");
      // One of them ends, and the list follows.
      scene.hub.kill("SIGTERM");
      await hubs.getByText("1 hub", { exact: true }).waitFor(kNextLookAtHubs);
      assert.equal(first.exitCode, null);
      assert.deepEqual(tab.faults, [], "errors of the page");
    } finally {
      await context.close();
      await scene.end();
    }
  });
}

check("all tabs share one stream", () =>
  stage(async ({ enter, scene, admin }) => {
    const tabs = [await enter(), await enter(), await enter()];
    const streams = async () => {
      const answer = await fetch(`http://127.0.0.1:${scene.port}/metrics`, {
        headers: { Authorization: `Bearer ${admin}` },
      });
      return Number(/^lockkeeper_event_streams (\d+)/m.exec(await answer.text())?.[1]);
    };
    assert.equal(await streams(), 1);
    scene.run("helper", "acquire", "Makefile");
    for (const tab of tabs) await see(tab, "Makefile");
    await tabs[0].close();
    scene.run("helper", "acquire", "Dockerfile");
    await see(tabs[2], "Dockerfile");
    tabs.shift();
  }),
);

check("an empty realm says how to begin", () =>
  stage(async ({ enter, scene, admin }) => {
    await scene.ask(admin, "POST", "/v1/realms", { name: "empty" });
    const tab = await enter();
    await tab.getByLabel("Realm").selectOption("empty");
    await see(tab, "Nothing is held. Nobody waits.");
    await see(tab, "lockkeeper acquire src/auth/");
    await tab.getByRole("link", { name: "Queue" }).click();
    await see(tab, "Nobody waits. To queue for something:");
  }),
);

check("what agents write is text", () =>
  stage(async ({ enter, scene }) => {
    scene.run(
      "helper",
      "acquire",
      "Makefile",
      "--reason",
      "<img src=x onerror=alert(1)><b>bold</b>",
    );
    const tab = await enter();
    await see(tab, "<img src=x onerror=alert(1)><b>bold</b>");
    assert.equal(await tab.locator("main b").count(), 0);
  }),
);

// Everything that axe knows, in every view, in both themes; and nothing wider than the screen.
const kShown = {
  now: "8 agents hold",
  queue: "4 requests wait.",
  timeline: /\d+ agents/,
  history: /events, last hour/,
  runs: /users-by-page\.yaml failed/,
  messages: "No messages to page@ana.",
};
for (const theme of ["light", "dark"]) {
  check(
    `every view at every size, ${theme}${kScripts ? "; axe finds nothing, nothing is cut off" : ""}`,
    () =>
      stage(
        async ({ enter, scene }) => {
          const run = scene.startPlan();
          scene.file("go");
          await new Promise((done) => run.once("exit", done));
          const tab = await enter();
          while (!kScripts && !(await tab.locator("#theme").innerText()).endsWith(theme))
            await tab.locator("#theme").click();
          for (const [width, height] of kSizes) {
            await tab.setViewportSize({ width, height });
            for (const view of [
              "now",
              "now+panel",
              "queue",
              "timeline",
              "history",
              "runs",
              "messages",
            ]) {
              const [place] = view.split("+");
              await visit(tab, place);
              await see(tab, kShown[place]);
              await sleep(400);
              if (view.includes("+"))
                await clickRow(tab.locator(".lease.row", { hasText: "src/auth/" }));
              if (pictures)
                await tab.screenshot({
                  path: join(pictures, `${name}-${view}-${width}-${theme}.png`),
                });
              if (kScripts) await judge(tab, `${view} at ${width} px`);
              if (view.includes("+")) await tab.keyboard.press("Escape");
            }
          }
        },
        kScripts ? { colorScheme: theme } : {},
      ),
  );
}

// A time of another day is the longest that a column has to hold.
if (kScripts)
  check("times of another day are not cut off", () =>
    stage(async ({ enter }) => {
      const tab = await enter();
      await tab.clock.install({ time: Date.now() + 36 * 3_600_000 });
      await tab.reload();
      await tab.locator("#state[data-state=live]").waitFor({ timeout: kPatience });
      for (const [width, height] of [...kSizes, [1500, 900], [1920, 1000]]) {
        await tab.setViewportSize({ width, height });
        for (const place of ["now", "queue", "history?range=all"]) {
          await tab.goto(`${tab.url().split("#")[0]}#/${place}`);
          await tab.locator(".row:not(.head)").first().waitFor();
          await sleep(300);
          await nothingIsCutOff(tab, `${place} at ${width} px`);
        }
      }
    }),
  );

async function nothingIsCutOff(tab, where) {
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${where} is ${wide} px too wide`);
  // On a telephone the tables of the cards are moved sideways.
  const cut = await tab.evaluate(() =>
    [...document.querySelectorAll(`.cell.number${innerWidth < 900 ? "" : ", .cards section"}`)]
      .filter((cell) => cell.offsetWidth > 0 && cell.scrollWidth > cell.clientWidth)
      .map((cell) => `${cell.className}: ${cell.innerText} (${cell.scrollWidth} in ${cell.clientWidth} px)`),
  );
  assert.deepEqual(cut, [], where);
}

async function judge(tab, where) {
  await nothingIsCutOff(tab, where);
  await tab.evaluate(readFileSync(axeFile, "utf8"));
  const { violations } = await tab.evaluate(() => window.axe.run());
  const told = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((each) => `${each.target} ${each.failureSummary}`)
        .join("; ")}`,
  );
  assert.deepEqual(told, [], where);
}

const chosen = checks.filter(({ title }) => title.includes(only));
let failed = 0;
console.log(`the live page in ${name} ${browser.version()}`);
for (const { title, body } of chosen) {
  try {
    await body();
    console.log(`  ok      ${title}`);
  } catch (error) {
    failed += 1;
    console.log(`  FAILED  ${title}\n${error.stack ?? error}`);
  }
}
await browser.close();
console.log(`${chosen.length - failed} of ${chosen.length} checks passed`);
process.exit(failed === 0 && chosen.length > 0 ? 0 : 1);
