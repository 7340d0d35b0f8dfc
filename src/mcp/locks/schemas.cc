#include "mcp/locks/schemas.h"

namespace lockkeeper::mcp::locks {
namespace {

Json text() {
  return {{"type", "string"}};
}

Json text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

Json list_of(const char* type) {
  return {{"type", "array"}, {"items", {{"type", type}}}};
}

Json list() {
  return {{"type", "array"}};
}

Json texts(const char* description) {
  Json json = list_of("string");
  json["description"] = description;
  return json;
}

Json mode() {
  return {{"type", "string"}, {"enum", {"exclusive", "shared"}}};
}

// Agent and session: of every tool, and last.
Json object(Json properties, Json required = Json::array()) {
  properties["agent"] = text();
  properties["session"] = text();
  Json json{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) json["required"] = std::move(required);
  json["additionalProperties"] = false;
  return json;
}

// Flat and open: what else is there is told by the message, and models read that. Only the message
// is always there, so that trouble conforms too.
Json output(Json properties) {
  properties["message"] = text();
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", {"message"}}};
}

Json hints(bool read_only, bool destructive, bool idempotent) {
  return {{"readOnlyHint", read_only},
          {"destructiveHint", destructive},
          {"idempotentHint", idempotent},
          {"openWorldHint", false}};
}

// Claude Code shows its model only the names of most tools; these it should know from the start.
Json always() {
  return {{"anthropic/alwaysLoad", true}};
}

}  // namespace

Tool acquire_tool() {
  Tool tool;
  tool.name = "lock_acquire";
  tool.title = "Lock";
  tool.description =
      "Lock files, folders (end in /), globs or keys (api: db: …) before changing them: all or "
      "none. Held by another is a normal answer naming the holder; with wait_s you queue.";
  Json resources = texts("paths from the repository's root");
  resources["minItems"] = 1;
  tool.input_schema = object({{"resources", std::move(resources)},
                              {"mode", mode()},
                              {"reason", text("told to whom it blocks")},
                              {"ttl", text("30m, 2h; default 1h")},
                              {"wait_s", {{"type", "integer"}, {"minimum", 0}, {"maximum", 45}}}},
                             {"resources"});
  tool.output_schema = output({{"outcome", text("granted renewed queued held deadlock")},
                               {"lease", {{"type", "object"}}},
                               {"conflicts", list()}});
  tool.annotations = hints(false, false, true);
  tool.meta = always();
  return tool;
}

Tool release_tool() {
  Tool tool;
  tool.name = "lock_release";
  tool.title = "Unlock";
  tool.description = "Release as soon as the work is done. Nothing named: all of yours.";
  tool.input_schema = object({{"resources", texts("as acquired")}, {"lease", text()}});
  tool.output_schema = output({{"released", list()}});
  tool.annotations = hints(false, true, true);
  tool.meta = always();
  return tool;
}

Tool renew_tool() {
  Tool tool;
  tool.name = "lock_renew";
  tool.title = "Renew";
  tool.description = "Keep what you hold for longer; tells what was lost.";
  tool.input_schema = object({{"lease", text("default: all of yours")}, {"ttl", text()}});
  tool.output_schema = output({{"renewed", list()}});
  tool.annotations = hints(false, false, true);
  return tool;
}

Tool status_tool() {
  Tool tool;
  tool.name = "lock_status";
  tool.title = "Who holds what";
  tool.description =
      "Before planning: which of these are free for you, who holds the others. No resources: "
      "everything held.";
  tool.input_schema = object({{"resources", list_of("string")}, {"mode", mode()}});
  tool.output_schema = output({{"free", list()}, {"conflicts", list()}});
  tool.annotations = hints(true, false, true);
  tool.meta = always();
  return tool;
}

Tool message_tool() {
  Tool tool;
  tool.name = "lock_message";
  tool.title = "Note";
  tool.description =
      "Send a note to an agent, or to who holds a resource; without text, read yours.";
  tool.input_schema =
      object({{"to", text("agent")}, {"holding", text("resource")}, {"text", text()}});
  tool.output_schema = output({{"messages", list()}});
  tool.annotations = hints(false, false, false);
  return tool;
}

const char* lock_instructions() {
  return "Several agents work in this repository; locks keep them apart. "
         "1 Look at lock_status before you plan. "
         "2 lock_acquire everything you are going to change, in one call, before you change it. "
         "3 Give a reason that others understand. "
         "4 Give a realistic ttl, and lock_renew if it takes longer. "
         "5 lock_release as soon as a part is done. "
         "What another holds you never change: do something else, wait with wait_s, or ask with "
         "lock_message. A subagent passes its own name as agent.";
}

}  // namespace lockkeeper::mcp::locks
