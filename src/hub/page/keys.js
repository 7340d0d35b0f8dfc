// Do two resources overlap? The hub decides it exactly; this is for looking back, where only the
// names are left. Two patterns count as overlapping if their plain beginnings do.
const kPattern = /[*?[{]/;
const patterns = new Map();

function patternOf(glob) {
  let known = patterns.get(glob);
  if (known) return known;
  let text = "";
  for (let at = 0; at < glob.length; ++at) {
    const char = glob[at];
    if (glob.startsWith("**/", at)) {
      text += "(?:.*/)?";
      at += 2;
    } else if (glob.startsWith("**", at)) {
      text += ".*";
      at += 1;
    } else if (char === "*") text += "[^/]*";
    else if (char === "?") text += "[^/]";
    else if (char === "{") text += "(?:";
    else if (char === "}") text += ")";
    else if (char === ",") text += "[,|]?";
    else text += char.replace(/[\\^$.|+()[\]]/g, "\\$&");
  }
  try {
    known = new RegExp(`^${text.replaceAll("[,|]?", "|")}$`);
  } catch {
    known = /^$/;
  }
  if (patterns.size > 1_000) patterns.clear();
  patterns.set(glob, known);
  return known;
}

export const isPattern = (key) => kPattern.test(key);
const plainStart = (key) => key.slice(0, key.search(kPattern));
const covers = (outer, inner) =>
  outer === inner || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);

export function overlap(a, b) {
  if (covers(a, b) || covers(b, a)) return true;
  const pa = isPattern(a);
  const pb = isPattern(b);
  if (!pa && !pb) return false;
  if (pa && !pb && !b.endsWith("/")) return patternOf(a).test(b);
  if (pb && !pa && !a.endsWith("/")) return patternOf(b).test(a);
  const sa = pa ? plainStart(a) : a;
  const sb = pb ? plainStart(b) : b;
  return sa.startsWith(sb) || sb.startsWith(sa);
}

// Is it that folder, or in it? "" is everything.
export function isUnder(key, folder) {
  if (!folder) return true;
  const name = folder.endsWith("/") ? folder : `${folder}/`;
  return key === folder || key === name || key.startsWith(name);
}

// The folders above a key, the nearest last: "src/a/b.c" → "src/", "src/a/".
export function foldersOf(key) {
  const all = [];
  for (let at = key.indexOf("/"); at >= 0 && at < key.length - 1; at = key.indexOf("/", at + 1)) {
    all.push(key.slice(0, at + 1));
  }
  return all;
}
