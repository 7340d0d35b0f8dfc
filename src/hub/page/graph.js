// Who waits for whom, as a picture: agents in columns, and whoever waits for nobody at the right.
// An arrow that passes a column has a place of its own there, so it runs behind no box. Agents can
// wait for each other, or for themselves, without a deadlock: in different sessions. Such an arrow
// goes back below the boxes.
import { hueOf, svg } from "./dom.js";

const kNodesMost = 40;
const [kHeight, kGapY, kMargin] = [34, 54, 10];
const [kOut, kIn, kLane] = [12, 20, 10]; // of an arrow that goes back: its two corners, its height

const short = (text, most) => (text.length > most ? `…${text.slice(1 - most)}` : text);

// The first that have room.
function some(all) {
  const agents = new Set();
  const edges = all.filter(({ from, to }) => {
    const more = [from, to].filter((each) => !agents.has(each)).length;
    if (agents.size + more > kNodesMost) return false;
    agents.add(from).add(to);
    return true;
  });
  return { agents: [...agents], edges };
}

// Marks the edges that close a circle.
function markBack(agents, edges) {
  const state = new Map(); // 1: on the way, 2: done
  const visit = (agent) => {
    state.set(agent, 1);
    for (const edge of edges) {
      if (edge.from !== agent) continue;
      edge.back = state.get(edge.to) === 1;
      if (!state.has(edge.to)) visit(edge.to);
    }
    state.set(agent, 2);
  };
  for (const agent of agents) if (!state.has(agent)) visit(agent);
}

// How many others, one after the other, an agent waits for.
function depthsOf(agents, edges) {
  const depth = new Map(agents.map((each) => [each, 0]));
  for (let moved = true; moved; ) {
    moved = false;
    for (const { from, to, back } of edges) {
      if (back || depth.get(from) > depth.get(to)) continue;
      depth.set(from, depth.get(to) + 1);
      moved = true;
    }
  }
  return depth;
}

// Columns from right to left. In each, the boxes and the arrows that pass, near what they lead to.
function columnsOf(agents, edges, depth) {
  const columns = [];
  const place = (at, item) => (columns[at] ??= []).push(item);
  for (const agent of agents) place(depth.get(agent), { agent, to: [] });
  const boxOf = (agent) => columns[depth.get(agent)].find((item) => item.agent === agent);
  for (const edge of edges) {
    if (edge.back) continue;
    let next = boxOf(edge.to);
    edge.stops = [];
    for (let at = depth.get(edge.to) + 1; at < depth.get(edge.from); ++at) {
      const stop = { to: [next] };
      place(at, stop);
      edge.stops.unshift(stop);
      next = stop;
    }
    boxOf(edge.from).to.push(next);
  }
  const height = ({ to }) => to.reduce((sum, each) => sum + each.row, 0) / Math.max(1, to.length);
  for (const column of columns) {
    column.sort((a, b) => height(a) - height(b));
    column.forEach((item, row) => (item.row = row));
  }
  return columns;
}

function pathThrough(points) {
  const [first, ...others] = points;
  let { x, y } = first;
  let path = `M${x} ${y}`;
  for (const next of others) {
    if (next.straight) {
      path += ` L${next.x} ${next.y}`;
    } else {
      const bend = Math.max(30, Math.abs(next.x - x) / 3);
      path += ` C${x + bend} ${y} ${next.x - bend} ${next.y} ${next.x} ${next.y}`;
    }
    ({ x, y } = next);
  }
  return path;
}

const arrowTip = () =>
  svg(
    "defs",
    null,
    svg(
      "marker",
      {
        id: "arrow",
        viewBox: "0 0 8 8",
        refX: "6",
        refY: "4",
        markerWidth: "8",
        markerHeight: "8",
        orient: "auto",
      },
      svg("path", { d: "M0 0L8 4L0 8z", class: "tip" }),
    ),
  );

// `all`: {from, to, count, keys}. `wide`: how much room there is. Null: nobody waits.
export function pictureOf(all, wide) {
  const { agents, edges } = some(all.map((edge) => ({ ...edge })));
  if (edges.length === 0) return null;
  markBack(agents, edges);
  const depth = depthsOf(agents, edges);
  const columns = columnsOf(agents, edges, depth);
  const gaps = Math.max(1, columns.length - 1);
  const around = edges.filter(({ from, to, back }) => back && from !== to); // below all boxes
  const side = kMargin + (edges.some(({ back }) => back) ? kIn : 0);
  const room = wide - 2 * side - 30;
  const width = Math.max(92, Math.min(136, (room - gaps * 48) / columns.length));
  const gapX = Math.min(260, Math.max(48, (room - columns.length * width) / gaps));
  const rows = Math.max(...columns.map((each) => each.length));
  const boxes = new Map();
  columns.forEach((column, at) =>
    column.forEach((item, row) => {
      item.x = (columns.length - 1 - at) * (width + gapX) + side;
      item.y = row * kGapY + ((rows - column.length) * kGapY) / 2 + kMargin;
      if (item.agent) boxes.set(item.agent, item);
    }),
  );

  const middle = ({ y }) => y + kHeight / 2;
  const drawBack = (edge) => {
    const [a, b] = [boxes.get(edge.from), boxes.get(edge.to)];
    const lane = around.indexOf(edge);
    const low = lane < 0 ? a.y + kHeight + kLane : rows * kGapY + kMargin + lane * kLane;
    const path =
      `M${a.x + width} ${middle(a)} h${kOut} V${low} H${b.x - kIn} V${middle(b)} ` +
      `H${b.x - 6}`;
    return svg("g", { class: "edge" }, svg("path", { d: path, "marker-end": "url(#arrow)" }));
  };
  const drawEdge = (edge) => {
    if (edge.back) return drawBack(edge);
    const { from, to, count, keys, stops } = edge;
    const [a, b] = [boxes.get(from), boxes.get(to)];
    const start = { x: a.x + width, y: middle(a) };
    const points = [start];
    for (const stop of stops) {
      points.push({ x: stop.x, y: middle(stop) });
      points.push({ x: stop.x + width, y: middle(stop), straight: true });
    }
    points.push({ x: b.x - 6, y: middle(b) });
    // The list below has the whole names, and those of arrows that begin in one place.
    const most = Math.floor((gapX - 30) / 7.3);
    const alone = edges.filter((other) => other.from === from).length === 1;
    const label = most < 9 || !alone ? "" : count > 1 ? `${count} requests` : short([...keys][0], most);
    const lean = (points[1].y - start.y) * 0.06;
    return svg(
      "g",
      { class: "edge" },
      svg("path", { d: pathThrough(points), "marker-end": "url(#arrow)" }),
      svg("text", { x: String(start.x + 12), y: String(start.y + lean - 6) }, label),
    );
  };
  const drawBox = (agent) => {
    const { x, y } = boxes.get(agent);
    const waits = depth.get(agent) > 0;
    return svg(
      "g",
      {
        class: `node hue-${hueOf(agent)}${waits ? " waits" : ""}`,
        transform: `translate(${x} ${y})`,
      },
      svg("rect", { width: String(width), height: String(kHeight), rx: "6" }),
      svg("text", { x: "12", y: "22" }, short(agent, Math.floor((width - 16) / 8))),
    );
  };

  const fullWidth = columns.length * width + (columns.length - 1) * gapX + 2 * side;
  const fullHeight = rows * kGapY + 2 * kMargin + around.length * kLane;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${fullWidth} ${fullHeight}`,
      width: String(fullWidth),
      height: String(fullHeight),
      role: "img",
      "aria-label": "Wait-for graph; the list below says the same",
    },
    arrowTip(),
    ...edges.map(drawEdge),
    ...agents.map(drawBox),
  );
}
