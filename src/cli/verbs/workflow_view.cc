#include "cli/verbs/workflow_view.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "service/names.h"

namespace lockkeeper::cli {
namespace {

using dialect::workflow::HowEnded;
using dialect::workflow::Locked;
using dialect::workflow::Status;
using service::Json;

constexpr std::size_t kNamesShown = 4;  // resources named in one line

std::string holder_of(const dialect::workflow::Standing& standing) {
  if (!standing.lease) return standing.ours ? "lockkeeper, ended" : "another tool";
  return standing.through ? "workflow" : "lockkeeper";
}

std::string state_of(const dialect::workflow::Standing& standing) {
  if (!standing.file) return "cannot be read";
  if (standing.expired) return "expired";
  if (standing.file->expires_at_ms >= dialect::workflow::kFarFutureMs) return "no end";
  return dialect::workflow::iso_seconds(standing.file->expires_at_ms);
}

// Each lock with those of its resources that overlap, in order of appearance.
std::vector<std::pair<std::string, std::vector<std::string>>> clashing(const Locked& locked) {
  std::vector<std::pair<std::string, std::vector<std::string>>> list;
  const auto add_once = [](std::vector<std::string>& to, const std::string& text) {
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
  };
  std::vector<std::string> ours;
  for (std::size_t i = 0; i < locked.overlaps.size(); ++i) {
    const std::string& where = locked.held_in[i];
    const std::string file = (where.empty() ? "" : where + "/") + locked.held_by[i] + ".lock";
    auto found = std::ranges::find(list, file, &decltype(list)::value_type::first);
    if (found == list.end()) found = list.insert(list.end(), {file, {}});
    add_once(found->second, locked.overlaps[i].theirs.text());
    add_once(ours, locked.overlaps[i].ours.text());
  }
  list.emplace_back(locked.agent + ".lock", std::move(ours));
  return list;
}

}  // namespace

Json locked_json(const Locked& locked) {
  Json json = service::acquire_json(locked.result);
  Json reply;
  reply["outcome"] = json["outcome"];
  reply["agent"] = locked.agent;
  reply["file"] = locked.path;
  for (auto& [name, value] : json.items()) {
    if (name != "outcome") reply[name] = value;
  }
  if (service::outcome_status(locked.result.outcome) == 0) return reply;
  reply["overlaps"] = Json::array();
  for (std::size_t i = 0; i < locked.overlaps.size(); ++i) {
    const auto& overlap = locked.overlaps[i];
    reply["overlaps"].push_back({{"agent", locked.held_by[i]},
                                 {"ours", overlap.ours.text()},
                                 {"theirs", overlap.theirs.text()},
                                 {"witness", overlap.witness}});
    if (!locked.held_in[i].empty()) reply["overlaps"].back()["workflow"] = locked.held_in[i];
  }
  reply["resolutions"] = Json::array();
  for (const auto& resolution : locked.resolutions) {
    reply["resolutions"].push_back(resolution_json(resolution));
  }
  return reply;
}

std::string locked_text(const Locked& locked, std::int64_t now_wall_ms) {
  const core::Lease& lease = locked.result.lease;
  const bool renewed = locked.result.outcome == core::Outcome::kRenewed;
  return (renewed ? "renewed " : "locked ") +
         shown_list(service::spelled_texts(lease), kNamesShown) + " for " + shown(locked.agent) +
         ", " + service::end_text(lease, now_wall_ms) + "\nfile " + locked.path + "\nfence " +
         std::to_string(lease.fence());
}

std::string conflict_text(const Locked& locked) {
  if (locked.resolutions.empty()) return {};
  std::string text;
  for (const auto& [lock, resources] : clashing(locked)) {
    text += shown(lock) + ": " + service::dump(Json(resources)) + "\n";
  }
  text.insert(text.size() - 1, "  # CONFLICT!");
  text += "\nResolution options:";
  for (std::size_t i = 0; i < locked.resolutions.size(); ++i) {
    text += "\n" + std::to_string(i + 1) + ". " + resolution_text(locked.resolutions[i]);
  }
  return text;
}

Json status_json(const Status& status, const std::string& output) {
  Json json;
  json["output"] = output;
  json["locks"] = Json::array();
  for (const dialect::workflow::Standing& each : status.locks) {
    Json lock;
    lock["agent"] = each.file ? Json(each.file->agent) : Json();
    lock["file"] = each.path;
    lock["ours"] = each.ours;
    lock["lease"] = each.lease ? Json(each.lease->text()) : Json();
    if (each.file) {
      const auto& file = *each.file;
      lock["locked_at"] = dialect::workflow::iso_seconds(file.locked_at_ms);
      lock["files"] = file.files;
      lock["directories"] = file.directories;
      lock["task_description"] = text_or_null(file.task_description);
      lock["expires_at"] = dialect::workflow::iso_seconds(file.expires_at_ms);
      lock["expired"] = each.expired;
    }
    if (each.error) lock["error"] = service::error_json(*each.error);
    json["locks"].push_back(std::move(lock));
  }
  json["overlaps"] = Json::array();
  for (const auto& each : status.overlaps) {
    json["overlaps"].push_back({{"locks", {each.a, each.b}},
                                {"ours", each.overlap.ours.text()},
                                {"theirs", each.overlap.theirs.text()},
                                {"witness", each.overlap.witness}});
  }
  if (!status.others.empty()) json["others"] = status.others;
  return json;
}

std::vector<Line> status_lines(const Status& status, std::size_t columns) {
  std::vector<Row> rows = {header({"LOCK", "SCOPE", "UNTIL", "BY", "TASK"})};
  for (const dialect::workflow::Standing& each : status.locks) {
    std::vector<std::string> scope;
    if (each.file) {
      scope = each.file->files;
      scope.insert(scope.end(), each.file->directories.begin(), each.file->directories.end());
    }
    const Style style = !each.file ? Style::kRed : each.expired ? Style::kDim : Style::kPlain;
    rows.push_back(
        {{shown(each.name), style},
         {scope.empty() ? "-" : shown_list(scope, kNamesShown), style},
         {state_of(each), style},
         {holder_of(each), Style::kDim},
         {each.file && !each.file->task_description.empty() ? quote(each.file->task_description)
                                                            : "-",
          Style::kDim}});
  }
  std::vector<Line> lines = table_lines(std::move(rows), columns);
  for (const auto& each : status.overlaps) {
    lines.push_back(
        {{shown(each.a) + " and " + shown(each.b) + " overlap at " + shown(each.overlap.witness),
          Style::kYellow}});
  }
  return lines;
}

Json unlocked_json(const dialect::workflow::Unlocked& unlocked) {
  const char* const how = unlocked.how == HowEnded::kReleased ? "released"
                          : unlocked.how == HowEnded::kBroken ? "broken"
                                                              : "expired";
  return {{"agent", unlocked.agent}, {"file", unlocked.path}, {"how", how}};
}

std::string unlocked_text(const dialect::workflow::Unlocked& unlocked) {
  const char* const how = unlocked.how == HowEnded::kReleased ? "unlocked "
                          : unlocked.how == HowEnded::kBroken ? "broke the lock of "
                                                              : "removed the expired lock of ";
  return how + shown(unlocked.agent);
}

}  // namespace lockkeeper::cli
