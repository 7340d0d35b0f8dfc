// A list of any length: only the rows in view exist. The container has the focus; arrows move the
// active row, Enter opens it.
//
// Rows do not move away under a hand. What has ended keeps its place for a moment, and for as long
// as the pointer moves over the list; what is new comes when it rests. A click does nothing if the
// row took its place just before, or since the pointer came to where it is.
import { setAttribute } from "./dom.js";

const kRestMs = 2_000; // the pointer did not move for so long
const kLingerMs = 1500; // what has ended stays for so long
const kFreshMs = 400; // nobody can have seen and meant a row so soon

let lists = 0;

export class List {
  // make() → a row; fill(row, item, index, list); keyOf(item); open(item).
  // `lasts`: false if a row that is gone has not ended, but is only not listed any more.
  // meaningOf(item): what a click on it is about, where the key does not say it.
  constructor(
    element,
    { make, fill, keyOf, open, role = "row", lasts = true, meaningOf = keyOf },
  ) {
    this.element = element;
    this.options = { make, fill, keyOf, open, role, lasts, meaningOf };
    this.items = [];
    this.wanted = []; // once everything rests
    this.ended = new Map(); // key → since when, of those in `items` that are not wanted any more
    this.places = new Map(); // index → { meaning, since }, of the rows in view; since 0: for long
    this.touchedAt = -Infinity;
    this.at = null; // where the pointer is
    this.meant = undefined; // what was there when it came; null: no row, undefined: not known
    this.rows = [];
    this.active = null; // a key
    this.name = `list-${++lists}`;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", role === "treeitem" ? "none" : "rowgroup");
    element.append(this.space);
    element.tabIndex = 0;
    element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    element.addEventListener("keydown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event), { passive: true });
    element.addEventListener("pointerdown", (event) => this.push(event), { passive: true });
    element.addEventListener("pointerleave", (event) => this.leave(event), { passive: true });
    element.addEventListener("click", (event) => this.check(event), { capture: true });
    this.space.addEventListener("click", (event) => this.click(event));
    this.watch = new ResizeObserver(() => this.measure());
    this.watch.observe(element);
  }

  end() {
    clearTimeout(this.timer);
    this.watch.disconnect();
  }

  measure() {
    this.height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 36;
    this.head = this.space.offsetTop;
    this.draw();
  }

  // `byHand`: because of what the user did to this list, so at once.
  show(items, byHand = false) {
    this.wanted = items;
    if (byHand || !this.height) {
      this.ended.clear();
      this.items = items;
      if (!this.height) this.measure();
      else this.draw();
      return;
    }
    this.settle();
  }

  // --- rows that keep their places -------------------------------------------

  get touched() {
    return performance.now() - this.touchedAt < kRestMs;
  }

  // A browser says that the pointer moves also when only the page has moved.
  move(event) {
    const at = `${event.clientX} ${event.clientY}`;
    if (at === this.at) return;
    this.at = at;
    this.touchedAt = performance.now();
    this.meant = this.meaningAt(event);
  }

  push(event) {
    this.move(event);
    this.touchedAt = performance.now();
    this.pressed = this.meaningAt(event);
  }

  // A finger leaves before its click comes.
  leave(event) {
    if (event.pointerType === "touch") return;
    this.touchedAt = -Infinity;
    this.at = null;
    this.meant = undefined;
    this.settle();
  }

  scrolled() {
    if (this.element.scrollTop !== this.keptTop) this.meant = undefined;
    this.keptTop = null;
    this.draw();
  }

  // Takes over what is wanted, as far as nothing moves away under a hand.
  settle() {
    clearTimeout(this.timer);
    const { items: before } = this;
    const active = this.index;
    const { items, later } = this.merged();
    this.items = items;
    this.keepPlace(before);
    if (active >= 0 && this.index < 0) {
      this.active = null;
      this.goneAt = 1 + this.lastOf(before.slice(0, active));
    }
    this.draw(true);
    if (later) this.timer = setTimeout(() => this.settle(), later);
  }

  // Whoever reads further down keeps the place.
  keepPlace(before) {
    const { element, height, items } = this;
    if (element.scrollTop <= height) return;
    const { keyOf } = this.options;
    for (let at = this.topIndex; at < before.length; ++at) {
      const key = keyOf(before[at]);
      const place = items.findIndex((item) => keyOf(item) === key);
      if (place < 0) continue;
      if (place === at) return;
      this.space.style.height = `${items.length * height}px`;
      element.scrollTop += (place - at) * height;
      this.keptTop = element.scrollTop;
      return;
    }
  }

  // Where the last of them stands that is still there; -1: none is.
  lastOf(some) {
    const { keyOf } = this.options;
    const keys = new Set(some.map(keyOf));
    return this.items.findLastIndex((item) => keys.has(keyOf(item)));
  }

  get topIndex() {
    return Math.max(0, Math.floor((this.element.scrollTop - this.head) / this.height));
  }

  // What to show now, and after how many milliseconds to look again, if at all.
  merged() {
    const { keyOf, lasts } = this.options;
    const { items, wanted } = this;
    const same =
      items.length === wanted.length &&
      items.every((item, index) => keyOf(item) === keyOf(wanted[index]));
    if (same) {
      this.ended.clear();
      return { items: wanted, later: 0 };
    }
    const now = performance.now();
    const held = this.touched;
    const byKey = new Map(wanted.map((item) => [keyOf(item), item]));
    const kept = items.filter((item) => {
      const key = keyOf(item);
      if (byKey.has(key)) return true;
      return held || (lasts && now - (this.ended.get(key) ?? now) < kLingerMs);
    });
    this.ended = new Map(
      kept
        .map(keyOf)
        .filter((key) => !byKey.has(key))
        .map((key) => [key, this.ended.get(key) ?? now]),
    );
    const current = (item) => byKey.get(keyOf(item)) ?? item;
    if (held) return { items: kept.map(current), later: kRestMs };
    // What has ended stands behind the row that it stood behind.
    const behind = new Map(); // key → items; null: at the top
    let before = null;
    for (const item of kept) {
      if (!this.ended.has(keyOf(item))) {
        before = keyOf(item);
        continue;
      }
      if (!behind.has(before)) behind.set(before, []);
      behind.get(before).push(item);
    }
    const all = [...(behind.get(null) ?? [])];
    for (const item of wanted) all.push(item, ...(behind.get(keyOf(item)) ?? []));
    return { items: all, later: behind.size > 0 ? kLingerMs / 3 : 0 };
  }

  hasEnded(key) {
    return this.options.lasts && this.ended.has(key);
  }

  rowOf(event) {
    const row = event.target.closest?.(`[role=${this.options.role}]`);
    return row?.parentNode === this.space ? row : null;
  }

  meaningAt(event) {
    const row = this.rowOf(event);
    return row ? this.options.meaningOf(row.item) : null;
  }

  // A click that was meant for another row, or for one that has ended, does nothing.
  check(event) {
    const row = this.rowOf(event);
    if (!row || event.detail === 0) return; // of the keyboard
    const { keyOf, meaningOf } = this.options;
    const meaning = meaningOf(row.item);
    const now = performance.now();
    const place = this.places.get(row.index);
    const fresh = place?.since > 0 && now - place.since < kFreshMs;
    const other = this.meant !== undefined && this.meant !== meaning;
    if (!fresh && !other && this.pressed === meaning && !this.hasEnded(keyOf(row.item))) return;
    if (other) {
      this.meant = meaning; // whoever clicks once more has seen it
      if (place) place.since = now;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // --- rows in view ----------------------------------------------------------

  // `news`: not because of the user.
  draw(news = false) {
    if (!this.height) return;
    const { make, fill, keyOf, meaningOf, role } = this.options;
    const { element, items } = this;
    this.space.style.height = `${items.length * this.height}px`;
    const first = Math.max(0, Math.floor((element.scrollTop - this.head) / this.height) - 4);
    const most = Math.ceil(element.clientHeight / this.height) + 9;
    const count = Math.max(0, Math.min(most, items.length - first));
    while (this.rows.length < count) {
      const row = make();
      row.setAttribute("role", role);
      this.rows.push(row);
    }
    let activeId = null;
    const places = new Map();
    const now = performance.now();
    for (let at = 0; at < this.rows.length; ++at) {
      const row = this.rows[at];
      if (at >= count) {
        row.remove();
        continue;
      }
      const index = first + at;
      const item = items[index];
      const key = keyOf(item);
      const meaning = meaningOf(item);
      const before = this.places.get(index);
      const since = before?.meaning === meaning ? before.since : before && news ? now : 0;
      places.set(index, { meaning, since });
      row.item = item;
      row.index = index;
      row.style.transform = `translateY(${index * this.height}px)`;
      setAttribute(row, "aria-rowindex", role === "row" ? String(index + 2) : null);
      const isActive = this.active !== null && key === this.active;
      setAttribute(row, "id", `${this.name}-${index}`);
      setAttribute(row, "aria-selected", isActive ? "true" : "false");
      setAttribute(row, "aria-disabled", this.hasEnded(key) ? "true" : null);
      if (isActive) activeId = row.id;
      fill(row, item, index, this);
      if (row.parentNode !== this.space) this.space.append(row);
    }
    this.places = places;
    setAttribute(element, "aria-activedescendant", activeId);
    if (role === "row") setAttribute(element, "aria-rowcount", String(items.length + 1));
  }

  activate(index) {
    const item = this.items[index];
    if (item === undefined) return;
    this.active = this.options.keyOf(item);
    this.goneAt = undefined;
    const top = index * this.height + this.head;
    const view = this.element;
    const bottom = top + this.height;
    if (top - this.head < view.scrollTop) view.scrollTop = top - this.head;
    else if (bottom > view.scrollTop + view.clientHeight)
      view.scrollTop = bottom - view.clientHeight;
    this.draw();
  }

  get index() {
    return this.items.findIndex((item) => this.options.keyOf(item) === this.active);
  }

  press(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const at = this.index;
    const gone = at < 0 ? this.goneAt : undefined; // from there it goes on
    const moves = {
      ArrowDown: gone ?? at + 1,
      ArrowUp: gone === undefined ? at - 1 : gone - 1,
      PageDown: Math.max(at, 0) + page,
      PageUp: at - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (event.key in moves) {
      this.activate(Math.min(this.items.length - 1, Math.max(0, moves[event.key])));
    } else if (event.key === "Enter" && at >= 0 && !this.hasEnded(this.active)) {
      this.options.open?.(this.items[at]);
    } else {
      return;
    }
    event.preventDefault();
  }

  click(event) {
    if (event.target.closest("a, button")) return;
    const row = this.rowOf(event);
    if (!row) return;
    this.active = this.options.keyOf(row.item);
    this.draw();
    this.options.open?.(row.item);
  }
}
