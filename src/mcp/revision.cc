#include "mcp/revision.h"

#include <algorithm>

namespace lockkeeper::mcp {

bool is_legacy_revision(std::string_view revision) {
  return std::ranges::find(kLegacyRevisions, revision) != std::end(kLegacyRevisions);
}

Client modern_client() {
  Client client;
  client.era = Era::kModern;
  client.revision = kModernRevision;
  return client;
}

Json capabilities_for(const std::string& method, const Json& params) {
  if (method == "roots/list") return {{"roots", Json::object()}};
  if (method == "sampling/createMessage") {
    if (!params.contains("tools")) return {{"sampling", Json::object()}};
    return {{"sampling", {{"tools", Json::object()}}}};
  }
  if (method != "elicitation/create") return nullptr;
  const auto mode = params.find("mode");
  if (mode == params.end() || *mode != "url") return {{"elicitation", Json::object()}};
  return {{"elicitation", {{"url", Json::object()}}}};
}

bool Client::can_be_asked(const std::string& method, const Json& params) const {
  const Json needed = capabilities_for(method, params);
  if (needed.is_null()) return false;
  for (const auto& [name, parts] : needed.items()) {
    const auto declared = capabilities.find(name);
    if (declared == capabilities.end()) return false;
    // A client that does not mention forms supports them, unless it names other ways (2025-11-25).
    const bool others = declared->is_object() && !declared->empty() && !declared->contains("form");
    if (name == "elicitation" && parts.empty() && others) return false;
    for (const auto& [part, ignored] : parts.items()) {
      if (!declared->is_object() || !declared->contains(part)) return false;
    }
  }
  return true;
}

const Json& meta_of(const Json& params) {
  static const Json kNone = Json::object();
  const auto meta = params.find("_meta");
  return meta != params.end() && meta->is_object() ? *meta : kNone;
}

bool is_modern(const Json& params) {
  return meta_of(params).contains(kMetaRevision);
}

}  // namespace lockkeeper::mcp
