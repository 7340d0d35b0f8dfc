// Times and events in words: those of the command line.
const kDay = 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const hours = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });

const isToday = (then, now) =>
  Math.abs(now - then) < kDay && then.getDate() === new Date(now).getDate();

// "14:30:05"; on another day "17 Nov 14:30".
export function timeText(at, now = Date.now()) {
  const then = new Date(at);
  return isToday(then, now) ? clock.format(then) : minuteText(at, now);
}

// The same without seconds, for tables.
export function minuteText(at, now = Date.now()) {
  const then = new Date(at);
  return isToday(then, now) ? hours.format(then) : `${day.format(then)} ${hours.format(then)}`;
}

// Shorter still, for narrow columns: "Fri 14:30" within a week, else the day alone.
export function whenText(at, now) {
  const then = new Date(at);
  if (isToday(then, now)) return hours.format(then);
  const near = Math.abs(then - now) < 6 * 86_400_000;
  return near ? `${weekday.format(then)} ${hours.format(then)}` : day.format(then);
}

export const hourText = (at) => hours.format(at);
export const dayText = (at) => day.format(at);

// "58m 3s": the two largest units.
export function durationText(ms) {
  let rest = Math.max(0, Math.floor(ms / 1000));
  const parts = [];
  for (const [unit, size] of [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ]) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || (unit === "s" && parts.length === 0)) parts.push(`${count}${unit}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(" ");
}

export const plural = (count, one, many = `${one}s`) =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;

export function keysText(keys, most = 1) {
  const shown = keys.slice(0, most).join(", ");
  return keys.length > most ? `${shown} and ${keys.length - most} more` : shown;
}

export const keysOf = (lease) => lease.resources.map((each) => each.key ?? each);

export function aliveText(lease) {
  if (lease.foreign) return lease.alive === false ? "dead" : "another tool";
  if (lease.alive === true) return "alive";
  if (lease.alive === false) return "dead";
  return lease.attached === false ? "detached" : "unknown";
}

// What the lease's end is: "58m 3s", "no end", "ended".
export function remainingText(lease, now) {
  if (lease.edit) return "turn";
  if (lease.expires_at === undefined) return "…";
  if (lease.expires_at === null) return "no end";
  const left = lease.expires_at_ms - now;
  return left > 0 ? durationText(left + 999) : "ended";
}

export function remainingPart(lease, now) {
  if (!lease.expires_at) return 1;
  const whole = lease.expires_at_ms - lease.acquired_at_ms;
  return whole > 0 ? Math.min(1, Math.max(0, (lease.expires_at_ms - now) / whole)) : 0;
}

const kCauses = {
  died: "its process ended",
  parent_ended: "the lease around it ended",
  unconfirmed: "nobody took it over in time",
  reboot: "the machine was restarted",
  yielded: "taken over",
  part: "a part of the lease",
};
export const causeText = (cause) => kCauses[cause] ?? cause;

// Signs for eyes, words for everybody: nothing is told by colour alone.
const kKinds = {
  granted: ["+", "took", "good"],
  renewed: ["↻", "renewed", "quiet"],
  released: ["−", "released", "quiet"],
  expired: ["◷", "lost", "warn"],
  broken: ["✕", "lost", "bad"],
  ended: ["−", "lost", "warn"],
  withdrawn: ["−", "withdrew", "quiet"],
  orphaned: ["!", "left behind", "warn"],
  reclaimed: ["↻", "reclaimed", "quiet"],
  queued: ["…", "waits for", "wait"],
  cancelled: ["−", "no longer waits for", "quiet"],
  refused: ["⊘", "was refused", "bad"],
  warned: ["!", "was warned about", "warn"],
  asked: ["?", "had to ask for", "warn"],
  overwrote: ["!", "overwrote", "bad"],
  changed: ["!", "changed without a lease", "warn"],
  foreign_conflict: ["!", "met another tool's lock on", "warn"],
};

export function kindOf(event) {
  const [sign, verb, tone] = kKinds[event.event] ?? [
    "·",
    event.event.replaceAll("_", " "),
    "quiet",
  ];
  return { sign, verb, tone };
}

// "frontend was refused src/a.py: deadlock".
export function eventText(event) {
  const { verb } = kindOf(event);
  const by = event.by?.agent && event.by.agent !== event.agent ? event.by.agent : "";
  let text = `${event.agent} ${verb} ${keysText(event.resources, 2)}`;
  if (by) text += event.event === "refused" ? ` (held by ${by})` : ` (by ${by})`;
  if (event.cause) text += `: ${causeText(event.cause)}`;
  return text;
}

export const detailText = (event) => {
  const by = event.by?.agent && event.by.agent !== event.agent ? event.by.agent : "";
  const parts = [];
  const ends = { refused: "held", broken: "broken", expired: "expired" };
  if (by) parts.push(`${ends[event.event] ?? ""} by ${by}`.trim());
  else if (event.event === "expired" || event.event === "broken") parts.push(event.event);
  if (event.cause && !(event.cause === "held" && by)) parts.push(causeText(event.cause));
  if (event.reason) parts.push(`“${event.reason}”`);
  return parts.join(" · ");
};
