#include "demo/demo_check.h"

#include <map>
#include <sstream>

#include "key/resource.h"

namespace lockkeeper::demo {
namespace {

struct Hold {
  std::string who;
  std::vector<key::Resource> what;
};

Result<std::vector<key::Resource>> parse_all(const std::vector<std::string>& texts) {
  std::vector<key::Resource> resources;
  for (const std::string& text : texts) {
    LK_ASSIGN(key::Parsed parsed, key::parse(text, key::Rules{}));
    resources.push_back(std::move(parsed.resource));
  }
  return resources;
}

// Adds to the verdict what `fresh` shares with other holders.
Result<void> compare(const std::map<std::string, Hold>& held, const Hold& fresh, Verdict& verdict) {
  ++verdict.holds;
  for (const auto& [id, other] : held) {
    if (other.who == fresh.who) continue;
    for (const key::Resource& mine : fresh.what) {
      for (const key::Resource& theirs : other.what) {
        LK_ASSIGN(const std::optional<std::string> common, key::overlap(mine, theirs));
        if (!common) continue;
        verdict.violations.push_back(fresh.who + " and " + other.who + " both held " + *common);
      }
    }
  }
  return {};
}

}  // namespace

Result<Verdict> check_ledger(std::string_view ledger, std::string_view killed) {
  Verdict verdict;
  std::map<std::string, Hold> held;
  std::istringstream lines{std::string(ledger)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string who;
    words >> mark >> who;
    if (mark == "E") {
      held.erase(who);
      continue;
    }
    std::vector<std::string> texts;
    for (std::string text; words >> text;) texts.push_back(text);
    Hold fresh{who, {}};
    LK_ASSIGN(fresh.what, parse_all(texts));
    LK_CHECK(compare(held, fresh, verdict));
    if (who != killed) held[who] = std::move(fresh);
  }
  return verdict;
}

Result<Verdict> check_history(const std::vector<core::Event>& events) {
  Verdict verdict;
  std::map<std::string, Hold> held;
  for (const core::Event& event : events) {
    const std::string id(event.lease.bytes);
    if (event.what == "granted") {
      Hold fresh{event.owner.agent + "/" + event.owner.session, {}};
      LK_ASSIGN(fresh.what, parse_all(event.resources));
      LK_CHECK(compare(held, fresh, verdict));
      held[id] = std::move(fresh);
    } else if (event.what == "released" || event.what == "expired" || event.what == "broken" ||
               event.what == "ended") {
      if (event.cause != "part") held.erase(id);
    }
  }
  return verdict;
}

}  // namespace lockkeeper::demo
