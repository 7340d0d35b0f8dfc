#include "house/plan.h"

#include <algorithm>
#include <map>

namespace lockkeeper::house {
namespace {

using Plan = std::map<std::string, std::set<std::string>>;

const Plan& plan() {
  static const Plan kPlan = [] {
    Plan rooms;
    rooms["base"] = {};
    rooms["key"] = rooms["kv"] = rooms["host"] = {"base"};
    rooms["kv/memory"] = rooms["kv/lmdb"] = {"kv", "base"};
    rooms["core"] = {"kv", "key", "base"};
    rooms["service"] = {"core", "host", "kv", "key", "base"};
    std::set<std::string> below = rooms["service"];
    below.insert("service");
    const std::set<std::string> dialects = {"dialect/workflow", "dialect/coordinator",
                                            "dialect/coordmcp", "dialect/dirlock", "dialect/mkdir"};
    rooms["plan"] = below;
    for (const std::string& dialect : dialects) rooms[dialect] = below;
    rooms["dialect/workflow"].insert("plan");  // its resolutions are a planner's
    rooms["dialect"] = below;
    rooms["dialect"].insert(dialects.begin(), dialects.end());
    rooms["wiring"] = below;
    rooms["wiring"].insert({"kv/lmdb", "dialect"});
    rooms["embed"] = below;
    rooms["embed"].insert({"wiring", "dialect/dirlock"});
    below.insert("plan");
    rooms["crew"] = below;
    below.insert({"crew", "dialect"});
    below.insert(dialects.begin(), dialects.end());
    rooms["cli"] = rooms["enforce"] = rooms["mcp/locks"] = below;
    // Two languages of the wire that know no lock, and what is said in one of them.
    rooms["http"] = {"base"};
    rooms["mcp"] = {"http", "base"};
    rooms["mcp/locks"].insert("mcp");
    below.insert({"cli", "mcp", "mcp/locks", "http", "enforce", "kv/memory", "kv/lmdb", "wiring"});
    rooms["app"] = below;
    return rooms;
  }();
  return kPlan;
}

}  // namespace

const std::vector<std::string>& all_rooms() {
  static const std::vector<std::string> kRooms = [] {
    std::vector<std::string> names;
    for (const auto& [name, allowed] : plan()) names.push_back(name);
    return names;
  }();
  return kRooms;
}

std::string room_of(std::string_view path_below_src) {
  std::string found;
  for (const std::string& room : all_rooms()) {
    if (path_below_src.starts_with(room + "/") && room.size() > found.size()) found = room;
  }
  return found;
}

std::set<std::string> allowed_rooms(const std::string& room, bool is_test) {
  const auto entry = plan().find(room);
  if (entry == plan().end()) return {};
  std::set<std::string> allowed = entry->second;
  if (is_test && allowed.contains("kv")) allowed.insert({"kv/memory", "kv/lmdb"});
  return allowed;
}

bool is_pure(const std::string& room) {
  return room == "core" || room == "key";
}

std::string cmake_name(std::string room) {
  std::ranges::replace(room, '/', '_');
  return room;
}

}  // namespace lockkeeper::house
