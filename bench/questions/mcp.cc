// What an agent pays that comes through MCP: beyond what the store takes, beside the official
// server's echo, and in memory for a connection that says nothing.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "bench/peers/mcp.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kLanes = 16;
constexpr int kCalls = 2'000;
constexpr int kRoundsMost = 20;
constexpr auto kSettle = std::chrono::milliseconds(300);

constexpr const char* kStdioName = "lock_acquire, lock_release over stdio";
constexpr const char* kStatusName = "lock_status over stdio";
constexpr const char* kHttpName = "lock_acquire, lock_release over HTTP";
constexpr const char* kEchoStdioName = "official server (node), echo over stdio";
constexpr const char* kEchoHttpName = "official server (node), echo over HTTP";

// Acquire at even turns, release at odd ones; each lane is an agent of its own.
McpCall lock_call(int lane, int turn) {
  const std::string arguments = R"({"agent":"lane)" + std::to_string(lane) + R"(","resources":[")" +
                                path_at(lane, turn / 2) + R"("]})";
  return {turn % 2 == 0 ? "lock_acquire" : "lock_release", arguments};
}

McpCall status_call(int lane, int turn) {
  return {"lock_status", R"({"agent":"looker","resources":[")" + path_at(lane, turn) + R"("]})"};
}

McpCall echo_call(int lane, int turn) {
  return {"echo", R"({"message":")" + path_at(lane, turn) + R"("})"};
}

// An MCP server over HTTP in the folder.
OurServer mcp_in(const Setup& setup, const std::string& folder) {
  return {setup, {"mcp", "--http"}, {"--no-auth"}, folder + ".http.log"};
}

struct McpSide {
  std::string name;
  std::string durability;
  std::string lacks;
  std::unique_ptr<McpClient> client;
  CallOf call_of;
  Load load = {};
  int turns = 0;
};

// Every side in turn, a whole round each, until each has had its time.
void take_turns(const Setup& setup, std::vector<McpSide>& sides, Answer& answer) {
  const int calls = setup.seconds < 1 ? 4 * kLanes : kCalls;
  const auto round = [&](McpSide& side, Load& found) {
    std::this_thread::sleep_for(kSettle);  // what the other has left over is not this one's
    // Even, so that every lane begins with an acquire; what an odd one leaves is held for good.
    const int first = side.turns;
    side.turns += 2 * calls;
    load(
        *side.client, kLanes, calls,
        [&](int lane, int turn) { return side.call_of(lane, first + turn); }, found);
  };
  Load warm;
  for (McpSide& side : sides) round(side, warm);
  for (int i = 0; i < kRoundsMost && sides.front().load.seconds < setup.seconds; ++i) {
    for (McpSide& side : sides) round(side, side.load);
  }
  for (McpSide& side : sides) {
    const double per_second = static_cast<double>(side.load.samples.count()) / side.load.seconds;
    answer.rows.push_back(
        {side.name, side.durability, std::move(side.load.samples), side.lacks, per_second});
  }
}

void compare_rates(Answer& answer, const char* ours, const char* official, const char* what) {
  const Row* const mine = answer.find(ours);
  const Row* const theirs = answer.find(official);
  if (mine == nullptr || theirs == nullptr) return;
  answer.targets.push_back({.what = what,
                            .value = mine->per_second / theirs->per_second,
                            .unit = "×",
                            .better = Target::Better::kMore,
                            .must = 1});
}

using Official = std::expected<Words, std::string>;

Words with(Words argv, const char* word) {
  argv.emplace_back(word);
  return argv;
}

McpSide lock_side(const char* name, std::unique_ptr<McpClient> client) {
  return {name, "process", "", std::move(client), lock_call};
}

McpSide echo_side(const char* name, std::unique_ptr<McpClient> client) {
  return {name, "-", "everything: it repeats what it is told", std::move(client), echo_call};
}

void load_stdio(const Setup& setup, const Official& official, Answer& answer) {
  std::vector<McpSide> sides;
  const Words ours = {setup.lockkeeper, "mcp"};
  sides.push_back(lock_side(kStdioName, connect_stdio(ours, kLanes)));
  sides.push_back(lock_side(kStatusName, connect_stdio(ours, kLanes)));
  sides.back().call_of = status_call;
  if (official) {
    sides.push_back(echo_side(kEchoStdioName, connect_stdio(with(*official, "stdio"), kLanes)));
  }
  take_turns(setup, sides, answer);
  compare_rates(answer, kStdioName, kEchoStdioName, "as many locks as the official echoes, stdio");
  compare_rates(answer, kStatusName, kEchoStdioName, "as many looks as the official echoes, stdio");
}

void load_http(const Setup& setup, const std::string& folder, const Official& official,
               Answer& answer) {
  const OurServer ours = mcp_in(setup, folder);
  if (!ours.ready) return answer.skipped.push_back("HTTP: the server did not begin");
  std::vector<McpSide> sides;
  sides.push_back(lock_side(kHttpName, connect_http(ours.port, "", kLanes)));
  std::optional<Server> server;
  if (official) {
    const int port = free_port();
    server.emplace(Server::Launch{.argv = with(*official, "streamableHttp"),
                                  .log = folder + ".node.log",
                                  .user = {},
                                  .env = {{"PORT", std::to_string(port)}},
                                  .stop_signal = SIGTERM});
    if (server->wait_until([&] { return static_cast<bool>(connect_loopback(port)); })) {
      sides.push_back(echo_side(kEchoHttpName, connect_http(port, "", kLanes)));
    } else {
      answer.skipped.push_back("the official MCP server: does not serve HTTP");
    }
  }
  take_turns(setup, sides, answer);
  compare_rates(answer, kHttpName, kEchoHttpName, "as many locks as the official echoes, HTTP");
}

}  // namespace

void ask_mcp(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("mcp");
  Place place(folder, Kept::kProcess);
  place.hold_paths(setup.held);
  service::Locks locks(place.site(), {"inside", ""});
  const Inside inside(folder);
  const auto stdio = connect_stdio({setup.lockkeeper, "mcp"}, 1);
  const OurServer ours = mcp_in(setup, folder);
  if (!ours.ready) return answer.skipped.push_back("HTTP: the server did not begin");
  const auto http = connect_http(ours.port, "", 1);
  setup.progress->say("measuring");
  int turn = 0;
  const auto pair_of = [&turn](McpClient& client) {
    return timed([&] {
      client.call(lock_call(0, turn));
      client.call(lock_call(0, turn + 1));
      turn += 2;
    });
  };
  std::vector<Samples> samples =
      alternate({[&] { return timed([&] { verbs_pair(locks, path_at(1, turn += 2)); }); },
                 [&] { return pair_of(*stdio); }, [&] { return pair_of(*http); }},
                setup.seconds, kPairsLeast);
  const double store = samples[0].p50();
  const auto beyond = [&](const char* what, const Samples& of, std::optional<double> must) {
    answer.targets.push_back({.what = what, .value = of.p50() - store, .unit = "µs", .must = must});
  };
  beyond("over stdio, beyond the store's own time", samples[1], 250);
  beyond("over HTTP, beyond the store's own time", samples[2], {});
  answer.rows.push_back({"the same pair in process", "process", std::move(samples[0]), ""});
  answer.rows.push_back({kStdioName, "process", std::move(samples[1]), ""});
  answer.rows.push_back({kHttpName, "process", std::move(samples[2]), ""});
}

void ask_mcp_load(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("mcp-load");
  Place(folder, Kept::kProcess).hold_paths(setup.held);
  const Inside inside(folder);
  const auto official = official_server();
  if (!official) answer.skipped.push_back(official.error());
  setup.progress->say("measuring stdio");
  load_stdio(setup, official, answer);
  setup.progress->say("measuring HTTP");
  load_http(setup, folder, official, answer);
}

void ask_mcp_idle(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  constexpr int kConnections = 500;
  const std::string folder = setup.fresh("mcp-idle");
  Place(folder, Kept::kProcess).hold_paths(100);
  const Inside inside(folder);
  const OurServer ours = mcp_in(setup, folder);
  if (!ours.ready) return answer.skipped.push_back("HTTP: the server did not begin");
  setup.progress->say("measuring");
  // Each has asked something once, and then says nothing.
  const auto ask = [&] {
    auto client = connect_http(ours.port, "", 1);
    client->call({"lock_status", R"({"resources":["src/a.py"]})"});
    return client;
  };
  std::vector<std::unique_ptr<McpClient>> first;
  for (int i = 0; i < 10; ++i) first.push_back(ask());
  std::this_thread::sleep_for(kSettle);
  const double before = resident_kib(ours.server.pid());
  std::vector<std::unique_ptr<McpClient>> idle;
  for (int i = 0; i < kConnections; ++i) idle.push_back(ask());
  std::this_thread::sleep_for(kSettle);
  const double after = resident_kib(ours.server.pid());
  answer.targets.push_back({.what = "resident for each of " + grouped(kConnections) +
                                    " idle connections, a session each",
                            .value = (after - before) / kConnections,
                            .unit = "KiB",
                            .must = 50});
}

}  // namespace lockkeeper::bench
