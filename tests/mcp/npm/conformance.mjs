// The official conformance suite against the fixture, which is the product's own layer with the
// suite's tools: conformance.mjs REVISION. Every scenario that the revision requires must pass;
// there is no list of expected failures.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assert, check, npmFolder, runChecks, versionOf } from "./support.mjs";

const [revision] = process.argv.slice(2);
const kPackage = "@modelcontextprotocol/conformance";
const kSuite = join(npmFolder, "node_modules", kPackage, "dist/index.js");

function suite(scene, ...words) {
  const child = spawn(process.execPath, [kSuite, ...words], {
    cwd: scene.folder,
    env: scene.env(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (out += text));
  return new Promise((done) => child.once("close", (status) => done({ status, out })));
}

// Every check of every scenario, from the files that the suite leaves.
function checksIn(folder) {
  return readdirSync(folder).flatMap((scenario) =>
    JSON.parse(readFileSync(join(folder, scenario, "checks.json"), "utf8")).map((each) => ({
      ...each,
      scenario: scenario.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, ""),
    })),
  );
}

async function required(scene) {
  const { out } = await suite(scene, "list", "--requirements", revision);
  const ofServers = out.split("Server scenarios")[1].split("Client scenarios")[0];
  return ofServers.match(/(?<=^ +- )\S+/gm);
}

check(`every scenario that ${revision} requires`, async (scene) => {
  const fixture = process.env.LOCKKEEPER_MCP_FIXTURE;
  const { url } = await scene.serveHttp({ command: fixture, before: [], token: null });
  const results = join(scene.folder, "results");
  const done = await suite(scene, "server", "--url", url, "--requirements", revision, "-o", results);
  const wanted = await required(scene);
  const all = checksIn(results);
  const scored = all.filter((each) => wanted.includes(each.scenario));
  // What the specification merely recommends is a warning there, and no less a promise here.
  const fails = (each) => each.status === "FAILURE" || each.status === "WARNING";
  const failed = scored.filter(fails);
  console.log(`          ${wanted.length} scenarios, ${scored.length} checks, ${failed.length} failed`);
  for (const each of failed) {
    console.log(`          ${each.scenario}: ${each.id}: ${each.errorMessage ?? each.description}`);
  }
  // What it tries beyond that, extensions that we do not have among it.
  const more = new Set(all.map((each) => each.scenario).filter((each) => !wanted.includes(each)));
  const broken = new Set(all.filter(fails).map((each) => each.scenario));
  const passed = [...more].filter((each) => !broken.has(each));
  console.log(`          beyond what is required: ${passed.length} of ${more.size} scenarios pass`);
  assert.equal(failed.length, 0);
  // The tasks extension is the only thing that we do not have.
  assert.deepEqual([...broken].filter((each) => !each.startsWith("tasks-")), []);
  const run = new Set(scored.map((each) => each.scenario));
  assert.deepEqual([...run].sort(), wanted.sort(), "every one was run");
  assert.equal(done.status, 0, done.out);
});

await runChecks(`conformance ${versionOf(kPackage)}, ${revision}`);
