#include "mcp/lists.h"

#include "base/parse.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kPage = 100;
constexpr std::string_view kCursor = "from-";

// The start of the page that the cursor names; nullopt: not one of our cursors.
std::optional<std::size_t> page_start(const Json& params, std::size_t count) {
  const auto cursor = params.find("cursor");
  if (cursor == params.end() || cursor->is_null()) return 0;
  if (!cursor->is_string()) return std::nullopt;
  const std::string& text = cursor->get_ref<const std::string&>();
  if (!text.starts_with(kCursor)) return std::nullopt;
  const auto start = number_in<std::size_t>(std::string_view(text).substr(kCursor.size()));
  return start && *start > 0 && *start < count ? start : std::nullopt;
}

template <class Item, class ToJson>
Answer page(const char* name, const std::vector<Item>& items, const Json& params,
            const ToJson& to_json) {
  const auto start = page_start(params, items.size());
  if (!start) return Answer::failed(code::kInvalidParams, "this list has no such cursor");
  Answer answer;
  answer.result[name] = Json::array();
  const std::size_t end = std::min(items.size(), *start + kPage);
  for (std::size_t i = *start; i < end; ++i) answer.result[name].push_back(to_json(items[i]));
  if (end < items.size()) {
    answer.result["nextCursor"] = std::string(kCursor) + std::to_string(end);
  }
  return answer;
}

Json resource_json(const Resource& resource, const char* uri, const Client& client) {
  Json json{{uri, resource.uri}, {"name", resource.name}};
  if (client.at_least("2025-06-18") && !resource.title.empty()) json["title"] = resource.title;
  if (!resource.description.empty()) json["description"] = resource.description;
  if (!resource.mime_type.empty()) json["mimeType"] = resource.mime_type;
  return json;
}

}  // namespace

Json capabilities_of(const Catalogue& catalogue, const Client& client) {
  Json json = Json::object();
  const Json list = catalogue.lists_change ? Json{{"listChanged", true}} : Json::object();
  if (!catalogue.tools.empty()) json["tools"] = list;
  if (catalogue.has_resources()) {
    json["resources"] = list;
    json["resources"]["subscribe"] = true;
  }
  if (!catalogue.prompts.empty()) json["prompts"] = list;
  if (catalogue.complete && client.at_least("2025-03-26")) json["completions"] = Json::object();
  if (catalogue.logs) json["logging"] = Json::object();
  return json;
}

Answer list_tools(const Catalogue& catalogue, const Client& client, const Json& params) {
  return page("tools", catalogue.tools, params, [&](const Tool& tool) {
    Json json{{"name", tool.name}};
    if (client.at_least("2025-06-18") && !tool.title.empty()) json["title"] = tool.title;
    json["description"] = tool.description;
    json["inputSchema"] = tool.input_schema;
    const bool structured = client.at_least("2025-06-18") && !tool.output_schema.is_null();
    if (structured) json["outputSchema"] = tool.output_schema;
    if (client.at_least("2025-03-26") && !tool.annotations.is_null()) {
      json["annotations"] = tool.annotations;
    }
    if (client.at_least("2025-06-18") && !tool.meta.is_null()) json["_meta"] = tool.meta;
    return json;
  });
}

Answer list_resources(const Catalogue& catalogue, const Client& client, const Json& params) {
  return page("resources", catalogue.resources, params,
              [&](const Resource& each) { return resource_json(each, "uri", client); });
}

Answer list_templates(const Catalogue& catalogue, const Client& client, const Json& params) {
  return page("resourceTemplates", catalogue.templates, params,
              [&](const Resource& each) { return resource_json(each, "uriTemplate", client); });
}

Answer list_prompts(const Catalogue& catalogue, const Client& client, const Json& params) {
  return page("prompts", catalogue.prompts, params, [&](const Prompt& prompt) {
    Json json{{"name", prompt.name}};
    if (client.at_least("2025-06-18") && !prompt.title.empty()) json["title"] = prompt.title;
    json["description"] = prompt.description;
    if (prompt.arguments.empty()) return json;
    json["arguments"] = Json::array();
    for (const PromptArgument& each : prompt.arguments) {
      json["arguments"].push_back(
          {{"name", each.name}, {"description", each.description}, {"required", each.required}});
    }
    return json;
  });
}

}  // namespace lockkeeper::mcp
