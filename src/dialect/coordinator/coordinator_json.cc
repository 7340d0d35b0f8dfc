// The coordinator's answers as JSON: the original's fields with its names, order and nulls, then
// ours.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "dialect/coordinator/coordinator.h"

namespace lockkeeper::dialect::coordinator {
namespace {

using service::Json;

void add_rest(Json& json, const std::vector<core::LostLease>& lost,
              const std::optional<Error>& error) {
  for (const core::LostLease& one : lost) json["lost"].push_back(service::lost_json(one));
  if (error) json["error"] = service::error_json(*error);
}

// Which lock it is, if the requested path does not say it.
void add_place(Json& json, const Lock& lock) {
  json["locked_path"] = lock.file_path;
  json["session_id"] = text_or_null(lock.session_id);
  if (!lock.foreign_path.empty()) json["foreign_path"] = lock.foreign_path;
}

}  // namespace

Json to_json(const AcquireResult& result) {
  Json json;
  json["success"] = result.success;
  json["action"] = text_or_null(result.action);
  json["file_path"] = text_or_null(result.file_path);
  json["expires_at"] =
      time_or_null(result.holder ? result.holder->expires_at_ms : result.expires_at_ms);
  json["reason"] = text_or_null(result.reason);
  json["locked_by"] = result.holder ? Json(result.holder->locked_by) : Json();
  if (result.holder) {
    json["agent_type"] = result.holder->agent_type;
    json["locked_at"] = time_or_null(result.holder->locked_at_ms);
  }
  json["lock_reason"] = result.holder ? text_or_null(result.holder->reason) : Json();
  if (result.holder) add_place(json, *result.holder);
  if (result.success) json["fence"] = result.fence;
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  add_rest(json, result.lost, result.error);
  return json;
}

Json to_json(const ReleaseResult& result) {
  Json json;
  json["success"] = result.success;
  json["action"] = text_or_null(result.action);
  json["file_path"] = text_or_null(result.file_path);
  json["reason"] = text_or_null(result.reason);
  if (result.holder) json["locked_by"] = result.holder->locked_by;
  if (result.holder) json["session_id"] = text_or_null(result.holder->session_id);
  add_rest(json, result.lost, result.error);
  return json;
}

Json to_json(const Lock& lock) {
  Json json;
  json["file_path"] = lock.file_path;
  json["locked_by"] = lock.locked_by;
  json["agent_type"] = lock.agent_type;
  json["locked_at"] = time_or_null(lock.locked_at_ms);
  json["expires_at"] = time_or_null(lock.expires_at_ms);
  json["reason"] = text_or_null(lock.reason);
  json["session_id"] = text_or_null(lock.session_id);
  json["mode"] = lock.mode == core::Mode::kShared ? "shared" : "exclusive";
  json["fence"] = lock.fence == 0 ? Json() : Json(lock.fence);
  json["mine"] = lock.mine;
  if (!lock.foreign_path.empty()) json["foreign_path"] = lock.foreign_path;
  return json;
}

Json to_json(const CheckResult& result) {
  Json json = Json::array();
  for (const Lock& lock : result.locks) json.push_back(to_json(lock));
  return json;
}

Json to_envelope(const CheckResult& result) {
  Json json{{"count", result.locks.size()},
            {"truncated", false},
            {"items", to_json(result)},
            {"next_steps", Json::array()}};
  const auto mine = std::ranges::find(result.locks, true, &Lock::mine);
  if (mine != result.locks.end()) {
    json["next_steps"].push_back("lockkeeper coordinator release " +
                                 service::shell_name(mine->file_path));
  }
  return json;
}

}  // namespace lockkeeper::dialect::coordinator
