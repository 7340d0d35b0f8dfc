#include "house/plan.h"

#include <algorithm>
#include <map>

namespace lockkeeper::house {
namespace {

using Rooms = std::set<std::string>;
using Plan = std::map<std::string, Rooms>;

Rooms with(Rooms some, const Rooms& more) {
  some.insert(more.begin(), more.end());
  return some;
}

const Plan& plan() {
  static const Plan kPlan = [] {
    Plan rooms;
    rooms["base"] = {};
    rooms["key"] = rooms["kv"] = rooms["host"] = {"base"};
    // Contents of files, kept and put back. It knows no lock.
    rooms["snapshot"] = {"host", "base"};
    rooms["snapshot/site"] = {"snapshot", "realm", "host", "key", "base"};
    const Rooms snapshots = {"snapshot", "snapshot/site"};
    rooms["kv/memory"] = rooms["kv/lmdb"] = rooms["kv/etcd"] = {"kv", "base"};
    rooms["core"] = {"kv", "key", "base"};
    rooms["realm"] = {"key", "base"};
    rooms["git"] = {"realm", "host", "key", "base"};  // asked as it is, about a repository
    rooms["install"] = {"git", "realm", "host", "key", "base"};  // others' settings; no lock
    rooms["layout"] = {"realm", "core", "host", "kv", "key", "base"};
    rooms["service"] = with(rooms["layout"], {"layout"});
    // One interface for every door. What is behind it is chosen in `wiring`.
    const Rooms below = with(rooms["service"], {"service"});
    rooms["service/wire"] = below;
    rooms["service/local"] = with(below, {"service/wire"});
    rooms["yaml"] = {"base"};  // plans know no lock table: they are text, drawn
    rooms["draw"] = {"key", "base"};
    rooms["plan"] = {"yaml", "draw", "key", "base"};
    const Rooms plans = {"plan", "yaml", "draw"};
    const Rooms dialects = {"dialect/workflow", "dialect/coordinator", "dialect/coordmcp",
                            "dialect/dirlock", "dialect/mkdir"};
    for (const std::string& dialect : dialects) rooms[dialect] = below;
    rooms["dialect/workflow"].insert("plan");  // its resolutions are a planner's
    rooms["dialect"] = with(below, dialects);
    rooms["remote"] = {"realm", "host", "key", "base"};  // the way to a hub, up to the relay
    rooms["wiring"] =
        with(below, {"kv/lmdb", "kv/memory", "dialect", "remote", "service/local", "service/wire"});
    rooms["wiring/etcd"] = {"kv/etcd", "core", "kv", "key", "base"};
    rooms["embed"] = with(below, {"wiring", "dialect/dirlock"});
    rooms["capi"] = with(below, {"embed"});  // the same for C, and so for every other language
    rooms["crew/record"] = {"base"};
    rooms["crew/changes"] = {"crew/record", "git", "realm", "host", "key", "base"};
    rooms["crew/report"] = {"crew/record", "draw", "key", "base"};
    rooms["crew/trees"] = with(rooms["crew/changes"], {"crew/changes"});
    const Rooms crews = {"crew/record", "crew/changes", "crew/report", "crew/trees", "git"};
    rooms["crew"] = with(with(with(below, crews), plans), snapshots);
    // Two languages of the wire that know no lock, and what is said in one of them.
    rooms["http"] = {"base"};
    rooms["mcp"] = {"host", "base"};
    rooms["mcp/http"] = {"mcp", "http", "base"};
    rooms["mcp/locks"] = with(with(below, dialects), {"mcp"});
    rooms["hub/people"] = {"realm", "core", "kv", "key", "base"};
    rooms["hub"] = with(with(below, rooms["mcp/locks"]),
                        {"hub/people", "http", "mcp/http", "mcp/locks", "service/wire", "git",
                         "crew/record", "crew/report", "draw"});
    // The rest of the way: it speaks for all processes of this machine.
    rooms["relay"] = {"remote", "http", "realm", "core", "host", "kv", "key", "base"};
    rooms["cli"] = below;
    rooms["demo"] = with(below, {"cli"});
    // What coding agents tell their hooks, which is text; and what a hook does about it.
    rooms["enforce"] = {"key", "base"};
    rooms["enforce/shell"] = {"base"};
    rooms["enforce/hook"] = with(with(below, {"enforce", "enforce/shell", "git"}), snapshots);
    rooms["guard"] = with(below, {"git"});  // what our git hooks decide
    const Rooms verbs = with(with(rooms["crew"], with(dialects, {"dialect"})),
                             {"cli", "demo", "crew", "install", "enforce", "enforce/shell",
                              "enforce/hook", "guard", "hub/people"});
    rooms["cli/verbs"] = verbs;
    rooms["app"] =
        with(verbs, {"cli/verbs", "hub", "mcp", "mcp/http", "mcp/locks", "http", "relay",
                     "kv/memory", "kv/lmdb", "kv/etcd", "remote", "wiring", "wiring/etcd"});
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
  if (is_test && allowed.contains("kv")) allowed.insert({"kv/memory", "kv/lmdb", "kv/etcd"});
  if (is_test && (allowed.contains("service") || room == "service")) {
    allowed.insert({"service/local", "service/wire"});
  }
  return allowed;
}

bool is_pure(const std::string& room) {
  return room == "core" || room == "key";
}

bool is_door(const std::string& room) {
  return (room == "service" || allowed_rooms(room, false).contains("service")) && room != "app" &&
         room != "wiring" && room != "service/local";
}

bool may_use_linux(const std::string& room) {
  return room == "host" || room == "kv/lmdb";
}

std::string cmake_name(std::string room) {
  std::ranges::replace(room, '/', '_');
  return room;
}

}  // namespace lockkeeper::house
