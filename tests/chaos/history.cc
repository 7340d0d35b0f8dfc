#include "chaos/history.h"

#include <algorithm>

namespace lockkeeper::chaos {
namespace {

using Json = nlohmann::json;

class Replay {
 public:
  explicit Replay(const Verdict& ledger) : ledger_(ledger) {}

  void event(const Json& event) {
    const std::string what = event["event"].get<std::string>();
    if (what == "granted") {
      granted(event);
    } else if (what == "released" || what == "expired" || what == "ended" || what == "broken") {
      ended(what, event);
    }
  }

  std::vector<std::string> finish() {
    for (const auto& [lease, live] : live_) accuse("I11: never ended", live.event);
    for (const auto& [hold, told] : ledger_.told) {
      if (!acknowledged_.contains(hold)) {
        violations_.push_back("I5: " + hold + " was granted with fence " +
                              std::to_string(told.fence) + " and is in no event");
      }
    }
    return std::move(violations_);
  }

 private:
  struct Live {
    const Scope* scope;
    Json event;
  };

  void accuse(const std::string& what, const Json& event) {
    violations_.push_back(what + " " + event.dump());
  }

  // Its session, or the one that its command is a part of.
  static std::string hold_of(const Json& event) {
    const std::string session = event["session"].get<std::string>();
    return session.substr(0, session.find('/'));
  }

  const Told* told_of(const Json& event) const {
    if (!event["session"].is_string()) return nullptr;
    const auto found = ledger_.told.find(hold_of(event));
    return found == ledger_.told.end() ? nullptr : &found->second;
  }

  void granted(const Json& event) {
    const Scope* scope =
        event["task"].is_string() ? scope_named(event["task"].get<std::string>()) : nullptr;
    if (scope == nullptr) return accuse("nobody asked for this:", event);
    auto resources = event["resources"].get<std::vector<std::string>>();
    auto asked = scope->resources;
    std::sort(resources.begin(), resources.end());
    std::sort(asked.begin(), asked.end());
    if (resources != asked) accuse("I2: not whole", event);
    const std::uint64_t fence = event["fence"].get<std::uint64_t>();
    if (fence < highest_) accuse("I3: goes back", event);
    highest_ = std::max(highest_, fence);
    for (const auto& [id, other] : live_) {
      if (!conflict(*scope, *other.scope)) continue;
      accuse("I1: while " + id + " is held", event);
      if (other.event["fence"] == fence) accuse("I3: twice", event);
    }
    if (!live_.try_emplace(event["lease"].get<std::string>(), Live{scope, event}).second) {
      accuse("I11: granted twice", event);
    }
    const Told* told = told_of(event);
    if (told != nullptr && told->fence == fence) {
      acknowledged_.insert(hold_of(event));
    }
  }

  void ended(const std::string& what, const Json& event) {
    const auto found = live_.find(event["lease"].get<std::string>());
    if (found == live_.end()) return accuse("I11: ended, and was not held", event);
    const Told* told = told_of(event);
    const bool known = told != nullptr && found->second.event["fence"] == told->fence;
    if (known && !may_end(*told, what, event)) accuse("I5: taken away", event);
    live_.erase(found);
  }

  static bool may_end(const Told& told, const std::string& what, const Json& event) {
    if (what == "released") return told.gave_back || told.killed;
    if (what == "expired") return told.kind == 'd' || told.kind == 'b';
    if (what != "ended" || event["cause"] != "died") return false;
    // The command of a killed `run` wrote its last line before it was gone.
    if (told.kind == 'r') return told.gave_back || told.killed;
    return told.kind != 'd' && told.killed;
  }

  const Verdict& ledger_;
  std::map<std::string, Live> live_;
  std::set<std::string> acknowledged_;
  std::uint64_t highest_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> judge_history(const std::vector<nlohmann::json>& events,
                                       const Verdict& ledger, const std::string& outsider) {
  Replay replay(ledger);
  for (const Json& event : events) {
    if (event["agent"] != outsider) replay.event(event);
  }
  return replay.finish();
}

}  // namespace lockkeeper::chaos
