#include "mcp/revision.h"

#include <algorithm>

namespace lockkeeper::mcp {

bool is_legacy_revision(std::string_view revision) {
  return std::ranges::find(kLegacyRevisions, revision) != std::end(kLegacyRevisions);
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
