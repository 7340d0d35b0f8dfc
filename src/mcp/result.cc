#include "mcp/result.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::int64_t kListMs = 3'600'000;

bool is_list(const std::string& method) {
  return method == "server/discover" || method == "tools/list" || method == "prompts/list" ||
         method == "resources/list" || method == "resources/templates/list";
}

// How long a client may cache it, and for whom.
void add_caching(Json& result, const std::string& method, const Catalogue& catalogue) {
  if (is_list(method)) {
    result["ttlMs"] = catalogue.lists_change ? 0 : kListMs;
    result["cacheScope"] = "public";
  } else if (method == "resources/read") {  // never cached
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
  }
}

// A content block that the revision does not know becomes text.
void fit_block(Json& block, const Client& client) {
  if (!block.is_object()) return;
  const std::string type = block.value("type", "");
  if (type == "resource_link" && !client.at_least("2025-06-18")) {
    block = {{"type", "text"}, {"text", block.value("uri", "")}};
  } else if (type == "audio" && !client.at_least("2025-03-26")) {
    block = {{"type", "text"}, {"text", "(" + block.value("mimeType", "audio") + ")"}};
  }
}

void fit_content(Json& result, const Client& client) {
  if (client.at_least("2025-06-18")) return;
  result.erase("structuredContent");
  if (const auto blocks = result.find("content"); blocks != result.end()) {
    for (Json& block : *blocks) fit_block(block, client);
  }
  if (const auto messages = result.find("messages"); messages != result.end()) {
    for (Json& message : *messages) fit_block(message["content"], client);
  }
}

}  // namespace

Json server_info(const Catalogue& catalogue, const Client& client) {
  Json json{{"name", catalogue.name}};
  if (client.at_least("2025-06-18") && !catalogue.title.empty()) json["title"] = catalogue.title;
  json["version"] = catalogue.version;
  return json;
}

Json result_for(const Call& call, const Catalogue& catalogue, const Answer& answer) {
  const Client& client = call.client();
  if (client.era == Era::kLegacy) {
    Json result = answer.result;
    fit_content(result, client);
    return result;
  }
  Json result{{"resultType", answer.input_required ? "input_required" : "complete"}};
  for (const auto& [name, value] : answer.result.items()) result[name] = value;
  if (!answer.input_required) add_caching(result, call.method(), catalogue);
  result["_meta"][kMetaServer] = server_info(catalogue, client);
  return result;
}

}  // namespace lockkeeper::mcp
