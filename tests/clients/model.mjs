// A model that does as it is told, for several conversations of one client: the main one, and one for
// each subagent. It speaks Anthropic messages, OpenAI responses and Gemini generateContent.
//
//   const model = await startModel({ main: [calls(edit(…), edit(…)), say("done")], sub: […] }, folder);
//
// A step is what to answer, or a function of what was new (as text) that gives it.
// Which script a conversation follows is told by `SCRIPT=name` in what its user wrote last ("main"
// without one); which step is due by the ids of the calls it has seen, so a request sent again gets
// the same answer. Each request is kept with what was new in it: `model.seen` is in their order.
import { createServer } from "node:http";

export const call = (name, input) => ({ name, input });
// A call of a tool that takes plain text (Codex's apply_patch).
export const callText = (name, text) => ({ name, text });
export const calls = (...all) => ({ calls: all });
export const say = (text) => ({ say: text });
// The answer comes after `ms`, or when the promise is kept.
export const after = (wait, step) => ({ ...step, wait });

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const offered = (names, name) =>
  names.includes(name) ? name : names.find((each) => each.endsWith(name));

const usage = { input_tokens: 10, output_tokens: 10 };

const anthropic = {
  matches: (path) => path.endsWith("/v1/messages"),
  names: (body) => (body.tools ?? []).map((each) => each.name),
  userTexts: (body) =>
    body.messages
      .filter((each) => each.role === "user")
      .flatMap((each) =>
        typeof each.content === "string"
          ? [each.content]
          : each.content.filter((one) => one.type === "text").map((one) => one.text),
      ),
  ids: (body) =>
    body.messages
      .flatMap((each) => (Array.isArray(each.content) ? each.content : []))
      .filter((each) => each.type === "tool_use")
      .map((each) => each.id),
  news(body) {
    const last = body.messages.findLastIndex((each) => each.role === "assistant");
    return body.messages
      .slice(last + 1)
      .flatMap((each) =>
        (typeof each.content === "string"
          ? [{ type: "text", text: each.content }]
          : each.content
        ).map((one) => ({ role: each.role, ...one, cache_control: undefined })),
      );
  },
  // Claude Code names most tools and shows them only when the model looks for them.
  find(body, name) {
    const text = JSON.stringify(body);
    const full = text.match(new RegExp(`mcp__\\w+__${name}\\b`))?.[0] ?? name;
    if (text.includes(`search_${full}`)) return { name: full };
    return { name: "ToolSearch", input: { query: `select:${full}` }, id: `search_${full}` };
  },
  answer(body, step, id) {
    const message = { id: id("msg"), type: "message", role: "assistant", model: body.model };
    const blocks = step.calls
      ? step.calls.map((each, index) => ({
          type: "tool_use",
          id: each.id ?? id("toolu", index),
          name: each.name,
          input: each.input,
        }))
      : [{ type: "text", text: step.say }];
    const stop = { stop_reason: step.calls ? "tool_use" : "end_turn", stop_sequence: null };
    if (!body.stream) return { json: { ...message, content: blocks, ...stop, usage } };
    const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
    return {
      events: [
        { type: "message_start", message: begun },
        ...blocks.flatMap((each, index) => [
          {
            type: "content_block_start",
            index,
            content_block: each.input ? { ...each, input: {} } : { ...each, text: "" },
          },
          {
            type: "content_block_delta",
            index,
            delta: each.input
              ? { type: "input_json_delta", partial_json: JSON.stringify(each.input) }
              : { type: "text_delta", text: each.text },
          },
          { type: "content_block_stop", index },
        ]),
        { type: "message_delta", delta: stop, usage },
        { type: "message_stop" },
      ],
    };
  },
};

const namesIn = (tools) =>
  tools.flatMap((each) =>
    each.type === "namespace"
      ? each.tools.map((one) => `${each.name}/${one.name}`)
      : (each.name ?? each.type),
  );
const kOutputs = /_output$/;

const openai = {
  matches: (path) => path.endsWith("/responses"),
  names: (body) => namesIn(body.tools ?? []),
  userTexts: (body) =>
    body.input
      .filter((each) => each.role === "user")
      .flatMap((each) =>
        typeof each.content === "string"
          ? [each.content]
          : each.content.map((one) => one.text ?? ""),
      ),
  ids: (body) =>
    body.input.filter((each) => /_call$/.test(each.type ?? "")).map((each) => each.call_id),
  news(body) {
    const last = body.input.findLastIndex(
      (each) => each.role === "assistant" || /_call$/.test(each.type ?? ""),
    );
    return body.input.slice(last + 1);
  },
  find(body, name) {
    const found = body.input.filter((each) => each.type === "tool_search_output");
    const full = offered(namesIn(found.flatMap((each) => each.tools)), name);
    if (full) return { name: full };
    if (found.length > 2) return { name };
    return { name: "tool_search", input: { query: name }, id: `search_${found.length}_${name}` };
  },
  answer(body, step, id) {
    const item = (each, index) => {
      const call_id = each.id ?? id("call", index);
      const common = { id: `i_${call_id}`, call_id, status: "completed" };
      if (each.name === "tool_search") {
        return { ...common, type: "tool_search_call", execution: "client", arguments: each.input };
      }
      if (each.text !== undefined) {
        return { ...common, type: "custom_tool_call", name: each.name, input: each.text };
      }
      const [namespace, name] = each.name.includes("/") ? each.name.split("/") : [, each.name];
      return {
        ...common,
        type: "function_call",
        name,
        ...(namespace && { namespace }),
        arguments: JSON.stringify(each.input),
      };
    };
    const items = step.calls
      ? step.calls.map(item)
      : [
          {
            type: "message",
            id: id("msg"),
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: step.say, annotations: [] }],
          },
        ];
    const spent = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 20,
    };
    const response = { id: id("resp"), object: "response", model: body.model, output: [] };
    return {
      events: [
        { type: "response.created", response: { ...response, status: "in_progress" } },
        ...items.flatMap((each, index) => [
          { type: "response.output_item.added", output_index: index, item: each },
          { type: "response.output_item.done", output_index: index, item: each },
        ]),
        {
          type: "response.completed",
          response: { ...response, status: "completed", output: items, usage: spent },
        },
      ],
    };
  },
};

const gemini = {
  matches: (path) => /:(streamG|g)enerateContent$/.test(path),
  names: (body) =>
    (body.tools ?? []).flatMap((each) => (each.functionDeclarations ?? []).map((one) => one.name)),
  userTexts: (body) =>
    body.contents
      .filter((each) => each.role === "user")
      .flatMap((each) => (each.parts ?? []).map((one) => one.text ?? "")),
  ids: (body) =>
    body.contents
      .flatMap((each) => each.parts ?? [])
      .filter((each) => each.functionCall)
      .map((each) => each.functionCall.id ?? ""),
  news(body) {
    const last = body.contents.findLastIndex((each) => each.role === "model");
    return body.contents.slice(last + 1).flatMap((each) => each.parts ?? []);
  },
  find: (body, name) => ({ name }),
  answer(body, step, id, path) {
    const parts = step.calls
      ? step.calls.map((each, index) => ({
          functionCall: { name: each.name, args: each.input, id: id("call", index) },
        }))
      : [{ text: step.say }];
    const whole = {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: "fake",
    };
    return path.includes(":stream") ? { events: [whole] } : { json: whole };
  },
};

const kWires = [anthropic, openai, gemini];

async function bodyOf(request) {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

function reply(response, { json, events }) {
  if (json) {
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(json));
  }
  response.setHeader("content-type", "text/event-stream");
  for (const each of events) {
    if (each.type) response.write(`event: ${each.type}\n`);
    response.write(`data: ${JSON.stringify(each)}\n\n`);
  }
  response.end();
}

export async function startModel(scripts) {
  const seen = [];
  const others = [];
  const failures = [];

  function due(wire, body) {
    const markers = wire.userTexts(body).flatMap((text) => [...text.matchAll(/SCRIPT=(\w+)/g)]);
    const name = markers.at(-1)?.[1] ?? "main";
    const pattern = new RegExp(`_${name}_(\\d+)_\\d+`);
    const turns = wire.ids(body).map((each) => Number(pattern.exec(each)?.[1] ?? -1));
    return { name, turn: Math.max(-1, ...turns) + 1 };
  }

  // Tools that are not shown yet are looked for first, one at a time.
  function fitted(wire, body, step) {
    if (!step.calls) return step;
    const names = wire.names(body);
    const found = step.calls.map((each) => {
      const name = offered(names, each.name);
      return name ? { ...each, name } : { ...each, ...wire.find(body, each.name) };
    });
    const search = found.find((each) => each.id?.startsWith("search_"));
    return { calls: search ? [search] : found };
  }

  // A step that fails ends the conversation.
  async function stepOf(planned, news) {
    try {
      const step = typeof planned === "function" ? planned(JSON.stringify(news)) : planned;
      if (typeof step.wait === "number") await new Promise((done) => setTimeout(done, step.wait));
      else await step.wait;
      return step;
    } catch (error) {
      failures.push(error);
      return say("a step of the script failed");
    }
  }

  async function answer(path, wire, body) {
    const tools = wire.names(body);
    if (tools.length === 0) {
      return wire.answer(body, say("ok"), (prefix) => `${prefix}_title`, path);
    }
    const { name, turn } = due(wire, body);
    const news = wire.news(body);
    const record = { kind: "model", at: Date.now(), script: name, turn, news, tools };
    const planned = scripts[name]?.[turn] ?? say(`end of ${name}`);
    seen.push(record);
    const step = await stepOf(planned, news);
    const id = (prefix, index = 0) => `${prefix}_${name}_${turn}_${index}`;
    return wire.answer(body, fitted(wire, body, step), id, path);
  }

  const server = createServer(async (request, response) => {
    const path = request.url.split("?")[0];
    const text = await bodyOf(request);
    const wire = kWires.find((each) => each.matches(path));
    if (!wire || request.method !== "POST") {
      others.push(`${request.method} ${request.url}`);
      response.statusCode = 404;
      return reply(response, { json: { error: { type: "not_found_error", message: path } } });
    }
    reply(response, await answer(path, wire, JSON.parse(text)));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    others,
    failures, // of steps
    close: () => (server.closeAllConnections(), new Promise((done) => server.close(done))),
  };
}
