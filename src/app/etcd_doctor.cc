#include "app/etcd_doctor.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/etcd_place.h"
#include "kv/etcd/doctor.h"
#include "wiring/etcd/etcd_store.h"

namespace lockkeeper::app {
namespace {

using kv::etcd::EtcdReport;
using kv::etcd::Finding;
using service::Json;

Json member_json(const kv::etcd::Asked& asked, const std::vector<kv::etcd::Member>& members) {
  Json json{{"endpoint", asked.endpoint.name()}, {"answers", !asked.error.has_value()}};
  if (!asked.version.empty()) json["version"] = asked.version;
  if (asked.quota != 0) json["quota_bytes"] = asked.quota;
  if (!asked.status) return json;
  const kv::etcd::Status& status = *asked.status;
  const std::uint64_t id = status.header.member_id;
  const auto named = std::ranges::find(members, id, &kv::etcd::Member::id);
  if (named != members.end()) json["name"] = named->name;
  json["leader"] = status.leader == id;
  json["learner"] = status.is_learner;
  json["database_bytes"] = status.size;
  json["in_use_bytes"] = status.size_in_use;
  return json;
}

Json report_json(const EtcdReport& report) {
  Json json{{"members", Json::array()}};
  for (const auto& asked : report.survey.asked) {
    json["members"].push_back(member_json(asked, report.survey.members));
  }
  if (report.survey.epoch) {
    json["revision"] = report.survey.header.revision;
    if (report.survey.commit_ms) json["commit_ms"] = *report.survey.commit_ms;
  }
  if (report.epoch) json["epoch"] = report.epoch->id;
  if (report.known) json["seen_revision"] = report.known->revision;
  return json;
}

void tell(const EtcdReport& report, const std::string& url, cli::CheckList& list) {
  Json json = report_json(report);
  json["store"] = wiring::shown_etcd(url);
  list.json()["etcd"].push_back(std::move(json));
  for (const Finding& finding : report.findings) {
    switch (finding.kind) {
      case Finding::Kind::kGood:
        list.good(finding.about, finding.error.message);
        break;
      case Finding::Kind::kNote:
        list.note(finding.about, finding.error.message, finding.error.hint);
        break;
      case Finding::Kind::kBad:
        list.bad(finding.about, finding.error);
    }
  }
}

}  // namespace

void check_etcd(const std::string& url, const realm::Environment& env, cli::Repair how,
                cli::CheckList& list) {
  const auto folder = etcd_folder(url, env);
  if (!folder) return list.bad("store", folder.error());
  const std::string file = seen_file(*folder);
  const std::string seen = ::access(file.c_str(), F_OK) == 0 ? file : "";
  const auto report = wiring::inspect_etcd(url, seen);
  if (!report) return list.bad("store", report.error());
  list.good("store", wiring::shown_etcd(url));
  tell(*report, url, list);
  const bool repairs =
      how == cli::Repair::kAnyway || (how == cli::Repair::kIfNeeded && report->went_back);
  if (!repairs) {
    if (report->went_back) return list.bad("epoch", *report->went_back);
    if (how == cli::Repair::kIfNeeded && !list.first()) {
      list.good("repair", "nothing to repair; to begin a new epoch all the same, add --force");
    }
    return;
  }
  const auto repaired = wiring::repair_etcd(url, seen);
  if (!repaired) return list.bad("repair", repaired.error());
  list.good("repair", "epoch " + std::to_string(repaired->id) +
                          " has begun: its fences are greater than all that were seen here");
  list.note("repair",
            "the locks are those of the state that was restored; see them: lockkeeper list");
  list.json()["repair"] = {{"epoch", repaired->id}};
}

void check_served_etcd(const realm::Environment& env, cli::CheckList& list) {
  const auto urls = served_etcd(env);
  if (!urls) return list.bad("store", urls.error());
  for (const std::string& url : *urls) check_etcd(url, env, cli::Repair::kNo, list);
}

}  // namespace lockkeeper::app
