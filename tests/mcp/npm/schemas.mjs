// Takes the protocol's published JSON schemas out of the official conformance suite, which carries
// them in its bundle, and writes FOLDER/<revision>.json for tests/mcp/published.cc.
//
//   node schemas.mjs NODE_MODULES FOLDER
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";

const [modules, folder] = process.argv.slice(2);
if (!modules || !folder) {
  console.error("usage: node schemas.mjs NODE_MODULES FOLDER");
  process.exit(64);
}
const bundle = join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js");
const text = readFileSync(bundle, "utf8");

// `A={$schema:…},B={…},…;const X={"2025-03-26":A,…,[Y]:Z}`: plain literals, one behind the other.
const named = /;const \w+=\{((?:"\d{4}-\d\d-\d\d":[\w$]+,)+)\[[\w$]+\]:([\w$]+)\}/.exec(text);
const first = /[,;\s]([\w$]+=\{\$schema:`http)/.exec(text);
if (!named || !first) {
  console.error(`${bundle}: the schemas are not where they were; look at how they are bundled now`);
  process.exit(1);
}
const newest = "2026-07-28"; // named by a variable in the bundle
const names = new Map([...named[1].matchAll(/"([\d-]+)":([\w$]+)/g)].map((m) => [m[1], m[2]]));
names.set(newest, named[2]);

const literals = text.slice(first.index + 1, named.index);
const wanted = [...names].map(([revision, name]) => `${JSON.stringify(revision)}:${name}`);
const schemas = runInNewContext(`const ${literals};({${wanted.join(",")}})`);
mkdirSync(folder, { recursive: true });
for (const [revision, schema] of Object.entries(schemas)) {
  if (!schema.definitions && !schema.$defs) throw new Error(`${revision}: no definitions`);
  writeFileSync(join(folder, `${revision}.json`), JSON.stringify(schema));
}
console.log(Object.keys(schemas).join(" "));
