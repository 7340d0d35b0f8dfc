#include "mcp/locks/schemas.h"

namespace lockkeeper::mcp {
namespace {

Json text() {
  return {{"type", "string"}};
}

Json text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

Json texts(const char* description) {
  return {{"type", "array"}, {"items", text()}, {"description", description}};
}

// Agent and session: of every tool, and last.
Json object(Json properties, Json required) {
  properties["agent"] = text();
  properties["session"] = text();
  Json json{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) json["required"] = std::move(required);
  json["additionalProperties"] = false;
  return json;
}

// Flat and open: what else is there is named by the text, and models read that.
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

}  // namespace

Tool acquire_tool() {
  Tool tool;
  tool.name = "lock_acquire";
  tool.title = "Lock";
  tool.description =
      "Lock files, folders (end in /), globs or keys (api: db: …) before changing them: all or "
      "none. Held by another is a normal answer that names the holder; with wait_s you queue.";
  tool.input_schema = object({{"resources", texts("from the repository's root")},
                              {"mode", {{"type", "string"}, {"enum", {"exclusive", "shared"}}}},
                              {"reason", text("told to whom it blocks")},
                              {"ttl", text("30m, 2h; default 1h")},
                              {"wait_s", {{"type", "integer"}, {"minimum", 0}, {"maximum", 45}}}},
                             {"resources"});
  tool.input_schema["properties"]["resources"]["minItems"] = 1;
  tool.output_schema =
      output({{"outcome", text()}, {"lease", text()}, {"fence", {{"type", "integer"}}}});
  tool.annotations = hints(false, false, true);
  return tool;
}

Tool release_tool() {
  Tool tool;
  tool.name = "lock_release";
  tool.title = "Unlock";
  tool.description =
      "Release as soon as the work is done. No resources and no lease: all of yours.";
  tool.input_schema =
      object({{"resources", texts("as acquired")}, {"lease", text()}}, Json::array());
  tool.output_schema = output({{"released", {{"type", "array"}, {"items", text()}}}});
  tool.annotations = hints(false, true, true);
  return tool;
}

Tool renew_tool() {
  Tool tool;
  tool.name = "lock_renew";
  tool.title = "Renew";
  tool.description = "Keep what you hold for longer; tells if something was lost.";
  tool.input_schema =
      object({{"lease", text("default: all of yours")}, {"ttl", text()}}, Json::array());
  tool.output_schema = output({{"renewed", {{"type", "array"}, {"items", text()}}}});
  tool.annotations = hints(false, false, true);
  return tool;
}

Tool status_tool() {
  Tool tool;
  tool.name = "lock_status";
  tool.title = "Who holds what";
  tool.description =
      "Before planning: which of these resources are free for you and who holds the others; "
      "without "
      "resources, everything that is held or waited for.";
  tool.input_schema = object({{"resources", texts("what you want to change")}}, Json::array());
  tool.output_schema = output({{"free", {{"type", "array"}, {"items", text()}}}});
  tool.annotations = hints(true, false, true);
  return tool;
}

Tool message_tool() {
  Tool tool;
  tool.name = "lock_message";
  tool.title = "Note to a holder";
  tool.description =
      "Send a note to an agent, or to whoever holds a resource; without text, read yours.";
  tool.input_schema = object(
      {{"to", text("agent")}, {"holding", text("resource")}, {"text", text()}}, Json::array());
  tool.output_schema = output({{"messages", {{"type", "array"}, {"items", {{"type", "object"}}}}}});
  tool.annotations = hints(false, false, false);
  return tool;
}

const char* lock_instructions() {
  return "Several agents work in this repository. Before you plan, look at lock_status. Before you "
         "change a file, lock it with lock_acquire, with a reason others understand and a "
         "realistic "
         "ttl; lock all you need in one call. If it is held, work on something else, wait with "
         "wait_s, or ask its holder with lock_message; never edit it. Release with lock_release as "
         "soon as you are done. Subagents pass their own name as agent.";
}

}  // namespace lockkeeper::mcp
