// The official TypeScript SDK's client against the shipped program:
//   sdk.mjs v1|v2 stdio|http legacy|auto|modern
import { assert, check, load, program, runChecks, until, versionOf } from "./support.mjs";

const [sdk, transport, era] = process.argv.slice(2);
const kModern = "2026-07-28";
const kUpdated = "notifications/resources/updated";

const sdks = {
  v1: {
    package: "@modelcontextprotocol/sdk",
    client: () => load("@modelcontextprotocol/sdk/client/index.js").Client,
    stdio: () => load("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport,
    http: () =>
      load("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport,
    onUpdate(client, told) {
      const types = load("@modelcontextprotocol/sdk/types.js");
      client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, told);
    },
    call: (client, request, options) => client.callTool(request, undefined, options),
  },
  v2: {
    package: "@modelcontextprotocol/client",
    client: () => load("@modelcontextprotocol/client").Client,
    stdio: () => load("@modelcontextprotocol/client/stdio").StdioClientTransport,
    http: () => load("@modelcontextprotocol/client").StreamableHTTPClientTransport,
    onUpdate: (client, told) => client.setNotificationHandler(kUpdated, told),
    call: (client, request, options) => client.callTool(request, options),
  },
};
const kit = sdks[sdk];
const modern = era !== "legacy"; // "auto" finds out that we are

function modeOf() {
  return era === "modern" ? { pin: kModern } : era;
}

async function connected(scene, agent) {
  const options = sdk === "v2" ? { versionNegotiation: { mode: modeOf() } } : {};
  const client = new (kit.client())({ name: `test-${agent}`, version: "1" }, options);
  client.errors = [];
  client.onerror = (error) => client.errors.push(error);
  if (transport === "stdio") {
    await client.connect(
      new (kit.stdio())({
        command: program,
        args: ["mcp"],
        env: scene.env(agent),
        cwd: scene.repo,
      }),
    );
  } else {
    scene.server ??= await scene.serveHttp();
    const headers = { Authorization: `Bearer ${scene.server.token}` };
    await client.connect(
      new (kit.http())(new URL(scene.server.url), { requestInit: { headers } }),
    );
  }
  client.agent = agent;
  scene.atEnd(() => client.close());
  return client;
}

// One call in the agent's name; both halves of its answer say the same.
async function call(client, name, given = {}, options = {}) {
  const request = { name, arguments: { agent: client.agent, ...given } };
  const result = await kit.call(client, request, options);
  const text = result.content.map((each) => each.text).join("\n");
  if (result.structuredContent) assert.ok(text.includes(result.structuredContent.message), text);
  return { ...result.structuredContent, text, failed: result.isError === true };
}

const leaseKeys = (scene) =>
  scene.cli("", "list").leases.flatMap((each) => each.resources.map((one) => one.key));
const waiters = (scene) => scene.cli("", "list").waiters.length;

check("the lists", async (scene) => {
  const client = await connected(scene, "ann");
  assert.equal(client.getServerVersion().name, "lockkeeper");
  assert.match(client.getInstructions(), /lock_acquire/);
  if (sdk === "v2") assert.equal(client.getNegotiatedProtocolVersion() === kModern, modern);
  const { tools } = await client.listTools();
  const names = tools.map((each) => each.name);
  for (const name of ["acquire", "release", "renew", "status", "message"]) {
    assert.ok(names.includes(`lock_${name}`), name);
  }
  for (const tool of tools) {
    assert.equal(tool.outputSchema.type, "object", tool.name);
    assert.equal(tool.annotations.openWorldHint, false, tool.name);
  }
  const uris = (await client.listResources()).resources.map((each) => each.uri).sort();
  assert.deepEqual(uris, ["lock://events", "lock://leases", "lock://waiters"]);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    resourceTemplates.map((each) => each.uriTemplate),
    ["lock://leases/{path}"],
  );
  const prompts = (await client.listPrompts()).prompts.map((each) => each.name).sort();
  assert.deepEqual(prompts, ["plan_my_edits", "work_with_locks"]);
  assert.deepEqual(client.errors, []);
});

check("two agents meet over one file", async (scene) => {
  const [ann, bob] = [await connected(scene, "ann"), await connected(scene, "bob")];
  // The client holds what follows against the output schemas once it knows them.
  await ann.listTools();
  await bob.listTools();
  const mine = await call(ann, "lock_acquire", { resources: ["a.c"], reason: "parser" });
  assert.equal(mine.outcome, "granted");
  const met = await call(bob, "lock_acquire", { resources: ["a.c", "b.c"] });
  assert.equal(met.outcome, "held");
  assert.equal(met.failed, false, "a conflict is no error");
  assert.match(met.text, /ann/);
  assert.match(met.text, /parser/);
  assert.deepEqual(leaseKeys(scene), ["a.c"], "all or nothing");
  const status = await call(bob, "lock_status", { resources: ["a.c", "b.c"] });
  assert.deepEqual(status.free, ["b.c"]);
  await call(bob, "lock_message", { holding: "a.c", text: "done soon?" });
  assert.match((await call(ann, "lock_message")).text, /done soon\?/);
  const longer = await call(ann, "lock_renew", { lease: mine.lease.id, ttl: "2h" });
  assert.equal(longer.renewed.length, 1);
  assert.deepEqual((await call(ann, "lock_release", { resources: ["a.c"] })).released, ["a.c"]);
  const his = await call(bob, "lock_acquire", { resources: ["a.c", "b.c"] });
  assert.equal(his.outcome, "granted");
  assert.ok(his.lease.fence > mine.lease.fence);
});

check("two agents on one connection exclude each other", async (scene) => {
  const client = await connected(scene, "ann");
  const as = (agent) => call(client, "lock_acquire", { resources: ["a.c"], agent });
  assert.equal((await as("ann-helper")).outcome, "granted");
  assert.equal((await as("ann-tester")).outcome, "held");
});

check("waiting tells of its progress, blocks nobody, and is granted", async (scene) => {
  const [ann, bob] = [await connected(scene, "ann"), await connected(scene, "bob")];
  await call(ann, "lock_acquire", { resources: ["a.c"] });
  const told = [];
  const waiting = call(
    bob,
    "lock_acquire",
    { resources: ["a.c"], wait_s: 40 },
    { onprogress: (each) => told.push(each.progress) },
  );
  await until("bob waits", () => waiters(scene) === 1);
  assert.equal((await call(bob, "lock_acquire", { resources: ["b.c"] })).outcome, "granted");
  await until("two reports of progress", () => told.length >= 2);
  await call(ann, "lock_release");
  assert.equal((await waiting).outcome, "granted");
  for (let i = 1; i < told.length; ++i) assert.ok(told[i] > told[i - 1], `${told}`);
});

check("a cancelled wait leaves the queue", async (scene) => {
  const [ann, bob] = [await connected(scene, "ann"), await connected(scene, "bob")];
  await call(ann, "lock_acquire", { resources: ["a.c"] });
  const stop = new AbortController();
  const waiting = call(
    bob,
    "lock_acquire",
    { resources: ["a.c"], wait_s: 40 },
    { signal: stop.signal },
  );
  const refused = assert.rejects(waiting);
  await until("bob waits", () => waiters(scene) === 1);
  stop.abort("no longer wanted");
  await refused;
  await until("nobody waits", () => waiters(scene) === 0);
  await call(ann, "lock_release");
  assert.deepEqual(leaseKeys(scene), []);
  assert.equal((await call(bob, "lock_acquire", { resources: ["a.c"] })).outcome, "granted");
});

check("a wait that ends keeps its place", async (scene) => {
  const [ann, bob] = [await connected(scene, "ann"), await connected(scene, "bob")];
  await call(ann, "lock_acquire", { resources: ["a.c"] });
  const first = await call(bob, "lock_acquire", { resources: ["a.c"], wait_s: 1 });
  assert.equal(first.outcome, "queued");
  assert.equal(first.failed, false);
  assert.match(first.text, /lock_acquire/);
  assert.equal(waiters(scene), 1);
  const again = call(bob, "lock_acquire", { resources: ["a.c"], wait_s: 40 });
  await call(ann, "lock_release");
  assert.equal((await again).outcome, "granted");
});

check("who subscribed is told", async (scene) => {
  const client = await connected(scene, "ann");
  const told = [];
  kit.onUpdate(client, ({ params }) => void told.push(params.uri));
  const uri = "lock://leases";
  let listening;
  if (modern) {
    listening = await client.listen({ resourceSubscriptions: [uri] });
    assert.deepEqual(listening.honoredFilter.resourceSubscriptions, [uri]);
  } else {
    await client.subscribeResource({ uri });
  }
  let round = 0;
  await until("a notification", async () => {
    scene.cli("bob", round % 2 === 0 ? "acquire" : "release", "b.c");
    round += 1;
    const end = Date.now() + 1_000;
    while (told.length === 0 && Date.now() < end) await new Promise((done) => setTimeout(done, 20));
    return told.length > 0;
  });
  assert.ok(told.every((each) => each === uri), `${told}`);
  scene.cli("bob", "acquire", "b.c");
  const { contents } = await client.readResource({ uri });
  assert.equal(JSON.parse(contents[0].text).leases[0].agent, "bob");
  const under = await client.readResource({ uri: "lock://leases/b.c" });
  assert.equal(JSON.parse(under.contents[0].text).leases.length, 1);
  const beside = await client.readResource({ uri: "lock://leases/a.c" });
  assert.equal(JSON.parse(beside.contents[0].text).leases.length, 0);
  if (modern) {
    await listening.close();
    assert.equal(await listening.closed, "local");
  } else {
    await client.unsubscribeResource({ uri });
  }
});

check("the events and the waiters can be read", async (scene) => {
  const client = await connected(scene, "ann");
  await call(client, "lock_acquire", { resources: ["a.c"] });
  const events = await client.readResource({ uri: "lock://events" });
  assert.equal(JSON.parse(events.contents[0].text).events.at(-1).event, "granted");
  const queue = await client.readResource({ uri: "lock://waiters" });
  assert.deepEqual(JSON.parse(queue.contents[0].text).waiters, []);
});

check("prompts", async (scene) => {
  const client = await connected(scene, "ann");
  const how = await client.getPrompt({ name: "work_with_locks" });
  assert.match(how.messages[0].content.text, /lock_acquire/);
  const plan = await client.getPrompt({
    name: "plan_my_edits",
    arguments: { task: "rename x", files: "a.c b.c" },
  });
  assert.match(plan.messages[0].content.text, /rename x/);
  assert.match(plan.messages[0].content.text, /a\.c is free[^]*b\.c is free/);
  await assert.rejects(client.getPrompt({ name: "plan_my_edits" }), /task/);
});

check("completion of paths", async (scene) => {
  const client = await connected(scene, "ann");
  await call(client, "lock_acquire", { resources: ["a.c", "src/"] });
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "lock://leases/{path}" },
    argument: { name: "path", value: "a" },
  });
  assert.deepEqual(completion.values, ["a.c"]);
});

check("mistakes are answered by the book", async (scene) => {
  const client = await connected(scene, "ann");
  await assert.rejects(kit.call(client, { name: "no_such_tool", arguments: {} }), { code: -32602 });
  const code = sdk === "v1" ? -32002 : -32602; // v2 shows old servers' answers as new ones
  await assert.rejects(client.readResource({ uri: "lock://nothing" }), { code });
  const missing = await call(client, "lock_acquire");
  assert.equal(missing.failed, true);
  assert.match(missing.text, /resources/);
  const bad = await call(client, "lock_acquire", { resources: ["../outside"] });
  assert.equal(bad.failed, true);
  assert.match(bad.text, /outside/);
  assert.equal((await call(client, "lock_acquire", { resources: ["a.c"] })).outcome, "granted");
});

await runChecks(`${kit.package} ${versionOf(kit.package)}, ${transport}, ${era}`);
