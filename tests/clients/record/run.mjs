// One run of a real client in a fresh repository with a home of its own, and what came of it: the
// hook processes, the calls of the MCP server and the requests to the model, in their order.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agents } from "./agents.mjs";
import { startModel } from "../model.mjs";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const kPatience = 120_000;

const kNotebook = JSON.stringify({
  cells: [
    {
      cell_type: "code",
      id: "c1",
      metadata: {},
      source: ["x = 1"],
      outputs: [],
      execution_count: null,
    },
  ],
  metadata: { language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
});

function makeScene(options) {
  const folder = mkdtempSync(join(tmpdir(), "hooks-"));
  const scene = {
    folder,
    options,
    repo: join(folder, "repo"),
    home: join(folder, "home"),
    records: join(folder, "records"),
  };
  for (const each of [scene.repo, scene.home, scene.records]) mkdirSync(each);
  spawnSync("git", ["init", "-q", scene.repo]);
  for (const name of ["a.c", "b.c", "c.c", "d.c"])
    writeFileSync(join(scene.repo, name), "int x;\n");
  writeFileSync(join(scene.repo, "n.ipynb"), kNotebook);
  return scene;
}

// Who started the client is not of interest.
function upTo(client, record) {
  const at =
    record.ancestors?.findIndex((each) => each.pid === client || each.comm === "script") ?? -1;
  if (at >= 0) record.ancestors = record.ancestors.slice(0, at + 1);
  else if (record.ancestors) record.ancestors = [{ exe: "(the client is not an ancestor)" }];
  return record;
}

export function recordsOf(scene) {
  return readdirSync(scene.records)
    .filter((each) => /^\d+-\d+\.json$/.test(each))
    .map((each) => JSON.parse(readFileSync(join(scene.records, each), "utf8")));
}

// What is different per machine and run becomes /repo and /home/u.
const slug = (path) => path.replace(/[^A-Za-z0-9]/g, "-");
const cleaned = (scene, text) =>
  text
    .replaceAll(slug(scene.repo), "-repo")
    .replaceAll(scene.repo, "/repo")
    .replaceAll(scene.home, "/home/u")
    .replaceAll(scene.records, "/records")
    .replaceAll(scene.folder, "/scene");

// What of its process group outlived the client; ended, so that nothing stays behind.
export function endGroup(child) {
  for (const stream of [child.stdout, child.stderr]) stream.destroy();
  try {
    process.kill(-child.pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

// Starts the client in its scene, in a process group of its own. options: words and what else
// agent.words() reads, env, terminal (with a terminal of its own), input (its stdin is a pipe).
export function launch(agent, scene) {
  const { options } = scene;
  const [command, ...words] = agent.command();
  const env = {
    HOME: scene.home,
    PATH: "/usr/bin:/bin",
    TERM: "dumb",
    ...agent.env(scene),
    ...options.env,
  };
  const line = ["/usr/bin/nice", "-n", "15", command, ...words, ...agent.words(scene)];
  const quoted = line.map((each) => `'${each.replaceAll("'", "'\\''")}'`).join(" ");
  const [first, ...rest] = options.terminal
    ? ["/usr/bin/script", "-qfec", quoted, "/dev/null"]
    : line;
  const child = spawn(first, rest, {
    cwd: scene.repo,
    env,
    detached: true,
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (out += text));
  const end = setTimeout(() => child.kill("SIGKILL"), options.patience ?? kPatience);
  const ended = new Promise((done) =>
    child.once("exit", (status, signal) => (clearTimeout(end), done({ status, signal }))),
  );
  return { child, ended, out: () => out };
}

// options: scripts (or a function of the scene that gives them), answers, words, prompt, during
// (a function of {scene, child}), input, settle (ms to wait after the end for late hooks), keep.
export async function run(name, options) {
  const agent = agents[name];
  const scene = makeScene(options);
  const scripts = typeof options.scripts === "function" ? options.scripts(scene) : options.scripts;
  const model = await startModel(scripts);
  scene.url = model.url;
  writeFileSync(join(scene.records, "answers.json"), JSON.stringify(options.answers ?? []));
  agent.prepare(scene);
  options.arrange?.(scene);
  await options.prepareMore?.(scene);
  const started = Date.now();
  const { child, ended, out } = launch(agent, scene);
  if (options.input) options.input(child.stdin, model);
  try {
    await options.during?.({ scene, child, model, out });
  } catch (error) {
    endGroup(child);
    throw error;
  }
  const { status, signal } = await ended;
  const finished = Date.now();
  await sleep(options.settle ?? 200);
  const left = endGroup(child);
  const timeline = [...recordsOf(scene).map((each) => upTo(child.pid, each)), ...model.seen].sort(
    (a, b) => a.at - b.at,
  );
  await model.close();
  const files = Object.fromEntries(
    readdirSync(scene.repo)
      .filter((each) => /\.(c|txt|ipynb)$/.test(each))
      .map((each) => [each, readFileSync(join(scene.repo, each), "utf8")]),
  );
  const result = JSON.parse(
    cleaned(
      scene,
      JSON.stringify({
        client: name,
        clientPid: child.pid,
        status,
        signal,
        started,
        finished,
        timeline,
        files,
        out: out(),
        others: model.others,
        left,
      }),
    ),
  );
  if (!options.keep) rmSync(scene.folder, { recursive: true, force: true });
  else console.log(`kept: ${scene.folder}`);
  return result;
}

const short = (value, length = 300) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text && text.length > length ? `${text.slice(0, length)}…` : text;
};

// The run as lines: who was called when, and what the model was told.
export function told(result, { length = 300 } = {}) {
  const lines = [];
  for (const each of result.timeline) {
    const at = `${each.at - result.started}`.padStart(6);
    if (each.kind === "model") {
      lines.push(`${at} MODEL ${each.script}#${each.turn}`);
      if (each.turn > 0)
        for (const one of each.news) lines.push(`         saw ${short(one, length)}`);
      continue;
    }
    if (each.kind === "mcp") {
      lines.push(`${at} MCP ${short(each.params, 400)} ${short(each.env)}`);
      continue;
    }
    const { payload = {} } = each;
    const tool = payload.tool_name ?? payload.toolName ?? payload.tool ?? "";
    const id = payload.tool_use_id ?? payload.toolCallId ?? "";
    const agent = payload.agent_id ? ` agent=${payload.agent_id}` : "";
    const took = each.ended ? `${each.ended - each.at}ms` : "never ended";
    const signal = each.got_signal
      ? ` got ${each.got_signal.signal} after ${each.got_signal.at - each.at}ms`
      : "";
    lines.push(
      `${at} HOOK ${each.label} ${tool} ${id}${agent} [${took}]${signal}${each.rule ? ` rule=${each.rule}` : ""}`,
    );
  }
  lines.push(
    `${result.finished - result.started}`.padStart(6) +
      ` END status=${result.status} signal=${result.signal}`,
  );
  return lines.join("\n");
}

// A payload for each event and tool, the first of its kind, into payloads/CLIENT/.
export function savePayloads(result, folder, { suffix = "", replace = false } = {}) {
  const target = join(folder, result.client);
  mkdirSync(target, { recursive: true });
  const known = new Set(replace ? [] : readdirSync(target));
  for (const each of result.timeline) {
    if (each.kind !== "hook" || !each.payload) continue;
    const tool = each.payload.tool_name ?? each.payload.toolName ?? each.payload.tool;
    const file = `${each.label}${tool ? `-${tool.replaceAll("/", "_")}` : ""}${suffix}.json`;
    if (known.has(file)) continue;
    known.add(file);
    writeFileSync(join(target, file), `${JSON.stringify(each.payload, null, 2)}\n`);
  }
}
