// A model that does as it is told, behind the three wire formats that coding agents speak:
// Anthropic messages, OpenAI responses, Gemini streamGenerateContent. So a real client can be run
// without a network, and what its model would have seen can be looked at.
//
//   const model = await startModel({ ann: [() => tool("lock_acquire", {…}), (seen) => say("done")] });
//   … run a client against model.url("ann") …
//   model.seen("ann")    // what the model saw of each tool's result, as text, in order
//   model.offered("ann") // the names of the tools that it was offered
//
// A script is a list of steps; each is given what the model has just seen. Which step is due is
// told by the conversation itself, so that a request sent again gets the same answer.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

export const tool = (name, input) => ({ tool: name, input });
export const say = (text) => ({ text });

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// The client's own name for a tool of ours: mcp__lock__lock_acquire, lock-lock_acquire, …
const offeredAs = (names, name) => names.find((each) => each.endsWith(name));

const kSearch = "search_";
const kToolSearch = "tool_search";

// --- Anthropic ------------------------------------------------------------------------------------


const anthropic = {
  matches: (path) => path.endsWith("/v1/messages"),
  names: (body) => (body.tools ?? []).map((each) => each.name),
  results(body) {
    const blocks = body.messages.flatMap((each) =>
      Array.isArray(each.content) ? each.content : []);
    const texts = (content) =>
      Array.isArray(content) ? content.map((each) => each.text ?? "").join("\n") : textOf(content);
    return blocks
      .filter((each) => each.type === "tool_result" && !each.tool_use_id.startsWith(kSearch))
      .map((each) => texts(each.content));
  },
  // Claude Code names most tools and shows them only when the model looks for them.
  search(body, name) {
    const named = JSON.stringify(body).match(new RegExp(`mcp__\\w+__${name}\\b`))?.[0];
    if (!named) return undefined;
    const found = JSON.stringify(body.messages).includes(`"${kSearch}${named}"`);
    return found ? { tool: named } : { tool: "ToolSearch", input: { query: `select:${named}` },
      id: kSearch + named };
  },
  answer(body, step, turn) {
    const block = step.tool
      ? { type: "tool_use", id: step.id ?? `toolu_${turn}`, name: step.tool, input: {} }
      : { type: "text", text: "" };
    const delta = step.tool
      ? { type: "input_json_delta", partial_json: JSON.stringify(step.input) }
      : { type: "text_delta", text: step.text };
    const stop_reason = step.tool ? "tool_use" : "end_turn";
    const usage = { input_tokens: 10, output_tokens: 10 };
    const message = { id: `msg_${turn}`, type: "message", role: "assistant", model: body.model };
    if (!body.stream) {
      const whole = step.tool ? { ...block, input: step.input } : { ...block, text: step.text };
      return { json: { ...message, content: [whole], stop_reason, stop_sequence: null, usage } };
    }
    const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
    return {
      events: [
        { type: "message_start", message: begun },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
        { type: "message_stop" },
      ],
    };
  },
};

// --- OpenAI ---------------------------------------------------------------------------------------

const namesIn = (tools) =>
  tools.flatMap((each) =>
    each.type === "namespace"
      ? each.tools.map((one) => `${each.name}/${one.name}`)
      : (each.name ?? each.type));

const openai = {
  matches: (path) => path.endsWith("/responses"),
  names: (body) => namesIn(body.tools ?? []),
  // Codex, too, shows most tools only when the model looks for them.
  search(body, name) {
    const found = body.input.filter((each) => each.type === "tool_search_output");
    const offered = offeredAs(namesIn(found.flatMap((each) => each.tools)), name);
    return offered ? { tool: offered } : { tool: kToolSearch, input: { query: name } };
  },
  results: (body) =>
    body.input
      .filter((each) => each.type === "function_call_output")
      .map((each) => textOf(each.output)),
  answer(body, step, turn) {
    if (step.tool === kToolSearch) return openai.sent(body, turn, {
      type: "tool_search_call", id: `ts_${turn}`, call_id: `search_${turn}`, execution: "client",
      arguments: step.input, status: "completed",
    });
    const [namespace, name] = step.tool?.includes("/") ? step.tool.split("/") : [, step.tool];
    const item = step.tool
      ? { type: "function_call", id: `fc_${turn}`, call_id: `call_${turn}`, name,
          ...(namespace && { namespace }), arguments: JSON.stringify(step.input),
          status: "completed" }
      : { type: "message", id: `msg_${turn}`, role: "assistant", status: "completed",
          content: [{ type: "output_text", text: step.text, annotations: [] }] };
    return openai.sent(body, turn, item);
  },
  sent(body, turn, item) {
    const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 };
    const response = { id: `resp_${turn}`, object: "response", model: body.model, output: [] };
    return {
      events: [
        { type: "response.created", response: { ...response, status: "in_progress" } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed",
          response: { ...response, status: "completed", output: [item], usage } },
      ],
    };
  },
};

// --- Gemini ---------------------------------------------------------------------------------------

const gemini = {
  matches: (path) => /:(streamG|g)enerateContent$/.test(path),
  names: (body) =>
    (body.tools ?? []).flatMap((each) => (each.functionDeclarations ?? []).map((one) => one.name)),
  results: (body) =>
    body.contents
      .flatMap((each) => each.parts ?? [])
      .filter((each) => each.functionResponse)
      .map((each) => textOf(each.functionResponse.response)),
  answer(body, step, turn, path) {
    const part = step.tool
      ? { functionCall: { name: step.tool, args: step.input, id: `call_${turn}` } }
      : { text: step.text };
    const whole = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: "fake",
    };
    return path.includes(":stream") ? { events: [whole] } : { json: whole };
  },
};

const kWires = [anthropic, openai, gemini];

// --- the server -----------------------------------------------------------------------------------

async function bodyOf(request) {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

function reply(response, { json, events }) {
  if (json) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(json));
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  for (const each of events) {
    if (each.type) response.write(`event: ${each.type}\n`);
    response.write(`data: ${JSON.stringify(each)}\n\n`);
  }
  response.end();
}

export async function startModel(scripts) {
  const agents = Object.fromEntries(
    Object.entries(scripts).map(([name, steps]) => [
      name,
      { steps, answers: new Map(), seen: [], offered: [], done: false },
    ]),
  );

  async function stepFor(agent, wire, body) {
    const names = wire.names(body);
    // Titles, summaries and the like are asked for without our tools.
    if (!names.some((each) => /lock_|ToolSearch|tool_search/.test(each))) return [say("ok"), 0];
    const results = wire.results(body);
    agent.offered = names;
    agent.seen = results;
    const turn = results.length;
    if (!agent.answers.has(turn)) {
      const step = agent.steps[turn] ?? (() => say("done"));
      agent.answers.set(turn, Promise.resolve(step(results.at(-1))));
    }
    const step = await agent.answers.get(turn);
    if (!step.tool) return [step, turn];
    const offered = offeredAs(names, step.tool);
    const found = offered ? { tool: offered } : wire.search?.(body, step.tool);
    return [found ? { ...step, ...found } : say(`no tool ${step.tool} is offered`), turn];
  }

  const server = createServer(async (request, response) => {
    const path = request.url.split("?")[0];
    const agent = agents[path.split("/")[1]];
    const text = await bodyOf(request);
    if (process.env.FAKE_MODEL_LOG) {
      appendFileSync(process.env.FAKE_MODEL_LOG, `${request.method} ${request.url} ${text}\n`);
    }
    const wire = kWires.find((each) => each.matches(path));
    if (!agent || !wire || request.method !== "POST") {
      response.statusCode = 404;
      return reply(response, { json: { error: { type: "not_found_error", message: path } } });
    }
    const body = JSON.parse(text);
    const [step, turn] = await stepFor(agent, wire, body);
    reply(response, wire.answer(body, step, turn, path));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${server.address().port}`;
  return {
    url: (agent) => `${base}/${agent}`,
    seen: (agent) => agents[agent].seen,
    offered: (agent) => agents[agent].offered,
    close: () => (server.closeAllConnections(), new Promise((done) => server.close(done))),
  };
}
