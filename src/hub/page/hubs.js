// Which hubs serve the table together. Alone, a hub shows nothing.
import { byId, h, refill } from "./dom.js";
import { plural } from "./words.js";

const kEveryMs = 10_000;

const row = (hub) =>
  h(
    "li",
    null,
    h("span", { class: "machine" }, hub.machine),
    hub.address ? h("span", { class: "address" }, hub.address) : null,
    hub.this ? h("span", { class: "here" }, "this page") : null,
  );

export class Hubs {
  constructor() {
    this.asked = -Infinity;
    this.shown = "";
  }

  clear() {
    this.asked = -Infinity;
    this.show([]);
  }

  async tick(api) {
    const now = performance.now();
    if (!api || now - this.asked < kEveryMs) return;
    this.asked = now;
    try {
      const { hubs } = await api.get("hubs");
      this.show(hubs);
    } catch {
      // The state beside it says whether the hub answers.
    }
  }

  show(hubs) {
    const text = JSON.stringify(hubs);
    if (text === this.shown) return;
    this.shown = text;
    const place = byId("hubs");
    place.hidden = hubs.length === 0;
    if (hubs.length === 0) return;
    place.querySelector("summary").textContent = plural(hubs.length, "hub");
    const sorted = [...hubs].sort((a, b) => a.machine.localeCompare(b.machine));
    refill(place.querySelector("ul"), sorted.map(row));
  }
}
