// A list of any length: only the rows in view exist. The container has the focus; arrows move the
// active row, Enter opens it.
import { setAttribute } from "./dom.js";

let lists = 0;

export class List {
  // make() → a row; fill(row, item, index, list); keyOf(item); open(item)
  constructor(element, { make, fill, keyOf, open, role = "row" }) {
    this.element = element;
    this.options = { make, fill, keyOf, open, role };
    this.items = [];
    this.rows = [];
    this.active = null; // a key
    this.name = `list-${++lists}`;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", role === "treeitem" ? "none" : "rowgroup");
    element.append(this.space);
    element.tabIndex = 0;
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    element.addEventListener("keydown", (event) => this.press(event));
    this.space.addEventListener("click", (event) => this.click(event));
    this.watch = new ResizeObserver(() => this.measure());
    this.watch.observe(element);
  }

  end() {
    this.watch.disconnect();
  }

  measure() {
    this.height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 36;
    this.head = this.space.offsetTop;
    this.draw(true);
  }

  show(items) {
    this.items = items;
    if (!this.height) this.measure();
    else this.draw();
  }

  draw() {
    if (!this.height) return;
    const { make, fill, keyOf, role } = this.options;
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
    for (let at = 0; at < this.rows.length; ++at) {
      const row = this.rows[at];
      if (at >= count) {
        row.remove();
        continue;
      }
      const index = first + at;
      const item = items[index];
      row.item = item;
      row.style.transform = `translateY(${index * this.height}px)`;
      setAttribute(row, "aria-rowindex", role === "row" ? String(index + 2) : null);
      const isActive = this.active !== null && keyOf(item) === this.active;
      setAttribute(row, "id", `${this.name}-${index}`);
      setAttribute(row, "aria-selected", isActive ? "true" : "false");
      if (isActive) activeId = row.id;
      fill(row, item, index, this);
      if (row.parentNode !== this.space) this.space.append(row);
    }
    setAttribute(element, "aria-activedescendant", activeId);
    if (role === "row") setAttribute(element, "aria-rowcount", String(items.length + 1));
  }

  activate(index) {
    const item = this.items[index];
    if (item === undefined) return;
    this.active = this.options.keyOf(item);
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
    const moves = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? 0 : at - 1,
      PageDown: Math.max(at, 0) + page,
      PageUp: at - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (event.key in moves) {
      this.activate(Math.min(this.items.length - 1, Math.max(0, moves[event.key])));
    } else if (event.key === "Enter" && at >= 0) {
      this.options.open?.(this.items[at]);
    } else {
      return;
    }
    event.preventDefault();
  }

  click(event) {
    if (event.target.closest("a, button")) return;
    const row = event.target.closest(`[role=${this.options.role}]`);
    if (!row) return;
    this.active = this.options.keyOf(row.item);
    this.draw();
    this.options.open?.(row.item);
  }
}
