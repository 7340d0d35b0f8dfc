// How smooth the page is with 10,000 leases and 100 events a second: prints frame times, promises
// nothing. What the page shows at the end must be what the hub has.
//   load.mjs [chromium|firefox] [LEASES] [EVENTS A SECOND] [SECONDS]
import { createServer, request } from "node:http";
import { assert, openBrowser, Scene, sleep } from "./support.mjs";

const [name = "chromium", leases = "10000", rate = "100", seconds = "15"] = process.argv.slice(2);
const scene = new Scene();
await scene.serve("127.0.0.1:0", ["--no-auth"]);

async function post(path, agent, body) {
  const answer = await fetch(`http://127.0.0.1:${scene.port}/v1/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Lockkeeper-Agent": agent, "Content-Type": "application/json" },
  });
  assert.ok(answer.ok, await answer.text());
}

const kAgents = 50;
let done = 0;
const more = async () => {
  while (done < Number(leases)) {
    const n = done++;
    await post("acquire", `agent-${n % kAgents}`, {
      resources: [`src/m${n % 97}/f${n}.c`],
      reason: `change ${n}`,
      ttl: "2h",
    });
  }
};
const begun = Date.now();
await Promise.all(Array.from({ length: 8 }, more));
console.log(`${leases} leases in ${((Date.now() - begun) / 1000).toFixed(1)} s`);

// In Firefox the page's policy keeps out the code that measures, so it gets the page without one.
async function withoutPolicy(port) {
  const server = createServer((asked, answer) => {
    const host = `127.0.0.1:${port}`;
    const headers = { ...asked.headers, host };
    if (headers.origin) headers.origin = `http://${host}`;
    const { url: path, method } = asked;
    const onwards = request({ port, path, method, headers }, (got) => {
      const { "content-security-policy": policy, ...others } = got.headers;
      answer.writeHead(got.statusCode, others);
      got.pipe(answer);
    });
    onwards.on("error", () => answer.destroy());
    answer.on("close", () => onwards.destroy());
    asked.pipe(onwards);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${server.address().port}/`;
}

const browser = await openBrowser(name);
const url = name === "firefox" ? await withoutPolicy(scene.port) : scene.url;
const tab = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
tab.on("pageerror", (error) => console.log(`error: ${error}`));
const opened = Date.now();
await tab.goto(url);
await tab
  .locator(".shown", { hasText: `${Number(leases).toLocaleString("en-US")} leases` })
  .waitFor({ timeout: 60_000 });
console.log(`shown ${((Date.now() - opened) / 1000).toFixed(2)} s after it was opened`);

// Frames while it scrolls up and down, and what kept the main thread for long.
const measure = (ms) =>
  tab.evaluate(
    (length) =>
      new Promise((finish) => {
        const gaps = [];
        const long = [];
        try {
          new PerformanceObserver((list) =>
            long.push(...list.getEntries().map((each) => each.duration)),
          ).observe({ type: "longtask" });
        } catch {
          /* not in Firefox */
        }
        const grid = document.querySelector(".grid.leases");
        const high = grid.scrollHeight;
        const start = performance.now();
        let last = start;
        const frame = (now) => {
          gaps.push(now - last);
          last = now;
          grid.scrollTop = ((1 + Math.sin((now - start) / 1500)) * high) / 2;
          if (now - start < length) requestAnimationFrame(frame);
          else {
            gaps.sort((a, b) => a - b);
            const at = (part) =>
              gaps[Math.min(gaps.length - 1, Math.floor(part * gaps.length))].toFixed(1);
            finish({
              frames: gaps.length,
              p50: at(0.5),
              p95: at(0.95),
              p99: at(0.99),
              worst: at(1),
              long: long.length,
              longest: Math.max(0, ...long).toFixed(0),
            });
          }
        };
        requestAnimationFrame(frame);
      }),
    ms,
  );

console.log("at rest:", JSON.stringify(await measure(3_000)));
let events = 0;
let going = true;
const churn = (async () => {
  const start = Date.now();
  let n = 0;
  while (going) {
    const due = ((Date.now() - start) / 1000) * Number(rate);
    if (events >= due) {
      await sleep(5);
      continue;
    }
    const agent = `busy-${n % 10}`;
    await post("acquire", agent, { resources: [`busy/f${n}.c`], reason: "quick" });
    await post("release", agent, { all: true });
    n += 1;
    events += 2;
  }
})();
const busy = await measure(Number(seconds) * 1000);
going = false;
await churn;
console.log(`with ${(events / Number(seconds)).toFixed(0)} events a second:`, JSON.stringify(busy));
await tab
  .locator(".shown", { hasText: `${Number(leases).toLocaleString("en-US")} leases` })
  .waitFor({ timeout: 30_000 });
await browser.close();
await scene.end();
process.exit(0);
