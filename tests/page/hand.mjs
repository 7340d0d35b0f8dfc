// What is under a hand stays there: a click reaches what was meant, the focus stays where it is,
// and what has ended goes once nobody is there.
import { assert, sleep } from "./support.mjs";

export function handChecks({ check, stage, see, clickRow, scripts }) {
  const middleOf = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

  // Where a row is cannot be asked in Firefox, where code of a test does not run.
  const checkPlaces = scripts ? check : () => {};

  checkPlaces("rows keep their places under a hand", () =>
    stage(async ({ enter, scene, admin }) => {
      const tab = await enter();
      const take = (key) => scene.ask(admin, "POST", "/v1/acquire", { resources: [key] });
      const give = (key) => scene.ask(admin, "POST", "/v1/release", { resources: [key] });
      const row = (text) => tab.locator(".lease.row", { hasText: text });
      const box = async (text) => await row(text).boundingBox();
      await take("AAA.txt");
      await row("AAA.txt").waitFor();
      const before = await box("src/auth/");
      const [x, y] = middleOf(before);
      // While the pointer moves over the list, nothing comes or goes above it.
      let moves = true;
      const hand = (async () => {
        for (let at = 0; moves; ++at) {
          await tab.mouse.move(x + (at % 9), y);
          await sleep(100);
        }
      })().catch(() => {}); // the test has failed already
      await sleep(200);
      await give("AAA.txt");
      await take("AAB.txt");
      const ended = tab.locator('.lease.row[aria-disabled="true"]', { hasText: "AAA.txt" });
      await ended.getByText("ended").waitFor();
      await sleep(2500);
      assert.deepEqual(await box("src/auth/"), before);
      assert.equal(await row("AAB.txt").count(), 0);
      // What has ended cannot be opened.
      const place = await box("AAA.txt");
      moves = false;
      await hand;
      await tab.mouse.click(x, place.y + place.height / 2);
      assert.equal(await tab.locator("#panel").isVisible(), false);
      // The hand rests: the list becomes what it should be.
      await row("AAA.txt").waitFor({ state: "detached" });
      await row("AAB.txt").waitFor();
    }),
  );

  check("what comes under a resting pointer was not meant", () =>
    stage(async ({ enter, scene, admin }) => {
      const tab = await enter();
      const row = tab.locator(".lease.row", { hasText: "AAA.txt" });
      const click = async () => {
        await tab.mouse.down();
        await tab.mouse.up();
        await sleep(300);
      };
      await scene.ask(admin, "POST", "/v1/acquire", { resources: ["AAA.txt"] });
      await row.waitFor();
      await sleep(500);
      await row.hover();
      await scene.ask(admin, "POST", "/v1/release", { all: true });
      await row.waitFor({ state: "detached" });
      await sleep(1000);
      await click();
      assert.equal(await tab.locator("#panel").isVisible(), false);
      await sleep(500);
      await click(); // seen, and clicked once more
      assert.equal(await tab.locator("#panel").isVisible(), true);
    }),
  );

  // A click that comes together with another row was meant for what was there before.
  if (scripts)
    check("a click that comes together with another row does nothing", () =>
      stage(async ({ enter, scene, admin }) => {
        const tab = await enter();
        await sleep(500);
        await tab.evaluate((text) => {
          const rows = () => [...document.querySelectorAll(".lease.row")];
          const at = (each) => each.getBoundingClientRect().top;
          const top = at(rows().find((each) => each.innerText.includes(text)));
          const look = () => {
            const now = rows().find((each) => at(each) === top);
            if (now.innerText.includes(text)) return requestAnimationFrame(look);
            const click = (type, Kind) =>
              now.dispatchEvent(new Kind(type, { bubbles: true, cancelable: true, detail: 1 }));
            click("pointerdown", PointerEvent);
            click("click", MouseEvent);
            window.clicked = now.innerText;
          };
          look();
        }, "src/auth/");
        await scene.ask(admin, "POST", "/v1/acquire", { resources: ["AAC.txt"] });
        await tab.waitForFunction(() => window.clicked);
        await sleep(200);
        assert.equal(await tab.locator("#panel").isVisible(), false);
      }),
    );

  check("the lines of an answer keep their places under a hand", () =>
    stage(async ({ enter, scene, admin }) => {
      const tab = await enter();
      tab.expectsErrors = true; // 409 is the answer
      await tab.locator("#search").fill("src/");
      await tab.keyboard.press("Enter");
      const line = (text) => tab.locator(".answer li", { hasText: text });
      await line("src/auth/ lies in it").waitFor();
      const button = line("src/icons/ lies in it").getByRole("button", { name: "Break…" });
      await button.hover();
      const { leases } = await scene.ask(admin, "GET", "/v1/list");
      const { id } = leases.find((each) => each.agent === "backend");
      await scene.ask(admin, "POST", "/v1/break", { leases: [id], reason: "stuck" });
      const ended = tab.locator(".answer .ended", { hasText: "src/auth/ lies in it" });
      await ended.waitFor();
      await tab.mouse.down();
      await tab.mouse.up();
      await see(tab, "Break the lease of design?", "#ask");
      await tab.getByRole("button", { name: "Cancel" }).click();
      await tab.locator("#search").focus();
      await tab.mouse.move(5, 5);
      await ended.waitFor({ state: "detached" });
      tab.faults.length = 0;
    }),
  );

  check("the focus stays where it is while things change", () =>
    stage(async ({ enter, scene, admin }) => {
      const tab = await enter();
      const active = tab.locator(".lease.row[aria-selected=true] .cell.resource .key");
      await scene.ask(admin, "POST", "/v1/acquire", { resources: ["doc.txt"] });
      await scene.ask(admin, "POST", "/v1/acquire", { resources: ["docz.txt"], ttl: "10m" });
      await tab.locator(".lease.row", { hasText: "docz.txt" }).waitFor();
      await tab.getByRole("grid", { name: "Leases" }).focus();
      const go = async (to) => {
        for (let tries = 0; tries < 20; ++tries) {
          await tab.keyboard.press("ArrowDown");
          if ((await active.innerText()) === to) return;
        }
        assert.fail(`no row ${to}`);
      };
      // The row of the keyboard ends: the next arrow goes on from there, and Enter opens nothing.
      await go("doc.txt");
      await scene.ask(admin, "POST", "/v1/release", { resources: ["doc.txt"] });
      await tab.locator(".lease.row", { hasText: "doc.txt" }).waitFor({ state: "detached" });
      await tab.keyboard.press("Enter");
      assert.equal(await tab.locator("#panel").isVisible(), false);
      await tab.keyboard.press("ArrowDown");
      assert.equal(await active.innerText(), "docs/");
      // A lease that is renewed keeps the button of its panel.
      await clickRow(tab.locator(".lease.row", { hasText: "docz.txt" }));
      const release = tab.locator("#panel").getByRole("button", { name: "Release" });
      await release.focus();
      await scene.ask(admin, "POST", "/v1/renew", { resources: ["docz.txt"], ttl: "5h" });
      await see(tab, /^4h 59m/, "#panel");
      assert.equal(await tab.locator("#panel button:focus").innerText(), "Release");
      // If it ends, the focus stays in the panel.
      await scene.ask(admin, "POST", "/v1/release", { all: true });
      await see(tab, "This lease has ended.", "#panel");
      assert.equal(await tab.locator("#panel h2:focus").innerText(), "docz.txt");
    }),
  );

  check("links keep the focus while a run and the timeline move on", () =>
    stage(async ({ enter, scene }) => {
      const tab = await enter(undefined, "runs");
      scene.startPlan();
      const worker = tab.locator("tr a", { hasText: /^.?.?api$/i });
      await worker.focus();
      await tab.locator("tr", { hasText: "lint" }).getByText("failed", { exact: true }).waitFor();
      assert.equal(await tab.locator("tr a:focus .name").innerText(), "api");
      scene.file("go");
      await tab.locator('#views a[href="#/timeline"]').click();
      await tab.locator(".names").getByText("gemini").first().waitFor();
      await tab.locator(".names a", { hasText: "gemini" }).focus();
      scene.run("aaron", "acquire", "aaron.txt");
      await tab.locator(".names a", { hasText: "aaron" }).waitFor();
      assert.equal(await tab.locator(".names a:focus .name").innerText(), "gemini");
    }),
  );
}
