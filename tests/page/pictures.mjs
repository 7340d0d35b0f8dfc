// The pictures of docs/page.md, from a real run of two minutes.
//   pictures.mjs FOLDER
import { join } from "node:path";
import { morning, openBrowser, Scene, sleep } from "./support.mjs";

const [folder] = process.argv.slice(2);
const kSeconds = Number(process.env.LOCKKEEPER_PICTURE_SECONDS ?? 120);
const scene = new Scene();
const { admin } = await morning(scene);

// Agents that want the same few files, one after another.
const kWork = [
  ["codex", "src/billing/invoice.py", "rounding"],
  ["gemini", "src/billing/", "currencies"],
  ["claude-code", "src/billing/invoice.py", "tax"],
  ["tester", "tests/billing/", "tax tests"],
  ["mobile", "src/ui/button.tsx", "focus ring"],
  ["design", "src/ui/", "spacing"],
];
const end = Date.now() + kSeconds * 1000;
async function work([agent, path, reason], at) {
  await sleep(at * 1500);
  while (Date.now() < end) {
    const hold = 4 + ((at * 3) % 7);
    const done = scene.start(
      agent,
      "run",
      path,
      "--wait",
      "--reason",
      reason,
      "--",
      "sleep",
      String(hold),
    );
    await new Promise((finish) => done.once("exit", finish));
    await sleep(1000 + at * 700);
  }
}
kWork.forEach((each, at) => work(each, at));
scene.startPlan();
await sleep(kSeconds * 1000 - 500);

const browser = await openBrowser("chromium");
for (const theme of ["light", "dark"]) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme: theme,
    locale: "en-GB",
  });
  const tab = await context.newPage();
  await tab.goto(`${scene.url}#token=${admin}`);
  await tab.locator("#state[data-state=live]").waitFor();
  const take = async (name) => {
    await sleep(700);
    await tab.screenshot({ path: join(folder, `page-${name}-${theme}.png`) });
  };
  await take("now");
  if (theme === "light") {
    await tab.getByRole("link", { name: "Queue" }).click();
    await take("queue");
    await tab.getByRole("link", { name: "Runs" }).click();
    await take("runs");
  }
  if (theme === "dark") {
    await tab.getByRole("link", { name: "Timeline" }).click();
    await tab.getByRole("button", { name: "10m" }).click();
    await take("timeline");
  }
  await context.close();
}
await browser.close();
await scene.end();
process.exit(0);
