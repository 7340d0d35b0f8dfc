// The smallest stdio MCP server: one tool, lock_echo, that says what it was called with. Each call is
// written to the folder given, with its _meta and what of the environment names a session.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder] = process.argv.slice(2);
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const inputSchema = {
  type: "object",
  properties: {
    resources: { type: "array", items: { type: "string" } },
    owner: { type: "string" },
  },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "lock", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "lock_echo", description: "Echo.", inputSchema }] }),
  "tools/call": (params) => {
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) =>
        /SESSION|THREAD|_PID$|PROJECT|AGENT/.test(name),
      ),
    );
    const order = process.hrtime.bigint().toString();
    const record = {
      kind: "mcp",
      label: "tools/call",
      at: Date.now(),
      ppid: process.ppid,
      params,
      env,
    };
    const file = join(folder, `${order}-${process.pid}.json`);
    writeFileSync(`${file}.new`, JSON.stringify(record, null, 1));
    renameSync(`${file}.new`, file);
    return { content: [{ type: "text", text: `echo ${JSON.stringify(params.arguments)}` }] };
  },
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  if (answer) send({ id, result: answer(params) });
  else send({ id, error: { code: -32601, message: `no method ${method}` } });
});
