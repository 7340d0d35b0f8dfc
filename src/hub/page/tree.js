// What is held, by folder. Patterns and logical keys are rows of their own.
import { badge, h, refill, setAttribute, setText } from "./dom.js";
import { foldersOf, isPattern } from "./keys.js";
import { List } from "./list.js";

const kLogical = /^[a-z][a-z0-9_-]*:/;

const above = new Map();
function foldersAbove(key) {
  let known = above.get(key);
  if (!known) {
    known = kLogical.test(key) ? [] : foldersOf(key).filter((each) => !isPattern(each));
    if (above.size > 50_000) above.clear();
    above.set(key, known);
  }
  return known;
}

export class Tree {
  constructor(page, element) {
    this.page = page;
    this.closed = new Set(); // folders
    this.list = new List(element, {
      make: () =>
        h(
          "div",
          { class: "row node" },
          h("span", { class: "twig" }),
          h("span", { class: "key" }),
          h("span", { class: "holders" }),
        ),
      fill: (row, node) => this.fill(row, node),
      keyOf: (node) => node.path,
      meaningOf: (node) => `${node.path}\n${node.holders[0]?.lease.id}`,
      role: "treeitem",
      open: (node) => this.toggle(node),
    });
    element.addEventListener("keydown", (event) => this.press(event));
  }

  end() {
    this.list.end();
  }

  show(leases, waitedFor, byHand = false) {
    this.leases = leases;
    this.waitedFor = waitedFor;
    this.draw(byHand);
  }

  draw(byHand) {
    this.list.show(this.nodesOf(this.leases), byHand);
  }

  // The open folders and what is held in them, as rows.
  nodesOf(leases) {
    const nodes = new Map();
    const node = (path, depth) => {
      if (!nodes.has(path)) nodes.set(path, { path, depth, holders: [], inside: 0, folder: false });
      return nodes.get(path);
    };
    for (const lease of leases) {
      for (const { key, mode } of lease.resources) {
        // A pattern is one row, below the folders that it names.
        const folders = foldersAbove(key);
        folders.forEach((folder, depth) => {
          const each = node(folder, depth);
          each.folder = true;
          each.inside += 1;
        });
        const each = node(key, folders.length);
        each.name = key.slice(folders.at(-1)?.length ?? 0);
        each.holders.push({ lease, mode });
      }
    }
    // As the leases, mostly in order already.
    const paths = (this.paths ?? []).filter((path) => nodes.has(path));
    const known = new Set(paths);
    for (const path of nodes.keys()) if (!known.has(path)) paths.push(path);
    this.paths = paths.sort();
    const rows = [];
    let hidden = null;
    for (const path of paths) {
      if (hidden && path.startsWith(hidden)) continue;
      hidden = null;
      const each = nodes.get(path);
      rows.push(each);
      if (each.folder && this.closed.has(path)) hidden = path;
    }
    return rows;
  }

  fill(row, node) {
    const [twig, key, holders] = row.children;
    const open = !this.closed.has(node.path);
    setText(twig, node.folder ? (open ? "▾" : "▸") : "");
    row.style.paddingInlineStart = `${0.5 + node.depth * 1.1}rem`;
    setText(key, node.name ?? `${node.path.split("/").at(-2)}/`);
    setAttribute(row, "title", node.path);
    setAttribute(row, "aria-level", String(node.depth + 1));
    setAttribute(row, "aria-expanded", node.folder ? String(open) : null);
    const text =
      node.holders
        .map(({ lease, mode }) => `${lease.id}${mode}${this.waitedFor.get(lease.id)?.length ?? 0}`)
        .join() +
      node.inside +
      open;
    if (holders.text === text) return;
    holders.text = text;
    refill(
      holders,
      node.holders.slice(0, 3).flatMap(({ lease, mode }) => {
        const waits = this.waitedFor.get(lease.id)?.length ?? 0;
        return [
          badge(lease.agent),
          h("span", { class: "name" }, lease.agent),
          mode === "shared" ? h("span", { class: "tag" }, "shared") : null,
          waits > 0
            ? h("span", { class: "tag waits" }, `${waits} wait${waits === 1 ? "s" : ""}`)
            : null,
        ];
      }),
      node.holders.length > 3 ? h("span", null, `+${node.holders.length - 3}`) : null,
      node.holders.length === 0 && !open
        ? h("span", { class: "note" }, `${node.inside} held`)
        : null,
    );
  }

  toggle(node) {
    if (node.holders.length > 0) return this.page.open(node.holders[0].lease);
    if (!node.folder) return;
    if (!this.closed.delete(node.path)) this.closed.add(node.path);
    this.draw(true);
  }

  press(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const node = this.list.items[this.list.index];
    if (!node?.folder) return;
    event.preventDefault();
    if (event.key === "ArrowLeft") this.closed.add(node.path);
    else this.closed.delete(node.path);
    this.draw(true);
  }
}
